"""Objects of stores and files of web servers: found below an address, read whole, by ranges in order, or at any place.

What counts is what counts in folders: the same names are passed over, and content tells what is an archive. Whatever an
object's size, a few ranges of it are in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from perflog.errors import NoSuchPathError, PerflogError, UsageError
from perflog.logs.addresses import WEB, Address
from perflog.logs.archives import archive_in, archive_of
from perflog.logs.stores import GONE, NO_BUCKET, NO_RANGES, PAGE, Store, StoreError, Version
from perflog.logs.streams import HEAD, Budget, Stream, UnreadableError, compression_of, stream_of

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
        return stream_of(parts, Budget(self.size))

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


# ----------------------------------------------------------------------------------------------------
# Finding them.


class ListingError(PerflogError):
    """A server that cannot be asked what it holds: nothing is known of the logs that were named."""

    code = "server"


def stored_logs(address: Address) -> Iterator[tuple[str, StoredObject]]:
    """(the address, the object) of every object at or below an address, in the store's order.

    Raises:
        NoSuchPathError: where nothing is there.
        UsageError: for an address that cannot be understood.
        ListingError: where the server does not tell what is there.
    """
    try:
        yield from _of_web(address) if address.scheme in WEB else _of_store(address)
    except StoreError as error:
        kind = NoSuchPathError if error.kind in (GONE, NO_BUCKET) else ListingError
        raise kind(f"cannot read {str(address)!r}: {error}") from None


def _of_web(address: Address) -> Iterator[tuple[str, StoredObject]]:
    if address.is_cut:
        raise UsageError(f"{str(address)!r}: expected the whole address; its query was left out where it was shown")
    path = address.partition("?")[0]
    if path.endswith("/") or not address.key:
        raise UsageError(
            f"{str(address)!r}: expected the address of one file, since the folders of a web server cannot be listed: "
            "name each file, or an object store such as s3://bucket/logs/"
        )
    store = Store(address)
    stored = StoredObject(store, "", store.version("", whole=True))
    try:
        stored.head(HEAD)
    except StoreError as error:
        if error.kind != NO_RANGES:
            raise
        stored = stored.without_ranges()
    yield address, stored


def _of_store(address: Address) -> Iterator[tuple[str, StoredObject]]:
    store = Store(address)
    folder = address.key.strip("/")
    if folder and not address.endswith("/"):
        version = _version(store, folder)
        if version is not None and version.size:
            yield address, StoredObject(store, folder, version)
            return
    is_empty = True
    for key, version in _objects(store, folder):
        is_empty = False
        yield f"{address.scheme}://{address.host}/{key}", StoredObject(store, key, version)
    if is_empty:
        raise NoSuchPathError(f"no object {str(address)!r}, and none below it")


def _version(store: Store, key: str) -> Version | None:
    """An object's version; None where there is none, or where that must not be told: the listing tells more."""
    try:
        return store.version(key)
    except StoreError as error:
        if error.is_outage:
            raise
        return None


def _objects(store: Store, folder: str) -> Iterator[tuple[str, Version]]:
    """The objects below a folder, without the empty ones that stand for a folder (``logs/4n8g/``)."""
    held: tuple[str, Version] | None = None
    for page in store.pages(folder):
        for key, version in page:
            if held is not None and not key.startswith(f"{held[0]}/"):
                yield held
            held = None
            if version.size:
                yield key, version
            elif key != folder:
                held = key, version
    if held is not None:
        yield held


def are_archives(objects: list[StoredObject]) -> Iterator[bool]:
    """Whether each object is an archive; False for one that cannot be had, which reading it tells."""
    with ThreadPoolExecutor(THREADS, thread_name_prefix="perflog-store") as pool:
        yield from pool.map(_is_archive, objects)


def _is_archive(stored: StoredObject) -> bool:
    try:
        head = stored.head(HEAD)
        if compression_of(head) is None:
            return bool(archive_of(head))
        return bool(archive_in(stored.stream())[0])
    except UnreadableError:
        return False


def in_pages(found: Iterator[tuple[str, StoredObject]]) -> Iterator[list[tuple[str, StoredObject]]]:
    """The objects, so many at a time that their beginnings can be asked for together."""
    page: list[tuple[str, StoredObject]] = []
    for pair in found:
        page.append(pair)
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page
