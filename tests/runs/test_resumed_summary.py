"""Hugging Face's Trainer that goes on from a checkpoint: its summary counts all steps over the time of the new ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.runs.run import Run
from tests.support import extracted

#: Steps of the whole training, seconds of each, samples in each.
STEPS, SECONDS, BATCH = 3252, 0.4, 4


def log(path: Path, first: int, batch_known: bool) -> Path:
    """A log whose bar begins at a step, with the summary that Trainer prints at its end."""
    lines = [f"  Total train batch size (w. parallel, distributed & accumulation) = {BATCH}"] if batch_known else []
    made = range(first, STEPS + 1, 25)
    for step in made:
        elapsed, left = (round(SECONDS * number) for number in (step - first, STEPS - step))
        clock, rest = (f"{s // 60:02d}:{s % 60:02d}" for s in (elapsed, left))
        lines.append(f" {100 * step // STEPS}%|███  | {step}/{STEPS} [{clock}<{rest},  {1 / SECONDS:.2f}it/s]")
        lines.append("{'loss': 1.4182, 'learning_rate': 2e-05, 'epoch': 1.5}")
    runtime = SECONDS * (STEPS - first)
    lines.append(
        f"{{'train_runtime': {runtime:.4f}, 'train_samples_per_second': {STEPS * BATCH / runtime:.3f}, "
        f"'train_steps_per_second': {STEPS / runtime:.3f}, 'train_loss': 1.1, 'epoch': 3.0}}"
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def run_of(path: Path, estimator: str) -> Run:
    (made,) = extracted(path, estimator=estimator).runs
    return made


@pytest.mark.parametrize("batch_known", [True, False], ids=["batch", "steps alone"])
@pytest.mark.parametrize("first", [1627, 1000, 400])
@pytest.mark.parametrize("estimator", ["reported", "total"])
def test_a_resumed_runs_own_rate_is_refused(tmp_path: Path, first: int, batch_known: bool, estimator: str) -> None:
    made = run_of(log(tmp_path / "train.log", first, batch_known), estimator)
    reported = made.metrics["reported"]
    measured, told = (1 / SECONDS * (BATCH if batch_known else 1) * share for share in (1, STEPS / (STEPS - first)))
    assert reported.value is made.metrics["train_steps_per_second"].value is None
    assert reported.reason.endswith("it counts the steps before the log's first in the time of those of the log")
    if batch_known:
        assert f" is {measured:.4g} samples/s by" in reported.reason
        assert f"{told:.4g} samples/s by" in reported.reason
    if estimator == "total":
        assert made.throughput.value == pytest.approx(measured, rel=0.005)
    else:
        assert (made.throughput.value, made.throughput.reason) == (None, reported.reason)


@pytest.mark.parametrize("batch_known", [True, False], ids=["batch", "steps alone"])
def test_a_whole_runs_own_rate_is_given(tmp_path: Path, batch_known: bool) -> None:
    made = run_of(log(tmp_path / "train.log", 0, batch_known), "reported")
    assert made.throughput.value == pytest.approx(BATCH / SECONDS, rel=0.001)
