"""What rounding in print does to a mean: the printed step, the bound by hand and by summing distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perflog.stats.resolution import printed_quantum, resolution, rounding_bias


@pytest.mark.parametrize(
    ("values", "quantum"),
    [
        ([0.12, 0.13], 0.01),
        ([0.1, 0.125], 0.001),
        ([3.0, 20.0], 1.0),
        ([1e6 + 0.5], 0.1),
        ([1 / 3], None),
        ([], None),
        ([math.nan], None),
    ],
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
    result = resolution(np.rint(values), half_width=1)
    assert result is not None
    assert abs(np.rint(values).mean() - values.mean()) / 100 <= result.bias + 0.0006


def test_resolution_of_odd_values() -> None:
    assert resolution([], 0.01) is None
    assert resolution([math.nan], 0.01) is None
    assert resolution([0.0, 0.0], 0.01) is None
    assert resolution([-1.0, 1.0], 0.01) is None, "a share of a mean of 0 is none"
    assert resolution([1 / 3, 2 / 3], 0.01) is None
    assert rounding_bias(0, 1) == 0
    assert rounding_bias(1, 0) == 0.5


def test_two_neighbouring_steps_by_hand() -> None:
    """Three of four values printed as 0.13, one as 0.12: off by at most 0.01 × (3/4 − 1/2) of a mean of 0.1275."""
    for half_width, dominates in ((0.01, True), (0.02, False)):
        found = resolution([0.13, 0.12, 0.13, 0.13], half_width)
        assert found is not None
        assert (found.quantum, found.dominates) == (0.01, dominates)
        assert found.bias == pytest.approx(0.0025 / 0.1275)
    same = resolution([0.12, 0.12], half_width=0.04)
    assert same is not None
    assert same.bias == pytest.approx(0.005 / 0.12), "half a step"


def test_several_steps_by_the_first_term_of_the_series() -> None:
    """0, 3 and 6 with q = 1: variance 6, less 1/12 for the rounding; the first term alone counts: exp(−117) / π."""
    found = resolution([0.0, 3.0, 6.0], half_width=0.01)
    assert found is not None
    assert found.bias == pytest.approx(math.exp(-2 * math.pi**2 * (6 - 1 / 12)) / math.pi / 3)
    assert rounding_bias(1, 0.4) == pytest.approx(math.exp(-2 * math.pi**2 * 0.16) / math.pi, rel=1e-3)
