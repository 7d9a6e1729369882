"""Sample sizes, against the reference table and scipy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perflog.stats.power import (
    SIMULATED,
    coefficient_of_variation,
    detectable_change,
    pooled_coefficient_of_variation,
    power,
    runs_needed,
    variation_bounds,
)
from tests.tools.simulate_compare import POWER_TABLE


@pytest.mark.parametrize(("spread", "change", "wanted"), POWER_TABLE)
def test_the_power_of_five_runs_is_that_of_the_reference(spread: float, change: float, wanted: float) -> None:
    assert power(change, spread, 5) == pytest.approx(wanted, abs=0.03)
    assert power(-change, spread, 5) == power(change, spread, 5)


@pytest.mark.parametrize(
    ("spread", "change", "most"),
    [(0.005, 0.01, 6), (0.005, 0.02, 4), (0.01, 0.01, 20), (0.01, 0.02, 6), (0.01, 0.03, 4), (0.02, 0.01, 80), (0.02, 0.02, 20), (0.02, 0.03, 10), (0.02, 0.05, 5), (0.03, 0.05, 8)],
)  # fmt: skip
def test_runs_needed_are_at_most_those_of_the_reference(spread: float, change: float, most: int) -> None:
    """The reference tried 4, 5, 6, 8, 10, 20, 40 and 80 runs."""
    n = runs_needed(change, spread)
    assert n is not None and 0.8 * most <= n <= most
    assert power(change, spread, n) >= 0.8
    assert n == 4 or power(change, spread, n - 1) < 0.8


def test_power_without_a_change_is_the_level_of_the_test() -> None:
    assert power(0, 0.01, 5) == pytest.approx(8 / 252, abs=0.003)
    assert power(0, 0.01, 40) == pytest.approx(0.05, abs=0.003)


def test_the_formula_continues_the_simulation() -> None:
    for effect in (0.3, 0.5, 0.7, 1.0):
        before, after = power(0.01 * effect, 0.01, SIMULATED), power(0.01 * effect, 0.01, SIMULATED + 1)
        assert -0.01 < after - before < 0.05


def test_large_samples_have_the_efficiency_of_the_rank_test() -> None:
    """3/π of the t-test's, whose power is a non-central t (Hodges & Lehmann 1956)."""
    n, effect = 200, 0.25
    shift, freedom = effect * math.sqrt(n * 3 / math.pi / 2), 2 * n - 2
    wanted = stats.nct.sf(stats.t.ppf(0.975, freedom), freedom, shift)
    assert power(effect * 0.01, 0.01, n) == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize("n", [4, 5, 10, 30])
def test_the_detectable_change_is_found_with_the_chance_asked_for(n: int) -> None:
    change = detectable_change(0.01, n)
    assert change is not None
    assert power(change, 0.01, n) == pytest.approx(0.8, abs=0.002)
    assert detectable_change(0.02, n) == pytest.approx(2 * change)
    assert runs_needed(change + 1e-6, 0.01) in (n, n - 1)


def test_too_few_runs_find_nothing() -> None:
    assert power(1, 0.01, 3) == 0
    assert detectable_change(0.01, 3) is None
    assert runs_needed(0.0001, 0.05) is None
    assert runs_needed(0.001, 0.01) is None, "about 1650 runs, more than anybody makes"
    assert runs_needed(0.02, 0) == 4
    assert power(0.01, 0, 4) == 1
    assert power(0, 0, 5) == pytest.approx(8 / 252, abs=0.003)
    assert detectable_change(0, 5) == pytest.approx(0)


@pytest.mark.parametrize(
    ("change", "spread"), [(-1, 0.1), (math.nan, 0.1), (0.1, -1), (0.1, math.nan), (math.inf, 0.1)]
)
def test_what_is_no_change_or_no_spread_is_refused(change: float, spread: float) -> None:
    with pytest.raises(ValueError, match=r"not (-|nan|inf)"):
        power(change, spread, 5)


def test_no_number_of_runs_finds_nothing() -> None:
    with pytest.raises(ValueError, match="change of 0"):
        runs_needed(0, 0.01)


def test_spreads() -> None:
    assert coefficient_of_variation([1.0, math.e]) == pytest.approx(1 / math.sqrt(2))
    assert coefficient_of_variation([1.0]) is None
    assert coefficient_of_variation([1.0, math.nan]) is None
    assert coefficient_of_variation([0.0, 1.0]) is None
    assert pooled_coefficient_of_variation([[1.0], []]) is None
    both = pooled_coefficient_of_variation([[1.0, math.e], [5.0], [1.0, 1.0, 1.0]])
    assert both is not None
    assert list(both) == pytest.approx([math.sqrt(0.5 / 3), 3])


@given(st.floats(1e-4, 0.1), st.integers(1, 50))
def test_the_bounds_of_a_spread_hold_it(spread: float, freedom: int) -> None:
    low, high = variation_bounds(spread, freedom)
    assert low < spread * 1.5 and high > spread
    assert freedom * spread**2 / high**2 == pytest.approx(stats.chi2.ppf(0.1, freedom))


def test_the_bounds_of_five_runs() -> None:
    assert list(variation_bounds(1, 4)) == pytest.approx([0.717, 1.939], abs=1e-3)
    with pytest.raises(ValueError, match="two runs"):
        variation_bounds(1, 0)
