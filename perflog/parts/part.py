"""A part: what one worker read of its share of the logs, in a Parquet file of its own."""

from __future__ import annotations

import io
import mmap
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from perflog._version import __version__
from perflog.errors import PerflogError
from perflog.escaping import named
from perflog.files import write_atomically
from perflog.formats.catalog import Catalog, fingerprint
from perflog.logs.find import LogFile
from perflog.logs.streams import RATIO, limit
from perflog.parts import ENDING
from perflog.parts.outcomes import Packer, outcome_from, packed_log
from perflog.parts.share import Share, listing_of
from perflog.runs.machine import Machine
from perflog.runs.run import Outcome
from perflog.settings.options import Options

# ----------------------------------------------------------------------------------------------------
# What a Parquet file says of its own size, read before anything in it is unpacked.
#
# A part may come from a stranger, and a page of 30 kB can unpack to gigabytes. polars unpacks what a page's header
# says, so these headers and the footer (both in Thrift's compact protocol) are read first, a few bytes of each, and
# held against what a part of such a size can hold. Formats: https://parquet.apache.org/docs/file-format/ and Thrift's
# ``thrift-compact-protocol.md``. polars gives the footer's texts alone, and PyArrow, which gives the rest, is 120 MB.

#: What a Parquet file begins and ends with.
MAGIC = b"PAR1"
#: So many bytes any part may unpack to. Beyond, a part may unpack to a tenth of what a log of its size may
#: (:mod:`perflog.logs.streams`), 100 times its own size: parts of logs unpack to 3 to 20 times theirs.
FREE = 16 << 20
_LESS_THAN_LOGS = 10
#: A row counts as so many bytes at least: what Python needs to hold it is more than its text.
_ROW = 1000
#: So many values may stand in the footer, and so many pages in the file.
_MOST_VALUES, _MOST_PAGES = 200_000, 100_000
_DEEPEST = 12
Fields = Mapping[int, Any]
Read = TypeVar("Read")


class FooterError(Exception):
    """A file that is no Parquet file, or is damaged; the text says why."""


class TooLargeError(FooterError):
    """A file that unpacks to more than it may."""


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet file's footer says.

    Attributes:
        rows: how many rows it has.
        columns: the names of the columns of each group of rows.
        unpacked: to how many bytes its pages unpack.
        allowed: how many a file of its size may unpack to.
    """

    rows: int
    columns: tuple[tuple[str, ...], ...]
    unpacked: int
    allowed: int


def texts_of(path: Path) -> dict[str, str]:
    """The key-value metadata of a Parquet file, of any size; raises what :func:`read_footer` does for damage."""
    return _opened(path, lambda content: _texts(_meta(content)))


def read_footer(path: Path) -> Footer:
    """The footer of a Parquet file, with the sizes of its pages, within the limits of a part.

    Raises:
        FooterError: for a file that is none, or is damaged.
        TooLargeError: for one that unpacks to more than a part of its size may.
        OSError: when it cannot be read.
    """
    return _opened(path, _read)


def _opened(path: Path, read: Callable[[mmap.mmap], Read]) -> Read:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 3 * len(MAGIC) or file.read(len(MAGIC)) != MAGIC:
            raise FooterError("it is no Parquet file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                return read(content)
            except (IndexError, KeyError, TypeError, ValueError, AttributeError, struct.error):
                raise FooterError("its footer cannot be read") from None


def require_size(footer: Footer, texts: int) -> None:
    """Raise TooLargeError where the rows' texts are together longer than a part of its size may unpack to."""
    _require(texts + footer.rows * _ROW, footer.allowed)


def _require(unpacked: int, allowed: int) -> None:
    if unpacked > allowed:
        raise TooLargeError(
            f"it unpacks to {unpacked / 1e6:,.0f} MB or more, and a part of its size may to {allowed / 1e6:,.0f} MB, "
            f"which {RATIO}={10 * limit(RATIO)} raises"
        )


def _meta(content: mmap.mmap) -> Fields:
    """What stands in the footer."""
    (length,) = struct.unpack_from("<I", content, len(content) - 8)
    if content[-4:] != MAGIC or length > len(content) - 12:
        raise FooterError("it is cut off")
    return _Reader(content, len(content) - 8 - length, len(content) - 8).struct()


def _texts(meta: Fields) -> dict[str, str]:
    return {item[1].decode(): item.get(2, b"").decode() for item in meta.get(5, [])}


def _read(content: mmap.mmap) -> Footer:
    meta = _meta(content)
    allowed = FREE + limit(RATIO) // _LESS_THAN_LOGS * len(content)
    groups = meta.get(4, [])
    unpacked = pages = 0
    for group in groups:
        for column in group[1]:
            values = 0
            for header in _pages(content, column[3]):
                pages += 1
                if pages > _MOST_PAGES:
                    raise FooterError(f"it has more than {_MOST_PAGES:,} pages")
                unpacked += header[2]
                values += (header.get(5) or header.get(8) or {1: 0})[1]
                _require(unpacked, allowed)
            if values != group[3]:
                raise FooterError("its footer and its pages disagree about the number of rows")
    rows = sum(group[3] for group in groups)
    if rows != meta[3] or rows < 0:
        raise FooterError("its footer disagrees with itself about the number of rows")
    _require(unpacked + rows * _ROW, allowed)
    columns = tuple(tuple(b".".join(column[3][3]).decode() for column in group[1]) for group in groups)
    return Footer(rows, columns, unpacked, allowed)


def _pages(content: mmap.mmap, column: Fields) -> Iterator[Fields]:
    """The headers of a column's pages; raises FooterError for sizes that lie outside of the file."""
    at = column[9] if not column.get(11) else min(column[9], column[11])
    end = at + column[7]
    if not len(MAGIC) <= at <= end <= len(content):
        raise FooterError("a column lies outside of the file")
    while at < end:
        reader = _Reader(content, at, end)
        header = reader.struct()
        if header[2] < 0 or header[3] < 0:
            raise FooterError("a page has a size below zero")
        at = reader.at + header[3]
        yield header
    if at != end:
        raise FooterError("its pages are not as long as its footer says")


class _Reader:
    """Reads structs of Thrift's compact protocol: dicts by the numbers of the fields."""

    def __init__(self, content: mmap.mmap, at: int, end: int) -> None:
        self.at = at
        self._content, self._end = content, end
        self._left = _MOST_VALUES

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The struct that begins here."""
        if depth > _DEEPEST:
            raise FooterError("its footer is nested too deep")
        fields: dict[int, Any] = {}
        number = 0
        while (byte := self._byte()) & 15:
            number = number + (byte >> 4) if byte >> 4 else self._number()
            fields[number] = {1: True, 2: False}.get(byte & 15) if byte & 15 < 3 else self._value(byte & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise FooterError(f"its footer holds more than {_MOST_VALUES:,} values")
        if kind in (4, 5, 6):
            return self._number()
        if kind == 12:
            return self.struct(depth + 1)
        if kind in (9, 10):
            byte = self._byte()
            count = byte >> 4 if byte >> 4 < 15 else self._varint()
            return [self._value(byte & 15, depth + 1) for _ in range(count)]
        if kind in (1, 2, 3):  # a bool in a list, a byte
            return self._byte()
        if kind in (7, 8):
            return self._bytes(8 if kind == 7 else self._varint())
        raise FooterError("its footer holds a value of an unknown kind")  # maps: Parquet has none

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, count: int) -> bytes:
        if not 0 <= count <= self._end - self.at:
            raise FooterError("it is cut off")
        self.at += count
        return self._content[self.at - count : self.at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128 or shift > 63:
                return value

    def _number(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)


#: The form of the file, and the key of a Parquet file's metadata that it stands under.
SCHEMA, KEY = "perflog/part/2", "perflog"
_COLUMNS = ("position", "log", "outcome")


@dataclass(frozen=True, slots=True)
class Place:
    """What must be the same for all parts of one place.

    Attributes:
        listing: a hash of all logs' names and sizes (:func:`perflog.parts.share.listing_of`).
        logs: how many there are, in all shares together.
        options: how numbers are made.
        parsers: a hash of the parsers in force.
    """

    listing: str
    logs: int
    options: Options
    parsers: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A log, its position among all logs of the place, and what became of it, with hashes of its runs' text."""

    position: int
    log: LogFile
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a place's logs that was read; ``perflog``: the version that read it."""

    place: Place
    share: Share
    entries: Sequence[Entry]
    perflog: str = __version__


class _Head(Struct):
    """What stands in the file's metadata; ``content``: a hash of its rows."""

    schema: str
    place: Place
    share: Share
    perflog: str
    machines: list[Machine]
    rows: int
    content: str


class _Version(Struct):
    schema: str
    perflog: str


def write_part(path: Path, part: Part) -> None:
    """Write a part to a file.

    Raises:
        PerflogError: when it cannot be written.
    """
    write_atomically(path, packed_part(part))


def packed_part(part: Part) -> bytes:
    """A part as the bytes of its file."""
    import polars as pl

    packer = Packer()
    rows = [(e.position, packed_log(e.log), packer.outcome(e.outcome)) for e in part.entries]
    head = _Head(SCHEMA, part.place, part.share, part.perflog, list(packer.machines), len(rows), _hash(rows))
    types = {"position": pl.UInt64, "log": pl.Binary, "outcome": pl.Binary}
    file = io.BytesIO()
    frame = pl.DataFrame(rows, schema=types, orient="row")
    frame.write_parquet(file, metadata={KEY: msgspec.json.encode(head).decode()})
    return file.getvalue()


def is_part(log: LogFile) -> bool:
    """Whether a log is in truth a part: a Parquet file that perflog wrote a share of logs into."""
    if log.member or log.pipe is not None or log.stored is not None or not log.path.endswith(ENDING) or log.size < 0:
        return False
    try:
        return KEY in texts_of(Path(log.path))
    except (OSError, FooterError):
        return False


def read_part(path: Path) -> Part:
    """Read a part from its file.

    Raises:
        PerflogError: when it is damaged, unpacks to more than a part of its size may, or a later perflog wrote it.
    """
    import polars as pl

    try:
        texts = texts_of(path) if path.is_file() else {}  # a pipe would be waited for
    except (OSError, FooterError):
        texts = {}
    if KEY not in texts:
        raise PerflogError(
            f"{named(str(path))}: expected a part that `perflog extract --shard` wrote, found {_other(path)}"
        )
    head = _head(path, texts[KEY])
    try:
        footer = read_footer(path)
        if any(columns != _COLUMNS for columns in footer.columns):
            raise FooterError(f"expected the columns {', '.join(_COLUMNS)}")
        frame = pl.read_parquet(path, columns=list(_COLUMNS))
        # one long text may stand in every row, and takes its room once until Python's objects are made of it
        length = frame.select(pl.sum_horizontal(pl.col("log", "outcome").bin.size().cast(pl.UInt64).sum())).item()
        require_size(footer, int(length))
        rows = frame.rows()
    except TooLargeError as error:
        raise PerflogError(f"{named(str(path))}: expected a part within limits: {error}") from None
    except (OSError, FooterError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _damaged(path, str(error)) from None
    if len(rows) != head.rows or _hash(rows) != head.content:
        raise _damaged(path, f"it holds {len(rows)} logs, and not those {head.rows} that were written")
    try:
        entries = [Entry(position, *outcome_from(log, outcome, head.machines)) for position, log, outcome in rows]
    except (msgspec.MsgspecError, IndexError, ValueError, TypeError) as error:
        raise _damaged(path, str(error)) from None
    return Part(head.place, head.share, entries, head.perflog)


def _head(path: Path, text: str) -> _Head:
    try:
        version = msgspec.json.decode(text, type=_Version)
        if version.schema != SCHEMA:
            raise PerflogError(
                f"{named(str(path))}: expected a part of the form {SCHEMA}, found {named(version.schema)}, which "
                f"perflog {named(version.perflog)} wrote: this is perflog {__version__}; use one version for all parts"
            )
        return msgspec.json.decode(text, type=_Head)
    except msgspec.MsgspecError as error:
        raise _damaged(path, str(error)) from None


def _damaged(path: Path, why: str) -> PerflogError:
    line = " ".join(why.split())
    return PerflogError(
        f"{named(str(path))}: this part is damaged ({named(line)}): make it again with `perflog extract --shard`"
    )


def _other(path: Path) -> str:
    """What a file is that is no part, in words."""
    if not path.is_file():
        return "no file" if not path.exists() else "no regular file"
    with path.open("rb") as file:
        begins = file.read(len(MAGIC))
    if begins != MAGIC:
        return "no Parquet file"
    return "a Parquet file of another kind, or one that was cut off"


def _hash(rows: Iterable[tuple[int, bytes, bytes]]) -> str:
    content = blake2b(digest_size=16)
    for position, log, outcome in rows:
        for piece in (b"%d" % position, log, outcome):
            content.update(b"%d:" % len(piece))
            content.update(piece)
    return content.hexdigest()


# ----------------------------------------------------------------------------------------------------
# What the parts of one place have in common.


def place_of(logs: Sequence[LogFile], options: Options, catalog: Catalog) -> Place:
    """All logs of a place, and how they are read."""
    return Place(listing_of(logs), len(logs), options, fingerprint(catalog))
