"""p-values of many rows: by hand, scipy's, and rows without one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perflog.stats.adjust import benjamini_hochberg

ps = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(ps)
def test_benjamini_hochberg_is_scipys(values: list[float]) -> None:
    assert benjamini_hochberg(values) == pytest.approx(stats.false_discovery_control(values).tolist())


def test_by_hand() -> None:
    """Of 0.01, 0.03, 0.04 and 0.5 the ranks' multiples are 0.04, 0.06, 0.0533 and 0.5; the second takes the third's."""
    assert benjamini_hochberg([0.5, 0.01, 0.04, 0.03]) == pytest.approx([0.5, 0.04, 0.16 / 3, 0.16 / 3])
    assert benjamini_hochberg([0.9, 1.0]) == [1.0, 1.0]


@given(ps)
def test_adjusted_p_keep_their_order_and_never_shrink(values: list[float]) -> None:
    adjusted = benjamini_hochberg(values)
    assert all(p <= a <= 1 for p, a in zip(values, adjusted, strict=True))
    order = sorted(range(len(values)), key=values.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_at_five_runs_seven_changed_rows_of_seven_are_called() -> None:
    least = 2 / math.comb(10, 5)
    assert benjamini_hochberg([least] * 7) == pytest.approx([least] * 7)


def test_a_row_without_p_is_not_counted() -> None:
    adjusted = benjamini_hochberg([0.01, math.nan, 0.04])
    assert adjusted[0] == pytest.approx(0.02)
    assert math.isnan(adjusted[1])
    assert adjusted[2] == pytest.approx(0.04)
    assert benjamini_hochberg([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        benjamini_hochberg([1.5])
