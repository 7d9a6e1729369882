"""Small logs put behind each other in one buffer, so that they are matched together without a copy."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct, field

from perflog.errors import REFUSED, PerflogError, refused_by_system
from perflog.formats.catalog import Catalog
from perflog.logs.containers import BEGINNING, Load, UnreadableError, is_plain, read_into
from perflog.logs.find import LogFile
from perflog.logs.unwrap import ONLY_BLANKS, is_plainly_text, why_no_text
from perflog.matching import Batch, Engine, Texts
from perflog.matching.library import available, library
from perflog.reading.reading import Reading

# ----------------------------------------------------------------------------------------------------
# Many small files read in one call: by the compiled library, without Python's lock; where it is not at hand, none.
#
# Each file that it does not read is for :mod:`perflog.logs`, which knows why, and what else a file may be.


def read_texts(paths: Sequence[str], buffer: bytearray, start: int) -> list[int]:
    """Read plain text files behind each other into a buffer from ``start`` on, as far as there is room.

    Returns:
        Each file's size; -1 for one that was not read: it is empty, may be something else than plain text, does not
        fit, changes while it is read or cannot be read. Those that were read lie side by side.
    """
    names = b"".join(os.fsencode(path) + b"\x00" for path in paths)
    if available() or names.count(b"\x00") != len(paths):
        return [-1] * len(paths)
    sizes = np.empty(len(paths), dtype=np.int64)
    room = np.frombuffer(buffer, dtype=np.uint8)[start:]
    library().pf_read(names, len(paths), room.ctypes.data, len(room), sizes.ctypes.data)
    return sizes.tolist()


# ----------------------------------------------------------------------------------------------------
# The last resort: an error that nobody foresaw, while one log is read, becomes that log's reason.

#: What ends the command whatever it was reading, and what the user can mend, which is no matter of one log.
_ENDS = (KeyboardInterrupt, SystemExit, GeneratorExit, PerflogError)
#: An error's own text is cut at so many characters: it may quote the log.
_LONGEST = 200


def reason_of(error: BaseException, doing: str = "this log was read") -> str:
    """What is said of a log that could not be read to its end because of the system, or an error in the program.

    Every error counts, those that are no :class:`Exception` too: polars panics with such a one. ``PERFLOG_DEBUG``
    lets the error through, so that its traceback is seen.

    Args:
        doing: what was done when it failed.

    Raises:
        BaseException: the error itself, where it ends the command, can be mended by the user, or is asked for.
    """
    if isinstance(error, _ENDS) or os.environ.get("PERFLOG_DEBUG"):
        raise error
    if refusal := refused_by_system(error):
        return f"{REFUSED}{refusal}"
    text = " ".join(str(error).split())[:_LONGEST]
    name = type(error).__name__ + (f": {text}" if text else "")
    return f"internal error while {doing}, please report it: {name} (PERFLOG_DEBUG=1 shows where)"


_HEAD = 8192


class Gathered(Struct):
    """Texts of small logs in one buffer, and the readings that they are for."""

    buffer: bytearray
    readings: list[Reading] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.ends[-1] if self.ends else 0

    def texts(self) -> Sequence[bytes]:
        return Texts(self.buffer, self.ends)

    def clear(self) -> None:
        self.readings, self.ends = [], []

    def add_texts(self, readings: Sequence[Reading]) -> list[bool]:
        """Read plain text files in behind the others, all at once; whether each is gathered now, (readings,)."""
        sizes = read_texts([reading.log.path for reading in readings], self.buffer, self.size)
        start = self.size
        gathered = [size > 0 for size in sizes]
        for place, (reading, size) in enumerate(zip(readings, sizes, strict=True)):
            if size <= 0:
                continue
            text, end = slice(start, start + size), self.size + size
            start += size
            if not self._is_plain(reading, text):
                # wrapped by a collector, or in another encoding: open_small reads it
                gathered[place] = bool(reading.problem)
                continue
            if text.stop != end:
                self.buffer[self.size : end] = self.buffer[text]
            reading.bytes = size
            self.readings.append(reading)
            self.ends.append(end)
        return gathered

    def _is_plain(self, reading: Reading, text: slice) -> bool:
        try:
            with memoryview(self.buffer) as view:
                beginning = bytes(view[text.start : min(text.stop, text.start + BEGINNING)])
            return is_plain(beginning, reading.log.place)
        except BaseException as error:  # the other texts of the batch are read all the same
            reading.give_up(reason_of(error))
            return False

    def add_file(self, reading: Reading) -> bool:
        """Read a plain file in behind the others; False when it is not plain or does not fit.

        A file that is no text sets its reading's problem and is not gathered.

        Raises:
            UnreadableError: when the file cannot be read.
        """
        start = self.size
        with memoryview(self.buffer) as view, view[start:] as rest:
            count = read_into(reading.log, rest)
        if count < 0:
            return False
        reading.bytes = count
        if not is_plainly_text(bytes(self.buffer[start : start + min(count, _HEAD)])):
            reading.problem = why_no_text(bytes(self.buffer[start : start + count]))
        if not reading.problem:
            self.readings.append(reading)
            self.ends.append(start + count)
        return True

    def add_text(self, reading: Reading, content: bytes | UnreadableError) -> bool:
        """Put a text behind the others; False, with the reading's problem set, when it is none.

        Of a damaged container what could be read counts, with a note.
        """
        if isinstance(content, UnreadableError):
            if not content.data:
                reading.problem, reading.failed = str(content), not _is_special(reading.log)
                return False
            reading.end_early(content)
            content = content.data
        reading.bytes = len(content)
        reading.problem = why_no_text(content)
        if reading.problem:
            return False
        self.buffer[self.size : self.size + len(content)] = content
        self.readings.append(reading)
        self.ends.append(self.size + len(content))
        return True


def _is_special(log: LogFile) -> bool:
    """Whether a file is a pipe, a socket or a device, and so no log; a link to nothing may be the name of one."""
    try:
        mode = Path(log.path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


class Buffers(threading.local):
    """A buffer for each thread, made when it is first asked for and used again for the next logs."""

    def __init__(self, size: int) -> None:
        self.buffer = bytearray(size)

    def gathered(self) -> Gathered:
        return Gathered(self.buffer)


# ----------------------------------------------------------------------------------------------------
# A large log in blocks: each is matched by itself, and folded in its turn.

#: So much of the beginning of a log that no parser measures is kept, to infer its format from.
_BEGINNING = 4 << 20


class Part(Struct, frozen=True):
    """A block that is yet to be read, whether it is its log's first or last, and whether its text is hashed."""

    load: Load
    first: bool
    last: bool
    hashed: bool


class Block(Struct, frozen=True):
    """A block of a large log: its size, why it is no text, its matches, and of the first block the first bytes.

    ``text``: the bytes that are to be hashed, in the order of blocks.
    """

    size: int
    problem: str
    batch: Batch | None
    beginning: bytes = b""
    text: bytes = b""


def parts_of(loads: Iterator[Load], reading: Reading) -> Iterator[Part]:
    """A log's blocks, up to its end or to where its container is broken, which is noted."""
    load = _next(loads, reading)
    first = True
    while load is not None:
        following = _next(loads, reading)
        yield Part(load, first, following is None, reading.hashed is not None)
        load, first = following, False


def _next(loads: Iterator[Load], reading: Reading) -> Load | None:
    try:
        return next(loads, None)
    except UnreadableError as error:
        reading.end_early(error)
    return None


def fold_block(reading: Reading, block: Block) -> bool:
    """Fold a block in; False when the log is no text."""
    reading.bytes += block.size
    if block.batch is None:
        reading.problem = block.problem
        return False
    reading.beginning = reading.beginning or block.beginning
    reading.hash_text(block.text)
    reading.add(*block.batch.of_text(0))
    return True


def end(reading: Reading, catalog: Catalog) -> None:
    """Settle a log of which all blocks are folded in; one of no bytes, or of which nothing is left, has a problem."""
    reading.settle(catalog)
    if reading.measures:
        reading.beginning = b""
    if reading.problem == ONLY_BLANKS or (not reading.bytes and not reading.problem):
        if reading.notes:  # what was left out, or lost, was all that it held
            reading.give_up(reading.notes.pop())
        else:
            reading.problem = reading.problem or "empty file"


def match_block(engine: Engine, part: Part) -> Block:
    """Read a block and find its matches."""
    data = part.load()
    problem = why_no_text(data) if part.first else ""
    beginning = data[:_BEGINNING] if part.first else b""
    batch = None if problem else engine.match([data], at_end=part.last)
    return Block(len(data), problem, batch, beginning, data if part.hashed else b"")
