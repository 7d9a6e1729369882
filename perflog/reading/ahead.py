"""Small objects of stores asked for ahead of their reading, on threads; nothing where all logs are files.

What is asked for when a batch of logs is put together is there when its turn comes, so that no thread that matches
waits for a server, and no more than the batches under way are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from perflog.logs.find import LogFile

#: What gives the bytes of an object, by its address; it raises what reading the object raises.
Bodies = MutableMapping[str, Callable[[], bytes]]


class Ahead:
    """Nothing to ask for: all logs are files."""

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *_: object) -> None:
        """End."""

    def bodies(self, logs: Sequence[LogFile]) -> Bodies:  # noqa: ARG002 - those of stores have some
        """What gives the bytes of the small objects among logs."""
        return {}


class _OfStores(Ahead):
    """Objects of stores, asked for on threads of its own."""

    def __init__(self, most: int) -> None:
        from perflog.logs.stored import THREADS

        self._most = most
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="perflog-store")

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def bodies(self, logs: Sequence[LogFile]) -> Bodies:
        jobs: dict[str, Future[bytes]] = {}
        for log in logs:
            if log.stored is not None and not log.member and log.size <= self._most:
                jobs[log.path] = self._pool.submit(log.stored.body)
        return {path: job.result for path, job in jobs.items()}


def ahead_of(logs: Sequence[LogFile], most: int) -> Ahead:
    """What asks for the objects among logs that have at most so many bytes."""
    return _OfStores(most) if any(log.stored is not None for log in logs) else Ahead()
