"""The confidence sequence: its border by another way, its first look, its verdicts, and how often it is ever wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from perflog.stats.sequential import EFFECT_VARIANCE, Look, TableRule, anytime_p, critical_t, look, rounds_for_verdict
from perflog.stats.verdict import Better, Verdict


def likelihood_ratio(t: float, rounds: int) -> float:
    """The mixture likelihood ratio of a t statistic by numerical integration over the effect in deviations."""

    def weighed(effect: float) -> float:
        density = stats.nct.pdf(t, rounds - 1, effect * math.sqrt(rounds))
        return float(density * stats.norm.pdf(effect, scale=math.sqrt(EFFECT_VARIANCE)))

    mixed, _ = integrate.quad(weighed, -8, 8, limit=200)
    return float(mixed / stats.t.pdf(t, rounds - 1))


@pytest.mark.parametrize(("rounds", "t"), [(4, 1.0), (5, 3.0), (8, 2.5), (12, 4.0)])
def test_the_p_is_one_over_the_mixture_of_noncentral_t(rounds: int, t: float) -> None:
    assert anytime_p(t, rounds) == pytest.approx(min(1.0, 1 / likelihood_ratio(t, rounds)), rel=1e-4)


@pytest.mark.parametrize(("rounds", "alpha"), [(4, 0.05), (6, 0.05), (10, 0.0025), (30, 0.01)])
def test_at_the_border_the_p_is_alpha(rounds: int, alpha: float) -> None:
    assert anytime_p(critical_t(rounds, alpha), rounds) == pytest.approx(alpha, rel=1e-9)
    assert critical_t(rounds, alpha) > -stats.t.ppf(alpha / 2, rounds - 1), "wider than the interval of one look"


def test_few_rounds_exclude_no_mean_at_a_high_level() -> None:
    # √(1 + 2n) / alpha to the power of 2/n: for n = 2 and alpha 0.05 it is √5 / 0.05 = 44.7, above 1 + 2n = 5
    assert critical_t(2, 0.05) == math.inf
    assert math.isfinite(critical_t(4, 0.05))


@pytest.mark.parametrize(("rounds", "alpha"), [(1, 0.05), (4, 0.0), (4, 1.0)])
def test_no_border_outside_its_range(rounds: int, alpha: float) -> None:
    with pytest.raises(ValueError, match="at least two rounds"):
        critical_t(rounds, alpha)


@pytest.mark.parametrize(("rows", "first"), [(1, 4), (6, 5), (7, 6), (26, 6), (102, 7), (200, 8)])
def test_the_first_look_is_where_the_interval_is_finite(rows: int, first: int) -> None:
    """By hand: (√(1 + 2n) · rows / 0.05)^(2/n) < 1 + 2n; six rows, n = 5: 398^0.4 = 10.96 < 11."""
    assert TableRule(rows).first_look == first


def geometric(centre: float, factor: float, rounds: int) -> tuple[list[float], list[float]]:
    """Sides whose ratio alternates between centre × factor and centre / factor; the old side varies too."""
    old = [100.0 + (index % 3) for index in range(rounds)]
    return old, [value * centre * factor ** (-1) ** index for index, value in enumerate(old)]


def test_a_look_by_hand() -> None:
    """Six rounds with log ratios 0.1 ± 0.01: mean 0.1, deviation 0.01 √(6/5), error 0.01 / √5."""
    old, new = geometric(math.exp(0.1), math.exp(0.01), 6)
    result = look(old, new, TableRule(1))
    widening = 13  # 1 + 2 · 6
    power = (math.sqrt(widening) / 0.05) ** (1 / 3)
    t = math.sqrt(5 * (power - 1) / (1 - power / widening))
    half = t * 0.01 / math.sqrt(5)
    assert result.ratio.value == pytest.approx(math.exp(0.1), rel=1e-12)
    assert result.ratio.low == pytest.approx(math.exp(0.1 - half), rel=1e-9)
    assert result.ratio.high == pytest.approx(math.exp(0.1 + half), rel=1e-9)
    assert (result.ratio.level, result.decision.verdict, result.decided) == (0.95, Verdict.FASTER, True)


@pytest.mark.parametrize(
    ("centre", "factor", "rows", "better", "verdict"),
    [
        (1.1, 1.01, 1, Better.HIGHER, Verdict.FASTER),
        (1.1, 1.01, 1, Better.LOWER, Verdict.SLOWER),
        (0.9, 1.01, 1, Better.HIGHER, Verdict.SLOWER),
        (1.0, 1.001, 1, Better.HIGHER, Verdict.SAME),
        (1.03, 1.02, 1, Better.HIGHER, Verdict.INCONCLUSIVE),
        (1.06, 1.01, 1, Better.HIGHER, Verdict.FASTER),
        (1.06, 1.01, 100, Better.HIGHER, Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts(centre: float, factor: float, rows: int, better: Better, verdict: Verdict) -> None:
    result = look(*geometric(centre, factor, 8), TableRule(rows), better)
    assert result.decision.verdict is verdict
    assert result.ratio.level == pytest.approx(1 - 0.05 / rows)


def test_no_verdict_before_the_first_look_however_clear_it_is() -> None:
    for rounds, verdict in ((3, Verdict.INCONCLUSIVE), (4, Verdict.FASTER)):
        assert look(*geometric(1.5, 1.0001, rounds), TableRule(1)).decision.verdict is verdict
    early = look(*geometric(1.5, 1.0001, 5), TableRule(7))
    assert (early.decided, early.decision.needs, early.ratio.low) == (False, 6, None)


def test_swapping_the_sides_turns_the_ratio_around() -> None:
    old, new = geometric(1.08, 1.01, 7)
    there, back = look(old, new, TableRule(3)).ratio, look(new, old, TableRule(3)).ratio
    assert there.value is not None
    assert there.low is not None
    assert back.value == pytest.approx(1 / there.value, rel=1e-12)
    assert back.high == pytest.approx(1 / there.low, rel=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ([], [], "no complete round"),
        ([1.0, math.nan], [1.0, 2.0], "a run of the old side has no positive, finite value"),
        ([1.0, 2.0], [1.0, 0.0], "a run of the new side has no positive, finite value"),
        ([100.0] * 6, [110.0, 111, 112, 110, 111, 112], "no spread at all among the runs of the old side"),
        ([100.0, 101, 102, 103], [110.0, 111.1, 112.2, 113.3], "but for one factor between the sides"),
    ],
)
def test_what_can_get_no_verdict(old: list[float], new: list[float], reason: str) -> None:
    result = look(old, new, TableRule(1))
    assert result.decision.verdict is Verdict.NOT_ENOUGH_DATA
    assert reason in result.decision.reason


def test_runs_that_differ_beyond_all_measure_have_no_interval() -> None:
    result = look([1.0, 2.0, 1.0, 2.0], [1.0, 1e150, 1.0, 1e-150], TableRule(1))
    assert (result.ratio.low, result.ratio.high, result.decision.verdict) == (None, None, Verdict.INCONCLUSIVE)
    assert "differ too much" in result.decision.reason
    assert look([1e-300] * 3 + [2e-300], [1e300, 2e300, 1e300, 1e300], TableRule(1)).ratio.value is None


def test_sides_of_different_lengths_are_no_rounds() -> None:
    with pytest.raises(ValueError, match="not 1 and 2"):
        look([1.0], [1.0, 2.0], TableRule(1))


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"rows": 1, "level": 1.0}, {"rows": 1, "margin": -0.1}])
def test_no_rule_outside_its_range(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="rows are at least 1"):
        TableRule(**wrong)  # type: ignore[arg-type]


def looks(old: list[float], new: list[float], rule: TableRule) -> list[Look]:
    return [look(old[:n], new[:n], rule) for n in range(1, len(old) + 1)]


@pytest.mark.long
def test_with_95_per_cent_no_interval_of_a_sequence_ever_misses_the_truth() -> None:
    """1,000 sequences of 30 looks, a true change of 3 %: by a fixed test at each look it would be about 28 %."""
    random, missed = np.random.default_rng(7), 0
    for _ in range(1000):
        old = (100 * np.exp(0.05 * random.standard_normal(30))).tolist()
        new = (103 * np.exp(0.05 * random.standard_normal(30))).tolist()
        ratios = [entry.ratio for entry in looks(old, new, TableRule(1))]
        missed += any(r.low is not None and r.high is not None and not r.low <= 1.03 <= r.high for r in ratios)
    assert 0.01 <= missed / 1000 <= 0.05


def test_rounds_for_a_verdict_decide_an_unchanged_row_and_one_at_twice_the_margin() -> None:
    """A single look after so many rounds decides four of five of them; after half as many rounds it does not."""
    rule, random = TableRule(3), np.random.default_rng(12)
    rounds = rounds_for_verdict(math.sqrt(2) * 0.012, rule)
    assert rounds is not None
    for count, enough in ((rounds, True), (rounds // 2, False)):
        shares = []
        for change, verdict in ((1.0, Verdict.SAME), (1.0404, Verdict.FASTER)):
            sides = np.exp(0.012 * random.standard_normal((300, 2, count)))
            looks = [look(old.tolist(), (change * new).tolist(), rule) for old, new in sides]
            shares.append(sum(one.decision.verdict is verdict for one in looks) / len(looks))
        assert (min(shares) >= 0.8) is enough


def test_no_rounds_decide_without_a_margin_or_with_much_noise() -> None:
    assert rounds_for_verdict(0.01, TableRule(1, 0.0)) is None and rounds_for_verdict(1.0, TableRule(1)) is None
    assert rounds_for_verdict(0.0, TableRule(20)) == TableRule(20).first_look
