"""Plans from the memory of a case: their power against what `compare` finds, and how often they keep their promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from perflog.stats import planning
from perflog.stats.memory import Memory
from perflog.stats.planning import Outlook, detectable_change, outlook, power, rounds_needed, runs_needed
from perflog.stats.power import Table
from perflog.stats.sequential import TableRule, look
from tests.tools.plans_from_memory import CELLS, Cell, alike, is_found, least_runs, plans_of, true_power

#: Thirty campaigns of five runs that spread by 2 %, and campaigns that differ by 1 %.
MEMORY = Memory(30, 0, 0.02**2, 30.0, 120, 0.01**2 + 0.02**2 / 5, 29, 0.2)


def known(memory: Memory, apart: bool, between: float = 0.0) -> Outlook:
    """A case whose next campaign has the very variances."""
    return Outlook(memory, apart, memory.run_variance, 1e6, between**2)


@pytest.mark.parametrize(("n", "rows"), [(5, 1), (10, 1), (20, 1), (15, 20), (40, 20)])
def test_the_power_is_that_of_the_noncentral_t(n: int, rows: int) -> None:
    """But for runs that by chance are too noisy for their memory, which stand for themselves: 5 % at most."""
    freedom, effect = 30 + 2 * (n - 1), (math.log(1.05) - math.log(1.02)) / (0.02 * math.sqrt(2 / n))
    border = stats.t.ppf(1 - 0.05 / rows / 2, freedom)
    found = power(0.05, n, known(MEMORY, apart=False), Table(rows, 0.02))
    assert found == pytest.approx(float(stats.nct.sf(border, freedom, effect)), abs=0.04)


@pytest.mark.parametrize(
    ("change", "n", "rows", "between"),
    [
        (-0.05, 8, 1, 0.0),
        pytest.param(-0.05, 14, 20, 0.0, marks=pytest.mark.long),
        (-0.08, 5, 1, 0.01),
        (-0.09, 20, 1, 0.01),
    ],
)
def test_the_power_is_what_is_found(change: float, n: int, rows: int, between: float) -> None:
    """By counting rows that the rule calls, and by `compare` itself in whole tables; within three standard errors."""
    random = np.random.default_rng(20261127)
    cell = Cell("", rows, 0.02, -change, between)
    expected = power(change, n, known(MEMORY, between > 0, between), Table(rows, 0.02))
    assert true_power(random, cell, MEMORY, n) == pytest.approx(expected, abs=0.015)
    tables = 150 if rows == 1 else 60
    found = sum(is_found(random, cell, MEMORY, n, 30) for _ in range(tables)) / tables
    assert found == pytest.approx(expected, abs=3 * math.sqrt(expected * (1 - expected) / tables))


def test_sides_apart_cannot_be_told_from_what_campaigns_differ_by() -> None:
    """However many runs: 2 S² stays. In turn the same change is found."""
    table = Table(1, 0.02)
    assert runs_needed(-0.05, outlook(MEMORY, True, upper=True), 0.8, table) is None
    assert power(-0.05, 1000, outlook(MEMORY, True, upper=True), table) < 0.5
    assert runs_needed(-0.05, outlook(MEMORY, False, upper=True), 0.8, table) is not None
    with pytest.raises(ValueError, match="no number of runs"):
        runs_needed(0.01, outlook(MEMORY, False, upper=True), 0.8, table)


def test_plans_are_for_the_upper_end_of_what_is_not_known() -> None:
    """Fewer campaigns: the same variance, more runs. The smallest change is found with the chance that was asked."""
    table = Table(1, 0.02)
    few = Memory(6, 0, MEMORY.run_variance, 24.0, 24, MEMORY.variance, 5, 0.2)
    needed = [
        runs_needed(0.05, outlook(memory, False, upper=upper), 0.8, table)
        for memory, upper in ((MEMORY, False), (MEMORY, True), (few, True))
    ]
    assert None not in needed
    assert needed == sorted(needed, key=lambda n: n or 0)
    assert len(set(needed)) == 3
    expected = outlook(MEMORY, False, upper=False)
    change = detectable_change(10, expected, 0.8, table)
    assert change is not None
    assert power(change, 10, expected, table) == pytest.approx(0.8, abs=1e-3)
    assert detectable_change(3, expected, 0.8, table) is None


def test_the_quadrature_is_fine_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, table = outlook(MEMORY, True, upper=True), Table(20, 0.02)
    coarse = [power(0.09, n, expected, table) for n in (5, 8, 20)]
    monkeypatch.setattr(planning, "_NODES", (16, 32))
    planning._judged.cache_clear()
    try:
        assert coarse == pytest.approx([power(0.09, n, expected, table) for n in (5, 8, 20)], abs=0.006)
    finally:
        planning._judged.cache_clear()


@pytest.mark.parametrize(
    "cell",
    [pytest.param(CELLS[1], id="alike"), pytest.param(CELLS[5], id="unlike", marks=pytest.mark.long)],
)
def test_plans_keep_their_promise(cell: Cell) -> None:
    """Nine of ten plans from ten campaigns have the power that they promise: of 40 at most 8 have less (chance 4 %)."""
    kept = plans_of(np.random.default_rng(20261128), cell, 10, 40, 0)
    least = least_runs(cell)
    assert kept.broken <= 8 / 40
    assert least is not None
    assert kept.n is not None
    assert kept.n <= 2 * least
    assert cell.factors is not alike or kept.power > 0.85


@pytest.mark.parametrize(("rows", "spread"), [(1, 0.01), (3, 0.006)])
def test_so_many_rounds_decide_a_measurement(rows: int, spread: float) -> None:
    """Measurements look by look, of identical versions: of 150 80 % are decided by then, three standard errors."""
    random, rule = np.random.default_rng(20261129), TableRule(rows)
    memory = Memory(30, 0, spread**2, 30.0, 120, spread**2, 29, 0.2)
    rounds = rounds_needed(known(memory, apart=False), 0.8, rule)
    assert rounds is not None
    decided = before = 0
    for _ in range(150):
        old, new = (np.exp(spread * random.standard_normal(rounds)).tolist() for _ in range(2))
        looks = [look(old[:n], new[:n], rule).decided for n in range(rule.first_look, rounds + 1)]
        decided, before = decided + any(looks), before + any(looks[: len(looks) // 2])
    assert decided / 150 == pytest.approx(0.8, abs=0.1)
    assert before / 150 < 0.6
    more = rounds_needed(outlook(memory, apart=False, upper=True), 0.8, rule)
    assert more is not None
    assert more > rounds, "what is not known takes more"


def test_what_no_rounds_decide_has_none() -> None:
    noisy = Memory(30, 0, 0.1**2, 30.0, 120, 0.1**2, 29, 0.2)
    assert rounds_needed(outlook(noisy, apart=False, upper=True), 0.8, TableRule(1)) is None
    assert rounds_needed(outlook(MEMORY, apart=False, upper=True), 0.8, TableRule(1, 0.0)) is None
