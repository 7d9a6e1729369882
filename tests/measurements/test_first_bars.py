"""A bar that a line of its own places: the first one behind that line is the training's."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from perflog.measurements.order import NOTHING_BEHIND, first_bars
from perflog.measurements.rows import Rows
from tests.measurements.support import ELAPSED, column, parser, rows, segment_of, table
from tests.support import extracted

#: Two epochs, each with a line of position, a bar of 40 steps and a test's of 20.
STEPS = [10, 20, 30, 40, 10, 20] * 2
PLACES = [1] * 6 + [9] * 6


def bars(steps: Sequence[float], places: Sequence[int]) -> Rows:
    lines = np.arange(2, 2 + len(steps), dtype=np.int64)
    return Rows(lines, {"step": np.array(steps, dtype=np.float64)}, np.array(places, dtype=np.int64))


@pytest.mark.parametrize("cut", range(1, 12))
def test_the_second_bar_behind_a_line_is_left_out_wherever_a_block_ends(cut: int) -> None:
    before, last = first_bars(bars(STEPS[:cut], PLACES[:cut]), NOTHING_BEHIND)
    after, _ = first_bars(bars(STEPS[cut:], PLACES[cut:]), last)
    assert [*before.columns["step"], *after.columns["step"]] == [10, 20, 30, 40] * 2


def test_a_step_that_falls_a_little_is_left_to_be_refused() -> None:
    """Two processes draw into one log: no bar begins anew."""
    kept, _ = first_bars(bars([10, 20, 19, 30, 29], [1] * 5), NOTHING_BEHIND)
    assert len(kept) == 5


def test_a_bar_of_which_the_line_is_lost_is_of_nobody() -> None:
    kept, _ = first_bars(bars([10, 20, 10, 20], [-1, -1, 7, 7]), NOTHING_BEHIND)
    assert kept.lines.tolist() == [4, 5]


def test_of_a_log_without_such_lines_nothing_is_known() -> None:
    rows = Rows(np.array([1, 2]), {"step": np.array([40.0, 10.0])})
    assert len(first_bars(rows, NOTHING_BEHIND)[0]) == 0


def test_a_block_that_holds_a_test_alone_adds_nothing() -> None:
    head = {"name": "head", "role": "position", "literal": "Epoch ", "regex": "Epoch (?P<epoch>{I})"}
    keys = {"position": "head", "position_once": True, "redrawn": True, "restarts": True}
    bar = table("step clock", {**ELAPSED, "since": "epoch"}, **keys)
    made = parser(head, bar).patterns[1]
    blocks = [
        rows("epoch step clock", (1, 10, 5), (1, 20, 10), (1, 30, 15), line=2, positions=[1] * 3),
        rows("epoch step clock", (1, 10, 1), (1, 20, 2), line=5, positions=[1] * 2),
        rows("epoch step clock", (2, 10, 5), (2, 20, 10), (2, 30, 15), line=8, positions=[7] * 3),
    ]
    assert column(segment_of(made, *blocks), "line") == [2, 3, 4, 8, 9, 10]


def test_the_samples_that_a_bar_counts_are_steps_where_its_epoch_stands_on_another_line(tmp_path: Path) -> None:
    """Steps of 0.5 s and 128 samples; the test's, ten times as fast, are no training."""
    lines = []
    for epoch in range(3):
        lines.append(f"Epoch: {epoch}")
        for batches, seconds in ((100, 0.5), (50, 0.05)):
            for step in range(1, batches + 1):
                clock = f"{int(seconds * (step - 1))}s{int(1000 * (seconds * (step - 1) % 1))}ms"
                shown = f"Loss: 1.234 | Acc: 50.000% ({64 * step}/{128 * step})"
                lines.append(f" [==>..]  Step: 500ms | Tot: {clock} | {shown}")
    file = tmp_path / "a.log"
    file.write_text("\n".join(lines) + "\n")
    (run,) = extracted(file).runs
    assert run.throughput.value == pytest.approx(128 / 0.5, rel=1e-3)


def drawn(rng: random.Random, seconds: float, begins: float) -> list[tuple[float, str]]:
    """(moment, text) of three epochs of pytorch-cifar's bar, each of 98 steps of 128 samples, then a test of 20."""
    moment, events = begins, []
    for epoch in range(3):
        events.append((moment, f"\nEpoch: {epoch}\n"))
        for steps, share in ((98, 1.0), (20, 0.4)):
            began = moment
            for step in range(1, steps + 1):
                moment += seconds * share * (1 + 0.1 * rng.gauss(0, 1))
                began = moment if step == 1 else began
                whole, part = divmod(int((moment - began) * 1000), 1000)
                clock = f"{whole}s{part}ms" if whole else f"{part}ms"
                text = f" [=>..]  Step: 50ms | Tot: {clock} | Loss: 2.3 | Acc: 10.0% (9/{step * 128})"
                events.append((moment, text + ("\n" if step == steps else "\r")))
    return events


@pytest.mark.parametrize("behind", [0.013, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("seconds", [0.05, 0.0515, 0.06, 0.1])
def test_bars_of_two_processes_in_one_file_give_no_number(tmp_path: Path, behind: float, seconds: float) -> None:
    first, second = drawn(random.Random(1), 0.05, 0.0), drawn(random.Random(2), seconds, behind)
    (tmp_path / "two.log").write_text("".join(text for _, text in sorted([*first, *second])))
    (tmp_path / "one.log").write_text("".join(text for _, text in first))
    values = {
        Path(made.log.path).name: made.throughput.value for made in extracted(tmp_path, set={"devices": "1"}).runs
    }
    assert values == {"one.log": pytest.approx(128 / 0.05, rel=0.02), "two.log": None}


def test_a_bar_of_which_each_line_stands_twice_gives_its_number(tmp_path: Path) -> None:
    text = "".join(text for _, text in drawn(random.Random(1), 0.05, 0.0)).replace("\r", "\n")
    for name, lines in (("one.log", text), ("twice.log", "".join(line * 2 for line in text.splitlines(True)))):
        (tmp_path / name).write_text(lines)
    first, second = (run.throughput.value for run in extracted(tmp_path, set={"devices": "1"}).runs)
    assert first == second == pytest.approx(128 / 0.05, rel=0.02)
