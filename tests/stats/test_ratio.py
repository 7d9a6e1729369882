"""The ratio, its interval, and the verdict: test and interval agree, sides can be swapped, and odd data find nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perflog.stats.geomean import geomean
from perflog.stats.ratio import Ratio, ratio
from perflog.stats.verdict import Better, Verdict, judge

runs = st.lists(st.floats(0.5, 2.0), min_size=2, max_size=9)
coarse = st.lists(st.integers(1, 8).map(float), min_size=2, max_size=9)
levels = st.sampled_from([0.8, 0.9, 0.95, 0.99])
anything = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=8)


@given(st.one_of(runs, coarse), st.one_of(runs, coarse), levels)
def test_the_interval_leaves_out_one_exactly_when_the_test_rejects(old: list[float], new: list[float], level: float) -> None:
    result = ratio(old, new, level)
    assert result.low is not None and result.high is not None and result.level is not None and result.p is not None
    assert (not result.low <= 1 <= result.high) == (result.p <= 1 - result.level + 1e-12)
    if result.level >= level:
        assert (not result.low <= 1 <= result.high) == (result.p <= 1 - level + 1e-12)


@given(st.one_of(runs, coarse), st.one_of(runs, coarse), st.floats(0.1, 10))
def test_the_interval_holds_the_ratios_that_the_test_does_not_reject(old: list[float], new: list[float], wanted: float) -> None:
    """Inversion away from 1: the old side scaled by a ratio, tested against the new one."""
    result = ratio(old, new)
    scaled = ratio([v * wanted for v in old], new)
    assert result.low is not None and result.high is not None and scaled.p is not None and result.level is not None
    assume(min(abs(result.low / wanted - 1), abs(result.high / wanted - 1)) > 1e-9)  # on the border rounding decides
    assert (result.low <= wanted <= result.high) == (scaled.p > 1 - result.level + 1e-12)


@given(st.one_of(runs, coarse), st.one_of(runs, coarse))
def test_swapped_sides_give_the_reciprocal(old: list[float], new: list[float]) -> None:
    one, other = ratio(old, new), ratio(new, old)
    assert one.value and other.value and one.low and one.high and other.low and other.high
    assert one.value * other.value == pytest.approx(1)
    assert one.low * other.high == pytest.approx(1)
    assert one.high * other.low == pytest.approx(1)
    assert (one.p, one.level) == (other.p, other.level)


@given(runs, runs, st.floats(1e-6, 1e6))
def test_the_unit_does_not_matter(old: list[float], new: list[float], unit: float) -> None:
    one, other = ratio(old, new), ratio([v * unit for v in old], [v * unit for v in new])
    assert other.value == pytest.approx(one.value)
    assert other.low == pytest.approx(one.low)
    assert other.high == pytest.approx(one.high)


def test_a_case_by_hand() -> None:
    """25 ratios of 10, 11, 12, 13, 14 and 20, 22, 24, 26, 28: the median is the 13th, the interval the 3rd to the 23rd."""
    old, new = [10.0, 11, 12, 13, 14], [20.0, 22, 24, 26, 28]
    ordered = sorted(b / a for a in old for b in new)
    result = ratio(old, new)
    assert (result.value, result.low, result.high) == (ordered[12], ordered[2], ordered[22])
    assert result.value == 2
    assert result.level == pytest.approx(1 - 8 / 252)
    assert result.p == pytest.approx(2 / 252)
    assert result.notes == ()
    two = ratio([1.0, 4.0], [1.0, 4.0])
    assert (two.value, two.low, two.high) == (1, 0.25, 4)
    assert two.level == pytest.approx(2 / 3)
    assert ratio([1.0], [2.0, 8.0]).value == pytest.approx(4)  # the geometric mean of 2 and 8


def test_three_runs_show_their_range_at_ninety_percent() -> None:
    result = ratio([1.0, 1.01, 1.02], [1.1, 1.11, 1.12])
    assert result.level == pytest.approx(0.9)
    assert (result.low, result.high) == (1.1 / 1.02, 1.12)
    assert result.p == pytest.approx(0.1)


# ---------------------------------------------------------------- verdicts


def made(low: float, high: float) -> Ratio:
    return Ratio(5, 5, 0.95, math.sqrt(low * high), low, high, 0.968, 0.5)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.021, 1.05, Verdict.FASTER), (0.9, 0.979, Verdict.SLOWER), (0.98, 1.02, Verdict.SAME), (1.001, 1.019, Verdict.SAME),
        (1.0, 1.03, Verdict.INCONCLUSIVE), (0.97, 0.99, Verdict.INCONCLUSIVE), (0.9, 1.1, Verdict.INCONCLUSIVE), (1.02, 1.05, Verdict.INCONCLUSIVE),
    ],
)  # fmt: skip
def test_verdicts_by_the_margin(low: float, high: float, verdict: Verdict) -> None:
    assert judge(made(low, high)).verdict is verdict
    opposite = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    assert judge(made(low, high), Better.LOWER).verdict is opposite.get(verdict, verdict)


def test_a_margin_is_the_users() -> None:
    assert judge(made(1.03, 1.05), margin=0.05).verdict is Verdict.SAME
    assert judge(made(1.001, 1.05), margin=0).verdict is Verdict.FASTER
    for margin in (-0.1, math.nan):
        with pytest.raises(ValueError, match="margin"):
            judge(made(1, 1), margin=margin)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_runs_are_never_a_finding(n: int) -> None:
    old, new = [1.0 + 0.001 * i for i in range(n)], [2.0 + 0.001 * i for i in range(n)]
    result = judge(ratio(old, new))
    assert result.verdict is Verdict.NOT_ENOUGH_DATA
    assert result.needs == 4
    assert result.reason.endswith("run a side: a confidence of 95 % needs 4 a side" if n == 1 else f"{n} runs a side: a confidence of 95 % needs 4 a side")
    assert ratio(old, new).value == pytest.approx(2, rel=0.01)
    lopsided = judge(ratio(old, [2.0 + 0.001 * i for i in range(60)]))
    assert lopsided.verdict is Verdict.NOT_ENOUGH_DATA
    assert f"{n} and 60 runs" in lopsided.reason


def test_a_higher_level_needs_more_runs() -> None:
    old, new = [1.0, 1.001, 1.002, 1.003], [2.0, 2.001, 2.002, 2.003]
    assert judge(ratio(old, new)).verdict is Verdict.FASTER
    assert judge(ratio(old, new), Better.LOWER).verdict is Verdict.SLOWER
    assert judge(ratio(old, new, level=0.99)).needs == 5


def test_no_spread_is_no_finding() -> None:
    for old, new in (([1.0] * 5, [2.0] * 5), ([1.0] * 5, [1.0] * 5), ([1.0, 1.1, 1.2, 1.3, 1.4], [2.0] * 5)):
        result = ratio(old, new)
        assert result.value is not None
        assert any("have the value" in note for note in result.notes)
        assert judge(result).verdict is Verdict.NOT_ENOUGH_DATA
        assert "no spread at all" in judge(result).reason


def test_tied_runs_have_a_note() -> None:
    assert "4 of 10 run values repeat another" in ratio([1.0, 2, 3, 4, 5], [2.0, 3, 4, 5, 6]).notes[0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 0.0, -1.0])
def test_a_value_that_is_no_rate_is_a_reason(bad: float) -> None:
    good = [1.0, 1.1, 1.2, 1.3, 1.4]
    for old, new, side in (([*good, bad], good, "old"), (good, [*good, bad], "new")):
        result = ratio(old, new)
        assert (result.value, result.low, result.p) == (None, None, None)
        assert f"1 of 6 values of the {side} side" in result.reason
        assert judge(result).verdict is Verdict.NOT_ENOUGH_DATA
    assert ratio([1e-300] * 4, [1e300] * 4).reason == "the values are too far apart for a ratio"


@given(anything, anything)
def test_anything_gives_a_verdict_and_nothing_raises(old: list[float], new: list[float]) -> None:
    result = ratio(old, new)
    judgement = judge(result)
    assert bool(judgement.reason) == (judgement.verdict in (Verdict.NOT_ENOUGH_DATA, Verdict.INCONCLUSIVE))
    if not old or not new or not all(math.isfinite(v) for v in [*old, *new]) or min(len(old), len(new)) < 4:
        assert judgement.verdict is Verdict.NOT_ENOUGH_DATA


def test_no_runs_at_all() -> None:
    assert judge(ratio([], [1.0])).needs == 4
    assert ratio([], []).reason == "no value on the old side"
    for level in (0, 1, 1.5):
        with pytest.raises(ValueError, match="level"):
            ratio([1.0], [1.0], level)


# ---------------------------------------------------------------- over rows


@given(st.lists(st.floats(0.1, 10), min_size=1))
def test_the_geomean_does_not_depend_on_the_base(ratios: list[float]) -> None:
    one, other = geomean(ratios), geomean([1 / r for r in ratios])
    assert one.value and other.value
    assert one.value * other.value == pytest.approx(1)
    assert one.value == pytest.approx(float(np.exp(np.mean(np.log(ratios)))))


def test_the_geomean_counts_what_it_leaves_out() -> None:
    result = geomean([2.0, None, 8.0, math.nan, math.inf, 0.0])
    assert result.value == pytest.approx(4)
    assert (result.n, result.left_out) == (2, 4)
    assert geomean([None]).value is None
