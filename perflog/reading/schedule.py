"""The schedule over many logs: small ones many at a time, large ones in blocks, on some threads.

The compiled engine releases the interpreter's lock while it matches, polars for a part of it; of many small logs some
batches are read elsewhere, in processes of their own (:mod:`perflog.processes`, ``docs/performance.md``).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Generic, Protocol, TypeVar, cast

from msgspec import Struct

from perflog.formats.catalog import Catalog
from perflog.logs.containers import Content, Load, UnreadableError, blocks_of, open_small, read_archive, text_hash
from perflog.logs.find import LogFile
from perflog.matching import Engine, engine_for
from perflog.reading.batch import fold_batch
from perflog.reading.gather import Block, Buffers, Gathered, end, fold_block, match_block, parts_of, reason_of
from perflog.reading.reading import Reading
from perflog.settings.options import Options

# ----------------------------------------------------------------------------------------------------
# Batches: the logs that one job reads, and what became of each.

T_co = TypeVar("T_co", covariant=True)


T = TypeVar("T")


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


# ----------------------------------------------------------------------------------------------------
# Small objects of stores asked for ahead of their reading, on threads; nothing where all logs are files.
#
# What is asked for when a batch of logs is put together is there when its turn comes, so that no thread that matches
# waits for a server, and no more than the batches under way are in memory.

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


# ----------------------------------------------------------------------------------------------------
# How many workers read at once: the processors that this process may use, by its affinity and its container.

#: More than so many do not make it faster, and each has memory of its own.
MOST = 4
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


def workers() -> int:
    """How many threads or processes to read with (``PERFLOG_THREADS`` sets it)."""
    with suppress(ValueError):
        asked = int(os.environ.get("PERFLOG_THREADS", ""))
        if asked > 0:
            return asked
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(MOST, cores, processors_granted(_CGROUPS, _OWN_CGROUP)))


def processors_granted(cgroups: Path, own: Path) -> int:
    """How many processors a container's quota grants, at least one; :data:`MOST` where there is no quota.

    Args:
        cgroups: where the groups of processes are mounted; ``own``: the file that names this process's.
    """
    granted = float(MOST)
    for folder in _groups(cgroups, own):
        for quota in (_quota_2(folder / "cpu.max"), _quota_1(folder)):
            granted = min(granted, quota)
    return max(1, round(granted))


def _groups(cgroups: Path, own: Path) -> list[Path]:
    """The folders that may hold a quota of this process: its groups' and those above them."""
    folders = [cgroups, cgroups / "cpu"]
    with suppress(OSError, UnicodeDecodeError):
        for line in own.read_text(encoding="utf-8").splitlines():
            _, controllers, name = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            folder = (cgroups / "cpu" if controllers else cgroups) / name.lstrip("/")
            folders += [folder, *(above for above in folder.parents if above.is_relative_to(cgroups))]
    return list(dict.fromkeys(folders))


def _quota_2(file: Path) -> float:
    """The processors of a group of version 2, whose file says ``200000 100000``: a quota and its period."""
    with suppress(OSError, ValueError):
        quota, period = file.read_text(encoding="ascii").split()
        return int(quota) / int(period) if int(period) > 0 else float(MOST)
    return float(MOST)


def _quota_1(folder: Path) -> float:
    """The processors of a group of version 1, which has a file for the quota (-1 for none) and one for the period."""
    with suppress(OSError, ValueError):
        texts = [(folder / f"cpu.cfs_{name}_us").read_text(encoding="ascii") for name in ("quota", "period")]
        quota, period = map(int, texts)
        if quota > 0 and period > 0:
            return quota / period
    return float(MOST)


#: Logs up to this size, unpacked, are read whole and matched together with others.
SMALL = 4 << 20
#: How many bytes of small logs are matched together, and how many logs at most.
BATCH, BATCH_LOGS = 4 << 20, 400
#: Of more logs than these so many parts at least are made, of so many logs at least: what one part takes tells what the
#: others will (:mod:`perflog.processes.pool`), and the last ones end together.
ONE_PART, PARTS, LEAST_OF_PART = 40, 16, 10
#: Jobs under way at once: enough for the threads, few enough for memory.
AHEAD = 3

_GATHERED = b"gathered"
#: A log's reading, and what the log holds, so far as that is known.
_Held = tuple[Reading, Content | None]
#: Told how many bytes of logs were read.
Progress = Callable[[int], None]


def read_logs(
    logs: Sequence[LogFile],
    catalog: Catalog,
    finish: Callable[[Reading], T],
    as_printed: bool = False,
    progress: Progress | None = None,
    options: Options | None = None,
    finish_all: Callable[[Sequence[Reading]], list[T]] | None = None,
    elsewhere: Elsewhere[T] | None = None,
    hashed: bool = False,
) -> Iterator[T]:
    """Read every log once and give each finished :class:`Reading` to ``finish``, in the order of ``logs``.

    A log that cannot be read becomes a reading with a ``problem``; it never stops the others. So does one on which the
    program itself fails (:mod:`perflog.reading.gather`), here or in ``finish``.

    Args:
        as_printed: see :class:`Reading`.
        progress: told the bytes read.
        options: which window ``finish`` will take, so that it is taken of many plain logs at once.
        finish_all: what ``finish`` gives for each of many readings, where that is sooner for all together.
        elsewhere: what may read batches in place of this process, with the same result.
        hashed: whether each text is hashed while it is read.

    Raises ParserError when a pattern's regex cannot be used.
    """
    threads = workers()
    with _threads(threads) as pool, ahead_of(logs, SMALL) as ahead:
        gathered = sum(log.size for log in logs if 0 < log.size <= SMALL)
        buffers = Buffers(min(BATCH, gathered) + SMALL + 1 if gathered > SMALL else gathered + 1)
        tell = progress or (lambda _: None)
        engine = engine_for(catalog)
        reader = _Reader(
            engine, catalog, finish, finish_all, as_printed, options, pool, tell, buffers, hashed, elsewhere
        )
        waiting: deque[Future[list[Done[T]]]] = deque()
        most = BATCH_LOGS if len(logs) <= ONE_PART else max(len(logs) // PARTS, LEAST_OF_PART)
        jobs = batches(logs, BATCH, min(most, BATCH_LOGS))
        first = list(islice(jobs, 2))
        if len(first) == 1:  # no thread need start, and none can fail to: Python waits for ever for one without memory
            yield from reader.results(reader.read_batch(first[0], ahead.bodies(first[0])))
            return
        for batch in chain(first, jobs):
            waiting.append(pool.submit(reader.read_batch, batch, ahead.bodies(batch)))
            if len(waiting) > max(AHEAD, threads):
                yield from reader.results(waiting.popleft().result())
        while waiting:
            yield from reader.results(waiting.popleft().result())


@contextmanager
def _threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that are waited for at the end, but not where the user or an error has ended the work."""
    pool = ThreadPoolExecutor(count)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def batch_reader(
    catalog: Catalog,
    finish: Callable[[Reading], T],
    options: Options,
    finish_all: Callable[[Sequence[Reading]], list[T]],
    hashed: bool,
) -> Callable[[Sequence[LogFile]], list[T | None]]:
    """What reads one batch after the other, in the thread that asks: what became of each log, None for a large one.

    Raises ParserError when a pattern's regex cannot be used.
    """
    pool, buffers = ThreadPoolExecutor(1), Buffers(BATCH + SMALL + 1)  # no thread starts: large logs are the caller's
    engine, printed = engine_for(catalog), options.as_printed
    reader = _Reader(engine, catalog, finish, finish_all, printed, options, pool, lambda _: None, buffers, hashed)
    return lambda logs: [done.result for done in reader.read_batch(logs, {})]


class _Reader(Struct, Generic[T], frozen=True):
    """What every job needs to read its logs."""

    engine: Engine
    catalog: Catalog
    finish: Callable[[Reading], T]
    finish_all: Callable[[Sequence[Reading]], list[T]] | None
    as_printed: bool
    options: Options | None
    pool: ThreadPoolExecutor
    tell: Progress
    buffers: Buffers
    hashed: bool
    elsewhere: Elsewhere[T] | None = None

    def results(self, job: Sequence[Done[T]]) -> Iterator[T]:
        """What became of a job's logs; those that turned out to be large are read now, on all threads."""
        for done in job:
            if done.large is not None:
                log = done.large
                yield self._outcome(self._guarded(log, partial(self._read_large, log)))
            else:
                self.tell(done.size)
                yield cast(T, done.result)

    def read_batch(self, logs: Sequence[LogFile], bodies: Bodies) -> list[Done[T]]:
        """Read logs that were put together, in their order, those of stores by ``bodies``; runs on the pool."""
        results = None if self.elsewhere is None else self.elsewhere.read(logs)
        if results is None:
            return self._read_here(logs, bodies)
        pairs = zip(logs, results, strict=True)
        return [Done(0, large=log) if result is None else Done(max(log.size, 0), result) for log, result in pairs]

    def _read_here(self, logs: Sequence[LogFile], bodies: Bodies) -> list[Done[T]]:
        done: dict[tuple[str, str], Done[T]] = {}
        gathered = self.buffers.gathered()
        for reading, content in self._contents(logs, gathered, bodies):
            key = key_of(reading.log)
            if content is None:
                done[key] = Done(0, large=reading.log)
            elif isinstance(content, Iterator):
                done[key] = self._finished(self._guarded(reading.log, partial(self._fold_blocks, reading, content)))
            elif reading.problem or (content is not _GATHERED and not gathered.add_text(reading, content)):
                done[key] = self._finished(reading)
            if gathered.size > BATCH:
                done |= self._fold_small(gathered)
        done |= self._fold_small(gathered)
        return [done[key_of(log)] for log in logs]

    def _contents(self, logs: Sequence[LogFile], gathered: Gathered, bodies: Bodies) -> Iterator[_Held]:
        """Each log's reading with all it holds, or blocks; ``_GATHERED`` for one gathered, None for a large one."""
        if logs[0].member and logs[0].text is None:
            return (yield from self._members(logs))
        readings = [self._begun(log) for log in logs]
        small = [reading for reading in readings if _is_file(reading.log)]
        done = {id(reading) for reading, is_read in zip(small, gathered.add_texts(small), strict=True) if is_read}
        for reading in readings:
            if id(reading) in done:
                yield reading, _GATHERED
            elif reading.log.size > SMALL or reading.log.pipe is not None:
                yield reading, None  # a pipe may never end: it is read where Ctrl-C can end it
            else:
                yield reading, _content_of(reading, gathered, bodies)

    def _members(self, logs: Sequence[LogFile]) -> Iterator[_Held]:
        """The members of an archive; where reading it fails, the rest of them with the reason."""
        count = 0
        try:
            for log, content in read_archive(logs, SMALL):
                count += 1
                yield self._begun(log), content
        except BaseException as error:
            reason = reason_of(error)
            yield from ((self._begun(log), UnreadableError(reason)) for log in logs[count:])

    def _begun(self, log: LogFile) -> Reading:
        return Reading(log, self.as_printed, hashed=text_hash() if self.hashed else None)

    def _fold_small(self, gathered: Gathered) -> dict[tuple[str, str], Done[T]]:
        readings, texts = gathered.readings, gathered.texts()
        if not readings:
            return {}
        if self.hashed:
            for reading, text in zip(readings, texts, strict=True):
                reading.hash_text(text)
        notes = [list(reading.notes) for reading in readings]
        try:
            fold_batch(readings, self.engine.match(texts, at_end=True), self.catalog, self.options)
        except BaseException as error:  # one of the texts: each is folded anew, alone
            reason_of(error)  # raises what is no matter of a log
            readings = [
                self._guarded(reading.log, partial(self._folded_alone, reading, of_log, texts[place]))
                for place, (reading, of_log) in enumerate(zip(readings, notes, strict=True))
            ]
        for place, reading in enumerate(readings):
            if not reading.measures or reading.log.member:  # a member of an archive is not opened for another look
                reading.beginning = texts[place]
        gathered.clear()
        pairs = zip(readings, self._outcomes(readings), strict=True)
        return {key_of(reading.log): Done(max(reading.log.size, 0), outcome) for reading, outcome in pairs}

    def _folded_alone(self, reading: Reading, notes: list[str], text: bytes) -> Reading:
        """A log of a batch that failed, folded by itself into a new reading with the notes that it began with."""
        fresh = Reading(reading.log, self.as_printed, bytes=reading.bytes, notes=notes, hashed=reading.hashed)
        fold_batch([fresh], self.engine.match([text], at_end=True), self.catalog, self.options)
        return fresh

    def _guarded(self, log: LogFile, read: Callable[[], Reading]) -> Reading:
        """A log's reading; where reading it fails, an empty one with the reason."""
        try:
            return read()
        except BaseException as error:
            return self._failed(log, error)

    def _failed(self, log: LogFile, error: BaseException) -> Reading:
        reading = Reading(log, self.as_printed)
        reading.give_up(reason_of(error))
        return reading

    def _outcomes(self, readings: Sequence[Reading]) -> list[T]:
        """What becomes of many readings; where that fails for all together, of each by itself."""
        if self.finish_all is None or len(readings) == 1:
            return [self._outcome(reading) for reading in readings]
        try:
            outcomes = self.finish_all(readings)
        except BaseException as error:
            reason_of(error)  # raises what is no matter of a log
            return [self._outcome(reading) for reading in readings]
        for reading in readings:
            reading.beginning = b""
        return outcomes

    def _outcome(self, reading: Reading) -> T:
        """What becomes of a reading; where that fails, what becomes of one with the reason."""
        try:
            return self.finish(reading)
        except BaseException as error:
            return self.finish(self._failed(reading.log, error))
        finally:
            reading.beginning = b""

    def _finished(self, reading: Reading) -> Done[T]:
        return Done(max(reading.log.size, 0), self._outcome(reading))

    def _fold_blocks(self, reading: Reading, loads: Iterator[Load]) -> Reading:
        """Fold a log in blocks, one after the other: a member of an archive that is read once for all."""
        for part in parts_of(loads, reading):
            if not fold_block(reading, match_block(self.engine, part)):
                break
        end(reading, self.catalog)
        return reading

    def _read_large(self, log: LogFile) -> Reading:
        """Fold a log block by block; its blocks are matched ahead on the pool."""
        reading = self._begun(log)
        parts = parts_of(blocks_of(log), reading)
        waiting: deque[Future[Block]] = deque()
        try:
            while True:
                ahead = AHEAD if reading.bytes else 1  # the first block may tell that it is no log
                waiting.extend(
                    self.pool.submit(match_block, self.engine, part)
                    for part in islice(parts, max(0, ahead - len(waiting)))
                )
                if not waiting:
                    break
                block = waiting.popleft().result()
                if not fold_block(reading, block):
                    break
                self.tell(block.size)
        except UnreadableError as error:
            reading.end_early(error)
        finally:
            for job in waiting:
                job.cancel()
        end(reading, self.catalog)
        return reading


def _content_of(reading: Reading, gathered: Gathered, bodies: Bodies) -> Content | None:
    """What a small file holds that was not read with the others; ``_GATHERED`` when it now is with them."""
    try:
        body = bodies.pop(reading.log.path, None)
        return _GATHERED if gathered.add_file(reading) else open_small(reading.log, SMALL, body)
    except UnreadableError as error:
        return error
    except BaseException as error:
        return UnreadableError(reason_of(error))


def _is_file(log: LogFile) -> bool:
    """Whether a log is a small file: no pipe, no object of a store, none whose text is at hand."""
    return 0 <= log.size <= SMALL and log.pipe is None and log.text is None and log.stored is None
