"""The memory of a case: what is pooled, what is left out, and what it does to a row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.stats.contrast import RowSamples
from perflog.stats.family import family
from perflog.stats.memory import Doubt, Memory, Remembered, applied, memory_of
from tests.tools.table_memory import called, history
from tests.tools.table_methods import holm, welch
from tests.tools.tables_of_runs import normal

MEMORY = Memory(30, 0, 0.003**2, 30.0, 120, 0.005**2 + 0.003**2 / 5, 29, 0.2)
QUIET = tuple(100 * math.exp(0.003 * x) for x in (-1.2, -0.5, 0.1, 0.6, 1.0))


def test_by_hand() -> None:
    """Six campaigns on two levels, each with the logarithms' variance 2e-4 (±0.01) about means 0.02 apart."""
    level = [[math.exp(m - 0.01), math.exp(m + 0.01)] for m in (-0.01, 0.01, 0.0)]
    found = memory_of([level, [[2 * x for x in runs] for runs in level]])
    assert isinstance(found, Memory)
    assert (found.campaigns, found.rejected, found.freedom, found.known_freedom) == (6, 0, 4, 6)
    assert found.run_variance == pytest.approx(2e-4)
    assert found.variance == pytest.approx(2 * 2e-4 / 4)
    assert found.campaign_spread < 1e-8  # the runs explain it: 1e-4 is 2e-4 / 2
    assert found.run_freedom == 6  # what is known of the campaigns' variances is no more


def test_one_bad_campaign_leaves_no_trace() -> None:
    random = np.random.default_rng(1)
    runs = [(100 * np.exp(0.003 * random.standard_normal(5))).tolist() for _ in range(20)]
    bad = [(100 * np.exp(0.3 * random.standard_normal(5))).tolist()]
    clean, found = memory_of([runs]), memory_of([runs + bad])
    assert isinstance(clean, Memory)
    assert isinstance(found, Memory)
    assert (found.campaigns, found.rejected) == (21, 1)
    assert found.run_spread == pytest.approx(clean.run_spread)


@pytest.mark.parametrize(
    ("levels", "why"),
    [
        ([[[1.0, 1.1]] * 4 + [[1.0]] * 9], "4 earlier campaigns"),
        ([[[1.0, 1.1]] * 2, [[2.0, 2.1]] * 2, [[3.0, 3.1]], [[4.0, 4.1]]], "4 levels"),
        ([[[1.0, 1.0]] * 8], "without any spread"),
        ([[[1.0, 1.001]] * 5 + [[1.0, 3.0]] * 4], "4 of its 9"),
    ],
)
def test_where_there_is_too_little_there_is_a_reason(levels: list[list[list[float]]], why: str) -> None:
    found = memory_of(levels)
    assert isinstance(found, str)
    assert why in found


def test_what_campaigns_differ_by_is_in_a_row_that_was_measured_apart() -> None:
    row = RowSamples(QUIET, tuple(1.01 * x for x in QUIET))
    together, apart = (applied([row], [Remembered(MEMORY, apart)])[0] for apart in (False, True))
    assert together is not None
    assert apart is not None
    assert together.error is not None
    assert apart.error is not None
    assert apart.error**2 == pytest.approx(2 * MEMORY.variance)  # the runs are no noisier than those of the history
    assert apart.error > 2 * together.error
    assert together.freedom <= MEMORY.run_freedom + 8


def test_runs_that_are_noisier_than_their_history_stand_for_themselves() -> None:
    wild = RowSamples(QUIET, tuple(100 * math.exp(0.05 * x) for x in (-1.0, 0.4, 0.0, 1.0, -0.3)))
    quiet = RowSamples(QUIET, tuple(1.001 * x for x in QUIET))
    found = applied([wild, quiet], [Remembered(MEMORY, False)] * 2)
    assert [one.doubt for one in found if one is not None] == [Doubt.ROW, Doubt.NONE]
    (alone,) = family([wild], 0.02, 0.95)
    (kept,) = family([wild], 0.02, 0.95, [Remembered(MEMORY, False)])
    assert kept.ratio == alone.ratio
    (apart,) = family([wild], 0.02, 0.95, [Remembered(MEMORY, True)])
    assert alone.difference is not None
    assert apart.difference is not None
    assert apart.difference.error**2 == pytest.approx(alone.difference.error**2 + 2 * MEMORY.variance)
    assert apart.difference.freedom <= alone.difference.freedom


def test_a_table_that_is_noisier_than_its_histories_stands_for_itself() -> None:
    rows = [RowSamples(QUIET, tuple(f * x for x in QUIET)) for f in np.linspace(0.99, 1.01, 12).tolist()]
    less = Memory(30, 0, 0.0022**2, 30.0, 120, 0.005**2, 29, 0.2)
    found = applied(rows, [Remembered(less, False)] * 12)
    assert {one.doubt for one in found if one is not None} == {Doubt.TABLE}


@given(st.lists(st.floats(-0.004, 0.004), min_size=8, max_size=8, unique=True), st.floats(0.5, 2.0))
def test_the_interval_does_not_depend_on_the_unit(logs: list[float], unit: float) -> None:
    def judged(scale: float) -> list[float]:
        old, new = (tuple(scale * 100 * math.exp(x) for x in side) for side in (logs[:4], logs[4:]))
        if len(set(old)) < 2 or len(set(new)) < 2:
            return []
        (result,) = family([RowSamples(old, new)], 0.02, 0.95, [Remembered(MEMORY, True)])
        return [result.ratio.low or 0.0, result.ratio.high or 0.0]

    assert judged(unit) == pytest.approx(judged(1.0), rel=1e-9)


def test_tables_with_a_memory_find_more_than_welch_and_are_no_more_often_false() -> None:
    """20 rows, spread 1 %, one 5 % slower; and campaigns that differ by 3 %, whose runs alone would call rows."""
    random = np.random.default_rng(20261127)
    found = welchs = false = 0
    pool = [history(random, normal, 0.01) for _ in range(60)]
    for _ in range(25):
        memories = [pool[at] for at in random.choice(60, 20, replace=False)]
        old, new = (0.01 * random.standard_normal((20, 5)) for _ in range(2))
        new[0] += np.log1p(-0.05)
        ours = called(old, new, memories)
        found, welchs = found + int(ours[0]), welchs + int(holm(welch(old, new))[0])
        false += int(ours[1:].any())
    assert false <= 3
    assert found >= max(20, welchs - 1)
    apart = 0
    pool = [history(random, normal, 0.003, 0.03) for _ in range(60)]
    for _ in range(25):
        memories = [pool[at] for at in random.choice(60, 20, replace=False)]
        old, new = (0.003 * random.standard_normal((20, 5)) + 0.03 * random.standard_normal((20, 1)) for _ in range(2))
        apart += int(called(old, new, memories, apart=True).any())
    assert apart <= 4
