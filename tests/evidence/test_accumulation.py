"""A rate and a clock between which lies gradient accumulation, from logs of known times (NVIDIA's TensorFlow BERT)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from perflog.runs.run import Run
from tests.support import extracted

RATE, BATCH, DEVICES = 4000.0, 96, 8


def run_of(path: Path, accumulated: int, stated: int | None, off: float, estimator: str = "total") -> Run:
    """The run of a log whose steps are so many micro-batches, and of whose clock ``off`` is what it shows too much."""
    rng = random.Random(1)
    lines = [] if stated is None else [f"INFO:tensorflow:  num_accumulation_steps: {stated}"]
    clock = 0.0
    for step in range(1, 81):
        clock += off * BATCH * DEVICES * accumulated / RATE * (1 + 0.01 * rng.gauss(0, 1))
        stamp = f"{int(clock) // 3600:02d}:{int(clock) // 60 % 60:02d}:{clock % 60:09.6f}"
        lines.append(
            f"DLL 2023-08-04 {stamp} - Iteration: {step}  throughput_train : {RATE * (1 + 0.005 * rng.gauss(0, 1)):.3f} "
            "sequences/s mlm_loss : 10.4533  nsp_loss : 0.6954  total_loss : 11.1487 "
        )
    path.write_text("\n".join(lines) + "\n")
    given = {"batch_size": str(BATCH), "devices": str(DEVICES)}
    (made,) = extracted(path, set=given, estimator=estimator).runs
    return made


@pytest.mark.parametrize("estimator", ["total", "median", "mean"])
@pytest.mark.parametrize("steps", [2, 8, 88])
def test_a_stated_factor_comes_before_a_contradiction(tmp_path: Path, steps: int, estimator: str) -> None:
    made = run_of(tmp_path / "train.log", steps, steps, 1.0, estimator)
    assert made.throughput.value == pytest.approx(RATE, rel=0.005)
    assert made.evidence is not None and made.evidence.corroborated
    (note,) = (note.text for note in made.notes if "micro-batches" in note.text)
    assert note == f"the clock of the lines goes with the rate where a step is {steps} micro-batches, as the log states"
    assert not any("apart" in note.text or "contradicts" in note.text for note in made.notes)


@pytest.mark.parametrize(("accumulated", "stated", "off"), [(88, 44, 1.0), (8, 8, 4.0), (8, 8, 0.25), (8, 2, 1.0)])
def test_another_factor_than_the_stated_one_is_doubted(
    tmp_path: Path, accumulated: int, stated: int, off: float
) -> None:
    made = run_of(tmp_path / "train.log", accumulated, stated, off)
    assert made.throughput.value is None or any("apart" in note.text for note in made.notes)
    assert made.evidence is not None and not made.evidence.corroborated


def test_a_clock_without_the_factor_agrees_as_it_is(tmp_path: Path) -> None:
    made = run_of(tmp_path / "train.log", 1, 88, 1.0)
    assert made.evidence is not None and made.evidence.corroborated
    assert not any("micro-batches, as" in note.text for note in made.notes)
