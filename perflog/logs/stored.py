"""An object of a store: read whole, by ranges in order, or at any place.

Whatever its size, a few ranges of it are in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from perflog.logs.stores import NO_RANGES, Store, StoreError, Version
from perflog.logs.streams import Budget, Stream

#: Threads on which small objects are asked for before they are read (``docs/scale.md``).
THREADS = 16
#: The sizes of the ranges of a stream: small first, since its beginning may be all that is wanted, then the last one.
_RANGES = (64 << 10, 512 << 10, 4 << 20)
_RANGE = 8 << 20
#: So many ranges are asked for before they are wanted, once a stream is read on.
_AHEAD = 2
#: Reading at any place goes by windows of this size, of which so many are kept.
_WINDOW, _WINDOWS = 1 << 20, 4


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as it was when it was found."""

    store: Store = field(repr=False, compare=False)
    key: str
    version: Version
    in_ranges: bool = True

    @property
    def size(self) -> int:
        return self.version.size

    def body(self) -> bytes:
        """All of its bytes. Raises StoreError where they cannot be had."""
        return self.store.read(self.key, self.version) if self.size else b""

    def stream(self) -> Stream:
        """Its bytes in order, a few ranges in memory; its ``read`` raises StoreError where they cannot be had."""
        parts = _ranges_of(self) if self.in_ranges else self.store.parts(self.key, self.version)
        return Stream(_Pieces(parts).read, Budget(self.size))

    def head(self, size: int) -> bytes:
        """Its first bytes, at most so many. Raises StoreError where they cannot be had."""
        if not self.size:
            return b""
        if not self.in_ranges:
            return self.stream().peek(size)
        return self.store.read(self.key, self.version, (0, min(size, self.size)))

    def opened(self) -> Windows:
        """Its bytes at any place."""
        return Windows(self)

    def without_ranges(self) -> StoredObject:
        """The same object of a server that gives whole files only."""
        return replace(self, in_ranges=False)


class Windows:
    """An object's bytes at any place (:class:`perflog.logs.streams.RandomAccess`), for one thread."""

    def __init__(self, stored: StoredObject) -> None:
        self._stored = stored
        self._kept: dict[int, bytes] = {}

    @property
    def size(self) -> int:
        return self._stored.size

    def read_at(self, size: int, place: int) -> bytes:
        """At most ``size`` bytes from ``place`` on; fewer at the end. Raises StoreError where they cannot be had."""
        end = min(place + size, self.size)
        parts = []
        while place < end:
            start = place - place % _WINDOW
            piece = self._window(start)[place - start : end - start]
            parts.append(piece)
            place += len(piece)
        return b"".join(parts)

    def _window(self, start: int) -> bytes:
        data = self._kept.pop(start, None)
        if data is None:
            if not self._stored.in_ranges:
                raise StoreError(NO_RANGES, ": download the archive and name the file")
            span = (start, min(start + _WINDOW, self.size))
            data = self._stored.store.read(self._stored.key, self._stored.version, span)
        while len(self._kept) >= _WINDOWS:
            del self._kept[next(iter(self._kept))]
        self._kept[start] = data
        return data


class _Pieces:
    """Pieces of bytes, given out as they are asked for."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = memoryview(b"")
        self._fault: StoreError | None = None

    def read(self, size: int) -> bytes:
        if self._fault is not None:
            raise self._fault
        if not self._rest:
            try:
                self._rest = memoryview(next(self._parts, b""))
            except StoreError as error:
                self._fault = error
                raise
        data, self._rest = bytes(self._rest[:size]), self._rest[size:]
        return data


def _ranges_of(stored: StoredObject) -> Iterator[bytes]:
    """An object's bytes range by range; the next ones are asked for on threads once it is read on."""
    spans = deque(_spans(stored.size))
    for _ in _RANGES[:-1]:
        if spans:
            yield stored.store.read(stored.key, stored.version, spans.popleft())
    if not spans:
        return
    pool = ThreadPoolExecutor(_AHEAD)
    waiting: deque[Future[bytes]] = deque()
    try:
        while spans or waiting:
            while spans and len(waiting) < _AHEAD:
                waiting.append(pool.submit(stored.store.read, stored.key, stored.version, spans.popleft()))
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _spans(size: int) -> Iterator[tuple[int, int]]:
    start, sizes = 0, iter(_RANGES)
    while start < size:
        end = min(start + next(sizes, _RANGE), size)
        yield start, end
        start = end
