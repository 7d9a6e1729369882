"""How many steps each row stands for: worked out by hand, per run and per epoch, over gaps, repeats and blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.measurements.rows import Rows
from perflog.measurements.segment import Count, Previous, Segment
from perflog.measurements.steps import Steps, count_steps, explicit_covers
from tests.measurements.support import NAN, STEP_TIME, column, pattern, rows, segment_of, stored

PER_RUN = pattern("step ips")
PER_EPOCH = pattern("epoch step ips", step_per="epoch")
INTERVAL_TIME = {"group": "block", "quantity": "interval_time", "unit": "s"}


def counted(
    made: Any, made_rows: Rows, previous: Previous | None = None, count: Count | None = None
) -> tuple[Steps, Count]:
    return count_steps(made, made_rows, previous or Previous(), count or Count(), learn=count is None)


def per_run(*steps: float) -> Rows:
    return rows("step ips", *((step, 10) for step in steps))


@pytest.mark.parametrize(
    ("base", "printed", "end", "covers", "origin", "interval"),
    [
        (1, (1, 2, 3), [1, 2, 3], [1, 1, 1], 0, 1),
        (0, (0, 1, 2), [1, 2, 3], [1, 1, 1], 0, 1),
        (1, (10, 20, 30), [10, 20, 30], [10, 10, 10], 0, 10),
        (0, (9, 19, 29), [10, 20, 30], [10, 10, 10], 0, 10),
        (1, (5, 15, 25), [5, 15, 25], [5, 10, 10], 0, 10),  # the first line tells of five steps
        (1, (1, 10, 20, 30), [1, 10, 20, 30], [1, 9, 10, 10], 0, 10),
        (1, (10, 20, 25), [10, 20, 25], [5, 10, 5], 5, 5),  # the smaller of two intervals that are as frequent
        (1, (7,), [7], [7], 0, 0),
    ],
)
def test_steps_of_a_run(
    base: int, printed: tuple[float, ...], end: list[float], covers: list[float], origin: float, interval: float
) -> None:
    steps, count = counted(pattern("step ips", step_base=base), per_run(*printed))
    assert (steps.end.tolist(), steps.covers.tolist()) == (end, covers)
    assert (count.origin, count.end, count.interval, count.resumed) == (origin, end[-1], interval, False)
    assert (steps.epoch.tolist(), count.epochs, count.base, count.keyless) == ([0] * len(printed), 0, 0, False)


def test_a_log_that_begins_later_is_of_a_resumed_run() -> None:
    steps, count = counted(PER_RUN, per_run(1010, 1020, 1030))
    assert (steps.covers.tolist(), count.origin, count.end, count.resumed) == ([10, 10, 10], 1000, 1030, True)
    assert not counted(PER_RUN, per_run(20, 30, 40))[1].resumed  # one line is missing, that may be all
    assert counted(PER_RUN, per_run(30, 40, 50))[1].resumed


@pytest.mark.parametrize(
    ("printed", "every_step", "usual"),
    [((1, 2, 3), True, 1), ((2, 4, 6), False, 2), ((1, 2, 3, 5), False, 1), ((1,), True, 1), ((4,), False, 4)],
)
def test_whether_each_step_prints_a_line_is_learned(printed: tuple[float, ...], every_step: bool, usual: float) -> None:
    steps, _ = counted(PER_RUN, per_run(*printed))
    assert (steps.every_step, steps.usual) == (every_step, usual)


def test_a_later_block_goes_on() -> None:
    steps, count = counted(PER_RUN, per_run(30, 50), Previous(step=20), Count(0, 20, 0, 0, 10))
    assert (steps.end.tolist(), steps.covers.tolist()) == ([30, 50], [10, 20])
    assert (count.origin, count.end, count.interval, steps.gaps, steps.gap_row) == (0, 50, 10, 1, 1)


def test_steps_of_epochs_are_counted_over_the_run() -> None:
    made = rows("epoch step ips", (1, 1, 9), (1, 2, 9), (2, 1, 9), (2, 2, 9), (3, 1, 9))
    steps, count = counted(PER_EPOCH, made)
    assert (steps.end.tolist(), steps.covers.tolist()) == ([1, 2, 3, 4, 5], [1] * 5)
    assert (steps.within.tolist(), steps.epoch.tolist()) == ([1, 2, 1, 2, 1], [0, 0, 1, 1, 2])
    assert (count.base, count.epochs, count.end) == (4, 2, 5)


def test_an_epoch_has_at_least_the_steps_that_it_printed() -> None:
    made = rows("epoch step ips", (1, 10, 9), (1, 20, 9), (2, 10, 9), (2, 20, 9))  # of 25 steps: nothing says so
    assert counted(PER_EPOCH, made)[0].end.tolist() == [10, 20, 30, 40]


def test_printed_lengths_of_epochs_count() -> None:
    made = pattern("epoch step epoch_steps ips", step_per="epoch")
    numbers = ((1, 10, 25, 9), (1, 20, 25, 9), (2, 10, 25, 9), (4, 10, 25, 9), (5, 10, NAN, 9))
    steps, count = counted(made, rows("epoch step epoch_steps ips", *numbers))
    # epoch 2 begins behind 25 steps, epoch 4 behind 25 + 2 × 25; of epoch 4 nothing but ten steps is known
    assert steps.end.tolist() == [10, 20, 35, 85, 95]
    assert steps.covers.tolist() == [10, 10, 15, 50, 10]
    assert (count.base, count.epochs) == (85, 3)


def test_an_epoch_whose_line_is_lost_is_in_no_other_lines_steps() -> None:
    made = pattern("epoch step epoch_steps ips", step_per="epoch")
    often = rows("epoch step epoch_steps ips", (1, 5, 5, 9), (2, 5, 5, 9), (5, 5, 5, 9))
    steps, count = counted(made, often)
    assert (steps.end.tolist(), steps.covers.tolist(), steps.own.tolist()) == ([5, 10, 25], [5, 5, 15], [5, 5, 5])
    assert (steps.gaps, steps.gap_row, count.epoch_rise) == (2, 2, 1)
    steps, _ = counted(made, rows("epoch step epoch_steps ips", (8, 5, 5, 9)), Previous(epoch=5, step=5), count)
    assert (steps.end.tolist(), steps.own.tolist(), steps.gaps) == ([40], [5], 2)


def test_epochs_that_are_printed_now_and_then_keep_their_steps() -> None:
    made = pattern("epoch step epoch_steps ips", step_per="epoch")
    numbers = ((2, 5, 5, 9), (4, 5, 5, 9), (6, 5, 5, 9), (12, 5, 5, 9))
    steps, count = counted(made, rows("epoch step epoch_steps ips", *numbers))
    assert (steps.covers.tolist(), steps.own.tolist()) == ([5, 10, 10, 30], [5, 10, 10, 10])
    assert (steps.gaps, steps.gap_row, count.epoch_rise) == (2, 3, 2)


def test_an_epoch_may_begin_with_a_block() -> None:
    made = rows("epoch step ips", (2, 1, 9), (2, 2, 9))
    steps, count = counted(PER_EPOCH, made, Previous(epoch=1, step=3), Count(0, 3, 0, 0, 1))
    assert (steps.end.tolist(), steps.epoch.tolist(), count.base, count.epochs) == ([4, 5], [1, 1], 3, 1)


def test_what_the_line_says_of_its_steps_counts() -> None:
    covering = pattern("step covers ips")
    steps, _ = counted(covering, rows("step covers ips", (10, 4, 9), (20, NAN, 9), (30, 6, 9)))
    assert (steps.end.tolist(), steps.covers.tolist()) == ([10, 20, 30], [4, 10, 6])
    first = pattern("first_step step ips")
    assert counted(first, rows("first_step step ips", (0, 4, 9), (4, 10, 9)))[0].covers.tolist() == [4, 6]
    assert explicit_covers(PER_RUN, per_run(1)) is None


def test_two_times_on_a_line_say_how_many_steps_lie_between() -> None:
    made = pattern("ms block", STEP_TIME, INTERVAL_TIME)
    printed = rows("ms block", (100, 2), (100, 0.96), (0, 1), (100, NAN))
    np.testing.assert_array_equal(explicit_covers(made, printed), [20, 10, NAN, NAN])
    stepped = pattern("step ms block", STEP_TIME, INTERVAL_TIME)
    assert explicit_covers(stepped, rows("step ms block", (1, 100, 2))) is None  # the step says more


def test_a_format_without_steps_takes_each_line_for_one() -> None:
    steps, count = counted(pattern("ips"), rows("ips", (9,), (8,)))
    assert (steps.end.tolist(), steps.covers.tolist(), steps.epoch.tolist()) == ([1, 2], [1, 1], [0, 1])
    assert (count.end, count.epochs, count.keyless, steps.every_step) == (2, 2, True, False)
    later, count = counted(pattern("ips"), rows("ips", (7,)), Previous(values={"ips": 8}), count)
    assert (later.end.tolist(), count.end, count.epochs, count.keyless) == ([3], 3, 3, True)


def test_epochs_that_are_missing_among_lines_of_epochs_are_counted() -> None:
    made = pattern("epoch step covers ips")
    placed = rows("epoch step covers ips", (1, NAN, 5, 9), (2, NAN, 5, 9), (5, 7, 5, 9), line=10, positions=(-1, -1, 4))
    steps, count = counted(made, placed)
    assert (steps.end.tolist(), steps.covers.tolist()) == ([5, 10, 25], [5, 5, 5])
    assert (steps.gaps, steps.gap_row, count.end, count.keyless) == (2, 2, 25, False)
    assert segment_of(made, placed).tally.gap_place == "before line 12"


def test_a_counter_that_stands_still_counts_on() -> None:
    repeating = pattern("step ips", step_repeats=True)
    blocks = rows("step ips", (5, 1), (5, 2), (6, 3)), rows("step ips", (7, 4), (8, 5), (8, 6), line=4)
    segment = segment_of(repeating, *blocks)
    assert column(segment, "end") == [5, 6, 7, 8, 9, 10]
    assert column(segment, "covers") == [1] * 6
    assert segment.tally.repeats == 2


def test_one_counter_standing_still_without_an_interval() -> None:
    segment = segment_of(pattern("step ips", step_repeats=True), rows("step ips", (1, 1), (1, 2)))
    assert (column(segment, "end"), segment.count.interval) == ([1, 2], 0)


@pytest.mark.parametrize(
    ("printed", "gaps", "place"),
    [
        ((1, 2, 3, 4), 0, ""),
        ((1, 2, 4, 5), 1, "before step 4 (line 3)"),
        ((1, 2, 3, 9, 10, 13), 7, "before step 9 (line 4)"),
        ((10, 20, 34, 44, 54), 0, ""),  # not half an interval late
        ((10, 20, 36, 46, 56), 1, "before step 36 (line 3)"),
        ((100, 101, 102), 0, ""),  # what was before the log is not missing in it
    ],
)
def test_records_that_are_missing(printed: tuple[float, ...], gaps: int, place: str) -> None:
    tally = segment_of(PER_RUN, per_run(*printed)).tally
    assert (tally.gaps, tally.gap_place) == (gaps, place)


def test_the_first_place_of_missing_records_is_kept() -> None:
    tally = segment_of(PER_RUN, per_run(1, 2, 4), per_run(8, 9)).tally
    assert (tally.gaps, tally.gap_place) == (4, "before step 4 (line 3)")


def test_a_new_epoch_is_no_gap() -> None:
    made = rows("epoch step ips", (1, 1, 9), (1, 2, 9), (1, 3, 9), (2, 3, 9), (2, 5, 9))
    tally = segment_of(PER_EPOCH, made).tally
    assert (tally.gaps, tally.gap_place) == (1, "before epoch 2 step 5 (line 5)")


@st.composite
def runs_and_borders(draw: st.DrawFn) -> tuple[Rows, int]:
    """Rows of a run, regular at first, with gaps, events printed twice and epochs later; and a place to cut them."""
    interval = draw(st.sampled_from([1, 5]))
    epoch, step, numbers = 1, 0, []
    for place in range(draw(st.integers(8, 20))):
        jump = draw(st.sampled_from(["", "", "", "gap", "epoch", "twice"])) if place > 6 else ""
        if jump == "epoch":
            epoch, step = epoch + 1, 0
        step += interval * (3 if jump == "gap" else 1)
        numbers += [(epoch, step, 100.0 + place)] * (2 if jump == "twice" else 1)
    return rows("epoch step ips", *numbers), draw(st.integers(4, len(numbers) - 1))


def seen(segment: Segment) -> tuple[Any, ...]:
    """All that counts of a segment."""
    return (
        stored(segment).tolist(),
        segment.tally,
        segment.count,
        repr(segment.previous),
        segment.basis,
        segment.last_line,
    )


@given(runs_and_borders())
def test_one_block_and_two_make_the_same_segment(made: tuple[Rows, int]) -> None:
    whole, border = made
    parts = whole.take(slice(0, border)), whole.take(slice(border, None))
    assert seen(segment_of(PER_EPOCH, whole)) == seen(segment_of(PER_EPOCH, *parts))
