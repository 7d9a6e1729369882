"""A part: what one worker read of its share of the logs, in a Parquet file of its own."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from perflog._version import __version__
from perflog.errors import PerflogError
from perflog.escaping import named
from perflog.files import write_atomically
from perflog.logs.find import LogFile
from perflog.parts import ENDING
from perflog.parts.footer import MAGIC, FooterError, TooLargeError, read_footer, require_size, texts_of
from perflog.parts.outcomes import Packer, outcome_from, packed_log
from perflog.parts.share import Share
from perflog.runs.machine import Machine
from perflog.runs.run import Outcome
from perflog.settings.options import Options

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
