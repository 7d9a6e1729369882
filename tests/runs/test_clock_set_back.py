"""A program that sets its clock back behind some steps (modded-nanogpt until 2025), from known times."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support import extracted

STEPS, MS = 600, 300.0


def log(path: Path, set_back: tuple[int, ...], warm: float, told: float = 1.0) -> tuple[Path, list[float]]:
    """(modded-nanogpt's lines, the time of each step in ms): the clock is set back behind some steps.

    Args:
        warm: how many times as long the steps before that take.
        told: how many times as long the program says that its run took, on its last line.
    """
    rng = random.Random(5)
    lines, times, clock = list[str](), list[float](), 0.0
    for step in range(1, STEPS + 1):
        if step - 1 in set_back:
            clock = 0.0
        times.append(MS * (warm if step <= max(set_back) else 1) * (1 + 0.01 * rng.gauss(0, 1)))
        clock += times[-1]
        lines.append(f"step:{step}/{STEPS} train_loss:6.1234 train_time:{clock:.0f}ms step_avg:{MS:.2f}ms")
    lines.append(f"step:{STEPS}/{STEPS} val_loss:3.2775 train_time:{told * clock:.0f}ms step_avg:{MS:.2f}ms")
    path.write_text("\n".join(lines) + "\n")
    return path, times


@pytest.mark.parametrize("estimator", ["total", "mean", "median"])
@pytest.mark.parametrize("warm", [1.0, 4.0])
@pytest.mark.parametrize("set_back", [(10,), (60,), (200,), (40, 300)])
def test_its_time_is_that_of_the_steps_since(
    tmp_path: Path, set_back: tuple[int, ...], warm: float, estimator: str
) -> None:
    path, _ = log(tmp_path / "train.log", set_back, warm)
    (made,) = extracted(path, estimator=estimator, warmup=str(max(set_back) + 20)).runs
    assert made.throughput.value == pytest.approx(1000 / MS, rel=0.005)
    assert made.evidence is not None
    assert [witness.agreement for witness in made.evidence.witnesses] == ["agrees"]


@pytest.mark.parametrize("told", [0.5, 0.85])
def test_a_time_too_short_for_the_steps_since_contradicts(tmp_path: Path, told: float) -> None:
    (made,) = extracted(log(tmp_path / "train.log", (200,), 1.0, told)[0]).runs
    assert made.throughput.value is None
    assert "time of the run is 120 s by the measurements" in made.throughput.reason
