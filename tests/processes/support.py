"""Workers that are ready before the first batch is read, and what an extraction says to the last byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import pytest

from perflog.extraction import Extraction
from perflog.logs.find import LogFile
from perflog.processes.pool import Processes
from perflog.processes.worker import Task
from perflog.runs.run import Outcome
from perflog.show.document import json_pieces
from tests.support import catalog, options


class Ready(Processes):
    """Workers that were waited for; it counts the logs that they read."""

    logs_read = 0

    def __enter__(self) -> Self:
        super().__enter__()
        for starter in self._starters:
            starter.join()
        return self

    def read(self, logs: Sequence[LogFile]) -> list[Outcome | None] | None:
        outcomes = super().read(logs)
        self.logs_read += 0 if outcomes is None else len(outcomes)
        return outcomes

    @property
    def pids(self) -> list[int]:
        return [worker._process.pid for worker in self._workers]

    @property
    def statuses(self) -> list[int | None]:
        """How each process ended, None for one that runs."""
        return [worker._process.poll() for worker in self._workers]


def task() -> Task:
    """What workers are told who read with the options that no one changed."""
    return Task(catalog().parsers, catalog().path_patterns, options(), frozenset())


def use(processes: Processes | None, monkeypatch: pytest.MonkeyPatch, logs_of_a_batch: int = 3) -> None:
    """Let extractions be helped by these workers, or by none, and read batches of so many logs."""

    @contextmanager
    def helpers(*_: object) -> Iterator[Processes | None]:
        yield processes

    monkeypatch.setattr("perflog.extraction.helpers", helpers)
    monkeypatch.setattr("perflog.reading.schedule.BATCH_LOGS", logs_of_a_batch)


def document(extraction: Extraction) -> bytes:
    """The JSON of an extraction."""
    return b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in json_pieces(extraction))
