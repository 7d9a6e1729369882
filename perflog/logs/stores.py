"""A store asked for its objects: listed page by page, read whole or by ranges; each error in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Any

from perflog.logs.addresses import WEB, Address, is_below
from perflog.logs.store_clients import client_of, library
from perflog.logs.store_faults import CHANGED, CUT, DOWN, OUTAGES, StoreError, fault_of

#: So many objects are listed at once; a server gives no more.
PAGE = 1_000
#: Files of facts about the logs beside and below them.
FACTS = ("machine.json", "scaling.json")
#: After so many outages in a row a server is asked no more.
_MOST_OUTAGES = 64


@dataclass(frozen=True, slots=True)
class Version:
    """Which bytes an object held when it was found."""

    size: int
    tag: str
    modified: datetime | None

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> Version:
        """The version that a store's answer tells."""
        return cls(int(meta["size"]), _tag(str(meta.get("e_tag") or "")), meta.get("last_modified"))

    def is_of(self, meta: Mapping[str, Any]) -> bool:
        """Whether an answer tells of the same bytes."""
        other = Version.of(meta)
        if self.tag and other.tag:
            return (self.size, self.tag) == (other.size, other.tag)
        return (self.size, self.modified) == (other.size, other.modified)

    @property
    def conditions(self) -> dict[str, Any]:
        """What a request says so that no other version answers it; a weak tag never holds there (RFC 9110, 13.1.1)."""
        return {"if_match": self.tag} if self.tag and not self.tag.startswith("W/") else {}


def _tag(text: str) -> str:
    """An entity tag as headers have it, in quotes: Azure's listings leave them out."""
    return text if not text or text.endswith('"') else f'"{text}"'


class Store:
    """A bucket, a container or a web server's file. Threads may share it."""

    def __init__(self, address: Address) -> None:
        """Make ready to ask the store that an address names; nothing is asked yet.

        Raises:
            UsageError: for an address or an environment that cannot be understood.
            StoreError: where no credentials are found.
        """
        self._client = client_of(address)
        self._library = library()
        self._outages = 0
        self._lock = Lock()
        self._address = address
        self._listed: list[str] = []
        self._facts: set[str] = set()

    def content_beside(self, folder: str, name: str) -> bytes | None:
        """What an object of facts holds that stands beside logs; None where there is none, or none may be read.

        What was listed is not asked for again, so that many folders cost no requests.

        Args:
            folder: the folder's address in this store.
            name: one of :data:`FACTS`.

        Raises:
            StoreError: when the server fails.
        """
        if self._address.scheme in WEB:
            return None
        key = Address(f"{folder}/{name}").key
        if any(is_below(key, listed) or not listed for listed in self._listed) and key not in self._facts:
            return None
        try:
            return self.read(key)
        except StoreError as error:
            if error.is_outage:
                raise
            return None

    def pages(self, folder: str) -> Iterator[list[tuple[str, Version]]]:
        """The keys of the objects below a folder and their versions, page by page.

        Raises:
            StoreError: when a page cannot be had.
        """
        listing = self._asked(lambda: self._library.list(self._client, folder or None, chunk_size=PAGE))
        while page := self._asked(lambda: next(listing, None)):
            self._facts.update(meta["path"] for meta in page if meta["path"].rpartition("/")[2] in FACTS)
            yield [(str(meta["path"]), Version.of(meta)) for meta in page]
        self._listed.append(folder)

    def version(self, key: str, whole: bool = False) -> Version:
        """The version of an object as it is now.

        Args:
            whole: ask by a request for the object, of which nothing is taken: a signature may allow nothing else.

        Raises:
            StoreError: when it cannot be told.
        """
        if whole:
            return Version.of(self._asked(lambda: self._library.get(self._client, key)).meta)
        return Version.of(self._asked(lambda: self._library.head(self._client, key)))

    def read(self, key: str, version: Version | None = None, span: tuple[int, int] | None = None) -> bytes:
        """The bytes of an object, or those of a range of it (start, end).

        Args:
            version: of which they must be; None: any.

        Raises:
            StoreError: when they cannot be had, all of them and of that version.
        """
        options: dict[str, Any] = {} if version is None else version.conditions
        if span is not None:
            options["range"] = span

        def ask() -> bytes:
            answer = self._library.get(self._client, key, options=options)
            if version is not None and not version.is_of(answer.meta):
                raise StoreError(CHANGED)
            return bytes(answer.bytes())

        data: bytes = self._asked(ask)
        size = None if version is None else version.size
        wanted = size if span is None else span[1] - span[0]
        if wanted is not None and len(data) != wanted:
            raise StoreError(CUT)
        return data

    def parts(self, key: str, version: Version) -> Iterator[bytes]:
        """The bytes of an object in order, by one request: for servers that give no ranges.

        Raises:
            StoreError: when they cannot be had, all of them and of that version.
        """
        answer = self._asked(lambda: self._library.get(self._client, key))
        if not version.is_of(answer.meta):
            raise StoreError(CHANGED)
        stream, size = answer.stream(min_chunk_size=1 << 20), 0
        while (data := self._asked(lambda: next(stream, None))) is not None:
            size += len(data)
            yield bytes(data)
        if size != version.size:
            raise StoreError(CUT)

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """What a request gives; raises StoreError where it fails, and where too many failed before it."""
        if self._outages >= _MOST_OUTAGES:
            raise StoreError(DOWN, f" for {_MOST_OUTAGES} requests in a row: it is asked no more")
        try:
            answer = ask()
        except StoreError:
            raise
        except (self._library.exceptions.BaseError, FileNotFoundError, OSError, ValueError) as error:
            fault = fault_of(error)
            with self._lock:
                self._outages = self._outages + 1 if fault.kind in OUTAGES else 0
            raise fault from None
        if self._outages:
            with self._lock:
                self._outages = 0
        return answer
