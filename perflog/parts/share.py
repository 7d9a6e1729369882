"""Which logs of a place are one worker's: decided by their names alone, so that workers need not talk to each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from perflog.errors import UsageError
from perflog.logs.find import LogFile

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
        return [log for log in logs if _hash(log.path) % self.count == self.number - 1]


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


def _hash(path: str) -> int:
    return int.from_bytes(blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "big")
