"""The order of rows: what is one run, what is an event printed twice, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from perflog.measurements.order import in_order, name_of_step
from perflog.measurements.rows import Rows
from perflog.measurements.segment import Previous
from tests.measurements.support import NAN, column, folded, pattern, rows, segment_of

PER_RUN = pattern("step ips")
PER_EPOCH = pattern("epoch step ips", step_per="epoch")
REPEATING = pattern("step ips", step_repeats=True)


def order(made: object, made_rows: Rows, previous: Previous | None = None) -> list[bool] | None:
    mask = in_order(made, made_rows, previous or Previous())  # type: ignore[arg-type]
    return None if mask is None else mask.tolist()


def test_rising_steps_with_gaps_are_in_order() -> None:
    assert order(PER_RUN, rows("step ips", (1, 10), (2, 10), (7, 10))) == [True, True, True]
    segment = segment_of(PER_RUN, rows("step ips", (1, 10), (2, 10), (3, 10), (7, 10)))
    assert (segment.refused, segment.tally.printed, segment.tally.doubled) == ("", 4, 0)


def test_the_first_row_is_compared_with_the_block_before() -> None:
    block = rows("step ips", (3, 10), (4, 10))
    assert order(PER_RUN, block, Previous(step=2)) == [True, True]
    assert order(PER_RUN, block, Previous(step=3)) == [False, True]
    assert order(PER_RUN, block, Previous(step=4)) == [False, True]


def test_a_format_without_steps_has_no_order() -> None:
    assert order(pattern("ips"), rows("ips", (10,), (11,))) is None
    assert order(PER_RUN, rows("step ips", (NAN, 10), (NAN, 11))) is None


@pytest.mark.parametrize(
    ("made", "doubled", "steps"),
    [
        (((1, 10), (2, 20), (2, 20), (3, 30)), 1, [1, 2, 3]),
        (((1, 10), (2, 20), (2, 20), (2, 20), (3, 30)), 2, [1, 2, 3]),
        (((1, 10), (2, 20), (1, 10), (2, 20), (3, 30)), 2, [1, 2, 3]),  # a whole part of the log printed again
        (((1, 10), (2, NAN), (2, NAN), (3, 30)), 1, [1, 3]),  # a number that lacks on both is the same
    ],
)
def test_the_same_event_printed_again_is_counted_once(
    made: tuple[tuple[float, float], ...], doubled: int, steps: list[float]
) -> None:
    segment = segment_of(PER_RUN, rows("step ips", *made))
    assert (segment.refused, segment.tally.doubled, column(segment, "end")) == ("", doubled, steps)


def test_an_event_printed_again_across_two_blocks_is_counted_once() -> None:
    first, second = rows("step ips", (1, 10), (2, 20)), rows("step ips", (2, 20), (3, 30), line=3)
    segment = segment_of(PER_RUN, first, second)
    assert (segment.tally.doubled, column(segment, "end"), column(segment, "line")) == (1, [1, 2, 3], [1, 2, 4])


def test_a_block_of_nothing_but_doubles_changes_nothing() -> None:
    segment = segment_of(PER_RUN, rows("step ips", (1, 10), (2, 20)), rows("step ips", (2, 20), line=3))
    assert (segment.refused, segment.tally.doubled, segment.tally.printed) == ("", 1, 2)


def test_one_step_with_two_numbers_is_refused() -> None:
    segment = segment_of(PER_RUN, rows("step ips", (1, 10), (2, 20), (2, 21), (3, 30), line=5))
    assert segment.refused == (
        "step 2 has different records at lines 6 and 7: several ranks or runs are blended "
        "(log one rank, or have the launcher tag each line)"
    )
    assert (segment.tally.printed, segment.last_line) == (4, 8)


def test_what_follows_a_refusal_is_counted_and_not_measured() -> None:
    back = rows("step ips", *((step, 10) for step in range(1, 7)), (1, 11))
    (segment,) = folded(PER_RUN, back, rows("step ips", (7, 10), (8, 10), line=8)).segments
    assert segment.refused
    assert (segment.tally.printed, segment.last_line, column(segment, "end")) == (9, 9, [1, 2, 3, 4, 5, 6])


BACK = rows("step ips", (1, 10), (2, 20), (3, 30), (1, 11), (2, 21))


def test_steps_that_go_back_are_refused_without_a_line_that_says_so() -> None:
    segment = segment_of(PER_RUN, BACK)
    assert segment.refused == (
        "steps go back from step 3 (line 3) to step 1 (line 4) and nothing between them says that a run begins: "
        "two runs appended, or lines out of order"
    )


@pytest.mark.parametrize(("start", "runs"), [(3, 1), (4, 2), (5, 1)])
def test_steps_that_go_back_behind_a_starting_line_are_a_second_run(start: int, runs: int) -> None:
    series = folded(PER_RUN, BACK, starts=(1, start))
    assert len(series.segments) == runs
    assert bool(series.segments[0].refused) == (runs == 1)
    if runs == 2:
        first, second = series.segments
        assert (first.first_line, first.last_line, second.first_line, second.last_line) == (1, 3, 4, 5)
        assert (column(first, "end"), column(second, "end")) == ([1, 2, 3], [1, 2])


def test_a_block_of_lines_sent_again_further_down_is_counted_once() -> None:
    """Line 5 begins the second run. Lines 8 to 11 are lines 3 to 6 again, in its middle and in the order of its steps."""
    first, second = [(n, 10.0 + n) for n in range(1, 5)], [(n, 20.0 + n) for n in range(1, 6)]
    printed = [*first, *second[:2], *first[2:], second[0], *second[2:]]
    lines = np.array([1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14])
    series = folded(PER_RUN, replace(rows("step ips", *printed), lines=lines), starts=(5, 10))
    assert [column(segment, "end") for segment in series.segments] == [[1, 2, 3, 4], [1, 2, 3, 4, 5]]
    rates = [(1 / np.array(column(segment, "time"))).round(9).tolist() for segment in series.segments]
    assert rates == [[11, 12, 13, 14], [21, 22, 23, 24, 25]]
    assert sum(segment.tally.doubled for segment in series.segments) == 3


def test_a_second_run_may_hold_an_event_that_the_first_one_held() -> None:
    series = folded(PER_RUN, rows("step ips", (1, 10), (2, 20), (1, 10), (2, 30), (3, 30)), starts=(3,))
    assert [column(segment, "end") for segment in series.segments] == [[1, 2], [1, 2, 3]]


def test_a_run_printed_again_as_a_whole_is_counted_once() -> None:
    series = folded(PER_RUN, rows("step ips", (1, 10), (2, 20), (1, 10), (2, 20)), starts=(1, 3))
    (segment,) = series.segments
    assert (segment.refused, segment.tally.doubled, column(segment, "end")) == ("", 2, [1, 2])


def test_a_second_run_may_begin_with_a_block() -> None:
    blocks = rows("step ips", (1, 10), (2, 20)), rows("step ips", (1, 11), (2, 21), line=4)
    first, second = folded(PER_RUN, *blocks, starts=(3,)).segments
    assert (column(first, "line"), column(second, "line"), second.count.end) == ([1, 2], [4, 5], 2)


def test_steps_counted_by_epoch_may_begin_anew_with_each() -> None:
    made = rows("epoch step ips", (1, 1, 10), (1, 2, 10), (2, 1, 10), (2, 2, 10))
    assert order(PER_EPOCH, made) == [True] * 4
    assert order(PER_RUN, made) == [True, True, False, True]


def test_epochs_never_go_back() -> None:
    made = rows("epoch step ips", (1, 1, 10), (2, 1, 10), (1, 2, 10))
    assert order(PER_EPOCH, made) == [True, True, False]
    assert segment_of(PER_EPOCH, made).refused.startswith(
        "steps go back from epoch 2 step 1 (line 2) to epoch 1 step 2 (line 3)"
    )


def test_an_epoch_that_is_not_printed_counts_as_one_and_the_same() -> None:
    made = rows("epoch step ips", (NAN, 1, 10), (NAN, 2, 10), (1, 1, 10))
    assert order(PER_EPOCH, made) == [True] * 3
    assert order(PER_EPOCH, rows("epoch step ips", (NAN, 2, 10), (NAN, 1, 10))) == [True, False]
    assert order(PER_EPOCH, rows("epoch step ips", (NAN, 3, 10)), Previous(epoch=NAN, step=2)) == [True]
    assert order(PER_EPOCH, rows("epoch step ips", (NAN, 3, 10)), Previous(epoch=NAN, step=5)) == [False]


def test_the_first_row_of_a_block_may_begin_an_epoch() -> None:
    block = rows("epoch step ips", (2, 1, 10), (2, 2, 10))
    assert order(PER_EPOCH, block, Previous(epoch=1, step=9)) == [True, True]
    assert order(PER_EPOCH, block, Previous(epoch=3, step=9)) == [False, True]
    assert order(PER_EPOCH, block, Previous(epoch=2, step=9)) == [False, True]


def test_two_measurements_below_one_position_line_are_both_of_the_run() -> None:
    placed, same_step = pattern("ips"), ((5, 10), (5, 11))
    assert order(placed, rows("step ips", *same_step, positions=(1, 1))) == [True, True]
    assert order(placed, rows("step ips", *same_step, positions=(1, 2))) == [True, False]
    assert order(placed, rows("step ips", (5, 10), (5, 10), positions=(1, 1))) == [True, False]
    block = rows("step ips", (5, 11), positions=(1,))
    assert order(placed, block, Previous(step=5, values={"ips": 10, "step": 5}, position_line=1)) == [True]
    assert order(placed, block, Previous(step=5, values={"ips": 10, "step": 5}, position_line=0)) == [False]


def test_a_step_that_the_line_itself_prints_twice_below_one_heading_is_not_in_order() -> None:
    assert order(PER_RUN, rows("step ips", (5, 10), (5, 11), positions=(1, 1))) == [True, False]


def test_a_counter_that_stands_still_is_told_from_an_event_printed_twice() -> None:
    assert order(REPEATING, rows("step ips", (1, 10), (1, 11), (1, 11))) == [True, True, False]
    assert order(REPEATING, rows("step ips", (2, 10), (1, 11))) == [True, False]


def test_where_time_stamps_are_printed_a_counter_may_go_back_and_the_clock_may_not() -> None:
    timed = pattern("step timestamp ips", step_repeats=True)
    made = rows("step timestamp ips", (2, 100, 10), (1, 101, 10), (3, 101, 10), (4, NAN, 10))
    assert order(timed, made) == [True, True, False, True]
    assert order(timed, made, Previous(step=9, moment=100)) == [False, True, False, True]


def test_one_line_an_epoch_is_in_order_by_its_epochs() -> None:
    by_epoch = pattern("epoch covers ips")
    assert order(by_epoch, rows("epoch covers ips", (1, 5, 10), (2, 5, 10), (2, 5, 11))) == [True, True, False]
    assert order(by_epoch, rows("epoch covers ips", (2, 5, 10)), Previous(epoch=2)) == [False]
    segment = segment_of(by_epoch, rows("epoch covers ips", (1, 5, 10), (1, 5, 11)))
    assert segment.refused.startswith("epoch 1 has different records at lines 1 and 2")
    assumed = pattern("epoch ips", assumed_covers=10, assumption="ten steps are taken")
    assert order(assumed, rows("epoch ips", (1, 10), (2, 10), (2, 11))) == [True, True, False]


def test_without_steps_only_the_same_line_twice_in_a_row_is_a_double() -> None:
    keyless = pattern("ips loss")
    made = rows("ips loss", (10, 1), (10, 1), (10, 1), (11, 1))
    apart = Rows(np.array([1, 2, 5, 6], dtype=np.int64), made.columns)
    assert segment_of(keyless, made).tally.doubled == 2
    segment = segment_of(keyless, apart)
    assert (segment.tally.doubled, column(segment, "line")) == (1, [1, 5, 6])


@pytest.mark.parametrize(("border", "doubled"), [(1, 2), (2, 2), (3, 2)])
def test_doubles_of_a_format_without_steps_are_found_across_blocks(border: int, doubled: int) -> None:
    made = rows("ips loss", (10, 1), (10, 1), (10, 1), (11, 1))
    blocks = made.take(slice(0, border)), made.take(slice(border, None))
    assert segment_of(pattern("ips loss"), *blocks).tally.doubled == doubled


def test_rows_that_lack_their_step_are_left_out_where_others_have_one() -> None:
    segment = segment_of(PER_RUN, rows("step ips", (1, 10), (NAN, 10), (2, 10)))
    assert (segment.tally.unusable, column(segment, "line")) == (1, [1, 3])


def test_after_a_position_that_counts_once_what_follows_is_an_evaluations() -> None:
    made = rows("step ips", (1, 10), (1, 99), (2, 20), line=2, positions=(1, 1, 4))
    every = replace(pattern("ips"), position="p")
    once = replace(every, position_once=True)
    assert (segment_of(every, made).tally.printed, segment_of(every, made).tally.unusable) == (3, 1)
    for blocks in ((made,), (made.take(slice(0, 1)), made.take(slice(1, None))), (made, made.take(slice(2, 3)))):
        segment = segment_of(once, *blocks)
        assert (segment.tally.printed, segment.tally.unusable, column(segment, "line")) == (2, 0, [2, 4])


@pytest.mark.parametrize(
    ("per", "epoch", "step", "name"),
    [
        ("epoch", 2, 3, "epoch 2 step 3"),
        ("run", 2, 3, "step 3"),
        ("epoch", NAN, 3, "step 3"),
        ("run", 2, NAN, "epoch 2"),
    ],
)
def test_a_step_has_a_name(per: str, epoch: float, step: float, name: str) -> None:
    assert name_of_step(pattern("epoch step ips", step_per=per), epoch, step) == name
