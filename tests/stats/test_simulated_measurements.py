"""A small share of ``tests.tools.simulate_sequential``: what docs/methods.md promises of measurements that stop."""

from __future__ import annotations

import re

import numpy as np
import pytest

from perflog.stats.sequential import TableRule
from perflog.stats.verdict import Verdict
from tests.support import ROOT
from tests.tools.simulate_sequential import (
    METHODS,
    SIMULATION,
    campaign_errors,
    is_wrong,
    measured_case,
    mixture,
    outcomes,
)
from tests.tools.tables_of_runs import Sides, normal, two_states


def test_identical_versions_are_called_in_at_most_five_per_cent_of_measurements() -> None:
    for noise in (normal, two_states):
        result = outcomes(np.random.default_rng(5), noise, 5, Sides((20, 20), (0.05, 0.05)), 40)
        assert result.wrong <= 0.1, "0.05, and two standard errors of 40 measurements"
        assert result.missed <= 0.15


def test_a_change_is_found_and_ends_the_measurement() -> None:
    result = outcomes(np.random.default_rng(6), normal, 1, Sides((30, 30), (0.01, 0.01)), 40, change=0.1)
    assert (result.right, result.wrong, result.undecided) == (1.0, 0.0, 0.0)
    assert result.rounds < 6


def test_the_tool_ends_a_case_where_the_rule_does() -> None:
    old = np.array([100.0, 101, 99, 100, 102, 100])
    new = old * np.array([1.2, 1.21, 1.19, 1.2, 1.21, 1.2])
    assert measured_case(old, new, 1.2, TableRule(1)) == (4, Verdict.FASTER, False)
    assert measured_case(old, new, 1.0, TableRule(1)) == (4, Verdict.FASTER, True)


@pytest.mark.parametrize(
    ("verdict", "change", "wrong"),
    [
        (Verdict.FASTER, 0.0, True), (Verdict.FASTER, 0.01, False), (Verdict.SLOWER, 0.01, True),
        (Verdict.SAME, 0.02, False), (Verdict.SAME, 0.03, True), (None, 0.5, False),
    ],
)  # fmt: skip
def test_what_counts_as_wrong(verdict: Verdict | None, change: float, wrong: bool) -> None:
    assert is_wrong(verdict, change, 0.02) is wrong


def test_the_method_of_the_table_is_the_one_that_is_used() -> None:
    """The interval of the tool's arrays is that of the rule, at every look."""
    from perflog.stats.sequential import EFFECT_VARIANCE, look

    random = np.random.default_rng(8)
    old, new = np.exp(0.02 * random.standard_normal((2, 12)))
    low, high = mixture(EFFECT_VARIANCE, np.log(new / old)[None, :], 0.05, 4)
    for number in range(4, 13):
        ratio = look(old[:number].tolist(), new[:number].tolist(), TableRule(1)).ratio
        assert (ratio.low, ratio.high) == pytest.approx((np.exp(low[0, number - 1]), np.exp(high[0, number - 1])))


def test_the_exact_interval_leaves_out_as_many_walsh_averages_as_its_table_has() -> None:
    """Of 64 orders of six signs 1, 2, 3 and 5 have a sum of ranks of at most 0, 1, 2 and 3: 2 may be left out at 5 %."""
    differences = np.arange(1.0, 7)[None, :]
    method = METHODS["exact signed ranks, α/(k (k + 1)) at the k-th look"]
    for alpha, ends in ((0.1, (1.0, 6.0)), (0.2, (2.0, 5.0))):
        low, high = method(differences, alpha, 6)
        assert (low[0, 5], high[0, 5]) == ends
    assert not np.isfinite(low[0, :5]).any()


def test_known_campaigns_bring_the_coverage_back() -> None:
    _, without, _ = campaign_errors(np.random.default_rng(9), 1, 0, 0.02, 100)
    false, covered, level = campaign_errors(np.random.default_rng(9), 1, 5, 0.02, 300)
    assert without < 0.5
    assert false <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5
    assert abs(covered - level) <= 3 * (0.05 * 0.95 / 300) ** 0.5


def test_the_page_has_the_tables_of_this_tool() -> None:
    text = (ROOT / SIMULATION.page).read_text(encoding="utf-8")
    between = text.partition(SIMULATION.start)[2].partition(SIMULATION.end)[0]
    for title in (
        "### Runs until decided",
        "#### What it costs",
        "#### The rules that were tried",
        "#### The variance between campaigns",
    ):
        assert title in between
    shares = [
        float(share) for share in re.findall(r"^\| (?:log-normal|heavy|two).*?\| ([\d.]+) % \|", between, re.MULTILINE)
    ]
    assert len(shares) >= 10
