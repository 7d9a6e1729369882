"""A part: what one worker read of its share of the logs, in a Parquet file of its own."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from perflog._version import __version__
from perflog.errors import PerflogError, UsageError
from perflog.escaping import named
from perflog.files import write_atomically
from perflog.formats.catalog import Catalog, fingerprint
from perflog.logs.find import LogFile
from perflog.parts import ENDING
from perflog.parts.footer import MAGIC, FooterError, TooLargeError, read_footer, require_size, texts_of
from perflog.parts.rows import SHARED, Packer, Row, Unpacker
from perflog.runs.machine import Machine
from perflog.runs.run import Outcome, Run, Skipped
from perflog.settings.options import Options

if TYPE_CHECKING:
    import polars as pl

# ----------------------------------------------------------------------------------------------------
# Which logs of a place are one worker's: decided by their names alone, so that workers need not talk to each other.

_SHARE = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class Share:
    """The share ``number`` (from 1) of ``count``."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def of(self, logs: Iterable[LogFile]) -> list[LogFile]:
        """The logs of this share, in their order. The members of an archive stay together: it is read once."""
        return [log for log in logs if _hash_of(log.path) % self.count == self.number - 1]


def share_of(text: str) -> Share:
    """A share as users write it: ``3/10`` is the third of ten.

    Raises:
        UsageError: for any other text.
    """
    match = _SHARE.fullmatch(text.strip())
    share = Share(int(match[1]), int(match[2])) if match else None
    if share is None or not 1 <= share.number <= share.count:
        raise UsageError(f"--shard {text!r}: expected the number of a share and how many there are, such as 3/10")
    return share


def listing_of(logs: Sequence[LogFile]) -> str:
    """What tells one listing of logs from another: a hash of their names, places and sizes, in their order."""
    listing = blake2b(digest_size=16)
    for log in logs:
        listing.update(repr((log.path, log.member, log.given, log.size)).encode("utf-8", "surrogatepass"))
    return listing.hexdigest()


def _hash_of(path: str) -> int:
    return int.from_bytes(blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "big")


# ----------------------------------------------------------------------------------------------------
# The file: a head, and a table whose rows are runs.

#: The form of the file, and the key of a Parquet file's metadata that it stands under.
SCHEMA, KEY = "perflog/part/3", "perflog"
#: Stands for the length of a text that is not there.
_NULL = (1 << 32) - 1
#: So many rows are hashed, and made runs of, at once.
_SLICE = 20_000


@dataclass(frozen=True, slots=True)
class Place:
    """What must be the same for all parts of one place.

    Attributes:
        listing: a hash of all logs' names and sizes (:func:`listing_of`).
        logs: how many there are, in all shares together.
        options: how numbers are made.
        parsers: a hash of the parsers in force.
    """

    listing: str
    logs: int
    options: Options
    parsers: str


def place_of(logs: Sequence[LogFile], options: Options, catalog: Catalog) -> Place:
    """All logs of a place, and how they are read."""
    return Place(listing_of(logs), len(logs), options, fingerprint(catalog))


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a place's logs that was read, as the table of its file (docs/architecture.md).

    Attributes:
        rows: what :class:`perflog.parts.rows.Row` names, with a column ``new_…`` of records for each that is shared.
        machines: those that the rows name.
        perflog: the version that read it.
    """

    place: Place
    share: Share
    rows: pl.DataFrame
    machines: Sequence[Machine]
    perflog: str = __version__

    @property
    def logs(self) -> int:
        """How many logs it holds."""
        return self.rows["position"].n_unique()

    def outcomes(self) -> Iterator[tuple[int, Run | Skipped]]:
        """(the position of a log among all of the place, one of its runs or why it has none), a row each.

        Raises:
            msgspec.MsgspecError, IndexError, ValueError, TypeError, AttributeError: where the rows are none that were
                written.
        """
        unpacker = Unpacker({name: self.rows[f"new_{name}"].drop_nulls().to_list() for name in SHARED}, self.machines)
        for rows in self.rows.select(Row._fields).iter_slices(_SLICE):
            yield from unpacker.outcomes(rows.iter_rows())


def part_from(place: Place, share: Share, outcomes: Iterable[tuple[int, LogFile, Outcome]]) -> Part:
    """A part of what became of logs, each with its position among all of the place."""
    import polars as pl

    packer = Packer()
    rows = [row for position, log, outcome in outcomes for row in packer.rows(position, log, outcome)]
    rows.sort(key=lambda row: row.position)
    records = {f"new_{name}": pl.Series([*known], dtype=pl.Binary) for name, known in packer.records.items()}
    columns = {name: series.extend_constant(None, len(rows) - len(series)) for name, series in records.items()}
    return Part(place, share, pl.DataFrame(rows, _types(), orient="row").with_columns(**columns), packer.machines)


def _types() -> dict[str, pl.DataType]:
    """The types of the columns that :class:`perflog.parts.rows.Row` names."""
    import polars as pl

    wide, packed = {"position": pl.UInt64(), "size": pl.Int64()}, ("path", "member", "numbers")
    return {name: pl.Binary() if name in packed else wide.get(name, pl.Int32()) for name in Row._fields}


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


#: All columns of a part's file.
_COLUMNS = (*Row._fields, *(f"new_{name}" for name in SHARED))


def write_part(path: Path, part: Part) -> None:
    """Write a part to a file.

    Raises:
        PerflogError: when it cannot be written.
    """
    write_atomically(path, packed_part(part))


def packed_part(part: Part) -> bytes:
    """A part as the bytes of its file."""
    rows = part.rows
    head = _Head(SCHEMA, part.place, part.share, part.perflog, list(part.machines), rows.height, _content_of(rows))
    file = io.BytesIO()
    rows.write_parquet(file, metadata={KEY: msgspec.json.encode(head).decode()})
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
        PerflogError: when it is damaged, unpacks to more than a part of its size may, or another perflog wrote it.
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
        rows = pl.read_parquet(path, columns=list(_COLUMNS))
        require_size(footer, _size_of(rows))
    except TooLargeError as error:
        raise PerflogError(f"{named(str(path))}: expected a part within limits: {error}") from None
    except (OSError, FooterError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise damaged(path, error) from None
    if rows.height != head.rows or _content_of(rows) != head.content:
        raise damaged(path, f"it holds {rows.height} rows, and not those {head.rows} that were written")
    return Part(head.place, head.share, rows, head.machines, head.perflog)


def _size_of(rows: pl.DataFrame) -> int:
    """The bytes of all rows' texts: each takes its room once until Python's objects are made of it, or it is written.

    Raises:
        FooterError: where a row names a record that is not there.
    """
    import polars as pl

    if rows.schema != {**_types(), **{f"new_{name}": pl.Binary() for name in SHARED}}:
        raise FooterError("its columns are of other types")
    size = rows.select(pl.sum_horizontal(pl.col("path", "member", "numbers").bin.size().cast(pl.UInt64).sum())).item()
    for name in SHARED:
        lengths = rows[f"new_{name}"].bin.size()
        numbers = rows[name].drop_nulls().to_numpy()
        if len(numbers) < rows.height or (numbers >= lengths.count()).any():
            raise FooterError("a row names a record that is not there")
        size += int(lengths.fill_null(0).to_numpy()[numbers[numbers >= 0]].sum(dtype="u8"))
    return int(size)


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
        raise damaged(path, error) from None


def damaged(path: Path, why: object) -> PerflogError:
    """The error of a part that is no more what was written."""
    line = " ".join(str(why).split())
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


def _content_of(rows: pl.DataFrame) -> str:
    """A hash of all that a part's rows hold, column by column, whatever the file packs it as."""
    import polars as pl

    content = blake2b(digest_size=16)
    for part in rows.iter_slices(_SLICE):
        for series in part:
            is_text = series.dtype == pl.Binary
            numbers = series.bin.size().fill_null(_NULL) if is_text else series
            content.update(numbers.to_numpy().tobytes())
            if is_text:
                content.update(b"".join(series.drop_nulls().to_list()))
    return content.hexdigest()
