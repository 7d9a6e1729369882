"""Sample sizes, against what `compare` itself finds and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perflog.stats.contrast import RowSamples
from perflog.stats.family import family
from perflog.stats.power import (
    SIMULATED,
    Table,
    coefficient_of_variation,
    detectable_change,
    pooled_coefficient_of_variation,
    power,
    runs_for_verdict,
    runs_needed,
    variation_bounds,
)
from perflog.stats.verdict import Verdict, decide
from tests.tools.table_promises import found_share
from tests.tools.tables_of_runs import Sides


@pytest.mark.parametrize(
    ("change", "spread", "n", "rows"),
    [
        (0.05, 0.01, 5, 1),
        pytest.param(0.05, 0.02, 9, 1, marks=pytest.mark.long),
        pytest.param(0.05, 0.01, 6, 6, marks=pytest.mark.long),
        pytest.param(0.05, 0.01, 5, 20, marks=pytest.mark.long),
        pytest.param(0.10, 0.05, 12, 4, marks=pytest.mark.long),
        (0.027, 0.01, 40, 1),
        pytest.param(0.05, 0.02, 28, 6, marks=pytest.mark.long),
    ],
)
@pytest.mark.long
def test_the_power_is_what_compare_finds(change: float, spread: float, n: int, rows: int) -> None:
    """Within 3 points, of 1200 tables: the standard error of a share of 0.8 is 1.2 points."""
    table = Table(rows, 0.02)
    wanted = (power(change, spread, n, table) + power(-change, spread, n, table)) / 2
    tables = 1200 if rows < 20 else 500
    found = found_share(np.random.default_rng(n), Sides((n, n), (spread, spread)), change, table, tables)
    assert found == pytest.approx(wanted, abs=0.03)


@pytest.mark.parametrize(("n", "rows", "effect"), [(5, 1, 3.0), (15, 6, 1.4), (24, 200, 1.3), (28, 6, 0.9)])
@pytest.mark.long
def test_another_seed_gives_the_same_power(monkeypatch: pytest.MonkeyPatch, n: int, rows: int, effect: float) -> None:
    """Within 1.5 points, which is three standard deviations; it once was off by 3.6 at 28 runs a side."""
    from perflog.stats import power as module

    change, table, powers = math.expm1(0.01 * effect), Table(rows), []
    for seed in (1, 2, 3):
        monkeypatch.setattr(module, "_SEED", seed)
        module._thresholds.cache_clear()
        powers.append(power(change, 0.01, n, table))
    monkeypatch.undo()
    module._thresholds.cache_clear()
    assert max(powers) - min(powers) < 0.025
    assert power(change, 0.01, n, table) == pytest.approx(sum(powers) / 3, abs=0.015)


def test_a_plan_for_the_margin_itself_is_refused() -> None:
    """What `plan` promised 80 % for and `compare` saw in 2 %: a change as large as the margin."""
    with pytest.raises(ValueError, match="from a margin of"):
        runs_needed(0.02, 0.01, table=Table(1, 0.02))
    assert power(0.02, 0.01, 20, Table(1, 0.02)) == 0.0
    assert power(0.0201, 0.01, 6, Table(1, 0.02)) < 0.05


@pytest.mark.long
def test_more_rows_need_more_runs() -> None:
    needed = [runs_needed(0.05, 0.01, table=Table(rows, 0.02)) for rows in (1, 20, 100)]
    assert needed == sorted(needed, key=lambda n: n or math.inf) and needed[0] != needed[-1]
    assert [runs_needed(0.5, 0.001, table=Table(rows)) for rows in (6, 7, 25, 26, 102, 103)] == [4, 5, 5, 6, 6, 7]


def test_the_formula_continues_the_simulation() -> None:
    for effect in (0.5, 0.7, 1.0):
        for table in (Table(), Table(20)):
            change = math.expm1(0.01 * effect)
            before, after = power(change, 0.01, SIMULATED, table), power(change, 0.01, SIMULATED + 1, table)
            assert -0.02 < after - before < 0.05


def test_large_samples_have_the_efficiency_of_the_rank_test() -> None:
    """3/π of the t-test's (Hodges & Lehmann 1956), less what the interval of the means costs beside that of the ranks."""
    n, effect = 200, 0.25
    shift, freedom = effect * math.sqrt(n * 3 / math.pi / 2), 2 * n - 2
    wanted = stats.nct.sf(stats.t.ppf(0.975, freedom), freedom, shift)
    assert wanted - 0.03 < power(math.expm1(effect * 0.01), 0.01, n) < wanted


@pytest.mark.parametrize("n", [4, 10, 40])
def test_the_detectable_change_is_found_with_the_chance_asked_for(n: int) -> None:
    for table in (Table(), Table(1, 0.02)):
        change = detectable_change(0.01, n, table=table)
        assert change is not None and change > table.margin
        assert power(change, 0.01, n, table) == pytest.approx(0.8, abs=0.005)


def test_too_few_runs_find_nothing() -> None:
    assert power(1.0, 0.01, 3) == 0.0 and power(0.5, 0.01, 4, Table(7)) == 0.0
    assert detectable_change(0.01, 3) is None and detectable_change(0.01, 4, table=Table(7)) is None
    assert runs_needed(0.0001, 0.1) is None


def test_without_noise_every_change_beyond_the_margin_is_found() -> None:
    assert power(0.0201, 0.0, 4, Table(1, 0.02)) == 1.0 and power(0.02, 0.0, 4, Table(1, 0.02)) == 0.0
    assert detectable_change(0, 5, table=Table(1, 0.02)) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("change", "spread"), [(-1, 0.1), (math.nan, 0.1), (0.1, -1), (0.1, math.nan), (math.inf, 0.1)]
)
def test_what_is_no_change_or_no_spread_is_refused(change: float, spread: float) -> None:
    with pytest.raises(ValueError, match=r"not (-|nan|inf)"):
        power(change, spread, 5)


def test_no_number_of_runs_finds_nothing() -> None:
    with pytest.raises(ValueError, match="change of 0"):
        runs_needed(0, 0.01)
    with pytest.raises(ValueError, match="no table"):
        Table(0)


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


def test_runs_for_a_verdict_decide_a_row_that_did_not_change_and_one_that_did() -> None:
    """Of tables of three rows: an unchanged one is "same" in 80 % or more, one at twice the margin "faster"."""
    table, random = Table(3, 0.02), np.random.default_rng(11)
    n = runs_for_verdict(0.012, table)
    assert n is not None
    shares = [_decided(random, count, 0.012, table) for count in (n, n // 2)]
    assert min(shares[0]) >= 0.8 > min(shares[1])


def _decided(random: np.random.Generator, n: int, spread: float, table: Table) -> tuple[float, float]:
    """The shares of 150 tables in which an unchanged row is called "same", and one that rose by 4.04 % "faster"."""
    same = faster = 0
    for _ in range(150):
        old, new = np.exp(spread * random.standard_normal((2, table.rows, n)))
        new[0] *= 1.0404
        rows = [RowSamples(tuple(a), tuple(b)) for a, b in zip(old.tolist(), new.tolist(), strict=True)]
        verdicts = [
            decide(one.ratio, margin=table.margin, table_level=table.level).verdict
            for one in family(rows, table.margin, table.level)
        ]
        faster += verdicts[0] is Verdict.FASTER
        same += sum(verdict is Verdict.SAME for verdict in verdicts[1:])
    return same / 300, faster / 150


def test_runs_for_a_verdict_grow_with_every_halving_and_are_none_without_a_margin() -> None:
    needed = [runs_for_verdict(0.005, Table(1, 0.02), halvings) for halvings in range(3)]
    assert None not in needed and needed == sorted(set(filter(None, needed)))
    assert runs_for_verdict(0.005, Table(1, 0.0)) is None and runs_for_verdict(0.5, Table(1, 0.02)) is None
    assert runs_for_verdict(0.0, Table(20, 0.02)) == 5
    with pytest.raises(ValueError, match="coefficient of variation"):
        runs_for_verdict(math.nan, Table(1, 0.02))
