"""The ratio and its interval: by hand, test and interval agree, and sides can be swapped."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perflog.stats.ratio import Ratio, ratio

runs = st.lists(st.floats(0.5, 2.0), min_size=2, max_size=9)
coarse = st.lists(st.integers(1, 8).map(float), min_size=2, max_size=9)
levels = st.sampled_from([0.8, 0.9, 0.95, 0.99])


@given(st.one_of(runs, coarse), st.one_of(runs, coarse), levels)
def test_the_interval_leaves_out_one_exactly_when_the_test_rejects(
    old: list[float], new: list[float], level: float
) -> None:
    result = ratio(old, new, level)
    assert result.low is not None and result.high is not None and result.level is not None and result.p is not None
    assert (not result.low <= 1 <= result.high) == (result.p <= 1 - result.level + 1e-12)
    if result.level >= level:
        assert (not result.low <= 1 <= result.high) == (result.p <= 1 - level + 1e-12)


@given(st.one_of(runs, coarse), st.one_of(runs, coarse), st.floats(0.1, 10))
def test_the_interval_holds_the_ratios_that_the_test_does_not_reject(
    old: list[float], new: list[float], wanted: float
) -> None:
    """Inversion away from 1: the old side scaled by a ratio, tested against the new one."""
    result = ratio(old, new)
    scaled = ratio([v * wanted for v in old], new)
    assert result.low is not None and result.high is not None and scaled.p is not None and result.level is not None
    assume(min(abs(result.low / wanted - 1), abs(result.high / wanted - 1)) > 1e-9)  # on the border rounding decides
    assert (result.low <= wanted <= result.high) == (scaled.p > 1 - result.level + 1e-12)


@given(st.one_of(runs, coarse), st.one_of(runs, coarse))
def test_swapped_sides_give_the_reciprocal(old: list[float], new: list[float]) -> None:
    one, other = ratio(old, new), ratio(new, old)
    assert one.value and other.value and one.low and one.high and other.low and other.high
    assert one.value * other.value == pytest.approx(1)
    assert one.low * other.high == pytest.approx(1)
    assert one.high * other.low == pytest.approx(1)
    assert (one.p, one.level) == (other.p, other.level)


@given(runs, runs, st.floats(1e-6, 1e6))
def test_the_unit_does_not_matter(old: list[float], new: list[float], unit: float) -> None:
    one, other = ratio(old, new), ratio([v * unit for v in old], [v * unit for v in new])
    assert other.value == pytest.approx(one.value)
    assert other.low == pytest.approx(one.low)
    assert other.high == pytest.approx(one.high)


def test_a_case_by_hand() -> None:
    """25 ratios of 10, 11, 12, 13, 14 and 20, 22, 24, 26, 28: the median is the 13th, the interval the 3rd to the 23rd."""
    old, new = [10.0, 11, 12, 13, 14], [20.0, 22, 24, 26, 28]
    ordered = sorted(b / a for a in old for b in new)
    result = ratio(old, new)
    assert (result.value, result.low, result.high) == (ordered[12], ordered[2], ordered[22])
    assert result.value == 2
    assert result.level == pytest.approx(1 - 8 / 252)
    assert result.p == pytest.approx(2 / 252)
    assert result.notes == ()
    two = ratio([1.0, 4.0], [1.0, 4.0])
    assert (two.value, two.low, two.high) == (1, 0.25, 4)
    assert two.level == pytest.approx(2 / 3)
    assert ratio([1.0], [2.0, 8.0]).value == pytest.approx(4)  # the geometric mean of 2 and 8


def test_three_runs_show_their_range_at_ninety_percent() -> None:
    result = ratio([1.0, 1.01, 1.02], [1.1, 1.11, 1.12])
    assert result.level == pytest.approx(0.9)
    assert (result.low, result.high) == (1.1 / 1.02, 1.12)
    assert result.p == pytest.approx(0.1)


def test_the_first_side_without_a_value_is_the_reason() -> None:
    assert ratio([], []) == Ratio(0, 0, 0.95, reason="no value on the old side")
    assert ratio([1.0], []).reason == "no value on the new side"
    assert ratio([1.0, 0.0, -1.0], [1.0]).reason == "2 of 3 values of the old side are not positive, finite numbers"
    assert ratio([1e-300], [1e300]).reason == "the values are too far apart for a ratio"


def test_one_run_on_a_side_is_a_ratio_without_an_interval() -> None:
    result = ratio([2.0], [3.0, 3.0])
    assert (result.value, result.low, result.level, result.p, result.flat) == (1.5, None, None, None, ("new",))
    assert result.notes == (
        "all 2 runs of the new side have the value 3", "one run on a side says nothing of the spread between runs",
    )  # fmt: skip
