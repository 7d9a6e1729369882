"""Bars beside the training's: an evaluation's is no time of training, whatever it is called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from perflog.notes import texts
from perflog.reading.reading import Reading
from perflog.runs.run import Run
from tests.reading.support import read
from tests.support import catalog, extracted

#: A step takes a second, an evaluation a minute.
STEPS, EVERY, EVALUATION = 3000, 100, 60


def bar(step: int, total: int, seconds: int, name: str = "", behind: str = "") -> str:
    clock = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{name}{100 * step // total:3d}%|###       | {step}/{total} [{clock}<1:00:00,  1.00s/it{behind}]\n"


def training(name: str, evaluation: str) -> Iterator[str]:
    """A bar with a loss; every 100 steps another bar of 50 batches begins and ends."""
    seconds = 0
    yield bar(1, STEPS, 1, name, ", loss=0.412")  # a count of one says that a tick is a step
    for step in range(20, STEPS + 1, 20):
        seconds += 20
        yield bar(step, STEPS, seconds, name, ", loss=0.412")
        if step % EVERY == 0:
            yield from (bar(batch, 50, batch * EVALUATION // 50, evaluation) for batch in (10, 30, 50))
            seconds += EVALUATION


def run_of(folder: Path, lines: Iterator[str]) -> Run:
    file = folder / "a.log"
    file.write_text("".join(lines))
    (run,) = extracted(file).runs
    return run


@pytest.mark.parametrize("name", ["", "Training: "])
@pytest.mark.parametrize("evaluation", ["", "Batches: ", "Running the metric (bleu): "])
def test_a_bar_that_begins_between_two_refreshes_is_no_training(name: str, evaluation: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, training(name, evaluation))
    assert run.throughput.value == pytest.approx(1.0)
    assert any("29 records left out that hold an evaluation" in note for note in texts(run.notes))


def test_a_bar_of_which_the_end_alone_is_left_begins_each_time(tmp_path: Path) -> None:
    kept = (line for line in training("", "Batches: ") if "Batches" not in line or "50/50" in line)
    assert run_of(tmp_path, kept).throughput.value == pytest.approx(1.0)


@pytest.mark.parametrize("around", ["", "Total progress: "])
def test_a_bar_around_the_training_is_no_pause(around: str, tmp_path: Path) -> None:
    """A bar of all steps goes on beside those of each epoch: it begins once."""
    lines = [
        line
        for step in range(19, STEPS + 1, 20)
        for line in (bar((step - 1) % 600 + 1, 600, (step - 1) % 600 + 1, "Epoch 1: "), bar(step, STEPS, step, around))
    ]
    run = run_of(tmp_path, iter(lines))
    assert run.throughput.value == pytest.approx(1.0, rel=0.005)
    assert [note for note in texts(run.notes) if "left out that hold" in note] == [
        "1 record left out that holds an evaluation or the like (20 s)"  # in which the other bar is first drawn
    ]


def test_where_a_log_is_cut_into_blocks_changes_nothing() -> None:
    lines = list(training("", "Batches: "))
    whole = _paused(read(catalog(), "".join(lines)))
    assert whole == 29
    assert _paused(read(catalog(), *lines)) == whole


def _paused(reading: Reading) -> int:
    (ranks,) = reading.series.values()
    return ranks[0].segments[0].tally.paused
