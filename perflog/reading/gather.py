"""Small logs put behind each other in one buffer, so that they are matched together without a copy."""

from __future__ import annotations

import stat
import threading
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from perflog.logs.binary import is_plainly_text, why_no_text
from perflog.logs.containers import BEGINNING, UnreadableError, is_plain, read_into
from perflog.logs.find import LogFile
from perflog.matching import Texts
from perflog.reading.faults import reason_of
from perflog.reading.files import read_texts
from perflog.reading.reading import Reading

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
            return is_plain(beginning)
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
