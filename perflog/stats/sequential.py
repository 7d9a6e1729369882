"""A ratio that may be looked at after every round of runs, and the rule by which a measurement ends.

A test for a fixed number of runs is wrong when it is looked at again and again: looked at after each of 30 rounds, 95 %
intervals miss the truth in a quarter of all measurements. A confidence sequence is a series of intervals, one a look,
of which with a chance of 1 − α *none* ever misses the truth, so that one may stop at any look and for any reason.

Here each round has one run of either side, one after the other in random order, so that a drift of the machine falls
on both. What is looked at are the differences of the logarithms within the rounds. For normal differences of unknown
variance the sequence follows from the t statistic's mixture martingale (Lai 1976; Wang & Ramdas 2025, "Anytime-valid
t-tests and confidence sequences for Gaussian means with unknown variance"): with the effect in standard deviations
drawn from a normal distribution of variance g, the likelihood ratio after n rounds is

    B = (1 + n g)^(−1/2) · [(1 + t²/ν) / (1 + t²/(ν (1 + n g)))]^(n/2),    ν = n − 1,

and the chance that B ever reaches 1/α at the true mean is at most α (Ville 1939). The interval holds all means at which
B stays below 1/α. Differences with heavier tails make it wider than it would have to be.

One noise is guarded against by the first look: on a machine with two states all old runs may be in one and all new ones
in the other, which looks like a change without any spread. No row is decided before as many rounds as
:func:`perflog.stats.separation.runs_for_rows` has for a table of so many rows; the interval itself is finite from 4
rounds on in a table of one row, from 6 in one of 20 and from 8 in one of 200.

Over the rows of a table α is divided by their number (Bonferroni): the rows stop at different rounds, and in this way
all verdicts of a table, "same" included, are right together with a chance of 1 − α.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from perflog.stats.power import CLEARED, MOST_RUNS, distance_from_margin
from perflog.stats.ratio import Ratio
from perflog.stats.separation import runs_for_rows
from perflog.stats.verdict import MARGIN, Better, Decision, Verdict, decide

#: The variance g of the effects, in standard deviations of a round's difference, that the sequence is best for: chosen
#: by ``python -m tests.tools.simulate_sequential``, whose table of methods has what others cost.
EFFECT_VARIANCE = 2.0
#: A ratio of e¹⁰⁰, or an interval that reaches from a ratio to e¹⁰⁰ times it, says nothing, and soon is no number.
_WIDEST = 100.0
#: A smaller deviation of differences of logarithms is the rounding of doubles and no spread.
_LEAST_DEVIATION = 1e-12


@dataclass(frozen=True, slots=True)
class TableRule:
    """The rule that all rows of one table are judged by at every look.

    Attributes:
        rows: how many rows the table has, those that have ended included; at least 1.
        margin: changes up to this share do not matter.
        level: 1 − α for all rows and all looks together, a share between 0 and 1.

    Raises:
        ValueError: for values outside these ranges.
    """

    rows: int
    margin: float = MARGIN
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.rows < 1 or not 0 < self.level < 1 or not 0 <= self.margin < 1:
            raise ValueError(
                f"rows are at least 1, a level and a margin lie between 0 and 1, not {self.rows!r}, {self.level!r} "
                f"and {self.margin!r}"
            )

    @property
    def row_alpha(self) -> float:
        """The chance that is left to one row of ever missing the truth."""
        return (1 - self.level) / self.rows

    @property
    def first_look(self) -> int:
        """The rounds before which no row is decided: what two states need, and what the interval needs to be finite."""
        rounds = runs_for_rows(self.rows, self.level)
        while not math.isfinite(critical_t(rounds, self.row_alpha)):
            rounds += 1
        return rounds


@dataclass(frozen=True, slots=True)
class Look:
    """A row after a round.

    Attributes:
        ratio: new over old, the geometric mean of the ratios within the rounds, with the interval of this look.
        decision: faster, slower, same; inconclusive while it goes on; not enough data where there can be no verdict.
        adjusted_p: the p, for all rows and all looks, that the ratio is 1; None where there is none.
    """

    ratio: Ratio
    decision: Decision
    adjusted_p: float | None = None

    @property
    def decided(self) -> bool:
        """Whether no further round is needed."""
        return self.decision.verdict in (Verdict.FASTER, Verdict.SLOWER, Verdict.SAME)


def look(old: Sequence[float], new: Sequence[float], rule: TableRule, better: Better = Better.HIGHER) -> Look:
    """A row after so many rounds.

    Args:
        old: the old side's value of each round, in the order of the rounds.
        new: the new side's, of the same rounds.
        rule: of the table that the row is in.
        better: the direction of the metric that is better.

    Raises:
        ValueError: when the sides have different numbers of rounds.
    """
    if len(old) != len(new):
        raise ValueError(f"every round has a value of each side, not {len(old)} and {len(new)}")
    unusable = [name for name, side in (("old", old), ("new", new)) if not all(map(_is_positive, side))]
    if unusable or not old:
        reason = f"a run of the {unusable[0]} side has no positive, finite value" if unusable else "no complete round"
        return Look(Ratio(len(old), len(new), 1 - rule.row_alpha, reason=reason),
                    Decision(Verdict.NOT_ENOUGH_DATA, reason))  # fmt: skip
    flat = tuple(name for name, side in (("old", old), ("new", new)) if len(side) > 1 and min(side) == max(side))
    return _look(
        [math.log(after) - math.log(before) for before, after in zip(old, new, strict=True)], flat, rule, better
    )


def _look(differences: Sequence[float], flat: tuple[str, ...], rule: TableRule, better: Better) -> Look:
    """A row from the differences of its logarithms; ``flat``: the sides whose runs all have one value."""
    rounds, asked = len(differences), 1 - rule.row_alpha
    mean = math.fsum(differences) / rounds
    if abs(mean) > _WIDEST:
        reason = "the values are too far apart for a ratio"
        return Look(Ratio(rounds, rounds, asked, reason=reason), Decision(Verdict.NOT_ENOUGH_DATA, reason))
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in differences) / max(1, rounds - 1))
    ratio = Ratio(rounds, rounds, asked, math.exp(mean), flat=flat)
    if flat or (rounds > 1 and deviation < _LEAST_DEVIATION):
        return Look(ratio, _without_spread(flat))
    if rounds < rule.first_look:
        reason = f"{rounds} of the {rule.first_look} rounds before which no case of {rule.rows} is decided"
        return Look(ratio, Decision(Verdict.INCONCLUSIVE, reason, rule.first_look))
    error = deviation / math.sqrt(rounds)
    p = anytime_p(mean / error, rounds)
    adjusted_p, half_width = min(1.0, rule.rows * p), critical_t(rounds, rule.row_alpha) * error
    if half_width > _WIDEST:
        reason = f"the runs of {rounds} rounds differ too much for an interval"
        return Look(ratio, Decision(Verdict.INCONCLUSIVE, reason), adjusted_p)
    low, high = math.exp(mean - half_width), math.exp(mean + half_width)
    ratio = replace(ratio, low=low, high=high, level=asked, p=p)
    return Look(ratio, decide(ratio, better, rule.margin, rule.level), adjusted_p)


def critical_t(rounds: int, alpha: float) -> float:
    """The t statistic of so many differences that is exceeded at any look with a chance of at most ``alpha``.

    Infinite where so few differences can exclude no mean.

    Raises:
        ValueError: for fewer than two rounds, or an alpha outside (0, 1).
    """
    if rounds < 2 or not 0 < alpha < 1:
        raise ValueError(f"at least two rounds and an alpha between 0 and 1, not {rounds!r} and {alpha!r}")
    widening = 1 + rounds * EFFECT_VARIANCE
    power = math.exp((math.log(widening) / 2 - math.log(alpha)) * 2 / rounds)
    if power >= widening:
        return math.inf
    return math.sqrt((rounds - 1) * (power - 1) / (1 - power / widening))


def rounds_for_verdict(deviation: float, rule: TableRule, halvings: int = 0) -> int | None:
    """The fewest rounds whose interval decides a row, unless its change lies near the margin.

    As :func:`perflog.stats.power.runs_for_verdict` has it: after so many rounds each end of the interval has cleared
    its border with a chance of 90 %. A measurement that looks after every round ends sooner as often as not.

    Args:
        deviation: the standard deviation of the differences of logarithms within the rounds.
        rule: of the table that the row is in.
        halvings: how often the distance from the margin is halved, 0 or more.

    Returns:
        None beyond :data:`perflog.stats.power.MOST_RUNS`, and for a margin of 0.
    """
    distance, quantile = distance_from_margin(rule.margin, halvings), NormalDist().inv_cdf(CLEARED)
    for rounds in range(rule.first_look, MOST_RUNS + 1) if distance else ():
        if (critical_t(rounds, rule.row_alpha) + quantile) * deviation <= distance * math.sqrt(rounds):
            return rounds
    return None


def anytime_p(t: float, rounds: int) -> float:
    """The p of a t statistic of so many differences that holds whatever the look: 1/B, at most 1."""
    freedom, widening = rounds - 1, 1 + rounds * EFFECT_VARIANCE
    gain = math.log1p(t * t / freedom) - math.log1p(t * t / (freedom * widening))
    return min(1.0, math.exp(math.log(widening) / 2 - gain * rounds / 2))


def _is_positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _without_spread(flat: Sequence[str]) -> Decision:
    """Why runs without any spread get no verdict; ``flat``: the sides whose runs all have one value."""
    of_sides = f"of the {' and the '.join(flat)} side" if flat else "but for one factor between the sides"
    reason = f"no spread at all among the runs {of_sides}: copies of one log, or too coarse a print"
    return Decision(Verdict.NOT_ENOUGH_DATA, reason)
