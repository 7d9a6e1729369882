"""The pass over the measurements: sums up to lines, the heaviest record, and all together."""

from __future__ import annotations

import numpy as np

from perflog.evidence.survey import Heaviest, Slow, survey
from perflog.measurements.estimate import Estimate
from perflog.measurements.segment import Segment, Taken
from perflog.settings.options import Amount, Window
from tests.measurements.support import pattern, rows, segment_of

#: Five steps on lines 1 to 5, at 4, 2, 1, 8 and 4 samples a second: 0.25, 0.5, 1, 0.125 and 0.25 seconds a sample.
RATES = ((1, 4), (2, 2), (3, 1), (4, 8), (5, 4))


def taken(first: int, last: int) -> Taken:
    return Taken((Window(Amount(0)), "total", False), Estimate(), first_line=first, last_line=last, last_step=100)


def five() -> Segment:
    return segment_of(pattern("step ips"), rows("step ips", *RATES[:2]), rows("step ips", *RATES[2:], line=3))


def test_sums_up_to_the_marks_of_a_window() -> None:
    found = survey(five(), taken(2, 5), np.array([1, 2, 4, 5]))
    marks = found.marks
    assert marks.lines.tolist() == [2, 4, 5]  # line 1 lies before the window
    assert marks.end.tolist() == [2, 4, 5]
    assert marks.covers.tolist() == [1, 3, 4]
    assert marks.time.tolist() == [0.5, 1.625, 1.875]
    assert marks.work.tolist() == [1, 3, 4]
    assert marks.own.tolist() == [[1, 1, 1], [0.5, 0.125, 0.25], [1, 1, 1]]


def test_the_heaviest_is_of_the_window_and_the_sums_of_all() -> None:
    found = survey(five(), taken(4, 5), np.array([4]))
    assert found.heaviest == Heaviest(line=5, covers=1, time=0.25, work=1)
    assert found.totals == (5, 2.125, 5)
    assert survey(five(), taken(1, 5), np.array([4])).heaviest == Heaviest(3, 1, 1.0, 1)


def test_a_record_of_many_steps_is_as_heavy_as_one_step_of_it() -> None:
    """Ten steps in two seconds are lighter than one step in one."""
    made = segment_of(pattern("step ips"), rows("step ips", (10, 5), (20, 5), (30, 5), (31, 1)))
    heaviest = survey(made, taken(1, 4), np.array([1])).heaviest
    assert heaviest == Heaviest(line=4, covers=1, time=1, work=1)


def test_a_mark_without_a_measurement_is_the_next_ones() -> None:
    made = segment_of(pattern("step ips"), rows("step ips", (1, 4)), rows("step ips", (2, 4), (3, 4), line=7))
    assert survey(made, taken(1, 8), np.array([2, 3, 7])).marks.lines.tolist() == [7]


def test_a_window_without_lines_has_no_marks() -> None:
    assert len(survey(five(), taken(6, 9), np.array([2, 6])).marks) == 0


def test_slow_records_are_of_the_window_in_whatever_blocks_they_came() -> None:
    """A hundred steps of a second, and two of 20 s among them: the mean is 1.38 s."""
    rates = [(step, 0.05 if step in (30, 70) else 1.0) for step in range(1, 101)]
    estimate = Estimate(value=100 / 138, covers=100, time=138, work=100, used=100)
    window = Taken((Window(Amount(0)), "total", False), estimate, first_line=1, last_line=100, last_step=200)
    whole = segment_of(pattern("step ips"), rows("step ips", *rates))
    parts = segment_of(pattern("step ips"), rows("step ips", *rates[:40]), rows("step ips", *rates[40:], line=41))
    for made in (whole, parts):
        assert survey(made, window, np.array([1])).slow == Slow(2, 30, 40, 2, 2)
        assert survey(made, window, np.array([1]), spare=13.2).slow == Slow()  # 20 s are 5 × 1.38 s and 13.1 s
    later = Taken((Window(Amount(0)), "total", False), estimate, first_line=31, last_line=100, last_step=200)
    assert survey(parts, later, np.array([31])).slow == Slow(1, 70, 20, 1, 1)


def test_a_bar_on_one_line_is_judged_by_the_window_alone() -> None:
    """Two slow first steps on the bar's line are warm-up: what the window holds of that line begins behind them."""
    made = segment_of(pattern("step ips"), rows("step ips", (1, 0.1), (2, 0.1), *((k, 4) for k in range(3, 43))))
    assert made.store.whole is not None
    made.store.whole[5] = 1  # all states of a bar that is drawn with carriage returns
    window = taken(1, 1)._replace(first_step=2, last_step=42)
    assert survey(made, window, np.array([1])).heaviest == Heaviest(line=1, covers=1, time=0.25, work=1)
