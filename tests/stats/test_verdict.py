"""From a ratio to one word: by the margin, by the direction, and never a finding from too little."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.stats.ratio import Ratio, ratio
from perflog.stats.verdict import Better, Decision, Verdict, decide

anything = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=8)


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
    assert decide(made(low, high)).verdict is verdict
    opposite = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    assert decide(made(low, high), Better.LOWER).verdict is opposite.get(verdict, verdict)


def test_a_margin_is_the_users() -> None:
    assert decide(made(1.03, 1.05), margin=0.05).verdict is Verdict.SAME
    assert decide(made(1.001, 1.05), margin=0).verdict is Verdict.FASTER
    for margin in (-0.1, math.nan):
        with pytest.raises(ValueError, match="margin"):
            decide(made(1, 1), margin=margin)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_runs_are_never_a_finding(n: int) -> None:
    old, new = [1.0 + 0.001 * i for i in range(n)], [2.0 + 0.001 * i for i in range(n)]
    result = decide(ratio(old, new))
    assert result.verdict is Verdict.NOT_ENOUGH_DATA
    assert result.needs == 4
    assert result.reason.endswith(
        "run a side: a confidence of 95 % needs 4 a side"
        if n == 1
        else f"{n} runs a side: a confidence of 95 % needs 4 a side"
    )
    assert ratio(old, new).value == pytest.approx(2, rel=0.01)
    lopsided = decide(ratio(old, [2.0 + 0.001 * i for i in range(60)]))
    assert lopsided.verdict is Verdict.NOT_ENOUGH_DATA
    assert f"{n} and 60 runs" in lopsided.reason


def test_a_higher_level_needs_more_runs() -> None:
    old, new = [1.0, 1.001, 1.002, 1.003], [2.0, 2.001, 2.002, 2.003]
    assert decide(ratio(old, new)).verdict is Verdict.FASTER
    assert decide(ratio(old, new), Better.LOWER).verdict is Verdict.SLOWER
    assert decide(ratio(old, new, level=0.99)).needs == 5


def test_no_spread_is_no_finding() -> None:
    for old, new in (([1.0] * 5, [2.0] * 5), ([1.0] * 5, [1.0] * 5), ([1.0, 1.1, 1.2, 1.3, 1.4], [2.0] * 5)):
        result = ratio(old, new)
        assert result.value is not None
        assert any("have the value" in note for note in result.notes)
        assert decide(result).verdict is Verdict.NOT_ENOUGH_DATA
        assert "no spread at all" in decide(result).reason


def test_tied_runs_have_a_note() -> None:
    assert "4 of 10 run values repeat another" in ratio([1.0, 2, 3, 4, 5], [2.0, 3, 4, 5, 6]).notes[0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 0.0, -1.0])
def test_a_value_that_is_no_rate_is_a_reason(bad: float) -> None:
    good = [1.0, 1.1, 1.2, 1.3, 1.4]
    for old, new, side in (([*good, bad], good, "old"), (good, [*good, bad], "new")):
        result = ratio(old, new)
        assert (result.value, result.low, result.p) == (None, None, None)
        assert f"1 of 6 values of the {side} side" in result.reason
        assert decide(result).verdict is Verdict.NOT_ENOUGH_DATA
    assert ratio([1e-300] * 4, [1e300] * 4).reason == "the values are too far apart for a ratio"


@given(anything, anything)
def test_anything_gives_a_verdict_and_nothing_raises(old: list[float], new: list[float]) -> None:
    result = ratio(old, new)
    decision = decide(result)
    assert bool(decision.reason) == (decision.verdict in (Verdict.NOT_ENOUGH_DATA, Verdict.INCONCLUSIVE))
    if not old or not new or not all(math.isfinite(v) for v in [*old, *new]) or min(len(old), len(new)) < 4:
        assert decision.verdict is Verdict.NOT_ENOUGH_DATA


def test_no_runs_at_all() -> None:
    assert decide(ratio([], [1.0])).needs == 4
    assert ratio([], []).reason == "no value on the old side"
    for level in (0, 1, 1.5):
        with pytest.raises(ValueError, match="level"):
            ratio([1.0], [1.0], level)


def test_each_reason_by_hand() -> None:
    assert decide(made(0.9, 1.1)) == Decision(Verdict.INCONCLUSIVE, "the interval reaches over the margin of 2 %")
    assert decide(ratio([1.0] * 4, [2.0, 2.1, 2.2, 2.3])) == Decision(
        Verdict.NOT_ENOUGH_DATA,
        "no spread at all among the runs of the old side: copies of one log, or too coarse a print",
    )
    assert decide(ratio([1.0] * 4, [2.0] * 4)).reason.startswith(
        "no spread at all among the runs of the old and the new side"
    )
    assert decide(ratio([1.0, math.nan], [2.0, 2.1])).needs is None, "more runs do not help where one has no value"
