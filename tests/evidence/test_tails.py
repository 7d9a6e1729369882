"""An epoch whose first step is slow, and which goes on behind its last line: the total counts that step too often."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.notes import texts
from perflog.runs.run import Run
from tests.support import extracted

EPOCHS = 20


def run_of(tmp_path: Path, text: str) -> Run:
    (tmp_path / "train.log").write_text(text)
    (made,) = extracted(tmp_path, warmup=0, set={"devices": "1"}).runs
    return made


def log_of(steps: int, every: int, first: float, other: float, told: bool = True) -> str:
    """CSAIL's lines or PaddleClas' (which do not tell the epoch's length), behind every so many steps."""
    lines = ["  batch_size_per_gpu: 2"]
    for epoch in range(1, EPOCHS + 1):
        for step in range(0, steps, every):
            mean = (first + step * other) / (step + 1)
            line = f"Epoch: [{epoch}][{step}/{steps}], Time: {mean:.4f}, Data: 0.01, lr_encoder: 0.02, Loss: 2.1"
            if not told:
                line = (
                    f"epoch:{epoch} train step:{step + 5} lr: 0.1, batch_cost: {mean:.5f} s, reader_cost: 0.1 s, "
                    f"ips: {2 / mean:.5f} samples/sec."
                )
            lines.append(line)
    return "\n".join(lines) + "\n"


def test_the_steps_behind_the_last_line_of_an_epoch_are_said(tmp_path: Path) -> None:
    """15 steps, one of 0.7 s and 14 of 0.1 s: 14.29 samples/s, while the lines of 11 of them say 12.94."""
    made = run_of(tmp_path, log_of(15, 5, 0.7, 0.1))
    (said,) = [note for note in texts(made.notes) if "behind its last line" in note]
    assert made.throughput.value == pytest.approx(12.94, rel=0.005)
    assert said.startswith("4 steps of each epoch, ")
    assert float(said.split()[-2]) == pytest.approx(2 * 15 / (0.7 + 14 * 0.1), rel=0.01)


@pytest.mark.parametrize(
    ("steps", "every", "first"),
    [(15, 5, 0.1), (16, 5, 0.7), (505, 5, 0.7)],
    ids=["no step is slow", "the last line ends the epoch", "few of many steps"],
)
def test_nothing_is_said_where_it_changes_little(tmp_path: Path, steps: int, every: int, first: float) -> None:
    made = run_of(tmp_path, log_of(steps, every, first, 0.1))
    assert made.throughput.value == pytest.approx(2 * steps / (first + (steps - 1) * 0.1), rel=0.01)
    assert not [note for note in texts(made.notes) if "behind its last line" in note]


def test_of_an_epoch_of_unknown_length_the_most_is_said(tmp_path: Path) -> None:
    """Lines behind steps 1, 6 and 11: up to four more steps."""
    made = run_of(tmp_path, log_of(15, 5, 0.7, 0.1, told=False))
    (said,) = [note for note in texts(made.notes) if "behind its last line" in note]
    assert said.startswith("up to 4 steps of each epoch, ")
    assert float(said.split()[-2]) == pytest.approx(2 * 15 / (0.7 + 14 * 0.1), rel=0.01)
