"""Epochs whose lines are lost or cut: what is left is measured as it is, and what is missing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.notes import texts
from perflog.runs.run import Run
from tests.support import FIXTURES, extracted

KERAS = b"782/782 - %ds - loss: 0.5000 - accuracy: 0.8133\n"


def keras(*epochs: tuple[int, bytes]) -> bytes:
    """Epochs of 782 steps, each with what stands behind its heading."""
    return b"Train for 782 steps\n" + b"".join(b"Epoch %d/9\n%s" % epoch for epoch in epochs)


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
    assert "2 records are missing, the first before epoch 5 step 782 (line 7)" in texts(run.notes)


def test_a_line_of_fewer_steps_than_its_epoch_ends_none(tmp_path: Path) -> None:
    """``78`` and three backspaces before ``2/782``: a terminal shows 2 of 782 steps on a line that ends an epoch."""
    log = keras((1, KERAS % 7), (2, KERAS % 3), (3, b"78\b\b\b" + KERAS[2:] % 3), (4, KERAS % 3))
    run = run_of(tmp_path, log)
    assert run.throughput.value == pytest.approx(782 / 3)
    assert "1 record without a usable number, the first at line 7" in texts(run.notes)


def test_a_line_before_the_first_heading_is_of_no_epoch(tmp_path: Path) -> None:
    run = run_of(tmp_path, KERAS % 1 + keras((2, KERAS % 4), (3, KERAS % 3), (4, KERAS % 3)))
    assert run.throughput.value == pytest.approx(782 / 3)
    assert "1 record without a usable number, the first at line 1" in texts(run.notes)


def mindspore() -> list[bytes]:
    return (FIXTURES / "parsers/mindspore/epochs.log").read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("separator", ["", "\x0b", "\x0c", "\x0c ", "\u2028", "\u2029", "\x85", "  "])
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
    missing = [each for each in texts(run.notes) if "their times are missing" in each]
    last = 3 * kept - 1
    assert missing == ([f"{note} the last measurement (line {last}): their times are missing"] if note else [])


def test_records_that_lie_further_apart_than_the_first_from_the_start_may_be_missing_some(tmp_path: Path) -> None:
    """Of lines that each tell of 300 steps every second one is lost: the time of the third is of 300 steps, not of 600."""
    line = b"it: %d/9000, lr: 0.010000, eta: 0:24:10, time: 50.0\n"
    note = (
        "600 steps lie between the two records and 300 before the first: if records between them are missing, the times "
        "are of fewer steps"
    )
    assert note in texts(run_of(tmp_path, line % 300 + line % 900).notes)
    odd = run_of(tmp_path, b"".join(line % step for step in range(300, 9001, 600)))
    assert note.replace("the two", "two") in texts(odd.notes)
    whole = run_of(tmp_path, line % 300 + line % 600 + line % 900)
    assert whole.throughput.value == pytest.approx(6.0)
    assert not [each for each in texts(whole.notes) if "records" in each]


TENSORPACK = b"[0802 20:46:46 @base.py:285] Epoch %d (global_step %d) finished, time:%s\n"


def tensorpack(*epochs: int, time: bytes = b"50.0 seconds.") -> bytes:
    """The ends of some epochs of 300 steps."""
    return b"".join(TENSORPACK % (epoch, 300 * epoch, time) for epoch in epochs)


@pytest.mark.parametrize(
    ("epochs", "missing"),
    [
        ((1, 2, 3, 4, 5, 6), ""),
        ((1, 3, 5), "2 records are missing, the first before step 900 (line 2)"),
        ((2, 4, 6), "2 records are missing, the first before step 1200 (line 2)"),
        ((1, 3), "1 record is missing, the first before step 900 (line 2)"),
        ((1, 2, 5), "2 records are missing, the first before step 1500 (line 3)"),
        ((5, 6), ""),
    ],
)
@pytest.mark.parametrize("time", [b"50.0 seconds.", b"50.00 sec.", b"50.0000sec."])
def test_each_end_of_an_epoch_tells_of_its_own_steps(
    epochs: tuple[int, ...], missing: str, time: bytes, tmp_path: Path
) -> None:
    """Every second one lost, the time of an epoch was taken for the steps of two."""
    run = run_of(tmp_path, tensorpack(*epochs, time=time))
    assert run.throughput.value == pytest.approx(6.0)
    assert [note for note in texts(run.notes) if "missing" in note] == ([missing] if missing else [])


def test_of_one_end_of_an_epoch_alone_the_steps_are_known_in_the_first_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    for epoch, value in ((1, 6.0), (4, None)):
        file.write_bytes(tensorpack(epoch))
        (run,) = extracted(file, warmup=0).runs
        assert run.throughput.value == value
    assert run.throughput.reason == (
        "the log holds one record, and nothing tells how many steps: those before are missing, or it resumed"
    )
    assert "1 record left out: how many steps it covers cannot be known" in texts(run.notes)


@pytest.mark.parametrize("lost", [b"[step=", b"total_tokens", b"batches_per_second"])
def test_a_counter_of_work_has_gone_on_where_a_record_is_lost(lost: bytes, tmp_path: Path) -> None:
    """OLMo prints the tokens so far and the rate of the last steps: two records' tokens counted in the time of one."""
    lines = (FIXTURES / "parsers/olmo/olmo.log").read_bytes().splitlines(keepends=True)
    alone = run_of(tmp_path, b"".join(lines)).throughput.value
    kept, seen = [], 0
    for line in lines:
        seen += lost in line
        kept += [] if lost in line and seen % 4 == 0 else [line]
    if lost == b"[step=":
        records = b"".join(lines).split(b"olmo.train:979")
        kept = [b"olmo.train:979".join(record for number, record in enumerate(records) if number % 4 or not number)]
    value = run_of(tmp_path, b"".join(kept)).throughput.value
    assert value == pytest.approx(alone, rel=5e-3)


def test_times_of_every_second_position_are_of_no_known_steps(tmp_path: Path) -> None:
    """The time of 20 iterations was taken for that of 40."""
    lines = (FIXTURES / "parsers/faster_rcnn_pytorch/train.log").read_bytes().splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if b"time cost" in line]
    for lost in (places[::2], places[1::2]):
        run = run_of(tmp_path, b"".join(line for place, line in enumerate(lines) if place not in lost))
        assert run.throughput.value is None
        assert run.throughput.reason == (
            "the log tells of a step every 20 steps and of a time every 40: times between them are missing, or each is of "
            "more steps"
        )


ESTIMATOR = b"[Epoch 0][Batch %d][Samples %d] time/interval: 0.250s\n"


@pytest.mark.parametrize(
    ("batches", "note"),
    [
        ((30, 60, 80), "the records lie 20 to 30 steps apart"),
        ((10, 30, 50, 70, 80, 100, 110), "the records lie 10 to 20 steps apart"),
        ((10, 20, 30, 40, 50), ""),
        (
            (20, 30, 60, 80, 90, 100, 130, 150, 160, 180, 200, 220, 240, 250, 270, 290, 300, 320, 330, 360, 390, 400),
            "the records lie 10 to 30 steps apart",
        ),
    ],
)
def test_few_records_at_uneven_distances_may_be_those_that_are_left(
    batches: tuple[int, ...], note: str, tmp_path: Path
) -> None:
    """A line each 10 batches, most of them lost: 78.6 for 32.2 steps/s, and nothing was said."""
    run = run_of(tmp_path, b"".join(ESTIMATOR % (batch, 16 * batch) for batch in batches))
    uneven = [each for each in texts(run.notes) if " steps apart: " in each]
    assert uneven == ([f"{note}: if records between them are missing, the times are of fewer steps"] if note else [])


def test_one_measurement_alone_is_said(tmp_path: Path) -> None:
    epochs = [(1, KERAS % 7), (2, KERAS % 3), (3, KERAS % 3)]
    note = "one measurement alone is behind the throughput (line 5)"
    assert note in texts(run_of(tmp_path, keras(*epochs[:2])).notes)
    assert not [each for each in texts(run_of(tmp_path, keras(*epochs)).notes) if "alone" in each]


def test_epochs_behind_a_measurement_without_a_heading_are_said(tmp_path: Path) -> None:
    lines = mindspore()
    cut = [lines[1], *(line for line in lines[3:] if not line.startswith(b"Train"))]
    assert "5 epochs begin behind the last measurement (line 1): their times are missing" in texts(
        run_of(tmp_path, b"".join([lines[1], *cut])).notes
    )


def test_a_line_that_did_most_of_the_work_is_said(tmp_path: Path) -> None:
    """A rate of words that is weighted by its time: one of 1.8 thousand million is nearly all of the work."""
    log = (FIXTURES / "parsers/marian/train.log").read_bytes()
    lines = log.splitlines(keepends=True)
    assert b": 8188.68 words/s" in lines[9]
    lines[9] = lines[9].replace(b"8188.68", b"1837180000")
    note = "line 10 alone holds 100% of the measured work: its numbers may be damaged"
    assert note in texts(run_of(tmp_path, b"".join(lines)).notes)
    assert not [each for each in texts(run_of(tmp_path, log).notes) if "of the measured work" in each]


def test_records_that_hold_a_save_are_not_missing(tmp_path: Path) -> None:
    """Every second record or so holds a save, of which a line tells: what lies between the others is no gap."""
    lines = []
    for step in range(10, 310, 10):
        lines.append(
            f"- root - INFO - step: {step:2d}  loss:  5.8587  memory: 48.87GiB(51.44%)  tps: 8,000  mfu: 41.62%\n"
        )
        if step % 20 == 0:
            lines.append("- root - INFO - Finished saving the checkpoint in 3.00 seconds.\n")
    run = run_of(tmp_path, "".join(lines).encode())
    assert run.throughput.value == pytest.approx(8000)
    assert "14 records left out that hold an evaluation or the like" in texts(run.notes)
    assert not [note for note in texts(run.notes) if " steps apart: " in note]


def test_an_episode_behind_a_lost_one_is_in_no_measurement(tmp_path: Path) -> None:
    """Episodes of unlike lengths at 40 steps/s: the one behind a lost line took 5 s for its own 200 of 500 steps."""
    step, lines = 0, []
    for episode, steps in enumerate((400, 120, 300, 200, 480, 40, 360), 1):
        step += steps
        lines.append(b"| train | E: %d | S: %d | R: 1.5 | D: %.1f s\n" % (episode, step, steps / 40))
    assert run_of(tmp_path, b"".join(lines)).throughput.value == pytest.approx(40)
    run = run_of(tmp_path, b"".join([*lines[:2], *lines[3:]]))
    assert run.throughput.value == pytest.approx(40)
    assert "1 record left out: how many steps it covers cannot be known" in texts(run.notes)


def test_of_two_kinds_of_lines_the_one_that_lost_a_line_still_speaks(tmp_path: Path) -> None:
    """Every line twice, with a stamp and without: where one of those with a stamp is lost, the clock is still theirs."""
    source = FIXTURES / "parsers" / "tf_slim" / "detection_v2.log"
    lines = source.read_bytes().splitlines(keepends=True)
    assert b"model_lib_v2.py:652] Step 3600" in lines[71]
    whole, lacking = run_of(tmp_path, b"".join(lines)), run_of(tmp_path, b"".join([*lines[:71], *lines[72:]]))
    assert lacking.throughput.value == pytest.approx(whole.throughput.value, rel=0.01)
