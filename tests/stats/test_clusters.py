"""Runs that fall in two groups: by hand, in any order and unit, and what is one group."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.stats.clusters import Clusters, clusters


def test_two_clusters_by_hand() -> None:
    found = clusters([100.0, 100.2, 110.1, 100.1, 110.0])
    assert found is not None
    assert (found.low, found.high) == ((100.0, 100.1, 100.2), (110.0, 110.1))
    assert clusters([100.0, 100.1, 100.2, 100.3, 110.0]) is None  # one outlier is no group
    assert clusters([100.0, 100.01, 100.02, 100.3, 100.31]) is None  # 0.3 % apart does not matter
    assert clusters([100.0, 100.0, 100.0, 101.5, 101.5]) is not None
    assert clusters([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) is None


@given(st.lists(st.floats(0.1, 10), max_size=12), st.floats(0.01, 100))
def test_clusters_do_not_depend_on_order_or_unit(values: list[float], unit: float) -> None:
    found, other = clusters(values), clusters([v * unit for v in reversed(values)])
    if found is not None and other is not None:
        assert [v * unit for v in found.low] == pytest.approx(list(other.low))
        assert sorted([*found.low, *found.high]) == sorted(values)


def test_clusters_of_odd_values() -> None:
    assert clusters([1.0, 1.0, 2.0]) is None
    assert clusters([1.0, 1.0, 2.0, math.nan]) is None
    assert clusters([1.0] * 6) is None


def test_the_gap_is_more_than_five_times_the_median_of_the_others() -> None:
    """Gaps 1, 1, g, 1 about 100: five times the median gap is 5, and the variance between the groups 95 % from g ≈ 4 on."""
    assert clusters([100.0, 101, 102, 107, 108], smallest=0.0) is None
    assert clusters([100.0, 101, 102, 107.1, 108.1], smallest=0.0) == Clusters((100, 101, 102), (107.1, 108.1))


def test_the_gap_is_more_than_a_hundredth_of_the_median() -> None:
    assert clusters([100.0, 100.0, 101.0, 101.0]) is None, "the median is 100.5, and its hundredth more than the gap"
    assert clusters([100.0, 100.0, 101.01, 101.01]) == Clusters((100, 100), (101.01, 101.01))


def test_a_split_that_explains_too_little_is_none() -> None:
    """0, 4, 4.1, 4.2 | 30, 34, 34.1, 34.2: between 97 % and 98 %; with the high group from 20 to 28 below 90 %."""
    assert clusters([0.0, 4, 4.1, 4.2, 30, 34, 34.1, 34.2]) is not None
    assert clusters([0.0, 8, 8.1, 8.2, 18.3, 18.4, 18.5, 28]) is None
