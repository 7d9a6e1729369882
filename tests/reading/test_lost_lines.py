"""Epochs whose lines are lost or cut: what is left is measured as it is, and what is missing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.runs.run import Run
from tests.support import FIXTURES, extracted

KERAS = b"782/782 - %ds - loss: 0.5000 - accuracy: 0.8133\n"


def keras(*epochs: tuple[int, bytes]) -> bytes:
    """Epochs of 782 steps, each with what stands behind its heading."""
    return b"".join(b"Epoch %d/9\n%s" % epoch for epoch in epochs)


def run_of(folder: Path, data: bytes) -> Run:
    file = folder / "a.log"
    file.write_bytes(data)
    (run,) = extracted(file).runs
    return run


def test_lines_of_epochs_that_are_lost_are_in_no_other_epochs_time(tmp_path: Path) -> None:
    """Epoch 5 took 3 s for its own 782 steps; its line was read as 2,346 steps in 3 s."""
    log = keras((1, KERAS % 7), (2, KERAS % 3), (5, KERAS % 3))
    run = run_of(tmp_path, log)
    assert run.throughput.value == pytest.approx(782 / 3)
    assert "2 records are missing, the first before epoch 5 step 782 (line 6)" in run.notes


def test_a_line_of_fewer_steps_than_its_epoch_ends_none(tmp_path: Path) -> None:
    """``78`` and three backspaces before ``2/782``: a terminal shows 2 of 782 steps on a line that ends an epoch."""
    log = keras((1, KERAS % 7), (2, KERAS % 3), (3, b"78\b\b\b" + KERAS[2:] % 3), (4, KERAS % 3))
    run = run_of(tmp_path, log)
    assert run.throughput.value == pytest.approx(782 / 3)
    assert "1 record without a usable number, the first at line 6" in run.notes


def test_a_line_before_the_first_heading_is_of_no_epoch(tmp_path: Path) -> None:
    run = run_of(tmp_path, KERAS % 1 + keras((2, KERAS % 4), (3, KERAS % 3), (4, KERAS % 3)))
    assert run.throughput.value == pytest.approx(782 / 3)
    assert "1 record without a usable number, the first at line 1" in run.notes


def mindspore() -> list[bytes]:
    return (FIXTURES / "parsers/mindspore/epochs.log").read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\u2028", "\u2029", "\x85", "  "])
def test_an_evaluation_is_no_epoch_whatever_its_words_are_parted_by(separator: str, tmp_path: Path) -> None:
    lines = mindspore()
    alone = run_of(tmp_path, b"".join(lines)).throughput.value
    assert alone is not None
    evaluated = b"Eval" + separator.encode() + b"epoch time"
    parted = [line.replace(b"Eval epoch time", evaluated) for line in lines]
    assert parted != lines
    assert run_of(tmp_path, b"".join(parted)).throughput.value == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize(("kept", "note"), [(4, "2 epochs begin behind"), (5, ""), (6, "")])
def test_epochs_behind_the_last_measurement_are_said(kept: int, note: str, tmp_path: Path) -> None:
    lines, printed = [], 0
    for line in mindspore():
        printed += line.startswith(b"Train")
        lines += [] if line.startswith(b"Train") and printed > kept else [line]
    run = run_of(tmp_path, b"".join(lines))
    assert run.throughput.value == pytest.approx(4.155, rel=5e-3)
    missing = [each for each in run.notes if "their times are missing" in each]
    last = 3 * kept - 1
    assert missing == ([f"{note} the last measurement (line {last}): their times are missing"] if note else [])


def test_two_records_alone_do_not_say_whether_one_between_them_is_missing(tmp_path: Path) -> None:
    """Of the ends of epochs of 300 steps the second is lost: the time of the third is of 300 steps, not of 600."""
    line = b"[0802 20:46:46 @base.py:285] Epoch %d (global_step %d) finished, time:50.0 seconds.\n"
    note = (
        "600 steps lie between the two records and 300 before them: if a record between them is missing, the time is of "
        "fewer steps"
    )
    assert note in run_of(tmp_path, line % (1, 300) + line % (3, 900)).notes
    whole = run_of(tmp_path, line % (1, 300) + line % (2, 600) + line % (3, 900))
    assert whole.throughput.value == pytest.approx(6.0)
    assert not [each for each in whole.notes if "records" in each]
