"""Change points of a history, looked for after every campaign: what was found once stays found.

A history grows by a campaign at a time and is asked each time, so the search runs as the history ran: after every value
from the tenth on it asks whether the level since the last border fell or rose on the way, and where it says yes, the
border stays. What a recovery would hide from a search of the finished history was found while it lasted.

The question is a likelihood ratio: one level, or two, under noise in which neighbours are alike (AR(1); the first value
is from its stationary distribution). A machine that wanders between campaigns explains a step by a large
autocorrelation ρ, and what is left is what it cannot explain. One level has the average over ρ with fixed weights, as
the most powerful test of one ρ against a steady history of unknown ρ has (Lehmann & Romano 2005, section 3.8), so most
weight is on two values: none, and the largest that the promise is made for. Two levels have the ρ that suits them best.
A short history knows ρ badly, so its threshold is higher; all were simulated together so that at most 5 % of steady
histories show any change in all looks of a year (:func:`enough`).

One slow campaign is no change. Values are counted in robust standard deviations (median absolute deviation) and cut
off at three of them, so that neither one value nor two in a row, however far, are a level.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: The fewest values: below ten, the two ends' segments of three leave fewer than five borders to choose from.
LEAST = 10
#: The fewest values of a segment: two slow campaigns in a row are not yet told from chance.
SEGMENT = 3
#: The autocorrelations that are allowed for.
RHOS: Final = np.arange(0.0, 0.95, 0.1)
#: The weights of the autocorrelations under one level, and what each costs two levels (of twice the logarithm). Weights
#: and threshold were chosen by simulation (tests/found/compare.md, Histories): of those with which at most 5 % of
#: steady histories show a change in a year at every ρ up to 0.6, these find most falls of 2.5 standard deviations at
#: ρ = 0 that are not at the price of larger ones at ρ = 0.6.
_WEIGHTS: Final = np.array([1, 0.1, 0.1, 0.1, 0.1, 0.3, 1, 0.3, 0.3, 0.3]) / 3.6
_COST: Final = 4.0 * RHOS[:, None]
#: The likelihood ratio (twice its logarithm) above which a border is kept; by how much more it must be in a history
#: with no values, falling to nothing at so many; and by how much it grows with the logarithm of the length beyond a
#: year of weekly campaigns.
ENOUGH, UNKNOWN, KNOWN, YEAR, GROWTH = 17.5, 8.0, 30, 52, 3.0
#: Values count for no more than so many standard deviations.
_CUT = 3.0
#: Each of only three values must be further than so many deviations from the other level, and three of at most so many
#: further than the second number: two slow campaigns in a row and ordinary ones are none.
_FAR, _FEW, _RATHER_FAR = 2.0, 5, 1.5
#: The variance is not taken to be below this share of the squared scale. The larger one is where most values are alike
#: to the last digit: they know no noise, and two others among them would be a level.
_LEAST_VARIANCE, _LEAST_OF_ALIKE = 0.02, 0.4
#: The newest values that a look takes into account: a hundred know a level within a tenth of a standard deviation.
_LONGEST = 100
#: A median absolute deviation, or a mean one, times this is the standard deviation of normal values.
_MEDIAN_DEVIATION, _MEAN_DEVIATION = 1.4826, math.sqrt(math.pi / 2)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Change:
    """``index``: of the first value after the change; ``found``: of the value after which it was seen first;
    ``before``, ``after``: medians of the segments on both sides, in the unit of the values; ``ratio``: after over
    before, None where that has no meaning.
    """

    index: int
    found: int
    before: float
    after: float
    ratio: float | None


@dataclass(frozen=True, slots=True)
class Changes:
    """The change points in order, or a ``reason`` why none could be looked for."""

    points: tuple[Change, ...] = ()
    reason: str = ""


def change_points(values: Sequence[float]) -> Changes:
    """The changes of level in a series of values, one per campaign, in order.

    Needs ten finite values; a segment has three at least. More values never take a change away; they may move its
    place. A steady series shows a change with a probability of at most 5 % in all looks of a year, so a caller also
    compares ``ratio`` with its margin.
    """
    n = len(values)
    if n < LEAST:
        return Changes(reason=f"{n} point{'s' * (n != 1)}, change points need {LEAST}")
    if not all(math.isfinite(v) for v in values):
        return Changes(reason="a point is not a finite number")
    array = np.asarray(values, dtype=float)
    found = _borders(tuple(map(float, values)))
    edges = _placed(array, [0, *(border for border, _ in found), n])
    medians = [float(np.median(array[a:b])) for a, b in itertools.pairwise(edges)]
    return Changes(
        tuple(
            Change(border, seen, before, after, after / before if before > 0 and after > 0 else None)
            for border, (_, seen), (before, after) in zip(edges[1:], found, itertools.pairwise(medians), strict=False)
        )
    )


def enough(values: int) -> float:
    """The likelihood ratio that a border needs in a history of so many values."""
    return ENOUGH + UNKNOWN * max(0.0, 1 - values / KNOWN) + GROWTH * math.log(max(values / YEAR, 1.0))


@lru_cache(maxsize=1024)  # a page, its pictures and its tables ask for the same series
def _borders(series: tuple[float, ...]) -> tuple[tuple[int, int], ...]:
    """The first value of each new level, and the value after which it was seen."""
    values, found = np.asarray(series), []
    begin, earlier = 0, np.zeros(0)  # of the level that goes on; the residuals of those before it
    for end in range(LEAST, len(values) + 1):
        first = max(begin, end - _LONGEST)
        ratio, place = _best_border(values[first:end], earlier)
        if ratio > enough(end):
            border = first + place
            level = values[begin:border]
            earlier = np.concatenate([earlier, level - np.median(level)])[-_LONGEST:]
            begin = border
            found.append((border, end - 1))
    return tuple(found)


def _placed(values: Floats, edges: Sequence[int]) -> list[int]:
    """The borders, each where all values say now, between the one before it and the one behind it: where the absolute
    deviations from the medians on both sides are least.
    """
    placed = list(edges)
    for nth in range(1, len(placed) - 1):
        low, high = placed[nth - 1], placed[nth + 1]
        borders = range(low + SEGMENT, high - SEGMENT + 1)
        costs = {border: _deviation(values[low:border]) + _deviation(values[border:high]) for border in borders}
        placed[nth] = min(borders, key=lambda border: (costs[border], abs(border - edges[nth])))
    return placed


def _deviation(values: Floats) -> float:
    return float(np.abs(values - np.median(values)).sum())


def _best_border(level: Floats, earlier: Floats) -> tuple[float, int]:
    """Twice the logarithm of the likelihood ratio of two levels against one, and where the second begins.

    Args:
        level: the values since the last border.
        earlier: the residuals of the levels before it, which know the noise too.
    """
    m = len(level)
    borders = np.arange(SEGMENT, m - SEGMENT + 1)
    all_values = np.concatenate([earlier, level - np.median(level)])
    sizes = np.abs(all_values)
    middle = float(np.median(sizes)) * _MEDIAN_DEVIATION
    scale = middle or float(sizes.mean()) * _MEAN_DEVIATION
    if not len(borders) or not scale:
        return 0.0, 0
    y = np.clip(all_values / scale, -_CUT, _CUT)
    n, own = len(y), len(y) - m
    # What each value has beyond ρ times the one before it, shape (ρ, values); the first of all, its own share.
    first = np.sqrt(1 - RHOS**2)
    e = y - RHOS[:, None] * np.concatenate([[0.0], y[:-1]])
    e[:, 0] = first * y[0]
    # A level of height 1 that begins at b leaves 1 at b and 1 - ρ behind it; the sums of its products with e and with
    # the one level of all follow from sums of e's tail.
    a = (1 - RHOS)[:, None]
    tails = np.zeros((len(RHOS), m + 1))
    tails[:, :m] = np.cumsum(e[:, : own - 1 if own else None : -1], axis=1)[:, ::-1]
    start = first[:, None] if not own else np.ones_like(a)
    of_one = start * e[:, own, None] + a * tails[:, 1, None]
    one_one = start**2 + a**2 * (m - 1)
    behind = m - borders - 1
    of_step = e[:, own + borders] + a * tails[:, borders + 1]
    step_one = a + a**2 * behind
    step_step = 1 + a**2 * behind
    one = np.square(e).sum(axis=1, keepdims=True) - of_one**2 / one_one
    two = one - (of_step - step_one * of_one / one_one) ** 2 / (step_step - step_one**2 / one_one)
    constant = -np.log1p(-(RHOS**2))[:, None]
    least = n * (_LEAST_VARIANCE if middle else _LEAST_OF_ALIKE)
    costs = (n * np.log(np.maximum(two, least)) + constant + _COST).min(axis=0)
    costs[~_far_enough(y[own:], borders)] = math.inf
    best = int(np.argmin(costs))
    of_one_level = (n * np.log(np.maximum(one, least)) + constant)[:, 0]
    lowest = of_one_level.min()
    average = lowest - 2 * math.log(float(_WEIGHTS @ np.exp((lowest - of_one_level) / 2)))
    return float(average - costs[best]), int(borders[best])


def _far_enough(level: Floats, borders: NDArray[np.int_]) -> NDArray[np.bool_]:
    """Whether enough of the few values on a side of a border are far from the others' median, on one side of it."""
    are = np.ones(len(borders), dtype=bool)
    for count in range(SEGMENT, min(_FEW, len(level) - SEGMENT) + 1):
        far = _FAR if count == SEGMENT else _RATHER_FAR
        for border, few, others in (
            (count, level[:count], level[count:]),
            (len(level) - count, level[-count:], level[:-count]),
        ):
            distances = few - np.median(others)
            are[border - SEGMENT] &= max((distances > far).sum(), (distances < -far).sum()) >= SEGMENT
    return are
