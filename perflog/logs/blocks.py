"""A stream or a file in, blocks of whole lines out.

A file and a stream of the same bytes are cut at the same places: after the last line feed of the first ``block``
bytes; after the line, where it is longer than that; and a line longer than ``longest`` after its last ``\\r`` before
that limit, or at the limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from perflog.logs.streams import Read, UnreadableError

_CHUNK, _WINDOW = 256 << 10, 64 << 10


def blocks_of_stream(read: Read, block: int, longest: int) -> Iterator[bytes]:
    """Blocks of whole lines; what was read before damage comes before the error.

    Raises:
        UnreadableError: as ``read`` does.
    """
    buffer = bytearray()
    searched = 0
    while True:
        try:
            data = read(_CHUNK)
        except UnreadableError:
            if buffer:
                yield bytes(buffer)
            raise
        if not data:
            break
        buffer += data
        while len(buffer) > block:
            end = _line_end(buffer, searched, block, longest)
            if not end:
                searched = len(buffer)
                break
            yield _taken(buffer, end)
            searched = 0
    if buffer:
        yield bytes(buffer)


def _line_end(buffer: bytearray, searched: int, block: int, longest: int) -> int:
    """Where the block that the buffer begins with ends; 0 when more bytes are needed to tell.

    ``searched``: so many of the buffer's first bytes hold no line feed.
    """
    if searched <= block and (end := buffer.rfind(b"\n", searched, block) + 1):
        return end
    end = buffer.find(b"\n", max(searched, block), longest) + 1
    if end or len(buffer) <= longest:
        return end
    return buffer.rfind(b"\r", 0, longest) + 1 or longest


def _taken(buffer: bytearray, end: int) -> bytes:
    with memoryview(buffer) as view:
        data = bytes(view[:end])
    del buffer[:end]
    return data


def ranges_of_file(descriptor: int, size: int, block: int, longest: int) -> Iterator[tuple[int, int]]:
    """The blocks of an open file of ``size`` bytes as ranges of bytes; only the bytes near their ends are read."""
    start = 0
    while start < size:
        end = _range_end(descriptor, start, size, block, longest)
        yield start, end
        start = end


def _range_end(descriptor: int, start: int, size: int, block: int, longest: int) -> int:
    if size - start <= block:
        return size
    if end := _after_last(descriptor, b"\n", start, start + block):
        return end
    limit = min(start + longest, size)
    for low in range(start + block, limit, _WINDOW):
        found = os.pread(descriptor, min(_WINDOW, limit - low), low).find(b"\n")
        if found >= 0:
            return low + found + 1
    if limit == size:
        return size
    return _after_last(descriptor, b"\r", start, limit) or limit


def _after_last(descriptor: int, byte: bytes, low: int, high: int) -> int:
    """The place after the last such byte in a range of a file; 0 when there is none."""
    while high > low:
        begin = max(low, high - _WINDOW)
        found = os.pread(descriptor, high - begin, begin).rfind(byte)
        if found >= 0:
            return begin + found + 1
        high = begin
    return 0


def read_range(path: str, start: int, end: int) -> bytes:
    """The bytes of a file from ``start`` to ``end``; safe in any thread, for it opens the file anew.

    Raises:
        UnreadableError: when the file cannot be read any more or has become shorter; its ``data`` are those before.
    """
    parts: list[bytes] = []
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            while start < end and (data := os.pread(descriptor, end - start, start)):
                parts.append(data)
                start += len(data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UnreadableError(error.strerror or str(error), b"".join(parts)) from None
    data = parts[0] if len(parts) == 1 else b"".join(parts)
    if start < end:
        raise UnreadableError("the file became shorter while it was read", data)
    return data
