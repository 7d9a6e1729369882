"""Whether processes are worth their start."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from perflog.logs.find import LogFile
from perflog.processes import pool as helping
from perflog.processes.pool import Processes, helpers, seconds_for
from tests.processes.support import task
from tests.support import catalog, options

MB = 1_000_000


def logs(count: int, size: int) -> list[LogFile]:
    return [LogFile(f"/logs/{number}.log", size) for number in range(count)]


def test_the_work_of_small_logs() -> None:
    """0.5 ms a log and 7 ns a byte; a log of more than 4 MiB is matched on all threads, which need no processes."""
    assert seconds_for(logs(1000, 100_000)) == pytest.approx(0.5 + 0.7)
    assert seconds_for(logs(9, 5 * MB)) == 0
    assert seconds_for(logs(2000, -1)) == pytest.approx(1.0)  # what is no regular file has no bytes


@pytest.mark.parametrize(
    ("given", "threads", "at_once"),
    [
        (logs(1200, 100_000), "2", False),  # 1.44 s
        (logs(1300, 100_000), "2", True),  # 1.56 s
        (logs(1300, 100_000), "1", None),
        (logs(3100, 3_000), "4", True),
        (logs(41, 3_000), "4", False),
        (logs(40, 3_000), "4", None),  # read as one part, by one thread
        (logs(20, 100 * MB), "4", None),
        ((), "4", None),
    ],
)
def test_few_logs_and_one_worker_need_none(
    given: Sequence[LogFile], threads: str, at_once: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helping, "workers", lambda: int(threads))
    with helpers(given, catalog(), options(), frozenset()) as processes:
        assert (processes is None) == (at_once is None)
        assert processes is None or len(processes._workers) == (int(threads) - 1 if at_once else 0)


class Begun(Processes):
    """Workers that are counted and do not start."""

    begun = 0

    def _begin(self) -> None:
        self.begun += 1


@pytest.mark.parametrize(("seconds", "begun"), [(0.15, 0), (0.25, 1)])
def test_workers_start_once_where_the_first_logs_show_that_the_rest_takes_long(
    seconds: float, begun: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 logs 10 take 0.15 s: 1.35 s are left."""
    now = [0.0]
    monkeypatch.setattr("perflog.processes.pool.time.perf_counter", lambda: now[0])
    large = [LogFile("/logs/of/a/pipe", 1, pipe=object())] * 10  # type: ignore[arg-type]  # read here
    with Begun(1, task(), 100, at_once=False) as processes:
        assert processes.read(large) is None
        assert processes.begun == 0  # nothing is read yet
        for batch in (1, 2, 3):
            now[0] = batch * seconds
            processes.read(large)
        assert processes.begun == begun


def test_no_worker_starts_where_the_logs_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("perflog.processes.pool.time.perf_counter", lambda: now[0])
    with Begun(1, task(), 20, at_once=False) as processes:
        processes.read([])
    now[0] = 60.0
    processes._see(10)
    processes._see(10)
    assert processes.begun == 0
