"""Workers in processes of their own, which read batches of logs for the threads that ask.

Threads hold Python's lock for half of what small logs cost, so that two of them are hardly sooner than one. A batch
goes to a worker that is free, or is read by the thread that asks: both give the same, and no processor waits. A worker
that dies, does not start or fails is not missed: its batch is read here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import BinaryIO, Self, cast

from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile
from perflog.processes.worker import GREETING, Answer, Task, asked, receive, send
from perflog.reading.schedule import ONE_PART, SMALL, workers
from perflog.runs.machine import Machine
from perflog.runs.metadata import Stem
from perflog.runs.run import Outcome, Run, Skipped
from perflog.settings.options import Options

#: Runs a worker with the module search path of this process, which stands on the first line of its input.
_COMMAND = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import sys, json; "
    "sys.path[:] = json.loads(open(0, 'rb', buffering=0, closefd=False).readline()); "
    "from perflog.processes.worker import main; main()"
)
#: What a thread meets whose worker is gone, or was told to end.
_GONE = (OSError, EOFError, ValueError)


class _Worker:
    """A process that reads batches, one after the other."""

    def __init__(self) -> None:
        """Start the process; raises OSError or ValueError where that is not possible."""
        if not sys.executable:
            raise OSError("it is not known which program runs Python here")
        self._process = subprocess.Popen(
            [sys.executable, *_flags(), "-c", _COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=None if os.environ.get("PERFLOG_DEBUG") else subprocess.DEVNULL,
        )  # fmt: skip
        self._source, self._sink = cast(BinaryIO, self._process.stdout), cast(BinaryIO, self._process.stdin)

    def begin(self, task: Task) -> None:
        """Tell what is to be done, and wait until all is ready; raises one of :data:`_GONE`."""
        self._sink.write(json.dumps(sys.path).encode() + b"\n")
        self._sink.flush()
        if self._source.read(len(GREETING)) != GREETING:
            raise EOFError
        send(self._sink, task)
        receive(self._source)

    def ask(self, logs: Sequence[LogFile]) -> Answer:
        """What became of a batch, None where it fails; raises one of :data:`_GONE`."""
        send(self._sink, asked(logs))
        return cast(Answer, receive(self._source))

    def end(self) -> None:
        """End the process, whatever it is doing. It has nothing that could be lost."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes of a process that has ended: when no thread reads from them any more."""
        for stream in (self._source, self._sink):
            with suppress(OSError):
                stream.close()


class Processes:
    """Some workers, ended at the end of a ``with``: started at its beginning, or when the logs prove to be slow."""

    def __init__(self, count: int, task: Task, logs: int = 0, *, at_once: bool = True) -> None:
        """``logs``: how many will be read in all; ``at_once``: whether the workers start before the first of them."""
        self._count, self._task, self._logs, self._at_once = count, task, logs, at_once
        self._lock, self._began, self._done, self._is_over = threading.Lock(), time.perf_counter(), 0, False
        self._under_way: dict[int, int] = {}
        self._workers: list[_Worker] = []
        self._starters: list[threading.Thread] = []
        self._free: SimpleQueue[_Worker] = SimpleQueue()
        self._machines: dict[tuple[str, tuple[str, ...]], Machine] = {}

    def __enter__(self) -> Self:
        if self._at_once:
            self._begin()
        return self

    def _begin(self) -> None:
        with suppress(OSError, ValueError):  # no more processes are allowed: this one reads all
            for _ in range(self._count):
                worker = _Worker()
                self._workers.append(worker)
                starter = threading.Thread(target=self._start, args=(worker,), daemon=True)
                self._starters.append(starter)
                starter.start()

    def _see(self, logs: int) -> None:
        """Count what a thread has read that asks for its next batch; start the workers where the rest takes long."""
        with self._lock:
            self._done += self._under_way.pop(threading.get_ident(), 0)
            self._under_way[threading.get_ident()] = logs
            if self._at_once or self._is_over or not self._done:
                return
            took = time.perf_counter() - self._began
            if took / self._done * (self._logs - self._done) > LEAST:
                self._at_once = True
                self._begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            self._is_over = True
        for worker in self._workers:
            worker.end()
        for starter in self._starters:
            starter.join()
        for worker in self._workers:
            worker.close()

    def read(self, logs: Sequence[LogFile]) -> list[Outcome | None] | None:
        """What became of each log of a batch, None for one that is too large; None where it is to be read here."""
        self._see(len(logs))
        if any(log.pipe is not None or log.text is not None or log.stored is not None for log in logs):
            return None
        try:
            worker = self._free.get_nowait()
            answer = worker.ask(logs)
        except (Empty, *_GONE):
            return None  # none is free, or this one is gone and does not come back
        self._free.put(worker)
        return None if answer is None else self._with_logs(answer, logs)

    def _start(self, worker: _Worker) -> None:
        with suppress(*_GONE):
            worker.begin(self._task)
            self._free.put(worker)

    def _with_logs(self, outcomes: list[Outcome | None], logs: Sequence[LogFile]) -> list[Outcome | None]:
        """An answer's outcomes with their logs; machines that are equal become one."""
        for log, outcome in zip(logs, outcomes, strict=True):
            for record in [outcome] if isinstance(outcome, Skipped) else outcome or ():
                record.log = log
                if isinstance(record, Run) and record.machine is not None:
                    name = record.machine.file, record.machine.folders
                    record.machine = self._machines.setdefault(name, record.machine)
        return outcomes


def _flags() -> list[str]:
    """The interpreter's options that change what Python code does, without the folder of work on the search path."""
    flags = ["-P"]
    if sys.flags.utf8_mode:
        flags += ["-X", "utf8"]
    if sys.flags.ignore_environment:
        flags.append("-E")
    if sys.flags.dont_write_bytecode:
        flags.append("-B")
    return flags


# ----------------------------------------------------------------------------------------------------
# Whether processes are worth their start, and how many.

#: Seconds of processor time for each small log, and for each byte of it: about, on a machine of 2020.
PER_LOG, PER_BYTE = 5e-4, 7e-9
#: Work that takes less, in seconds, is not worth the 0.5 s of processor time that the start of a process takes; nor is
#: what is left by the time that the first logs took.
LEAST = 1.5


@contextmanager
def helpers(
    logs: Sequence[LogFile], catalog: Catalog, options: Options, indexed: frozenset[Stem], hashed: bool = False
) -> Iterator[Processes | None]:
    """Processes that read batches of ``logs`` beside this one, once they are worth their start; None where none can be.

    Args:
        indexed: the names of logs whose number is a device's.
        hashed: whether each text is hashed while it is read.
    """
    count, at_once = workers() - 1, seconds_for(logs) >= LEAST
    if count < 1 or not logs or (len(logs) <= ONE_PART and not at_once):
        yield None
        return
    task = Task(catalog.parsers, catalog.path_patterns, options, indexed, hashed)
    with Processes(count, task, len(logs), at_once=at_once) as processes:
        yield processes


def seconds_for(logs: Sequence[LogFile]) -> float:
    """About how much processor time the small logs among these take."""
    sizes = [log.size for log in logs if log.size <= SMALL and log.stored is None]
    return PER_LOG * len(sizes) + PER_BYTE * sum(max(size, 0) for size in sizes)
