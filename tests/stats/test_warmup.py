"""Warm-up, drift, clusters, print resolution and components of variance."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from perflog.stats.clusters import clusters
from perflog.stats.components import components, steps_per_run
from perflog.stats.drift import drift
from perflog.stats.resolution import printed_quantum, resolution, rounding_bias
from perflog.stats.warmup import mser5
from tests.tools.simulate_compare import step_times, warmups

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


@given(series, st.integers(-10, 10))
def test_the_unit_does_not_move_the_cut(values: list[float], power: int) -> None:
    assert mser5(np.array(values) * 2.0**power) == mser5(values)


@pytest.mark.parametrize(
    ("name", "low", "high"), [("steady", 0, 0), ("first step", 5, 5), ("decay, τ = 8", 45, 55), ("first 40", 40, 40), ("first 5 steps", 5, 5)]
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
    began = time.perf_counter()
    mser5(values)
    drift(values)
    assert time.perf_counter() - began < 2


# ---------------------------------------------------------------- drift


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
    assert (result.change, result.low, result.high) == pytest.approx([s * 20 / centre for s in (wanted.slope, wanted.low_slope, wanted.high_slope)])


def test_spikes_and_small_trends_are_no_drift() -> None:
    values = np.ones(200)
    values[[20, 120, 199]] = 30
    assert not drift(values).drifts
    assert not drift(np.linspace(1, 1.005, 200)).drifts
    assert drift(np.linspace(1, 1.005, 200), smallest=0.001).drifts


def test_drift_of_odd_series() -> None:
    assert drift([1.0] * 9).reason == "9 measurements, a trend needs 10"
    assert drift([math.nan] * 20).change is None
    assert drift([0.0] * 20).reason == "the median is 0"
    assert (drift([3.0] * 20).change, drift([3.0] * 20).drifts) == (0, False)
    assert drift(np.arange(1.0, 11.0)).drifts


# ---------------------------------------------------------------- clusters


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


# ---------------------------------------------------------------- print resolution


@pytest.mark.parametrize(
    ("values", "quantum"),
    [([0.12, 0.13], 0.01), ([0.1, 0.125], 0.001), ([3.0, 20.0], 1.0), ([1e6 + 0.5], 0.1), ([1 / 3], None), ([], None), ([math.nan], None)],
)
def test_the_printed_step(values: list[float], quantum: float | None) -> None:
    assert printed_quantum(values) == (None if quantum is None else pytest.approx(quantum))


def test_a_step_time_with_two_decimals_is_biased_unless_it_spreads() -> None:
    random = np.random.default_rng(6)
    for spread, dominates in ((0.0, True), (0.01, True), (0.02, True), (0.05, False)):
        result = resolution(np.round(0.124 * (1 + spread * random.standard_normal(200)), 2), half_width=0.004)
        assert result is not None
        assert result.quantum == pytest.approx(0.01) and result.dominates == dominates


@given(st.floats(0, 0.01), st.floats(0, 1))
def test_the_bias_of_rounding_stays_within_its_bound(spread: float, offset: float) -> None:
    """The mean of a rounded normal, by summing its distribution."""
    truth, quantum = 0.1 + 0.01 * offset, 0.01
    cells = np.arange(0, 30) * quantum
    scale = max(spread, 1e-6)
    mass = stats.norm.cdf(cells + quantum / 2, truth, scale) - stats.norm.cdf(cells - quantum / 2, truth, scale)
    assert abs(float((mass * cells).sum()) - truth) <= rounding_bias(quantum, spread) * 1.001 + 1e-6


@given(st.floats(0.05, 1.0), st.floats(0, 1), st.integers(0, 1000))
def test_rounded_normal_values_are_off_by_no_more_than_said(spread: float, offset: float, seed: int) -> None:
    """Values known before rounding, in units of the printed step; 4,000 of them, so chance adds little."""
    values = 100 + offset + spread * stats.norm.ppf((np.random.default_rng(seed).permutation(4000) + 0.5) / 4000)
    result = resolution(np.rint(values), half_width=1, quantum=1)
    assert result is not None
    assert abs(np.rint(values).mean() - values.mean()) / 100 <= result.bias + 0.0006


def test_resolution_of_odd_values() -> None:
    assert resolution([], 0.01) is None
    assert resolution([math.nan], 0.01) is None
    assert resolution([0.0, 0.0], 0.01) is None
    assert resolution([1 / 3, 2 / 3], 0.01) is None
    assert resolution([1 / 3, 2 / 3], 0.01, quantum=0.1) is not None
    assert rounding_bias(0, 1) == 0
    assert rounding_bias(1, 0) == 0.5


# ---------------------------------------------------------------- components of variance


def test_components_by_hand() -> None:
    """Runs of four steps in two batches: (1, 1, 3, 3) and (5, 5, 7, 7) have means 2 and 6, each with variance 1."""
    parts = components([[1.0, 1, 3, 3], [5.0, 5, 7, 7]])
    assert parts is not None
    assert parts.step_share == pytest.approx(1 / 8)
    assert parts.run_spread == pytest.approx(math.sqrt(7) / 4)
    assert parts.step_spread == pytest.approx(1 / 4)
    assert parts.one_step == pytest.approx(1 / 2)
    assert parts.advice == "steps account for 12 % of the variance between runs: more runs help, more steps do not"


def shares(random: np.random.Generator, run_spread: float) -> NDArray[np.float64]:
    made = (components(list(step_times(random, 5, 200, run_spread))) for _ in range(60))
    return np.array([parts.step_share for parts in made if parts])


def test_runs_that_differ_or_not_are_told_apart() -> None:
    random = np.random.default_rng(7)
    assert np.median(shares(random, 0.0)) > 0.5
    assert np.median(shares(random, 0.01)) < 0.1


def test_components_of_odd_runs() -> None:
    assert components([]) is None
    assert components([[1.0] * 10]) is None
    assert components([[1.0] * 10, [1.0] * 3]) is None
    assert components([[1.0] * 10, [math.nan] * 10]) is None
    assert components([[0.0] * 10, [0.0] * 10]) is None
    same = components([[1.0] * 10, [1.0] * 10])
    assert same is not None and (same.step_share, same.run_spread) == (0, 0)
    alike = components([[1.0, 2.0] * 2 + [2.0, 3.0] * 2] * 2)
    assert alike is not None and alike.step_share == 1
    assert "more steps per run help" in alike.advice


def test_the_cheapest_number_of_steps() -> None:
    """A run costs 300 s before its first step of 0.2 s; steps spread by 2 %, runs by 0.5 %: √1500 × 4 = 155."""
    assert steps_per_run(300, 0.2, 0.005, 0.02) == 155
    assert steps_per_run(1, 1, 1, 0.001) == 1
    assert steps_per_run(1, 1, 0, 1) is None
    with pytest.raises(ValueError, match="costs are positive"):
        steps_per_run(0, 1, 1, 1)
