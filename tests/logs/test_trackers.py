"""What MLflow, TensorBoard and W&B wrote of one loop (``tests/tools/real_trackers.py``), which a clock of ours measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from perflog.logs.containers import blocks_of
from perflog.logs.find import find_logs
from tests.logs.test_containers import tarred
from tests.support import extracted

FOLDER = Path(__file__).parent / "trackers"
CLOCK = json.loads((FOLDER / "clock.json").read_text())
STEPS_PER_SECOND = (len(CLOCK["ends"]) - 20) / (CLOCK["ends"][-1] - CLOCK["ends"][19])
(RUN,) = (FOLDER / "mlruns").iterdir()


@pytest.mark.parametrize("log", [RUN / "metrics/train/loss", FOLDER / "tensorboard"], ids=["mlflow", "tensorboard"])
def test_the_moments_at_which_a_loss_was_logged_tell_the_steps(log: Path) -> None:
    (run,) = extracted(log).runs
    assert run.throughput.unit == "steps/s"
    assert run.throughput.value == pytest.approx(STEPS_PER_SECOND, rel=0.01)


def test_of_a_metric_that_is_a_rate_or_a_time_its_numbers_count(tmp_path: Path) -> None:
    """They are the clock's tokens per second, or its steps, or none: never the steps in place of the tokens printed."""
    shutil.copytree(RUN / "metrics/perf", tmp_path / "metrics")
    rates = {"steps/s": STEPS_PER_SECOND, "tokens/s": STEPS_PER_SECOND * CLOCK["tokens_per_step"]}
    for run in extracted(tmp_path).runs:
        assert run.throughput.value is None or run.throughput.value == pytest.approx(
            rates[run.throughput.unit], rel=0.01
        )
        assert run.throughput.value is None or run.log.path.endswith("step_time") or run.throughput.unit == "tokens/s"


def test_samples_of_the_systems_monitor_are_no_steps() -> None:
    """MLflow took one each second, with a step of its own: 1 step/s was read of each of these files."""
    extraction = extracted(RUN / "metrics/system")
    assert extraction.runs == []
    assert len(extraction.skipped) == 8
    assert {left_out.reason.split(" (")[0] for left_out in extraction.skipped} == {"no line of a known format"}


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (f"{'0a' * 16}/metrics/perf/tokens_per_sec", "mlflow time_ms=1777889472123 perf/tokens_per_sec=7.5 step=10\n"),
        (f"metrics/{'0a' * 16}/metrics/metrics/mAP 50", "mlflow time_ms=1777889472123 metrics/mAP_50=7.5 step=10\n"),
        ("metrics/loss", "mlflow time_ms=1777889472123 loss=7.5 step=10\n"),
        (f"{'0a' * 16}/metrics/a=b", "mlflow time_ms=1777889472123 a_b=7.5 step=10\n"),
        (f"{'0a' * 16}/metrics/{'a' * 251}", "mlflow time_ms=1777889472123 value=7.5 step=10\n"),
        (f"{'0a' * 16}/metrics/system/gpu_0_power", "mlflow metric of the system, no step: system/gpu_0_power\n"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_metric_is_named_by_its_file(place: str, line: str, packed: bool, tmp_path: Path) -> None:
    if packed:
        (tmp_path / "runs.tar").write_bytes(tarred([(place, b"1777889472123 7.5 10\n")]))
    else:
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text("1777889472123 7.5 10\n")
    (log,) = find_logs([tmp_path])
    assert b"".join(load() for load in blocks_of(log)).decode() == line


def test_what_is_not_read_says_what_is() -> None:
    (left_out,) = extracted(FOLDER / "wandb").skipped
    assert left_out.reason == (
        "a W&B run file, which is not read: files/output.log beside it holds what the program printed"
    )
    assert not left_out.failed
