"""Logs of one case that were written in step are doubted as repeats; repeats that ran beside each other are not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from perflog.runs.run import Run
from tests.support import extracted

BEGIN = datetime(2026, 5, 4, 10, 11, 12, 250_000, tzinfo=UTC)


def log(late: float, step: float = 0.5, stamped: bool = True) -> str:
    """400 steps, printed every 10th, each line ``late`` seconds behind the log's that is first."""
    lines = []
    for number in range(10, 401, 10):
        at = BEGIN + timedelta(seconds=late + number * step)
        stamp = f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} - mmengine - INFO - " if stamped else ""
        lines.append(f"{stamp}Epoch(train)   [1][{number:4d}/500]  lr: 1.0e-02  eta: 0:01:00  time: {step:.4f}  "
                     f"data_time: 0.0100  memory: 100  loss: {2 + late:.4f}\n")  # fmt: skip
    return "".join(lines)


def runs_of(folder: Path, *logs: str, name: str = "process_{}.txt") -> list[Run]:
    for number, text in enumerate(logs):
        (folder / name.format(number)).write_text(text)
    (case,) = extracted(folder).cases
    assert case.throughput.n == len(logs)
    return case.runs


def doubted(runs: list[Run]) -> list[bool]:
    return [any("written in step" in note for note in run.notes) for run in runs]


@pytest.mark.parametrize("name", ["process_{}.txt", "train_{}.log"])
def test_logs_in_step_may_be_ranks(name: str, tmp_path: Path) -> None:
    runs = runs_of(tmp_path, *(log(0.01 * rank) for rank in range(5)), name=name)
    assert doubted(runs) == [True] * 5
    names = ", ".join(f"{tmp_path}/{name.format(number)}" for number in range(3))
    assert (
        f"{names} and 2 more were written in step, to the second: they may be the logs of one training's ranks, which "
        "are no repeats"
    ) in runs[0].notes


def test_repeats_are_not_in_step(tmp_path: Path) -> None:
    assert doubted(runs_of(tmp_path, log(0), log(300))) == [False, False]


def test_repeats_that_begin_together_drift_apart(tmp_path: Path) -> None:
    assert doubted(runs_of(tmp_path, log(0), log(0, step=0.505))) == [False, False]


def test_two_of_three_logs_in_step(tmp_path: Path) -> None:
    assert doubted(runs_of(tmp_path, log(0), log(700), log(0.2))) == [True, False, True]


def test_logs_without_stamps_tell_nothing(tmp_path: Path) -> None:
    assert doubted(runs_of(tmp_path, log(0, stamped=False), log(0.01, stamped=False))) == [False, False]
