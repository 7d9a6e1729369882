"""One ratio over several rows: by hand, from either side, and what is left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.stats.geomean import Geomean, geomean


@given(st.lists(st.floats(0.1, 10), min_size=1))
def test_the_geomean_does_not_depend_on_the_base(ratios: list[float]) -> None:
    one, other = geomean(ratios), geomean([1 / r for r in ratios])
    assert one.value and other.value
    assert one.value * other.value == pytest.approx(1)
    assert one.value == pytest.approx(float(np.exp(np.mean(np.log(ratios)))))


def test_the_geomean_counts_what_it_leaves_out() -> None:
    result = geomean([2.0, None, 8.0, math.nan, math.inf, 0.0])
    assert result.value == pytest.approx(4)
    assert (result.n, result.left_out) == (2, 4)
    assert geomean([None]).value is None


def test_by_hand() -> None:
    assert geomean([1.0]) == Geomean(1.0, 1, 0)
    assert geomean([0.5, 2.0]).value == pytest.approx(1)
    assert geomean([1.0, 10.0, 100.0]).value == pytest.approx(10)
    assert (geomean([-1.0, 4.0]).n, geomean([-1.0, 4.0]).left_out) == (1, 1)
    assert geomean([-1.0, 4.0]).value == pytest.approx(4)
    assert geomean([]) == Geomean(None, 0, 0)
