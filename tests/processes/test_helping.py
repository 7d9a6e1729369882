"""Whether processes are worth their start."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from perflog.logs.find import LogFile
from perflog.processes import pool as helping
from perflog.processes.pool import helpers, seconds_for
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
    ("given", "threads", "is_helped"),
    [
        (logs(1200, 100_000), "2", False),  # 1.44 s
        (logs(1300, 100_000), "2", True),  # 1.56 s
        (logs(1300, 100_000), "1", False),
        (logs(3100, 3_000), "4", True),
        (logs(20, 100 * MB), "4", False),
        ((), "4", False),
    ],
)
def test_few_logs_and_one_worker_need_none(
    given: Sequence[LogFile], threads: str, is_helped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFLOG_THREADS", threads)
    monkeypatch.setattr(helping, "workers", lambda: int(threads))
    with helpers(given, catalog(), options(), frozenset()) as processes:
        assert (processes is not None) == is_helped
        assert processes is None or len(processes._workers) == int(threads) - 1
