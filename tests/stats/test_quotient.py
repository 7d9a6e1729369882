"""The interval of a speedup, by its coverage, with and without drawing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import special, stats

from perflog.stats.quotient import LEAST_RUNS, QuotientInterval, critical_value, quotient_interval
from perflog.stats.student import incomplete_beta, t_cdf, t_quantile

#: How many runs the case and its baseline have.
RUNS = [
    (4, 4), (4, 200), (5, 20),
    *(pytest.param(runs, marks=pytest.mark.long) for runs in [(4, 10), (4, 20), (4, 50), (5, 5), (10, 20)]),
]  # fmt: skip
#: These, and how much wider the case spreads.
COVERED = [
    (4, 4, 1.0),
    (4, 20, 3.0),
    *(pytest.param(*case, marks=pytest.mark.long) for case in [(5, 5, 3.0), (5, 20, 0.3)]),
]
CASE, BASE = [742.0, 751, 748, 755, 739], [99.0, 101.5, 100.2, 98.7]


def coverage(runs: tuple[int, int], spreads: tuple[float, float], level: float) -> float:
    """The chance that the critical value is not exceeded at the true difference, without any drawing.

    Of the sum of both samples' squares the share of the first has a beta distribution and is independent of Student's t
    with the degrees of freedom of both (Fisher), so that one integral over the share is left.
    """
    freedoms = [n - 1 for n in runs]
    true = [spread**2 / n for spread, n in zip(spreads, runs, strict=True)]
    together = sum(freedoms)
    middles = (np.arange(400) + 0.5) / 400
    shares = stats.beta.ppf(middles, freedoms[0] / 2, freedoms[1] / 2)
    held = []
    for share in shares:
        estimated = [true[0] / freedoms[0] * share * together, true[1] / freedoms[1] * (1 - share) * together]
        bound = critical_value(estimated, freedoms, level) * math.sqrt(sum(estimated) / sum(true))
        held.append(2 * float(special.stdtr(together, bound)) - 1)
    return float(np.mean(held))


@pytest.mark.long
@pytest.mark.parametrize("runs", RUNS)
def test_the_critical_value_covers_what_is_stated_within_a_point(runs: tuple[int, int]) -> None:
    """At any ratio of the spreads; Welch's own covers 93.3 % of 4 runs beside 200."""
    found = [coverage(runs, (1.0, wider), 0.95) for wider in (0.1, 0.2, 0.5, 1, 2, 4, 7, 12)]
    assert found == pytest.approx([0.95] * 8, abs=0.01)


def test_one_sample_alone_has_students_quantile() -> None:
    assert critical_value([1.0, 0.0], [3, 19], 0.95) == pytest.approx(float(stats.t.ppf(0.975, 3)), rel=1e-9)
    assert critical_value([1.0, 1e-12], [7, 3], 0.99) == pytest.approx(float(stats.t.ppf(0.995, 7)), rel=1e-6)


def test_the_interval_is_the_difference_of_logarithms_by_so_many_standard_errors() -> None:
    logs = np.log(CASE), np.log(BASE)
    variances = [float(sample.var(ddof=1)) / len(sample) for sample in logs]
    half = critical_value(variances, [4, 3], 0.95) * math.sqrt(sum(variances))
    centre = float(logs[0].mean() - logs[1].mean())
    found = quotient_interval(CASE, BASE, value=7.46)
    assert found is not None and found.level == 0.95
    assert [found.low, found.high] == pytest.approx([math.exp(centre - half), math.exp(centre + half)], rel=1e-12)


def test_a_quotient_has_its_own_value_in_its_interval() -> None:
    found = quotient_interval(CASE, BASE, value=8.0)
    assert found is not None and found.high == 8.0 and found.low < 7.5


def test_the_quotient_upside_down_has_the_interval_upside_down() -> None:
    found, turned = quotient_interval(CASE, BASE, 7.46), quotient_interval(BASE, CASE, 1 / 7.46)
    assert found is not None and turned is not None
    assert [found.low, found.high] == pytest.approx([1 / turned.high, 1 / turned.low], rel=1e-12)


def test_too_few_runs_or_no_spread_have_no_interval() -> None:
    assert LEAST_RUNS == 4
    assert quotient_interval(CASE[:3], BASE, 7.4) is None and quotient_interval(CASE, BASE[:3], 7.4) is None
    assert quotient_interval(CASE[:4], BASE, 7.4) is not None
    assert quotient_interval([700.0] * 5, BASE, 7.0) is None and quotient_interval(CASE, [100.0] * 5, 7.4) is None


def test_a_known_factor_scales_both_ends() -> None:
    assert QuotientInterval(6.0, 8.0, 0.95).scaled(1 / 8) == QuotientInterval(0.75, 1.0, 0.95)


@pytest.mark.long
@pytest.mark.parametrize(("m", "n", "wider"), COVERED)
def test_the_coverage_is_what_is_stated_within_a_point(m: int, n: int, wider: float) -> None:
    """2,500 quotients of log-normal runs; a share of 95 % is then known to 0.44 points."""
    random = np.random.default_rng(m * 100 + n)
    held = 0
    for _ in range(2500):
        case = (800 * np.exp(0.02 * wider * random.standard_normal(m))).tolist()
        base = (100 * np.exp(0.02 * random.standard_normal(n))).tolist()
        found = quotient_interval(case, base, float(np.median(case) / np.median(base)))
        assert found is not None
        held += found.low <= 8 <= found.high
    assert held / 2500 == pytest.approx(0.95, abs=0.01 + 0.009)


@example(0.5005269716157814, 33361.0)
@given(st.floats(0.5, 0.99999), st.floats(1, 1e5))
def test_quantiles_of_students_t_are_scipys(probability: float, freedom: float) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(
        float(special.stdtrit(freedom, probability)), abs=1e-9, rel=1e-8
    )


@given(st.floats(0.1, 500), st.floats(0.1, 500), st.floats(0, 1))
def test_the_incomplete_beta_function_is_scipys(a: float, b: float, x: float) -> None:
    assert incomplete_beta(a, b, x) == pytest.approx(float(special.betainc(a, b, x)), abs=1e-10)


def test_students_t_by_hand() -> None:
    """With one degree of freedom it is Cauchy's: a quarter of it lies beyond 1. With two: P(T ≤ √2) = ½ + √2/4."""
    assert t_cdf(1.0, 1) == pytest.approx(0.75) and t_quantile(0.75, 1) == pytest.approx(1.0)
    assert t_cdf(math.sqrt(2), 2) == pytest.approx(0.5 + math.sqrt(2) / 4)
    assert t_quantile(0.5, 7) == 0.0
    for probability, freedom in ((0.4, 3), (1.0, 3), (0.9, 0.5), (math.nan, 3)):
        with pytest.raises(ValueError, match="no quantile"):
            t_quantile(probability, freedom)
