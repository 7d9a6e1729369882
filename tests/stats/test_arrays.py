"""Medians and distinct values as numpy's own functions give them, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perflog.stats.arrays import distinct, middle

_NUMBERS = st.floats(-1e300, 1e300)


@given(arrays(np.float64, st.integers(1, 60), elements=_NUMBERS))
def test_middle_is_numpy_s_median(values: np.ndarray) -> None:
    assert float(middle(values)) == float(np.median(values))


@given(arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=_NUMBERS))
def test_the_middle_of_each_row_is_numpy_s_median(values: np.ndarray) -> None:
    assert middle(values).tolist() == np.median(values, axis=1).tolist()


def test_middle_of_nan_and_of_nothing() -> None:
    assert np.isnan(middle(np.array([1.0, np.nan, 3.0])))
    with pytest.raises(ValueError, match="no values"):
        middle(np.array([]))


@given(arrays(np.int64, st.integers(0, 60), elements=st.integers(-5, 5)))
def test_distinct_is_numpy_s_unique(values: np.ndarray) -> None:
    values_of_numpy, counts = np.unique(values, return_counts=True)
    assert [part.tolist() for part in distinct(values)] == [values_of_numpy.tolist(), counts.tolist()]
