"""Few runs beside a side with two states, by hand and by how often such a verdict is silent."""

from __future__ import annotations

import numpy as np
import pytest

from perflog.compare.comparing import with_states
from perflog.compare.rows import compared_cases
from perflog.compare.rule import Rule
from perflog.stats.states import OneState, one_state
from perflog.stats.verdict import Verdict
from tests.tools.tables_of_runs import Sides, own_gaps_table

TWO = [99.0, 99.1, 101.0, 101.1, 101.05, 98.95]
ONE = [120.0, 120.7, 120.3, 120.5]


def test_few_runs_beside_two_groups_are_told_of() -> None:
    """Four runs: 1/8; R · 2^(1 − n) ≤ 0.05 needs six runs for one row, and ten for twenty."""
    assert one_state(TWO, ONE) == OneState("new", 4, 0.125, 6)
    assert one_state(ONE, TWO) == OneState("old", 4, 0.125, 6)
    assert one_state(TWO, ONE, rows=20) == OneState("new", 4, 0.125, 10)


def test_where_both_sides_or_none_have_groups_nothing_is_told() -> None:
    assert one_state(ONE, [130.0, 130.8, 130.4, 130.6]) is None
    assert one_state(TWO, [value * 1.2 for value in TWO]) is None


def test_a_single_run_that_stands_apart_is_a_group_here() -> None:
    assert one_state([99.0, 99.1, 99.2, 101.0], ONE) == OneState("new", 4, 0.125, 6)


def test_enough_runs_are_enough() -> None:
    six = [*ONE, 120.1, 120.6]
    assert one_state(TWO, six) is None
    assert one_state(TWO, six, rows=2) == OneState("new", 6, 1 / 32, 7)
    assert one_state(TWO, six, level=0.99) == OneState("new", 6, 1 / 32, 8)


@pytest.mark.long
@pytest.mark.parametrize(
    "sides", [Sides((4, 20), (0.1, 0.01)), Sides((4, 4), (0.1, 0.01)), Sides((20, 5), (0.01, 0.1))]
)
def test_a_false_verdict_is_never_silent_where_each_side_has_states_of_its_own(sides: Sides) -> None:
    """6 to 12 % of such rows are called, which no method on four runs can help; of 600 at most 5 % without a warning."""
    random, called, silent = np.random.default_rng(5), 0, 0
    for _ in range(600):
        rows, warnings = with_states(compared_cases(own_gaps_table(random, 1, sides), Rule()), Rule())
        if rows[0].verdict in (Verdict.FASTER, Verdict.SLOWER):
            called += 1
            silent += not warnings
            assert not warnings or "by chance" in rows[0].notes[-1]
    assert called > 25 and silent <= 30
