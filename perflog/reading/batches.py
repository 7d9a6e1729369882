"""Batches: the logs that one job reads, and what became of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from perflog.logs.find import LogFile

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Done(Struct, Generic[T], frozen=True):
    """A log that was read: what became of it; or a log that is too large for the batch, to be read in blocks."""

    size: int
    result: T | None = None
    large: LogFile | None = None


class Elsewhere(Protocol[T_co]):
    """Reads batches in another place than this process, for the thread that asks; many may ask at once."""

    def read(self, logs: Sequence[LogFile]) -> Sequence[T_co | None] | None:
        """What became of each log of a batch, None for one that is too large; None where it is to be read here."""


def batches(logs: Sequence[LogFile], most_bytes: int, most_logs: int) -> Iterator[list[LogFile]]:
    """Logs that are read by one job: so many of small ones, a large one alone, an archive's members together."""
    batch: list[LogFile] = []
    size = 0
    for (path, in_archive), group in groupby(logs, key=lambda log: (log.path if log.member else "", bool(log.member))):
        for log in group:
            full = size + max(log.size, 0) > most_bytes or len(batch) >= most_logs
            other = bool(batch) and (batch[-1].path != path if in_archive else bool(batch[-1].member))
            if batch and ((full and not in_archive) or other):
                yield batch
                batch, size = [], 0
            batch.append(log)
            size += max(log.size, 0)
    if batch:
        yield batch


def key_of(log: LogFile) -> tuple[str, str]:
    """What tells a log from others of a batch."""
    return log.path, log.member
