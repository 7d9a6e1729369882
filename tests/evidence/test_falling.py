"""The time behind a running mean never gets less: where it does, there is no number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from perflog.runs.run import Run
from tests.support import extracted

#: Seconds of each of 200 steps: 8 devices of 32 images make 1,024 images/s.
SECONDS, STEPS = 0.25, 200
TRUTH = 8 * 32 / SECONDS
FALLS = "stands for less time than the one before it: one of them is damaged, or the mean began anew"


def _averagemeter(line: int, mean: float) -> str:
    return (
        f"Epoch: [0][{line * 10 + 1:5d}/{STEPS:5d}]\tTime  {SECONDS:.3f} ({mean:6.3f})\t"
        "Data  0.001 ( 0.001)\tLoss 6.9 (6.9)\tAcc@1   0.00 (  0.00)\tAcc@5   0.00 (  0.00)\n"
    )


def _paddleclas(line: int, mean: float) -> str:
    return (
        f"ppcls INFO: epoch:0   train step:{line * 10}   lr: 0.100000, loss: 6.9000 top1:  0.0000 "
        f"batch_cost: {mean:.5f} s, reader_cost: 0.00100 s, ips: {32 / SECONDS:.5f} samples/sec.\n"
    )


def _ips(line: int, mean: float) -> str:
    return (
        f"ppcls INFO: epoch:0   train step:{line * 10}   lr: 0.100000, loss: 6.9000 top1:  0.0000 "
        f"batch_cost: {SECONDS:.5f} s, reader_cost: 0.00100 s, ips: {32 / mean:.5f} samples/sec.\n"
    )


def _run(folder: Path, line_of: Callable[[int, float], str], means: Sequence[float], name: str = "a.log") -> Run:
    log = folder / name
    log.write_text("".join(line_of(line, mean) for line, mean in enumerate(means)) + f"{name}\n")
    (run,) = extracted(log, set={"batch_size": "32", "devices": "8"}).runs
    return run


@pytest.mark.parametrize("line_of", [_averagemeter, _ips])
@pytest.mark.parametrize("factor", [0.5, 0.77, 0.9])
def test_a_last_mean_that_lost_time_gives_no_number(
    tmp_path: Path, line_of: Callable[[int, float], str], factor: float
) -> None:
    """Its difference would be taken from the others' time: twice the throughput, or 30 % more."""
    means = [SECONDS] * 20
    assert _run(tmp_path, line_of, means).throughput.value == pytest.approx(TRUTH)
    means[-1] *= factor
    metric = _run(tmp_path, line_of, means).throughput
    assert metric.value is None
    assert FALLS in metric.reason
    assert metric.reason.startswith("the log contradicts itself: the running mean of line 20 ")


def test_a_mean_beside_which_the_others_vanish(tmp_path: Path) -> None:
    """4 × 10¹⁸ seconds come and go again; what is left of the sum are its lost digits."""
    means = [SECONDS] * 20
    means[10] = 4e18
    metric = _run(tmp_path, _averagemeter, means).throughput
    assert metric.value is None
    assert FALLS in metric.reason


def test_a_mean_that_began_anew_without_a_word(tmp_path: Path) -> None:
    """A meter that is reset at step 100 counts from there: 30 steps' time behind 130 steps."""
    means = [SECONDS] * 10 + [SECONDS * (10 * line + 1 - 91) / (10 * line + 1) for line in range(10, 20)]
    metric = _run(tmp_path, _averagemeter, means).throughput
    assert metric.value is None
    assert FALLS in metric.reason


def test_what_the_digits_hide_is_no_fall(tmp_path: Path) -> None:
    """Means of two decimals: after 5,000 steps a digit is worth 50 s, and a line's steps take 2.5."""
    means = [0.25 + (0.004 if line % 2 else -0.004) for line in range(500)]
    assert any((10 * n + 1) * b < (10 * n - 9) * a for n, (a, b) in enumerate(pairwise(means), 1))

    def coarse(line: int, mean: float) -> str:
        return _averagemeter(line, mean).replace(f"({mean:6.3f})", f"({mean:6.2f})")

    assert _run(tmp_path, coarse, means).throughput.value == pytest.approx(TRUTH, rel=0.01)


def test_logs_that_are_looked_at_together(tmp_path: Path) -> None:
    """Of four logs of one kind, whose evidence is made at once, the damaged one alone has no number."""
    for repeat in range(1, 5):
        means = [SECONDS] * 20
        if repeat == 3:
            means[-1] *= 0.5
        _run(tmp_path, _ips, means, f"resnet50_{repeat}.log")
    runs = extracted(tmp_path, set={"batch_size": "32", "devices": "8"}).runs
    values = {run.log.name[-5]: run.throughput.value for run in runs}
    assert values == {"1": pytest.approx(TRUTH), "2": pytest.approx(TRUTH), "3": None, "4": pytest.approx(TRUTH)}
