"""Logs of one case that were written in step are doubted as repeats; repeats that ran beside each other are not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from perflog.notes import texts
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
    return [any("written in step" in note for note in texts(run.notes)) for run in runs]


@pytest.mark.parametrize("name", ["process_{}.txt", "train_{}.log"])
def test_logs_in_step_may_be_ranks(name: str, tmp_path: Path) -> None:
    runs = runs_of(tmp_path, *(log(0.01 * rank) for rank in range(5)), name=name)
    assert doubted(runs) == [True] * 5
    names = ", ".join(f"{tmp_path}/{name.format(number)}" for number in range(3))
    assert (
        f"{names} and 2 more were written in step, to the second: they may be the logs of one training's ranks, which "
        "are no repeats"
    ) in texts(runs[0].notes)


def test_repeats_are_not_in_step(tmp_path: Path) -> None:
    assert doubted(runs_of(tmp_path, log(0), log(300))) == [False, False]


def test_repeats_that_begin_together_drift_apart(tmp_path: Path) -> None:
    assert doubted(runs_of(tmp_path, log(0), log(0, step=0.505))) == [False, False]


def test_two_of_three_logs_in_step(tmp_path: Path) -> None:
    assert doubted(runs_of(tmp_path, log(0), log(700), log(0.2))) == [True, False, True]


def test_logs_without_stamps_tell_nothing(tmp_path: Path) -> None:
    assert doubted(runs_of(tmp_path, log(0, stamped=False), log(0.01, stamped=False))) == [False, False]


def test_a_pattern_that_begins_before_the_stamp(tmp_path: Path) -> None:
    """The stamp stands inside the match: Megatron's lines in brackets, whose regex reads them from their beginning."""

    def megatron(late: float) -> str:
        return "".join(
            f" [{BEGIN + timedelta(seconds=late + number * 0.5):%Y-%m-%d %H:%M:%S}] iteration {number:8d}/    5000 | "
            f"consumed samples: {number * 256:12d} | elapsed time per iteration (ms): 500.0 | learning rate: 1.5E-04 | "
            f"global batch size:   256 | lm loss: {2 + late:.6E} | loss scale: 1.0 | grad norm: 1.234 | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
            for number in range(10, 401, 10)
        )

    assert doubted(runs_of(tmp_path, *(megatron(0.01 * rank) for rank in range(3)))) == [True] * 3
    (tmp_path / "later").mkdir()
    assert doubted(runs_of(tmp_path / "later", megatron(0), megatron(300))) == [False, False]


def test_logs_of_nodes_that_each_count_their_own_ranks(tmp_path: Path) -> None:
    """Eight ranks print in each of two logs: a job of 16 devices, of which each log says 8."""

    def node(late: float) -> str:
        return "".join(
            f"[rank{rank}]:[{BEGIN + timedelta(seconds=late + step * 0.25):%Y/%m/%d %H:%M:%S}] ppcls INFO: epoch:0   "
            f"train step:{step}   lr: 0.1, loss: {6 + rank / 10:.4f} top1:  0.0000 batch_cost: {0.25 + rank / 1e5:.5f} s, "
            f"reader_cost: 0.00100 s, ips: {32 / (0.25 + rank / 1e5):.5f} samples/sec.\n"
            for step in range(10, 401, 10)
            for rank in range(8)
        )

    for name, late in (("node0", 0), ("node1", 0.6), ("other", 500)):
        (tmp_path / f"{name}.log").write_text(node(late))
    runs = {Path(run.log.name).stem: run for run in extracted(tmp_path).runs}
    assert [run.values["devices"] for run in runs.values()] == [8, 8, 8]
    note = (
        f"{tmp_path}/node0.log, {tmp_path}/node1.log were written in step, to the second: they may be the logs of one "
        "training's nodes, whose devices are those of all of them"
    )
    assert {name: note in texts(run.notes) for name, run in runs.items()} == {
        "node0": True,
        "node1": True,
        "other": False,
    }
