"""The ratios of all rows of a table, with intervals and p-values that hold for the table and not for each row alone.

A row is called faster or slower only where three things say so together, so its interval is the hull of three:

* the ranks: the interval of :mod:`perflog.stats.ratio` (Hodges & Lehmann 1963), exact for exchangeable runs whatever
  their distribution; where runs do not overlap at all, with the chance of :mod:`perflog.stats.separation`;
* the means of logarithms with moderated variances, which hold where the sides have unequal numbers of runs and unequal
  spreads (Welch 1938, Smyth 2004);
* where the rows show states of the machine, the same with the noise that most rows of the table have
  (:mod:`perflog.stats.pooling`).

A row whose history is known (:mod:`perflog.stats.memory`) has one interval alone, that of the means with the variance
that its earlier campaigns and its own runs have together: what ranks and the table's other rows are there to guard
against, noise of another kind than five runs show, its history has shown.

A row's p-value is the largest of these. Over the rows the p-values are adjusted by Benjamini & Hochberg (1995):
of R rows the k with p ≤ k α/R are selected, k being the largest number for which that many are. The intervals are
those of Benjamini & Yekutieli (2005): at the level 1 − k α/R, at which exactly the selected rows' intervals lie beyond
the margin. So in a table of identical versions the chance of any false "faster" or "slower" is at most α, and of all
rows so called no more than a share α is expected to be wrong. "Same" is selected by the same procedure for itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perflog.stats.adjust import benjamini_hochberg
from perflog.stats.contrast import Differences, Floats, LogDifference, RowSamples, differences
from perflog.stats.mannwhitney import ROUNDING, at_most, critical
from perflog.stats.memory import Applied, Remembered, applied, with_memory_of_campaigns
from perflog.stats.ratio import Ratio, middle
from perflog.stats.separation import rank_p, two_state_chance

#: From this ratio of the standard deviations of two sides on, they do not count as exchangeable. Chosen so that the
#: coverage is not a point below what is stated: ``python -m tests.tools.simulate_tables --part coverage``.
MOST_UNEQUAL = 2.0


@dataclass(frozen=True, slots=True)
class RowResult:
    """One row's ratio, judged with all rows of its table.

    Attributes:
        ratio: new over old; its interval is at the level that the table asks of this row.
        adjusted_p: the p that the ratio is not 1, adjusted over the rows.
        difference: that of its log means, for the mean of all rows; None where it shares runs with others.
        by_states: whether its own noise would have called it, and that of the table's other rows did not.
        memory: how its memory applies; None where it has none.
    """

    ratio: Ratio
    adjusted_p: float
    difference: LogDifference | None = None
    by_states: bool = False
    memory: Applied | None = None


@dataclass(frozen=True, slots=True)
class _Ranks:
    """The ratios of all pairs of one new and one old run, in order; of a derived metric there are none."""

    ratios: NDArray[np.float64]
    m: int
    n: int

    def p_above(self, border: float) -> float:
        """The two-sided p of the finding that the ratio lies above the border, a closed one."""
        return rank_p(int(np.searchsorted(self.ratios, border, "right")), self.m, self.n)

    def p_below(self, border: float) -> float:
        """The same below the border."""
        return rank_p(len(self.ratios) - int(np.searchsorted(self.ratios, border, "left")), self.m, self.n)

    def p_at_least(self, border: float) -> float:
        """The two-sided p of the finding that the ratio lies above the border or on it."""
        return rank_p(int(np.searchsorted(self.ratios, border, "left")), self.m, self.n)

    def p_at_most(self, border: float) -> float:
        """The same below the border or on it."""
        return rank_p(len(self.ratios) - int(np.searchsorted(self.ratios, border, "right")), self.m, self.n)


def family(
    rows: Sequence[RowSamples], margin: float, level: float, memories: Sequence[Remembered | None] = ()
) -> list[RowResult]:
    """The results of all rows of one table.

    Args:
        rows: each sample with two positive, finite values or more that are not all equal.
        margin: the change, a share, that does not matter.
        level: 1 − α of the table.
        memories: the history of each row, which takes the place of all other intervals where it applies; None for a row
            without, such as one of a derived metric; empty for none at all.

    Raises:
        ValueError: for a level outside (0, 1) or a negative margin.
    """
    if not 0 < level < 1 or not margin >= 0:
        raise ValueError(f"a level lies between 0 and 1 and a margin is 0 or more, not {level!r} and {margin!r}")
    if not rows:
        return []
    alpha = 1 - level
    remembered = list(memories) or [None] * len(rows)
    of_memory = applied(rows, remembered)
    holds = [memory is not None and memory.error is not None for memory in of_memory]
    ranks = [None if by_memory else _ranks(row) for row, by_memory in zip(rows, holds, strict=True)]
    noises = [_with_memory(noise, remembered, of_memory) for noise in differences(rows)]
    own, *floored = noises
    beyond, within = _beyond(ranks, noises, margin), _within(ranks, noises, margin)
    alphas = _alphas(beyond, within, alpha)
    low, high = _intervals(noises, alphas)
    p_one = np.minimum(_above(ranks, noises, 1.0), _below(ranks, noises, 1.0))
    adjusted = benjamini_hochberg(p_one.tolist())
    ratios = [
        _ratio(row, rank, (low[i], high[i]), float(alphas[i]), float(p_one[i]))
        for i, (row, rank) in enumerate(zip(rows, ranks, strict=True))
    ]
    of_campaigns = [of_row is not None and of_row.apart for of_row in remembered]
    shown = [_at_asked_level(ratio) if of_campaigns[i] else ratio for i, ratio in enumerate(ratios)]
    by_states = np.zeros(len(rows), dtype=bool)
    if floored:
        called = [_are_beyond(*_intervals(some, alphas), margin) for some in ([own], [own, *floored])]
        by_states = called[0] & ~called[1]
    widest = [_widest(noises, i, row, of_campaigns[i]) for i, row in enumerate(rows)]
    return [RowResult(ratio, adjusted[i], widest[i], bool(by_states[i]), of_memory[i]) for i, ratio in enumerate(shown)]


def _with_memory(
    noise: Differences, known: Sequence[Remembered | None], memories: Sequence[Applied | None]
) -> Differences:
    """The differences with the errors of the rows whose memory applies in place of their own.

    To rows that were measured apart, and whose memory of runs does not apply, that of campaigns still does.
    """
    errors, freedoms = noise.errors.copy(), noise.freedoms.copy()
    for place, (of_row, memory) in enumerate(zip(known, memories, strict=True)):
        if memory is not None and memory.error is not None:
            errors[place], freedoms[place] = memory.error, memory.freedom
        elif of_row is not None and of_row.apart:
            own = errors[place], freedoms[place]
            errors[place], freedoms[place] = with_memory_of_campaigns(*own, of_row.memory)
    return Differences(noise.centres, errors, freedoms)


def _widest(noises: Sequence[Differences], place: int, row: RowSamples, knows_campaigns: bool) -> LogDifference | None:
    """A row's difference under the noise that is the largest; None for a derived metric, whose rows share a base."""
    if row.old_base or row.new_base:
        return None
    error, freedom = max((float(noise.errors[place]), float(noise.freedoms[place])) for noise in noises)
    own = len(row.old) + len(row.new) - 2
    return LogDifference(float(noises[0].centres[place]), error, freedom, own, knows_campaigns)


def _are_beyond(low: Floats, high: Floats, margin: float) -> NDArray[np.bool_]:
    """Which intervals of ratios lie wholly beyond the margin."""
    return np.asarray((low > 1 + margin) | (high < 1 - margin))


def selected(p_values: Floats, alpha: float) -> int:
    """How many rows Benjamini & Hochberg select: the largest k with k values of p ≤ k α/R."""
    order = np.sort(p_values)
    places = np.arange(1, len(order) + 1)
    chosen = np.flatnonzero(order <= alpha * places / len(order) + ROUNDING)
    return int(chosen[-1]) + 1 if len(chosen) else 0


def _alphas(beyond: Floats, within: Floats, alpha: float) -> Floats:
    """For every row 1 − the level of its interval, by what it is selected for."""
    rows = len(beyond)
    k_beyond, k_within = selected(beyond, alpha), selected(within, alpha)
    undecided = max(1, min(k_beyond, k_within))
    counts = np.where(
        beyond <= k_beyond * alpha / rows + ROUNDING, k_beyond,
        np.where(within <= k_within * alpha / rows + ROUNDING, k_within, undecided),
    )  # fmt: skip
    return np.maximum(counts, 1) * (alpha / rows)


def _ranks(row: RowSamples) -> _Ranks | None:
    if row.old_base:
        return None
    ratios = np.sort(np.divide.outer(np.array(row.new), np.array(row.old)).ravel())
    return _Ranks(ratios, len(row.old), len(row.new))


def _beyond(ranks: Sequence[_Ranks | None], noises: Sequence[Differences], margin: float) -> Floats:
    """The p-values of the findings that the ratios lie beyond the margin on one side."""
    return np.minimum(_above(ranks, noises, 1 + margin), _below(ranks, noises, 1 - margin))


def _above(ranks: Sequence[_Ranks | None], noises: Sequence[Differences], border: float) -> Floats:
    of_ranks = np.array([rank.p_above(border) if rank is not None else 0.0 for rank in ranks])
    of_means = [noise.p_above(_log(border)) for noise in noises]
    return np.asarray(np.minimum(1.0, np.maximum.reduce([of_ranks, *of_means])))


def _below(ranks: Sequence[_Ranks | None], noises: Sequence[Differences], border: float) -> Floats:
    of_ranks = np.array([rank.p_below(border) if rank is not None else 0.0 for rank in ranks])
    of_means = [noise.p_below(_log(border)) for noise in noises]
    return np.asarray(np.minimum(1.0, np.maximum.reduce([of_ranks, *of_means])))


def _within(ranks: Sequence[_Ranks | None], noises: Sequence[Differences], margin: float) -> Floats:
    """The p-values of the findings that the ratios lie within the margin, borders included."""
    low, high = 1 - margin, 1 + margin
    of_ranks = [0.0 if rank is None else max(rank.p_at_least(low), rank.p_at_most(high)) for rank in ranks]
    above = [noise.p_above(_log(low)) for noise in noises]
    below = [noise.p_below(_log(high)) for noise in noises]
    return np.asarray(np.minimum(1.0, np.maximum.reduce([np.array(of_ranks), *above, *below])))


def _log(border: float) -> float:
    return math.log(border) if border > 0 else -math.inf


def _intervals(noises: Sequence[Differences], alphas: Floats) -> tuple[Floats, Floats]:
    """The hulls of the intervals of the means, as ratios."""
    halves = [noise.half_widths(alphas) for noise in noises]
    half = np.maximum.reduce(halves)
    return np.exp(noises[0].centres - half), np.exp(noises[0].centres + half)


def _ratio(row: RowSamples, ranks: _Ranks | None, of_means: tuple[float, float], alpha: float, p: float) -> Ratio:
    """The row's ratio with the hull of its intervals, at the level asked for or the best that its runs can have."""
    m, n = len(row.old), len(row.new)
    value, low, high = hodges_lehmann(row), *of_means
    level = 1 - alpha
    if ranks is not None:
        place = max(0, critical(m, n, level))
        low, high = min(low, float(ranks.ratios[place])), max(high, float(ranks.ratios[-1 - place]))
        exact = 1 - 2 * at_most(place, m, n)
        if exact < level - ROUNDING:
            level = min(level, 1 - two_state_chance(m, n))
        elif _has_rank_level(row):
            level = exact
    return Ratio(m, n, 1 - alpha, value, min(low, value), max(high, value), level, p)


def _has_rank_level(row: RowSamples) -> bool:
    """Whether the level of ranks, which is exact for exchangeable runs, may be told of an interval.

    Where the side that spreads more has no more runs than the other, ranks hold less than their level; what the
    interval of the means holds is the level asked for.
    """
    sides = ((float(np.var(np.log(values), ddof=1)), len(values)) for values in (row.old, row.new))
    (narrow, many), (wide, few) = sorted(sides)
    return few > many or wide <= MOST_UNEQUAL**2 * narrow


def _at_asked_level(ratio: Ratio) -> Ratio:
    """A ratio at no more than the level asked for: that of ranks, which may be higher, knows of no campaigns."""
    return ratio if ratio.level is None else replace(ratio, level=min(ratio.level, ratio.asked))


def hodges_lehmann(row: RowSamples) -> float:
    """The median of all new/old; for a derived metric over that of the bases."""
    value = middle(np.sort(np.divide.outer(np.array(row.new), np.array(row.old)).ravel()))
    if not row.old_base or not row.new_base:
        return value
    return value / middle(np.sort(np.divide.outer(np.array(row.new_base), np.array(row.old_base)).ravel()))
