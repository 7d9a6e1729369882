"""Running means, clocks and time stamps, back to intervals: worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perflog.measurements.basis import Basis
from perflog.measurements.measure import differences
from perflog.measurements.rows import Rows
from perflog.measurements.segment import Count, RunningTotal
from perflog.measurements.steps import Steps
from tests.measurements.support import ELAPSED, MEAN_RATE, MEAN_TIME, NAN, column, pattern, rows, segment_of

STAMP = {"group": "timestamp", "quantity": "timestamp", "unit": "s"}


def test_running_means_of_times_since_the_run_began() -> None:
    # 10 steps of 2 s a step, then 10 of 4 s: the mean of 20 steps is 3 s
    segment = segment_of(pattern("step ms", MEAN_TIME), rows("step ms", (10, 2000), (20, 3000), (30, 3000)))
    assert column(segment, "time") == [20, 40, 30]
    assert column(segment, "covers") == column(segment, "work") == [10, 10, 10]
    assert column(segment, "start") == [0, 10, 20]


def test_running_means_of_rates_are_made_times_of_a_step_for_one_unit_of_work() -> None:
    # n samples a step: 10 steps at 5 samples/s take 2n s, 20 at 4 take 5n s
    segment = segment_of(pattern("step ips", MEAN_RATE), rows("step ips", (10, 5), (20, 4)))
    assert (column(segment, "time"), column(segment, "work")) == ([2, 3], [10, 10])


def test_steps_that_a_mean_leaves_out_are_its_offset() -> None:
    made = pattern("step ms", {**MEAN_TIME, "offset": 5})
    segment = segment_of(made, rows("step ms", (5, 0), (10, 2000), (20, 3000)))
    # at step 10 the mean is of 5 steps, at step 20 of 15: 45 s − 10 s for ten steps
    assert (column(segment, "covers"), column(segment, "time"), column(segment, "end")) == ([5, 10], [10, 35], [10, 20])
    assert segment.tally.unknown == 0  # at step 5 the mean is of no step


@pytest.mark.parametrize("border", [0, 1, 2, 3])
def test_running_means_that_begin_anew_with_each_epoch(border: int) -> None:
    made = pattern("epoch step ms", {**MEAN_TIME, "since": "epoch"}, step_per="epoch")
    whole = rows("epoch step ms", (1, 10, 1000), (1, 20, 2000), (2, 10, 4000), (2, 20, 3000))
    blocks = (whole,) if not border else (whole.take(slice(0, border)), whole.take(slice(border, None)))
    segment = segment_of(made, *blocks)
    assert column(segment, "time") == [10, 30, 40, 20]
    assert column(segment, "covers") == [10, 10, 10, 10]
    assert column(segment, "end") == [10, 20, 30, 40]


def test_the_mean_of_a_new_epoch_is_not_the_old_ones_even_behind_a_row_without_one() -> None:
    made = pattern("epoch step ms", {**MEAN_TIME, "since": "epoch"}, step_per="epoch")
    segment = segment_of(made, rows("epoch step ms", (1, 10, 1000), (1, 20, NAN), (2, 10, NAN), (2, 20, 3000)))
    # nothing but the first ten and the last twenty steps can be known
    assert (column(segment, "covers"), column(segment, "time")) == ([10, 20], [10, 60])
    assert segment.tally.unknown == 2


def test_a_clock_since_the_runs_begin() -> None:
    segment = segment_of(pattern("step clock", ELAPSED), rows("step clock", (10, 7), (20, 10), (30, 14)))
    assert (column(segment, "time"), column(segment, "covers")) == ([7, 3, 4], [10, 10, 10])


def test_the_first_interval_between_time_stamps_is_unknown() -> None:
    segment = segment_of(pattern("step timestamp", STAMP), rows("step timestamp", (10, 500), (20, 503), (30, 507)))
    assert (column(segment, "time"), column(segment, "end"), segment.tally.unknown) == ([3, 4], [20, 30], 1)
    assert segment.tally.unusable == 0


def test_time_that_stands_still_or_goes_back_is_kept_so_that_the_sum_is_right() -> None:
    segment = segment_of(pattern("step ms", MEAN_TIME), rows("step ms", (10, 2000), (20, 1000), (30, 900)))
    assert column(segment, "time") == [20, 0, 7]


@pytest.mark.parametrize("value", [ELAPSED, STAMP])
def test_of_clocks_an_interval_without_time_is_left_out(value: dict[str, str]) -> None:
    stamped = {**value, "span": "interval"}
    segment = segment_of(
        pattern(f"step {value['group']}", stamped), rows(f"step {value['group']}", (1, 5), (2, 5), (3, 6))
    )
    assert (column(segment, "end")[-1], column(segment, "time")[-1], segment.tally.unusable) == (3, 1, 1)


def test_means_of_a_resumed_run_are_unknown_until_they_begin_anew() -> None:
    resumed = rows("step ms", (1010, 2000), (1020, 3000), (1030, 3000))
    segment = segment_of(pattern("step ms", MEAN_TIME), resumed)
    assert (column(segment, "time"), segment.tally.unknown) == ([], 3)
    made = pattern("epoch step ms", {**MEAN_TIME, "since": "epoch"}, step_per="epoch")
    by_epoch = rows("epoch step ms", (3, 50, 1), (3, 60, 1), (4, 10, 1000), (4, 20, 2000))
    for blocks in ((by_epoch,), (by_epoch.take(slice(0, 3)), by_epoch.take(slice(3, None)))):
        segment = segment_of(made, *blocks)
        assert segment.tally.unknown == 2
        assert column(segment, "time")[0] == 10


def test_a_clock_of_a_resumed_run_begins_with_its_first_line() -> None:
    segment = segment_of(pattern("step clock", ELAPSED), rows("step clock", (1010, 70), (1020, 73), (1030, 77)))
    assert (column(segment, "time"), column(segment, "end"), segment.tally.unknown) == ([3, 4], [1020, 1030], 1)


def test_a_row_without_the_mean_is_covered_by_the_next() -> None:
    blocks = rows("step ms", (10, 2000), (20, NAN)), rows("step ms", (30, 3000), line=3)
    segment = segment_of(pattern("step ms", MEAN_TIME), *blocks)
    assert (column(segment, "covers"), column(segment, "time")) == ([10, 20], [20, 70])


def test_the_batch_on_the_line_is_the_work_of_a_step() -> None:
    made = pattern("step global_batch_size ms", MEAN_TIME)
    segment = segment_of(made, rows("step global_batch_size ms", (1, 32, 1000), (2, 64, 1000)))
    assert (column(segment, "work"), column(segment, "time")) == ([32, 64], [1, 1])


def test_as_printed_a_mean_stands_as_it_is() -> None:
    segment = segment_of(pattern("step ms", MEAN_TIME), rows("step ms", (10, 2000), (20, 3000)), as_printed=True)
    assert (column(segment, "time"), column(segment, "covers")) == ([20, 30], [10, 10])


def test_as_printed_a_clock_is_differenced_all_the_same() -> None:
    clock = rows("step clock", (10, 7), (20, 10))
    segment = segment_of(pattern("step clock", ELAPSED), clock, as_printed=True)
    assert (column(segment, "time"), column(segment, "covers"), column(segment, "work")) == ([7, 3], [10, 10], [10, 10])


def test_without_a_number_nothing_is_known_and_the_mean_stays_where_it_was() -> None:
    made = pattern("step ms", MEAN_TIME)
    end, covers = np.array([10.0, 20.0]), np.array([10.0, 10.0])
    steps = Steps(end, covers, covers, end, np.array([0, 0]))
    before = RunningTotal(20.0, 10.0)
    lines = Rows(np.array([1, 2]), {"step": steps.end, "ms": np.array([NAN, NAN])})
    covers, work, time, after = differences(Basis(made.values[0]), lines, steps, Count(), before)
    assert np.isnan([*covers, *work, *time]).all()
    assert after == before


def test_the_time_stays_while_a_counter_of_few_digits_stands_still() -> None:
    # 4 s and 4,000 samples a step; from 1,000,000 on the counter is printed in ten thousands
    counter = {"group": "samples", "quantity": "samples", "unit": "env_steps", "span": "cumulative"}
    made = pattern("step clock samples", ELAPSED, counter)
    told = rows("step clock samples", (1, 4, 4e3), (250, 1000, 1e6), (251, 1004, 1e6), (252, 1008, 1.01e6))
    segment = segment_of(made, told)
    assert column(segment, "time") == [4, 996, 4, 4]
    assert column(segment, "work") == [4e3, 996e3, 0, 10e3]
