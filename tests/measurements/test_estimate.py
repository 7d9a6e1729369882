"""One number from measurements: every estimator on rows written by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perflog.measurements import store
from perflog.measurements.estimate import estimate
from perflog.measurements.rows import Floats
from perflog.measurements.store import FIELDS


def block(*measured: tuple[float, float]) -> Floats:
    """Measurements of one step each, from (work, time)."""
    rows = np.zeros((len(FIELDS), len(measured)))
    rows[2] = 1
    rows[4], rows[3] = np.array(measured).T
    return rows


FAST_AND_SLOW = (block((6, 1), (6, 3)), block((6, 2)))  # rates 6, 2, 3


@pytest.mark.parametrize(("estimator", "value"), [("total", 3), ("mean", 11 / 3), ("median", 3), ("last", 3)])
def test_estimators_over_two_blocks(estimator: str, value: float) -> None:
    result = estimate(FAST_AND_SLOW, estimator)
    assert result.value == pytest.approx(value, rel=1e-15)
    assert (result.used, result.covers, result.time, result.work, result.dropped, result.reason) == (3, 3, 6, 18, 0, "")


@pytest.mark.parametrize(
    ("rates", "median"), [([5], 5), ([5, 1], 3), ([5, 1, 9], 5), ([9, 1, 5, 7], 6), ([4, 4, 1, 2, 3, 9], 3.5)]
)
def test_the_median_of_odd_and_even_numbers(rates: list[float], median: float) -> None:
    assert estimate([block(*((rate, 1) for rate in rates))], "median").value == median


def test_the_trimmed_mean_drops_five_at_each_end() -> None:
    rates = [1000, *range(1, 11), -0.0 + 0.5]  # in any order: 0.5, 1 … 10, 1000
    result = estimate([block(*((rate, 1) for rate in rates))], "trimmed")
    assert (result.value, result.used, result.dropped) == (5.5, 2, 10)


def test_the_trimmed_mean_drops_a_twentieth_where_that_is_more() -> None:
    result = estimate([block(*((rate, 1) for rate in range(1, 201)))], "trimmed")  # ten at each end: 11 … 190
    assert (result.value, result.used, result.dropped) == (100.5, 180, 20)
    assert estimate([block(*((rate, 1) for rate in range(1, 120)))], "trimmed").dropped == 10  # a twentieth is 5.95


def test_a_trimmed_mean_of_too_few() -> None:
    result = estimate([block(*((rate, 1) for rate in range(1, 11)))], "trimmed")
    assert math.isnan(result.value)
    assert result.reason == "10 measurements, trimmed mean drops 5 at each end"
    assert estimate([block(*((rate, 1) for rate in range(1, 12)))], "trimmed").value == 6


@pytest.mark.parametrize(("estimator", "value"), [("mean", 4), ("median", 4)])
def test_rates_that_are_none_are_dropped_and_counted(estimator: str, value: float) -> None:
    result = estimate([block((6, 1), (6, 3), (6, 0), (6, -2), (0, 1))], estimator)
    assert (result.value, result.used, result.dropped) == (value, 2, 3)


def test_a_trimmed_mean_counts_what_was_no_rate_too() -> None:
    result = estimate([block(*((rate, 1) for rate in range(1, 12)), (6, 0))], "trimmed")
    assert (result.value, result.used, result.dropped) == (6, 1, 11)


@pytest.mark.parametrize("estimator", ["mean", "median"])
def test_no_rate_at_all(estimator: str) -> None:
    result = estimate([block((6, 0), (6, -1))], estimator)
    assert math.isnan(result.value)
    assert (result.reason, result.used, result.dropped) == ("no measurement has a positive rate", 2, 2)


@pytest.mark.parametrize(
    ("estimator", "rows"), [("total", ((6, 1), (6, -1))), ("total", ((6, -2),)), ("last", ((6, 1), (6, -1)))]
)
def test_without_time_there_is_no_throughput(estimator: str, rows: tuple[tuple[float, float], ...]) -> None:
    assert estimate([block(*rows)], estimator).reason == "the measured time is zero or negative"


@pytest.mark.parametrize("estimator", ["total", "mean", "median", "trimmed", "last"])
def test_of_nothing_there_is_no_estimate(estimator: str) -> None:
    result = estimate([], estimator)
    assert math.isnan(result.value)
    assert (result.reason, result.used) == ("no measurement lies wholly inside the window", 0)


def test_the_median_of_more_than_fits_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "IN_MEMORY", 100)
    rates = np.random.default_rng(0).permutation(np.arange(1.0, 1001))
    blocks = [block(*((rate, 1) for rate in part)) for part in np.split(rates, 10)]
    assert estimate(blocks, "median").value == 500.5
    assert estimate(blocks, "trimmed").value == 500.5
