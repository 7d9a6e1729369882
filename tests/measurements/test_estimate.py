"""One number from measurements: every estimator on rows written by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perflog.measurements import rows as store
from perflog.measurements.estimate import Digits, estimate
from perflog.measurements.rows import FIELDS, Floats


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


@pytest.mark.parametrize("estimator", ["mean", "median", "last"])
def test_a_tenth_without_a_rate_may_be_left_out_and_no_more(estimator: str) -> None:
    result = estimate([block(*[(6, 3)] * 9, (6, -2))], estimator)
    assert (result.value, result.used, result.dropped) == (2, 9, 1) if estimator != "last" else (2, 10, 1)
    result = estimate([block(*[(6, 3)] * 8, (6, -2), (6, 0))], estimator)
    assert math.isnan(result.value)
    assert result.reason.startswith("2 of 10 records have no positive rate")


def test_a_trimmed_mean_counts_what_was_no_rate_too() -> None:
    result = estimate([block(*((rate, 1) for rate in range(1, 12)), (6, 0))], "trimmed")
    assert (result.value, result.used, result.dropped) == (6, 1, 11)


@pytest.mark.parametrize("estimator", ["mean", "median", "last", "trimmed"])
def test_no_rate_at_all(estimator: str) -> None:
    result = estimate([block((6, 0), (6, -1))], estimator)
    assert math.isnan(result.value)
    assert (result.used, result.dropped) == (2, 2)
    assert result.reason.startswith("2 of 2 records have no positive rate")


@pytest.mark.parametrize("rows", [((6, 1), (6, -1)), ((6, -2),)])
def test_without_time_there_is_no_throughput(rows: tuple[tuple[float, float], ...]) -> None:
    assert estimate([block(*rows)], "total").reason == "the measured time is zero or negative"


@pytest.mark.parametrize("estimator", ["mean", "median", "trimmed", "last"])
@pytest.mark.parametrize("rate", [0.3, 8.0, 15.0])
@pytest.mark.parametrize("size", [1, 7, 2000])
def test_records_shorter_than_their_clock_are_merged(estimator: str, rate: float, size: int) -> None:
    """2,000 steps at one rate, the clock of each cut to whole seconds: one by one they take 0 s, 1 s or 4 s."""
    ends = np.floor(np.arange(2001) / rate)
    rows = block(*((1, time) for time in np.diff(ends).tolist()))
    blocks = [rows[:, place : place + size] for place in range(0, 2000, size)]
    result = estimate(blocks, estimator, Digits(clock=1.0))
    assert result.reason == ""
    assert result.value == pytest.approx(rate, rel=0.12 if estimator == "last" else 0.02)


def test_what_cannot_be_merged_into_three_is_refused() -> None:
    rows = block(*((1, time) for time in np.diff(np.floor(np.arange(201) / 8.0)).tolist()))  # 25 s
    result = estimate([rows], "median", Digits(clock=1.0))
    assert math.isnan(result.value)
    assert "merged into stretches of 10 times its last digit they are 2" in result.reason
    assert "are 0, and 3 are needed" in estimate([rows[:, :20]], "median", Digits(clock=1.0)).reason


def test_running_means_of_many_steps_are_merged_by_their_last_digit() -> None:
    """A mean time of 0.2 s printed with three digits: at step 5,000 it places the time of ten steps within 5 s."""
    ends = np.arange(10.0, 20001, 10)
    totals = np.round(0.2 + 0.00 * ends, 3) * ends + np.random.default_rng(1).uniform(-0.0005, 0.0005, 2000) * ends
    rows = block(*((10, time) for time in np.diff(totals, prepend=0).tolist()))
    rows[0], rows[1], rows[2] = ends - 10, ends, 10
    assert estimate([rows], "mean").reason  # one by one, many take no time
    for estimator in ("mean", "median"):
        assert estimate([rows], estimator, Digits(mean=0.001)).value == pytest.approx(5, rel=0.05)


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
