"""How many runs a change needs, and what change so many runs can show.

The power of the exact two-sided Mann–Whitney test for normal runs whose coefficient of variation (standard deviation
over the old value: 0.01 is 1 %) is ``variation`` on both sides, and a new value that is ``change`` (a share too) higher
or lower. Only change / variation matters. Up to :data:`SIMULATED` runs a side it is simulated with a fixed seed
(standard error at most 0.3 points); beyond, U is taken as normal with its exact mean and variance under a normal shift
(Lehmann 1975, section 2.3): within a point or so from 15 runs on, 20 points off at 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from perflog.stats.mannwhitney import critical, runs_for

#: Up to so many runs a side the power is simulated: from here on the formula is within 1.5 points (docs/statistics.md,
#: Power).
SIMULATED = 20
#: Nobody runs more often: a change that needs more is called out of reach.
MOST_RUNS = 1000
#: Simulated pairs of samples: the standard error of a power of 0.5 is √(0.25 / 30 000) = 0.3 points.
_REPEATS = 30_000
#: Pairs whose differences are made at once: at 20 runs a side an array of 16 MB.
_PART = 5000
#: The first number of the generator: fixed, so that the same question has the same answer.
_SEED = 20260
#: Where the search for the smallest change ends, in standard deviations, and how near it comes: at 4 runs a side a
#: chance of 80 % needs 2.9 of them, and 0.0001 of a variation of 1 % is a millionth.
_WIDEST, _NEAR = 64.0, 1e-4


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """The standard deviation (ddof 1) of the logarithms of run values: the coefficient of variation.

    For the small variations of benchmark runs the two agree (at 5 % within 0.1 %), and that of logarithms does not
    depend on which of two versions is the base.

    None for fewer than two values, or where one is not positive and finite.
    """
    if len(values) < 2 or not all(math.isfinite(v) and v > 0 for v in values):
        return None
    return float(np.std(np.log(values), ddof=1))


def pooled_coefficient_of_variation(groups: Iterable[Sequence[float]]) -> tuple[float, int] | None:
    """The common coefficient of variation of several groups of runs, and its degrees of freedom.

    The groups are both sides of a case, or a history.
    The root of the mean variance of the logarithms, weighted by n − 1. Groups without one are left out; None
    where none is left.
    """
    known = [(s, len(group) - 1) for group in groups if (s := coefficient_of_variation(group)) is not None]
    freedom = sum(f for _, f in known)
    return (math.sqrt(sum(s * s * f for s, f in known) / freedom), freedom) if freedom else None


def variation_bounds(variation: float, freedom: int) -> tuple[float, float]:
    """The 80 % interval of the true variation behind an estimated one with so many degrees of freedom (χ², normal
    logs).

    With 4 degrees of freedom (five runs): from 0.72 to 1.94 times the estimate. A plan made for the upper end
    rarely falls short (Browne 1995). Raises ValueError for no degrees of freedom.
    """
    if freedom < 1:
        raise ValueError("a coefficient of variation needs at least two runs")
    from scipy.stats import chi2

    low, high = (math.sqrt(freedom / chi2.ppf(share, freedom)) for share in (0.9, 0.1))
    return variation * low, variation * high


def power(change: float, variation: float, n: int, level: float = 0.95) -> float:
    """The chance that the test, n runs a side, finds a change (0.02 or −0.02: 2 %) at this level.

    0 with too few runs for the level. Raises ValueError for a change of −1 or less, or a variation that is negative
    or not finite.
    """
    effect = _effect(change, variation)
    if n < runs_for(level):
        return 0.0
    return _power(effect, n, level)


def runs_needed(change: float, variation: float, wanted: float = 0.8, level: float = 0.95) -> int | None:
    """The fewest runs a side that find a change of this size with a chance of at least ``wanted``.

    None beyond :data:`MOST_RUNS`. Raises ValueError as :func:`power` does, and for a change of 0.
    """
    if not _effect(change, variation):
        raise ValueError("no number of runs finds a change of 0")
    least = runs_for(level)
    for n in range(least, SIMULATED + 1):
        if power(change, variation, n, level) >= wanted:
            return n
    low, high = max(least, SIMULATED + 1), MOST_RUNS
    if power(change, variation, high, level) < wanted:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power(change, variation, middle, level) >= wanted else (middle + 1, high)
    return low


def detectable_change(variation: float, n: int, wanted: float = 0.8, level: float = 0.95) -> float | None:
    """The smallest change, as a share, that n runs a side find with a chance of at least ``wanted``.

    None with too few runs for the level. 0 for a variation of 0. Raises ValueError for a variation that is
    negative or not finite.
    """
    _effect(0.0, variation)
    if n < runs_for(level):
        return None
    low, high = 0.0, _WIDEST
    while high - low > _NEAR:
        middle = (low + high) / 2
        low, high = (low, middle) if _power(middle, n, level) >= wanted else (middle, high)
    return high * variation


def _effect(change: float, variation: float) -> float:
    """The change in standard deviations, without sign."""
    if not change > -1 or not math.isfinite(change):
        raise ValueError(f"a change is a share above −1, not {change!r}")
    if not (math.isfinite(variation) and variation >= 0):
        raise ValueError(f"a coefficient of variation is a share of 0 or more, not {variation!r}")
    return abs(change) / variation if variation else math.inf if change else 0.0


def _power(effect: float, n: int, level: float) -> float:
    if math.isinf(effect):
        return 1.0
    if n > SIMULATED:
        return _normal_power(effect, n, level)
    thresholds = _thresholds(n, level)
    return float(np.searchsorted(thresholds, effect) + np.searchsorted(thresholds, -effect)) / len(thresholds)


@lru_cache(maxsize=64)
def _thresholds(n: int, level: float) -> NDArray[np.float64]:
    """The shift beyond which each simulated pair of samples is found to be higher, in order.

    With the differences of an unshifted pair in order, D(1) … D(nn), a shift δ is found upward when D(C) + δ > 0, so
    one order statistic of each pair serves all effects. Each pair is also used with its sides swapped, which makes the
    shifts found downward the same ones, negated.
    """
    random = np.random.default_rng(_SEED)
    cut = critical(n, n, level)
    old, new = random.standard_normal((2, _REPEATS // 2, n))
    thresholds = np.empty((2, _REPEATS // 2))
    for start in range(0, _REPEATS // 2, _PART):
        part = slice(start, start + _PART)
        differences = (new[part, :, None] - old[part, None, :]).reshape(-1, n * n)
        differences.partition((cut, n * n - 1 - cut), axis=1)
        thresholds[:, part] = -differences[:, cut], differences[:, n * n - 1 - cut]
    return np.sort(thresholds, axis=None)


def _normal_power(effect: float, n: int, level: float) -> float:
    from scipy.special import ndtr, owens_t

    h = effect / math.sqrt(2)
    pair = float(ndtr(h))
    triple = pair - 2 * float(owens_t(h, 1 / math.sqrt(3)))  # one new run above two old ones: correlated by one half
    mean = n * n * pair
    deviation = math.sqrt(max(n * n * (pair * (1 - pair) + 2 * (n - 1) * (triple - pair * pair)), 1e-12))
    cut = critical(n, n, level) + 0.5
    return float(ndtr((mean - n * n + cut) / deviation) + ndtr((cut - mean) / deviation))
