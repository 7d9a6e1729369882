"""The rank test, against scipy and against every arrangement counted by hand."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perflog.stats.mannwhitney import at_most, critical, p_value, runs_for, votes
from tests.tools.simulate_compare import permutation_p

untied = st.lists(st.floats(0.1, 1e6), min_size=2, max_size=16, unique=True)
coarse = st.lists(st.integers(1, 6).map(float), min_size=2, max_size=6)


@given(untied, st.data())
def test_without_ties_p_is_scipys(values: list[float], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(values) - 1))
    old, new = values[:cut], values[cut:]
    wanted = stats.mannwhitneyu(new, old, alternative="two-sided", method="exact").pvalue
    assert p_value(old, new) == pytest.approx(min(1.0, wanted), rel=1e-12)
    assert permutation_p(old, new) == pytest.approx(min(1.0, wanted), rel=1e-12)


@given(coarse, coarse)
def test_with_ties_the_permutation_p_counts_every_arrangement(old: list[float], new: list[float]) -> None:
    ranks = stats.rankdata([*old, *new])
    sums = np.array([sum(picked) for picked in combinations(ranks, len(old))])
    seen = ranks[: len(old)].sum()
    wanted = 2 * min((sums <= seen + 1e-9).mean(), (sums >= seen - 1e-9).mean())
    assert permutation_p(old, new) == pytest.approx(min(1.0, wanted), rel=1e-12)


@given(coarse, coarse)
def test_with_ties_p_is_never_below_that_of_ties_broken_for_the_finding(old: list[float], new: list[float]) -> None:
    """Ties broken in favour of either finding give an untied sample, whose p is the least that could be claimed."""
    higher = p_value(old, [v + 0.5 for v in new])
    lower = p_value(old, [v - 0.5 for v in new])
    assert p_value(old, new) >= min(higher, lower) - 1e-12


def test_with_ties_p_holds_its_level() -> None:
    """Every deal of a tied pool is equally likely; no more than 5 % of them may have p ≤ 0.05."""
    for pool in (
        [1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
        [1, 1, 1, 1, 1, 2, 3, 4, 5, 6],
        [1, 2, 3, 4, 5, 6, 6, 6, 6, 6],
        [1, 1, 1, 1, 1, 2, 2, 2, 2, 2],
    ):
        for level in (0.05, 0.1, 0.2):
            deals = list(combinations(range(10), 5))
            low = sum(
                p_value([pool[i] for i in deal], [pool[i] for i in range(10) if i not in deal]) <= level
                for deal in deals
            )
            assert low <= level * len(deals)


def test_the_null_distribution_of_three_against_three() -> None:
    """The 20 orders of three and three have U = 0 … 9 in 1, 1, 2, 3, 3, 3, 3, 2, 1, 1 of them."""
    counts = [1, 1, 2, 3, 3, 3, 3, 2, 1, 1]
    assert [round(20 * (at_most(u, 3, 3) - at_most(u - 1, 3, 3))) for u in range(10)] == counts
    assert at_most(-1, 3, 3) == 0
    assert at_most(9, 3, 3) == at_most(99, 3, 3) == 1


@pytest.mark.parametrize(
    ("n", "rank", "level"), [(3, 0, 0.90), (4, 1, 0.971), (5, 3, 0.968), (6, 6, 0.959), (8, 14, 0.950), (10, 24, 0.957)]
)
def test_critical_values_are_those_of_the_reference(n: int, rank: int, level: float) -> None:
    assert critical(n, n) + 1 == rank
    assert 1 - 2 * at_most(max(0, critical(n, n)), n, n) == pytest.approx(level, abs=6e-4)


def test_three_runs_are_significant_at_ninety_percent_and_not_at_ninety_five() -> None:
    assert critical(3, 3, 0.9) == 0
    assert critical(3, 3, 0.95) == -1
    assert [runs_for(level) for level in (0.5, 0.9, 0.95, 0.99, 0.999)] == [2, 3, 4, 5, 7]
    for level in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="level"):
            runs_for(level)


def test_large_samples_are_close_to_the_exact_distribution() -> None:
    """67 against 67 is counted by the normal curve; scipy counts it out."""
    random = np.random.default_rng(5)
    old, new = random.standard_normal((2, 70)) + np.array([[0.0], [0.3]])
    assert p_value(old.tolist(), new.tolist()) == pytest.approx(
        stats.mannwhitneyu(old, new, method="exact").pvalue, rel=0.02
    )
    assert permutation_p([1.0, 2.0] * 300, [1.0, 2.0, 2.0] * 200) == pytest.approx(
        stats.mannwhitneyu([1.0, 2.0] * 300, [1.0, 2.0, 2.0] * 200, method="asymptotic").pvalue
    )


def test_votes_count_ties_on_both_sides() -> None:
    assert votes([1.0, 2.0], [2.0, 3.0]) == (1, 4)
    assert votes([5.0], [5.0]) == (1, 1)
    assert p_value([5.0] * 5, [5.0] * 5) == 1
    assert p_value([], [1.0]) == permutation_p([1.0], []) == 1
