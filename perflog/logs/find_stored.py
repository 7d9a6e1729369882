"""Find logs on servers: the objects below an address, or a web server's file.

What counts is what counts in folders: the same names are passed over, and content tells what is an archive.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from perflog.errors import NoSuchPathError, PerflogError, UsageError
from perflog.logs.addresses import WEB, Address
from perflog.logs.archives import archive_in, archive_of
from perflog.logs.stored import THREADS, StoredObject
from perflog.logs.stores import GONE, NO_BUCKET, NO_RANGES, PAGE, Store, StoreError, Version
from perflog.logs.streams import HEAD, UnreadableError, compression_of


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
