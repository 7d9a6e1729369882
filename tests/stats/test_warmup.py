"""Where the warm-up ends: hand-made series, the definition term by term, and simulated series with a known end."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.stats.drift import drift
from perflog.stats.warmup import Warmup, mser5
from tests.tools.simulate_compare import warmups

series = st.lists(st.floats(0.1, 10), min_size=20, max_size=120)


def slow_mser5(values: list[float]) -> int:
    """The definition, term by term, over the first half."""
    k = len(values) // 5
    batches = [math.fsum(values[5 * i : 5 * i + 5]) / 5 for i in range(k)]
    best, cut = math.inf, 0
    for d in range(k // 2 + 1):
        mean = math.fsum(batches[d:]) / (k - d)
        value = math.fsum((z - mean) ** 2 for z in batches[d:]) / (k - d) ** 2
        if value < best * (1 - 1e-9) - 1e-18:
            best, cut = value, d
    return 5 * cut


@given(series)
def test_mser5_is_its_definition(values: list[float]) -> None:
    result = mser5(values)
    assert result.cut is not None
    if not result.at_cap:
        assert result.cut == slow_mser5(values)
    assert result.cut <= len(values) / 2
    assert result.cut % 5 == 0


@given(series, st.integers(-10, 10) | st.just(600))  # 600: squares beyond all numbers
def test_the_unit_does_not_move_the_cut(values: list[float], power: int) -> None:
    assert mser5(np.array(values) * 2.0**power) == mser5(values)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("steady", 0, 0), ("first step", 5, 5), ("decay, τ = 8", 45, 55), ("first 40", 40, 40), ("first 5 steps", 5, 5)],
)
def test_median_cuts_are_those_of_the_reference(name: str, low: int, high: int) -> None:
    made = warmups(np.random.default_rng(1), 300)
    found = next(value for key, (_, value) in made.items() if key.startswith(name))
    got = [mser5(line) for line in found]
    assert low <= np.median([w.cut for w in got if w.cut is not None]) <= high
    assert np.mean([w.at_cap for w in got]) < 0.06


@pytest.mark.parametrize("name", ["first 140", "decay, τ = 100"])
def test_a_series_that_does_not_settle_is_at_the_cap(name: str) -> None:
    found = next(value for key, (_, value) in warmups(np.random.default_rng(2), 50).items() if key.startswith(name))
    for line in found:
        assert mser5(line).at_cap
        assert mser5(line).cut == 100


def test_mser5_of_a_constant_a_short_and_a_broken_series() -> None:
    assert (mser5([0.1] * 100).cut, mser5([0.1] * 100).at_cap) == (0, False)
    assert mser5([1.0] * 19).reason == "19 measurements, MSER-5 needs 20"
    assert mser5([]).cut is None
    for bad in (math.nan, math.inf):
        assert mser5([1.0] * 30 + [bad]).reason == "a measurement is not a finite number"


def test_a_million_steps_take_no_time() -> None:
    values = 1 + 0.01 * np.random.default_rng(3).standard_normal(1_000_000)
    began = time.process_time()
    mser5(values)
    drift(values)
    assert time.process_time() - began < 2


# ---------------------------------------------------------------- by hand


def test_one_slow_batch_at_the_start_is_cut() -> None:
    """Batches 6, 1, 1, 1: without a cut 18.75 / 16, without the first 0 / 9."""
    assert mser5([6.0] * 5 + [1.0] * 15) == Warmup(5)


def test_two_slow_batches_of_six_are_cut() -> None:
    """Batches 4, 3, 1, 1, 1, 1: the statistic is 8.83 / 36, 3.2 / 25, then 0."""
    assert mser5([4.0] * 5 + [3.0] * 5 + [1.0] * 20) == Warmup(10)


def test_a_slow_batch_in_the_middle_costs_more_to_cut_than_to_keep() -> None:
    """Batches 1, 1, 2, 1, 1, 1, 1, 1: 0.875 / 64 against 0.857 / 49, 0.833 / 36 and 0 / 25 at three left out."""
    assert mser5([1.0] * 10 + [2.0] * 5 + [1.0] * 25) == Warmup(15)
    assert mser5([1.0] * 20 + [2.0] + [1.0] * 19).cut == 0, "0.035 / 64 without a cut is the least of the first half's"


def test_half_of_the_batches_at_most_are_cut_and_the_cap_is_said() -> None:
    """Batches 9, 9, 1, 1: the best cut is two of four, the cap, behind which a later one was not looked for."""
    assert mser5([9.0] * 10 + [1.0] * 10) == Warmup(10, at_cap=True)


def test_measurements_behind_the_last_whole_batch_are_not_looked_at() -> None:
    assert mser5([6.0] * 5 + [1.0] * 15 + [50.0] * 4) == Warmup(5)
