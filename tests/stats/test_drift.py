"""A trend within a window: the size of known ramps, scipy's slope, and what is no drift."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from perflog.stats.drift import drift
from tests.tools.simulate_compare import step_times


def test_a_ramp_drifts_by_its_size() -> None:
    result = drift(np.linspace(1, 1.1, 201))
    assert result.change == pytest.approx(0.1 / 1.05, rel=0.01)
    assert result.drifts
    falling = drift(np.linspace(1.1, 1, 201))
    assert falling.change == pytest.approx(-0.1 / 1.05, rel=0.01)
    assert falling.drifts


def test_drift_is_the_theil_sen_slope_of_the_batch_medians() -> None:
    values = step_times(np.random.default_rng(4), 1, 200, 0.0)[0]
    medians = np.median(values.reshape(20, 10), axis=1)
    wanted = stats.theilslopes(medians, alpha=0.99)
    result = drift(values)
    centre = np.median(values)
    assert (result.change, result.low, result.high) == pytest.approx(
        [s * 20 / centre for s in (wanted.slope, wanted.low_slope, wanted.high_slope)]
    )


def test_spikes_and_small_trends_are_no_drift() -> None:
    values = np.ones(200)
    values[[20, 120, 199]] = 30
    assert not drift(values).drifts
    assert not drift(np.linspace(1, 1.005, 200)).drifts
    assert not drift(np.linspace(1, 1.0099, 2000)).drifts
    assert drift(np.linspace(1, 1.0112, 2000)).drifts


def test_drift_of_odd_series() -> None:
    assert drift([1.0] * 9).reason == "9 measurements, a trend needs 10"
    assert drift([math.nan] * 20).change is None
    assert drift([0.0] * 20).reason == "the median is 0"
    assert (drift([3.0] * 20).change, drift([3.0] * 20).drifts) == (0, False)
    assert drift(np.arange(1.0, 11.0)).drifts


def test_ten_values_by_hand() -> None:
    """1, 2 … 10 rise by 1 from batch to batch of one value; ten batches are 10 of a median of 5.5."""
    rising = drift([float(i) for i in range(1, 11)])
    assert (rising.change, rising.low, rising.high) == pytest.approx((10 / 5.5, 10 / 5.5, 10 / 5.5))
    falling = drift([-float(i) for i in range(1, 11)])
    assert falling.change == pytest.approx(-10 / 5.5), "a share of the size of the median, whatever its sign"
