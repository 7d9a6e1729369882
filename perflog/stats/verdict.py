"""From a ratio and its interval to one word.

A verdict needs an interval against a margin: a small p alone calls a change of 0.1 % a finding, a percentage alone
calls noise one (Hoefler & Belli 2015, rule 7; three-valued verdicts as in equivalence testing, Schuirmann 1987).
What the data cannot say is a verdict of its own, not a success.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from perflog.stats.mannwhitney import ROUNDING, runs_for
from perflog.stats.ratio import Ratio
from perflog.stats.separation import rows_for_runs, runs_for_rows

#: Changes within this share do not matter (the default of every metric). Five runs a side that vary by 1 % tell a
#: change of 4.4 % from it with a chance of 80 % (``power.detectable_change``): a smaller margin would promise what few
#: runs cannot keep, and "same" would hardly ever be said.
MARGIN = 0.02


class Verdict(StrEnum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"
    NOT_ENOUGH_DATA = "not enough data"


class Better(StrEnum):
    """Which direction of a metric is better: throughput higher, step time and time to train lower."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict with the reason for it; ``needs``: the fewest runs a side with which there could be one, where
    known.
    """

    verdict: Verdict
    reason: str = ""
    needs: int | None = None


def decide(
    ratio: Ratio, better: Better = Better.HIGHER, margin: float = MARGIN, table_level: float | None = None
) -> Decision:
    """The verdict on a ratio new/old of a metric.

    The interval entirely beyond 1 ± margin: faster or slower, by the direction that is better; entirely within
    (borders included): same; else inconclusive. The margin is a share of the old value in both directions, as a reader
    of "2 %" expects. Inconclusive is also an interval whose level is below the one that its table asks for
    (``ratio.asked``), because so few runs do not carry so many rows.

    Not enough data, never a finding: no ratio; fewer runs on a side than can reach the table's level when both have
    so many (three against twenty can, but three runs cannot show that they differ as the twenty do); a side with
    several runs and no spread at all, for that is a copied log or too coarse a print.

    Args:
        ratio: with its interval.
        better: the direction of the metric that is better.
        margin: the change, a share, that does not matter.
        table_level: the level of the table that the row is in; None: the ratio's own, which stands alone.

    Raises:
        ValueError: for a negative margin.
    """
    level = ratio.asked if table_level is None else table_level
    if not margin >= 0:
        raise ValueError(f"a margin is a share of 0 or more, not {margin!r}")
    refusal = refused(ratio, level)
    if refusal is not None:
        return refusal
    assert ratio.low is not None and ratio.high is not None and ratio.level is not None
    if ratio.level < ratio.asked - ROUNDING:
        return _too_many_rows(ratio, level)
    if ratio.low > 1 + margin:
        return Decision(Verdict.FASTER if better is Better.HIGHER else Verdict.SLOWER)
    if ratio.high < 1 - margin:
        return Decision(Verdict.SLOWER if better is Better.HIGHER else Verdict.FASTER)
    if 1 - margin <= ratio.low and ratio.high <= 1 + margin:
        return Decision(Verdict.SAME)
    return Decision(Verdict.INCONCLUSIVE, f"the interval reaches over the margin of {100 * margin:.4g} %")


def refused(ratio: Ratio, level: float = 0.95) -> Decision | None:
    """Why there is not enough data for a verdict; None where there is."""
    needs = runs_for(level)
    if ratio.value is None:
        return Decision(Verdict.NOT_ENOUGH_DATA, ratio.reason, needs if not min(ratio.n_old, ratio.n_new) else None)
    if min(ratio.n_old, ratio.n_new) < needs:
        reason = f"{_runs(ratio)}: a confidence of {100 * level:.4g} % needs {needs} a side"
        return Decision(Verdict.NOT_ENOUGH_DATA, reason, needs)
    if ratio.flat:
        sides = " and the ".join(ratio.flat)
        return Decision(
            Verdict.NOT_ENOUGH_DATA,
            f"no spread at all among the runs of the {sides} side: copies of one log, or too coarse a print",
        )
    return None


def _too_many_rows(ratio: Ratio, level: float) -> Decision:
    """Inconclusive, because the table has more rows than the row's runs carry."""
    rows = round((1 - level) / (1 - ratio.asked))
    needs = runs_for_rows(rows, level)
    carried = rows_for_runs(ratio.n_old, ratio.n_new, level)
    reason = f"{_runs(ratio)} carry a table of {carried} rows, and this one counts as {rows}: {needs} a side would do"
    return Decision(Verdict.INCONCLUSIVE, reason, needs)


def _runs(ratio: Ratio) -> str:
    if ratio.n_old != ratio.n_new:
        return f"{ratio.n_old} and {ratio.n_new} runs"
    return "1 run a side" if ratio.n_old == 1 else f"{ratio.n_old} runs a side"
