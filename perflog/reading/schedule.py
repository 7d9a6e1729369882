"""The reading stage, the only one that opens logs: many small logs at a time, large ones in blocks, on two threads.

Polars releases the interpreter lock while it matches, so threads are enough (``docs/performance.md``).
"""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import TypeVar

from perflog.formats.catalog import Catalog
from perflog.logs.clean import clean_block
from perflog.logs.containers import BLOCK, Load, UnreadableError, blocks_of, read_small
from perflog.logs.find import LogFile
from perflog.matching.claim import Block, match_texts
from perflog.reading.reading import ENOUGH_TRIED, Reading

T = TypeVar("T")

#: Logs up to this size are read whole and matched together with others.
SMALL = 4 << 20
#: How many bytes of small logs are matched together, and how many logs at most.
BATCH, BATCH_LOGS = 8 << 20, 400
#: Every byte of the first blocks of a log is searched for all formats; of later blocks, head and tail.
SEARCHED_WHOLE = 2
#: Jobs under way at once: enough for two cores, few enough for memory.
AHEAD = 3

Progress = Callable[[int], None]
_BLANK = b"\x00\r\n \t"
#: glibc's ``mallopt`` parameters (malloc.h), and the size below which blocks stay in its heap.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _HEAP = -1, -3, 256 << 20


def workers() -> int:
    """How many threads to read with (``PERFLOG_THREADS`` sets it)."""
    with suppress(ValueError):
        asked = int(os.environ.get("PERFLOG_THREADS", ""))
        if asked > 0:
            return asked
    return max(1, min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


@cache
def _keep_freed_memory() -> None:
    """Let glibc reuse the memory of one block for the next.

    By default every block is mapped anew and given back, and the kernel clears its pages each time: a tenth of
    the time of a large log.
    """
    with suppress(OSError, AttributeError, TypeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, _HEAP)
        libc.mallopt(_M_TRIM_THRESHOLD, _HEAP)


def read_logs(
    logs: Sequence[LogFile], catalog: Catalog, finish: Callable[[Reading], T], as_printed: bool = False, progress: Progress | None = None
) -> Iterator[T]:
    """Read every log once and give each finished :class:`Reading` to ``finish``, in the order of ``logs``.

    A log that cannot be read becomes a reading with a ``problem``; it never stops the others.
    """
    tell = progress or (lambda _: None)
    if sum(log.size for log in logs) > BATCH:
        _keep_freed_memory()
    with ThreadPoolExecutor(workers()) as pool:
        waiting: deque[Future[list[tuple[T, int]]]] = deque()
        for batch in _batches(logs):
            if len(batch) == 1 and batch[0].size > SMALL:
                while waiting:
                    yield from _told(waiting.popleft(), tell)
                yield finish(_read_large(batch[0], catalog, pool, as_printed, tell))
                continue
            waiting.append(pool.submit(_read_batch, batch, catalog, finish, as_printed))
            if len(waiting) > AHEAD:
                yield from _told(waiting.popleft(), tell)
        while waiting:
            yield from _told(waiting.popleft(), tell)


def _told(job: Future[list[tuple[T, int]]], tell: Progress) -> Iterator[T]:
    for result, size in job.result():
        tell(size)
        yield result


def _batches(logs: Sequence[LogFile]) -> Iterator[list[LogFile]]:
    batch: list[LogFile] = []
    size = 0
    for log in logs:
        if log.size > SMALL:
            if batch:
                yield batch
            yield [log]
            batch, size = [], 0
            continue
        if batch and (size + log.size > BATCH or len(batch) >= BATCH_LOGS):
            yield batch
            batch, size = [], 0
        batch.append(log)
        size += max(log.size, 0)
    if batch:
        yield batch


def _read_batch(batch: list[LogFile], catalog: Catalog, finish: Callable[[Reading], T], as_printed: bool) -> list[tuple[T, int]]:
    readings = [Reading(log, as_printed) for log in batch]
    texts: list[bytes] = []
    owners: list[Reading] = []
    for reading in readings:
        text = _small_text(reading)
        if text is not None:
            texts.append(text)
            owners.append(reading)
    if texts:
        blocks, _ = match_texts(texts, catalog)
        for reading, (found, count) in zip(owners, blocks, strict=True):
            reading.add(found, count)
    return [(finish(reading), max(reading.log.size, 0)) for reading in readings]


def _small_text(reading: Reading) -> bytes | None:
    """The clean text of a small log; None, with the reading's problem set, when there is none."""
    try:
        data, damage = read_small(reading.log)
    except UnreadableError as error:
        reading.problem = str(error)
        return None
    if damage:
        reading.notes.append(damage)
    reading.bytes = len(data)
    reading.problem = _not_text(data)
    return None if reading.problem else clean_block(data)


def _not_text(data: bytes) -> str:
    """Why these bytes are no log; empty when they may be one."""
    if not data[:256].strip(_BLANK) and not data.strip(_BLANK):
        return "empty file" if not data else "nothing but blanks or NUL bytes"
    head = data[:65536].replace(b"\x00", b"")[:8192]
    if data[:4] in (b"\x89PNG", b"PK\x03\x04", b"\x7fELF", b"%PDF") or data[:3] == b"\xff\xd8\xff":
        return "binary file"
    odd = len(head.translate(None, bytes(range(32, 256)) + b"\t\n\r\x08\x0b\x0c\x1b"))
    nul = data[:8192].count(0)
    if odd > 0.05 * max(1, len(head)) or (nul > 0.05 * min(8192, len(data)) and odd > 0.01 * max(1, len(head))):
        return "binary file"
    return ""


def _read_large(log: LogFile, catalog: Catalog, pool: ThreadPoolExecutor, as_printed: bool, tell: Progress) -> Reading:
    """Fold a large log block by block; its blocks are matched ahead on the pool."""
    reading = Reading(log, as_printed)
    loads = blocks_of(log)
    seen: set[str] = set()
    excluded: frozenset[str] = frozenset()
    waiting: deque[Future[tuple[list[Block], set[str], int, int, str]]] = deque()
    number = 0
    try:
        while True:
            while len(waiting) < (AHEAD if number >= 1 else 1):
                try:
                    load = next(loads)
                except StopIteration:
                    break
                except UnreadableError as error:
                    reading.notes.append(str(error))
                    loads = iter(())
                    break
                last = number < SEARCHED_WHOLE
                waiting.append(pool.submit(_match_block, load, catalog, set(seen), excluded, last, number == 0))
                number += 1
            if not waiting:
                break
            blocks, found, count, size, problem = waiting.popleft().result()
            if problem:
                reading.problem = problem
                break
            seen |= found
            reading.bytes += size
            reading.add(blocks, count)
            excluded = _excluded(reading)
            tell(size)
    finally:
        for job in waiting:
            job.cancel()
    if not reading.bytes and not reading.problem:
        reading.problem = reading.notes.pop() if reading.notes else "empty file"
    return reading


def _match_block(
    load: Load, catalog: Catalog, seen: set[str], excluded: frozenset[str], whole: bool, first: bool
) -> tuple[list[Block], set[str], int, int, str]:
    data = load()
    if first and (problem := _not_text(data)):
        return [], set(), 0, len(data), problem
    text = clean_block(data)
    ((blocks, count),), found = match_texts([text], catalog, seen, excluded, whole)
    return blocks, found, count, len(data), ""


def _excluded(reading: Reading) -> frozenset[str]:
    """Patterns whose literal is common in this log and whose regex never matched."""
    return frozenset(key for key, account in reading.accounts.items() if not account.matches and account.candidates > ENOUGH_TRIED)


__all__ = ["BLOCK", "read_logs", "workers"]
