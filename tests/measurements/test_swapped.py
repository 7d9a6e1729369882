"""A program that prints ``mean (last)`` where its kin print ``last (mean)``."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from perflog.measurements.basis import are_swapped
from perflog.measurements.rows import Floats
from perflog.runs.run import Run
from tests.support import extracted

SHAPES = [
    pytest.param(0.02, 201, 6, id="steps that scatter a little"),
    pytest.param(0.005, 201, 6, id="hardly"),
    pytest.param(0.0, 201, 6, id="not at all"),
    pytest.param(0.1, 51, 6, id="short epochs"),
    pytest.param(0.02, 5001, 1, id="one epoch"),
]


def run_of(path: Path, scatter: float, steps: int, epochs: int, swapped: bool) -> tuple[Run, float]:
    """(the run, its true samples/s behind the 20 steps of the warm-up), of a first step of 2 s and others of 0.3 s."""
    rng = random.Random(1)
    lines, times = ["=> creating model 'resnet50'"], []
    for epoch in range(epochs):
        total = 0.0
        for step in range(steps):
            time = 2.0 if step == 0 else 0.3 * (1 + scatter * rng.gauss(0, 1))
            total += time
            times.append(time)
            if step % 10 == 0:
                last, mean = (total / (step + 1), time) if swapped else (time, total / (step + 1))
                lines.append(f"Epoch: [{epoch}][{step}/{steps}]\tTime {last:.3f} ({mean:.3f})\tData 0.000 (0.052)")
    path.write_text("\n".join(lines) + "\n")
    (made,) = extracted(path, set={"devices": "1", "batch_size": "64"}).runs
    return made, 64 * len(times[21:]) / sum(times[21:])


@pytest.mark.parametrize(("scatter", "steps", "epochs"), SHAPES)
def test_what_stands_in_each_others_place_gives_no_number(
    tmp_path: Path, scatter: float, steps: int, epochs: int
) -> None:
    made, _ = run_of(tmp_path / "train.log", scatter, steps, epochs, swapped=True)
    assert made.throughput.value is None
    assert made.throughput.reason.endswith("the program prints them the other way round")


@pytest.mark.parametrize(("scatter", "steps", "epochs"), SHAPES)
def test_what_stands_in_its_place_gives_its_number(tmp_path: Path, scatter: float, steps: int, epochs: int) -> None:
    made, truth = run_of(tmp_path / "train.log", scatter, steps, epochs, swapped=False)
    assert made.throughput.value == pytest.approx(truth, rel=0.01)


COUNTED = np.tile(np.arange(1, 202, 10, dtype=float), 6)
EPOCH = np.repeat(np.arange(6), 21)


def means(share: float) -> Floats:
    """Running means of steps of 0.3 s of which those up to the second line of each epoch take so much less."""
    return np.asarray(0.3 - np.where(COUNTED > 1, 10 * 0.3 * share, 0.0) / COUNTED)


def test_the_clearer_evidence_decides() -> None:
    """Each epoch's first interval by the means is short; but it is the single steps that scatter, by a tenth."""
    last = np.full(len(COUNTED), 0.3) * (1 + 0.1 * np.where(COUNTED > 11, (-1.0) ** (COUNTED // 10), 0.0))
    assert not are_swapped(means(0.05), last, COUNTED, EPOCH)


@pytest.mark.parametrize("share", [0.0, 0.0023, 0.01])
def test_a_slight_effect_is_no_evidence(share: float) -> None:
    assert not are_swapped(means(share), np.full(len(COUNTED), 0.3), COUNTED, EPOCH)


def test_a_large_effect_is_evidence() -> None:
    assert are_swapped(means(0.1), np.full(len(COUNTED), 0.3), COUNTED, EPOCH)
