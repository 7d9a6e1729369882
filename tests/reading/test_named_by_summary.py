"""A bar beside the program's summary: its time times its steps per second is the total of the bar that it is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.runs.run import Run
from tests.support import extracted

STEPS, SECONDS_PER_STEP = 3000, 0.15


def bar(total: int, seconds: float, begins: int = 0) -> str:
    """A bar of tqdm without a name, drawn every third step; a resumed one jumps to where it begins."""
    drawn = [f"  0%|          | 0/{total} [00:00<?, ?it/s]"]
    for step in [*range(begins or 3, total, 3), total]:
        done = (step - begins) * seconds
        drawn.append(f"{100 * step // total:3d}%|##        | {step}/{total} [{clock(done)}<01:00,  6.67it/s]")
    return "\r".join(drawn) + "\n"


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def summary(steps: int, seconds: float) -> str:
    rates = f"'train_samples_per_second': {16 * steps / seconds:.3f}, 'train_steps_per_second': {steps / seconds:.3f}"
    return f"{{'train_runtime': {seconds:.4f}, {rates}, 'train_loss': 5.1, 'epoch': 3.0}}\n"


LOSSES = "".join(f"{{'loss': 6.{9 - n}, 'learning_rate': 3e-05, 'epoch': {n / 2}}}\n" for n in range(1, 6))
OWN = summary(STEPS, STEPS * SECONDS_PER_STEP)


def run_of(text: str, tmp_path: Path) -> Run:
    (log := tmp_path / "gpu1.log").write_text(text)
    (case,) = extracted(log, set={"batch_size": 16, "devices": 1}).cases
    (run,) = case.runs
    return run


@pytest.mark.parametrize("beside", ["", bar(500, 0.05)])
def test_the_bar_that_the_summary_names_is_the_trainings(beside: str, tmp_path: Path) -> None:
    """nohup holds back the loss lines until the program ends; an evaluation may draw a bar of another total."""
    run = run_of(bar(STEPS, SECONDS_PER_STEP) + beside + LOSSES + OWN, tmp_path)
    assert run.throughput.value == pytest.approx(16 / SECONDS_PER_STEP, rel=0.01), run.throughput.reason


@pytest.mark.parametrize(
    "text",
    [
        bar(2000, SECONDS_PER_STEP) + LOSSES + OWN,
        bar(STEPS, SECONDS_PER_STEP) + bar(3010, 0.05) + LOSSES + OWN.replace("6.667", "6.7"),
        bar(STEPS, SECONDS_PER_STEP) + LOSSES,
    ],
    ids=["of another total", "of two that its digits allow", "without a summary"],
)
def test_a_bar_that_no_summary_names_is_not_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "gpu1.log").write_text(text)
    values = [run.throughput.value for case in extracted(tmp_path).cases for run in case.runs]
    assert values in ([], [None])


def test_a_resumed_bar_is_the_number_and_its_summary_none(tmp_path: Path) -> None:
    """The program divides all steps by the time of the second half."""
    seconds = STEPS / 2 * SECONDS_PER_STEP
    run = run_of(bar(STEPS, SECONDS_PER_STEP, begins=STEPS // 2) + LOSSES + summary(STEPS, seconds), tmp_path)
    assert run.throughput.value == pytest.approx(16 / SECONDS_PER_STEP, rel=0.01), run.throughput.reason
    assert run.metrics["reported"].value is None
