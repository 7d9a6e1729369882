"""Where the next value of a history is expected: by hand, by the formula, and where nothing is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perflog.stats.prediction import Prediction, predict

values = st.lists(st.floats(1, 100), min_size=8, max_size=30)


@given(values)
def test_the_prediction_is_the_formula(series: list[float]) -> None:
    result = predict(series)
    if min(series) == max(series):
        assert "have the value" in result.reason
        return
    wanted = stats.t.interval(
        0.95, len(series) - 1, np.mean(series), np.std(series, ddof=1) * math.sqrt(1 + 1 / len(series))
    )
    assert (result.low, result.high) == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    assert result.holds(math.nan) is None


def test_predictions_without_an_answer() -> None:
    assert predict([1.0] * 7).reason == "7 points, a prediction needs 8"
    assert predict([1.0] * 8).holds(5.0) is None
    assert predict([math.inf] * 9).low is None
    assert predict([1.0, 2.0] * 4).holds(1.5) is True
    assert predict([1.0, 2.0] * 4).holds(9.0) is False


def test_by_hand() -> None:
    """Four times 9 and 11: mean 10, s = √(8/7), t of 7 degrees of freedom 2.3646, √(1 + 1/8) = 1.0607."""
    result = predict([9.0, 11.0] * 4)
    assert (result.low, result.high) == pytest.approx((10 - 2.6812, 10 + 2.6812), abs=2e-4)
    assert (result.n, result.level, result.reason) == (8, 0.95, "")
    assert result.high is not None
    assert (result.holds(result.high), result.holds(result.high + 1e-9), result.holds(math.inf)) == (True, False, None)
    assert predict([2.0] * 8) == Prediction(None, None, 8, 0.95, "all 8 points have the value 2")
    assert predict([2.0]) == Prediction(None, None, 1, 0.95, "1 point, a prediction needs 8")
