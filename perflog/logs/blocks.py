"""A stream or a file in, blocks of whole lines out.

A file and a stream of the same bytes are cut at the same places: after the last line feed of the first ``block``
bytes; after the line, where it is longer than that; and a line longer than ``longest`` after its last ``\\r`` before
that limit. A part of a line that is longer than the limit and holds neither is left out whole, for a number cut in two
would be another one; so is what follows in a line of which a launcher's tag tells the rank.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from perflog.logs.streams import Read, RefusedError, UnreadableError

_CHUNK, _WINDOW = 256 << 10, 64 << 10
#: What may end a part of a line that is left out.
_LINE_END, _LINE_FEED = b"\r\n", b"\n"
#: So many of a file's first bytes tell whether it is what it was: logs begin with times, hosts or arguments.
_BEGINNING = 4096
#: A launcher's tag, which tells the rank of all of a line that it stands in (mpirun's), or that it begins.
_TAG = re.compile(rb"\]<std|\A(?:\[rank|\[default|\([^()\n]{0,60}\bpid=)")


class LeftOut:
    """The parts of lines that were left out because they are too long."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._count, self._size, self._first = 0, 0, 0

    def add(self, start: int, size: int) -> None:
        """Count one that begins at byte ``start`` of the text and has ``size`` bytes; none when it has none."""
        if not size:
            return
        self._first = self._first if self._count else start
        self._count, self._size = self._count + 1, self._size + size

    def tell(self) -> None:
        """Raise UnreadableError, with what was left out, if anything was: to be called at the end of the text."""
        if self._count:
            what = "a line is" if self._count == 1 else f"{self._count:,} lines are"
            raise UnreadableError(
                f"{what} longer than {self._longest:,} bytes and left out: {self._size:,} bytes, from byte "
                f"{self._first:,} of the text on"
            )


def blocks_of_stream(read: Read, block: int, longest: int) -> Iterator[bytes]:
    """Blocks of whole lines; what was read before damage comes before the error.

    Raises:
        UnreadableError: as ``read`` does; at the end, when lines were left out.
    """
    cutter = _Cutter(block, longest)
    while True:
        try:
            data = read(_CHUNK)
        except UnreadableError:
            yield from cutter.rest()
            raise
        if not data:
            break
        yield from cutter.blocks(data)
    yield from cutter.rest()
    cutter.left_out.tell()


class _Cutter:
    """Takes a text piece by piece and gives its blocks."""

    def __init__(self, block: int, longest: int) -> None:
        self._block, self._longest = block, longest
        self.left_out = LeftOut(longest)
        self._buffer = bytearray()
        self._searched = 0  # so many of the buffer's first bytes hold no line feed
        self._start = 0  # where the buffer begins in the text
        self._dropped = 0  # bytes of a part that is being left out, up to here
        self._until: bytes | None = None  # what ends that part

    def blocks(self, data: bytes) -> Iterator[bytes]:
        """The blocks that are complete now that these bytes follow."""
        self._buffer += data
        while self._until is not None or len(self._buffer) > self._block:
            if self._until is not None:
                if not self._drop(self._until):
                    return
                continue
            end = self._block_end()
            if end is None:
                self._searched = len(self._buffer)
                return
            if end:
                yield self._taken(end)

    def rest(self) -> Iterator[bytes]:
        """What is left at the end of the text."""
        if self._until is not None:
            self._end_drop()
        if self._buffer:
            yield self._taken(len(self._buffer))

    def _block_end(self) -> int | None:
        """Where the buffer's first block ends; None when more bytes are needed to tell, 0 when its line is left out."""
        buffer = self._buffer
        if self._searched <= self._block and (end := buffer.rfind(b"\n", self._searched, self._block) + 1):
            return end
        end = buffer.find(b"\n", max(self._searched, self._block), self._longest + 1) + 1
        if end or len(buffer) <= self._longest:
            return end or None
        end = buffer.rfind(b"\r", 0, self._longest + 1) + 1
        if end and not _TAG.search(buffer, 0, end):
            return end
        self._until = _LINE_END if not end else _LINE_FEED
        return end

    def _drop(self, until: bytes) -> bool:
        """Leave out the buffer up to the end of the part; False when the end is yet to come."""
        size = _first_of(until, self._buffer)
        self._dropped += size
        self._forget(size)
        if not self._buffer:
            return False
        self._end_drop()
        if self._buffer.startswith(b"\r"):
            self._forget(1)  # the line goes on: a line feed stays, so that lines keep their numbers
        return True

    def _end_drop(self) -> None:
        self.left_out.add(self._start - self._dropped, self._dropped)
        self._dropped, self._until = 0, None

    def _taken(self, end: int) -> bytes:
        with memoryview(self._buffer) as view:
            data = bytes(view[:end])
        self._forget(end)
        return data

    def _forget(self, size: int) -> None:
        del self._buffer[:size]
        self._start += size
        self._searched = 0


def ranges_of_file(descriptor: int, size: int, block: int, longest: int) -> Iterator[tuple[int, int]]:
    """The blocks of an open file of ``size`` bytes as ranges of bytes; only the bytes near their ends are read.

    Raises:
        UnreadableError: at the end, when lines were left out.
    """
    left_out = LeftOut(longest)
    start = 0
    while start < size:
        end, until = _range_end(descriptor, start, size, block, longest)
        if end > start:
            yield start, end
        start = end
        if until is not None:
            end = _first(descriptor, until, start, size)
            left_out.add(start, end - start)
            start = end + 1 if os.pread(descriptor, 1, end) == b"\r" else end
    left_out.tell()


def _range_end(descriptor: int, start: int, size: int, block: int, longest: int) -> tuple[int, bytes | None]:
    """Where the block ends that begins at ``start``, and what ends the part left out behind it (None: nothing is)."""
    if size - start <= block:
        return size, None
    if end := _after_last(descriptor, b"\n", start, start + block):
        return end, None
    limit = min(start + longest + 1, size)
    found = _first(descriptor, _LINE_FEED, start + block, limit)
    if found < limit:
        return found + 1, None
    if size - start <= longest:
        return size, None
    end = _after_last(descriptor, b"\r", start, limit)
    if not end:
        return start, _LINE_END
    return end, _LINE_FEED if _TAG.search(os.pread(descriptor, end - start, start)) else None


def _first(descriptor: int, wanted: bytes, low: int, high: int) -> int:
    """The first place in a range of a file where one of these bytes stands; ``high`` when there is none."""
    for start in range(low, high, _CHUNK):
        data = os.pread(descriptor, min(_CHUNK, high - start), start)
        place = _first_of(wanted, data)
        if place < len(data):
            return start + place
    return high


def _first_of(wanted: bytes, data: bytes | bytearray) -> int:
    """The first place where one of these bytes stands; the length of the data when there is none."""
    end = len(data)
    for byte in wanted:
        place = data.find(byte, 0, end)
        end = place if place >= 0 else end
    return end


def _after_last(descriptor: int, byte: bytes, low: int, high: int) -> int:
    """The place after the last such byte in a range of a file; 0 when there is none."""
    while high > low:
        begin = max(low, high - _WINDOW)
        found = os.pread(descriptor, high - begin, begin).rfind(byte)
        if found >= 0:
            return begin + found + 1
        high = begin
    return 0


class Opened(Struct, frozen=True):
    """A file as it was when it was opened: each block is read from this file, or not at all.

    ``device`` and ``number`` are its own for as long as it is open; ``beginning``: its first bytes.
    """

    path: str
    device: int
    number: int
    beginning: bytes

    @classmethod
    def of(cls, path: str, descriptor: int) -> Opened:
        """The file that is open. Raises OSError when it cannot be read."""
        status = os.fstat(descriptor)
        return cls(path, status.st_dev, status.st_ino, os.pread(descriptor, _BEGINNING, 0))


def read_range(file: Opened, start: int, end: int) -> bytes:
    """The bytes of a file from ``start`` to ``end``; safe in any thread, for it opens the file anew.

    Raises:
        RefusedError: when the system cannot read it.
        UnreadableError: when the file is another one, was written anew, or has become shorter; its ``data`` are those
            before.
    """
    parts: list[bytes] = []
    try:
        descriptor = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            _require_same(file, descriptor)
            while start < end and (data := os.pread(descriptor, end - start, start)):
                parts.append(data)
                start += len(data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RefusedError(error) from None
    data = parts[0] if len(parts) == 1 else b"".join(parts)
    if start < end:
        raise UnreadableError("the file became shorter while it was read", data)
    return data


def _require_same(file: Opened, descriptor: int) -> None:
    now = Opened.of(file.path, descriptor)
    if now.device == file.device and now.number == file.number:
        if now.beginning.startswith(file.beginning):
            return
        if file.beginning.startswith(now.beginning):
            raise UnreadableError("the file became shorter while it was read")
    raise UnreadableError("another file took the log's place while it was read, or it was written anew")
