"""Means over a window of steps (torchvision's MetricLogger: the last 20, printed each 10) from logs of known times."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from perflog.runs.run import Run
from tests.support import extracted

WINDOW, PRINTED = 20, 10


def log(path: Path, epochs: Sequence[Sequence[float]], totals: Sequence[float] = ()) -> Path:
    """MetricLogger's lines of epochs whose steps took some times; ``totals``: what it prints as the mean of each."""
    lines = []
    for epoch, times in enumerate(epochs):
        for step in range(0, len(times), PRINTED):
            window = times[max(0, step + 1 - WINDOW) : step + 1]
            lines.append(
                f"Epoch: [{epoch}]  [{step:4d}/{len(times)}]  eta: 0:08:36  lr: 0.1  img/s: 300.1  loss: 5.1 (5.4)  "
                f"time: {sum(window) / len(window):.4f}  data: 0.0012  max mem: 7010"
            )
        if totals:
            seconds = round(totals[epoch] * len(times))
            clock = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
            lines.append(f"Epoch: [{epoch}] Total time: {clock} ({totals[epoch]:.4f} s / it)")
    path.write_text("\n".join(lines) + "\n")
    return path


def run_of(path: Path, **given: str) -> Run:
    (made,) = extracted(path, set={"batch_size": "32", "devices": "1"}, **given).runs
    return made


def slow_first(seed: int, epochs: int, steps: int, first: float) -> list[list[float]]:
    rng = random.Random(seed)
    return [
        [first if step == 0 else 0.4 * (1 + 0.01 * rng.gauss(0, 1)) for step in range(steps)] for _ in range(epochs)
    ]


@pytest.mark.parametrize("steps", [101, 301])
@pytest.mark.parametrize("first", [0.4, 4.0, 12.0])
def test_the_first_step_of_an_epoch_counts_once(tmp_path: Path, steps: int, first: float) -> None:
    """With 12 s for the first of 101 steps, counting it twice makes the number 18 per cent too low."""
    epochs = slow_first(1, 20, steps, first)
    times = [time for epoch in epochs for time in epoch][21:]
    made = run_of(log(tmp_path / "train.log", epochs))
    assert made.throughput.value == pytest.approx(32 * len(times) / sum(times), rel=0.005)


def test_all_first_steps_up_to_a_full_window_count_once(tmp_path: Path) -> None:
    """Steps that take the longer the earlier they are, up to the window's length."""
    epochs = [[0.4 + 0.2 * max(0, 11 - step) for step in range(101)] for _ in range(10)]
    times = [time for epoch in epochs for time in epoch][21:]
    made = run_of(log(tmp_path / "train.log", epochs))
    assert made.throughput.value == pytest.approx(32 * len(times) / sum(times), rel=0.01)


def test_blocks_do_not_change_a_number(tmp_path: Path) -> None:
    """A log of several blocks, and the same as part of the first alone."""
    epochs = slow_first(2, 400, 1001, 12.0)
    times = [time for epoch in epochs for time in epoch][21:]
    made = run_of(log(tmp_path / "train.log", epochs))
    assert (tmp_path / "train.log").stat().st_size > 4 << 20
    assert made.throughput.value == pytest.approx(32 * len(times) / sum(times), rel=0.002)


def total_of(epochs: Sequence[Sequence[float]]) -> list[float]:
    return [sum(times) / len(times) for times in epochs]


@pytest.mark.parametrize("estimator", ["total", "mean", "median"])
@pytest.mark.parametrize(("off", "said"), [(1.0, False), (1.01, False), (1.03, True), (0.97, True), (1.2, True)])
def test_each_epochs_own_time_is_a_close_witness(tmp_path: Path, off: float, said: bool, estimator: str) -> None:
    """Epochs that took so many times as long by the program's own `Total time` as by its lines."""
    epochs = slow_first(3, 12, 301, 0.4)
    made = run_of(log(tmp_path / "train.log", epochs, [off * mean for mean in total_of(epochs)]), estimator=estimator)
    assert any("by the program's own time of each epoch" in note.text for note in made.notes) is said
    assert made.throughput.value == pytest.approx(32 / 0.4, rel=0.003)


def test_the_time_of_a_validation_is_not_the_trainings(tmp_path: Path) -> None:
    """An evaluation that ends each epoch with a line of the same shape, of steps ten times as short."""
    epochs = slow_first(4, 12, 301, 0.4)
    path = log(tmp_path / "train.log", epochs, total_of(epochs))
    lines = []
    for line in path.read_text().splitlines():
        lines.append(line)
        if "Total time" in line:
            lines.append(f"{line.split(' Total')[0]} Total time: 0:00:12 (0.0400 s / it)")
    path.write_text("\n".join(lines) + "\n")
    made = run_of(path)
    assert made.throughput.value == pytest.approx(32 / 0.4, rel=0.003)
    assert made.evidence is not None and made.evidence.corroborated
    assert not any("contradicts" in note.text or "apart" in note.text for note in made.notes)
