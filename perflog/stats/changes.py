"""Change points of a history: PELT (Killick, Fearnhead & Eckley 2012) on the ranks of its values.

Ranks, because one slow campaign is no change: on the values themselves a spike ten standard deviations high makes a
segment of itself and two neighbours; its rank is only the last one. And because the ranks of a steady history are
a random permutation whatever the noise, the penalty needs no estimate of the noise from a dozen points: it is the
gain that the best single change has in no more than ``alpha`` of all permutations.

Campaigns near in time are alike: a machine that wanders between them makes ranks that are no random permutation, and
finds a change in 20 to 60 % of steady histories with an autocorrelation of 0.3 to 0.6. So a border must also be steeper
than such wandering makes it: by the values themselves, with the autocorrelation that the residuals show, beyond a
threshold that was simulated for each length.

Whether there is a change is a matter of ranks, where it is one of values: a segment's lowest ranks may fall next to
the border by chance and draw it to themselves. So each border is then put where the absolute deviations from the
medians on its two sides are least.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

#: The share of steady series in which a change is found. A smaller one has its price: at 0.01 no segment of three at an
#: end is ever found, as ranks cannot differ by more.
ALPHA = 0.05
#: The fewest values: below ten, the two ends' segments of three leave fewer than five borders to choose from.
LEAST = 10
#: The fewest values of a segment: two slow campaigns in a row are not yet told from chance by their ranks.
SEGMENT = 3
#: Autocorrelation is taken to be higher than the residuals show by 5/n for each border, as fitted medians take a part
#: of it away.
_RHO_BIAS = 5.0
#: A border is kept whose steepness is above this, by the length of the history; between two lengths by the logarithm of
#: the length. Chosen by simulation (docs/statistics.md, Histories) so that of steady AR(1) histories with any ρ from 0
#: to 0.6 at most 5 % show a change: about the steepness that 4.3 % of them exceed at the worst ρ.
_STEEP = (
    (10, 11.0), (11, 13.4), (12, 14.2), (16, 15.8), (20, 17.2), (30, 17.8), (50, 17.4), (100, 15.0), (200, 15.0),
    (250, 15.4), (400, 16.5), (800, 18.0),
)  # fmt: skip
#: The highest autocorrelation that is allowed for.
_MOST_RHO = 0.9
#: Random permutations that the penalty is read off: at a share of 5 % its standard error is 0.2 points.
_PERMUTATIONS = 10_000
#: From this length on a fifth of them, for the time they take: the standard error of the share is then 0.5 points.
_LONG = 100
#: The longest series that is permuted: beyond it the penalty divided by n² stays the same within 2 %.
_LARGEST = 500
#: The first number of the permutations' generator: fixed, so that the same series has the same change points.
_SEED = 20261


@dataclass(frozen=True, slots=True)
class Change:
    """``index``: of the first value after the change; ``before``, ``after``: medians of the segments on both sides, in
    the unit of the values; ``ratio``: after over before, None where that has no meaning.
    """

    index: int
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

    Needs ten finite values; a segment has three at least. A steady series shows a change with a probability of about
    :data:`ALPHA`, so a caller also compares ``ratio`` with its margin.
    """
    n = len(values)
    if n < LEAST:
        return Changes(reason=f"{n} point{'s' * (n != 1)}, change points need {LEAST}")
    if not all(math.isfinite(v) for v in values):
        return Changes(reason="a point is not a finite number")
    if min(values) == max(values):
        return Changes()
    from ruptures import KernelCPD
    from scipy.stats import rankdata

    ranks = rankdata(values)
    borders = KernelCPD(kernel="linear", min_size=SEGMENT).fit(ranks[:, None]).predict(pen=_penalty(n))
    edges = _steep(np.asarray(values), _placed(np.asarray(values), [0, *borders]))
    medians = [float(np.median(values[a:b])) for a, b in itertools.pairwise(edges)]
    pairs = zip(edges[1:-1], medians, medians[1:], strict=False)
    return Changes(tuple(_change(border, before, after) for border, before, after in pairs))


def _steep(values: NDArray[np.float64], edges: Sequence[int]) -> list[int]:
    """The borders that autocorrelated values do not explain: the least steep one is taken out until all that are left
    are steep enough.
    """
    kept, enough = list(edges), _steep_enough(len(values))
    while len(kept) > 2:
        steepness = _steepness(values, kept)
        least = int(np.argmin(steepness))
        if steepness[least] > enough:
            break
        del kept[least + 1]
    return kept


def _steep_enough(n: int) -> float:
    """The steepness above which a border of a history of n points is kept."""
    lengths, levels = zip(*_STEEP, strict=True)
    return float(np.interp(math.log(n), np.log(lengths), levels))


def _steepness(values: NDArray[np.float64], edges: Sequence[int]) -> NDArray[np.float64]:
    """For each border the squared difference of the medians on both sides over its variance, were there no change.

    The residuals of all segments give the noise, by their mean absolute size, and its autocorrelation ρ, by which the
    variance of a mean is (1 + ρ) / (1 − ρ) times as large.
    """
    n = len(values)
    medians = [float(np.median(values[a:b])) for a, b in itertools.pairwise(edges)]
    sizes = np.diff(edges)
    residuals = values - np.repeat(medians, sizes)
    within = np.ones(n - 1, dtype=bool)
    within[np.asarray(edges[1:-1]) - 1] = False
    squares = float(np.square(residuals).sum())
    if not squares:
        return np.full(len(edges) - 2, np.inf)
    rho = float((residuals[1:] * residuals[:-1])[within].sum()) / squares + _RHO_BIAS * (len(edges) - 2) / n
    rho = min(max(rho, 0.0), _MOST_RHO)
    spread = float(np.abs(residuals).sum()) / (n - 2) * math.sqrt(math.pi / 2)
    variances = spread**2 * (1 / sizes[:-1] + 1 / sizes[1:]) * (1 + rho) / (1 - rho)
    return np.asarray(np.square(np.diff(medians)) / variances)


def _change(border: int, before: float, after: float) -> Change:
    return Change(border, before, after, after / before if before > 0 and after > 0 else None)


def _placed(values: NDArray[np.float64], edges: Sequence[int]) -> list[int]:
    """The borders, each where the values say, between the one before it and the one behind it."""
    placed = list(edges)
    for nth in range(1, len(placed) - 1):
        low, high = placed[nth - 1], placed[nth + 1]
        borders = range(low + SEGMENT, high - SEGMENT + 1)
        costs = {border: _deviation(values[low:border]) + _deviation(values[border:high]) for border in borders}
        placed[nth] = min(borders, key=lambda border: (costs[border], abs(border - edges[nth])))
    return placed


def _deviation(values: NDArray[np.float64]) -> float:
    return float(np.abs(values - np.median(values)).sum())


@lru_cache(maxsize=1024)
def _penalty(n: int) -> float:
    """The gain of the best single change that a share :data:`ALPHA` of random permutations of n ranks exceeds.

    Fixed seed. Gains grow as n² times a number that hardly grows: beyond 500 points as at 500, scaled.
    """
    size = min(n, _LARGEST)
    ranks = np.tile(np.arange(1.0, size + 1), (_PERMUTATIONS if size < _LONG else _PERMUTATIONS // 5, 1))
    gains = _best_gain(np.random.default_rng(_SEED).permuted(ranks, axis=1))
    return float(np.quantile(gains, 1 - ALPHA, method="higher")) * (n / size) ** 2 * (1 + 1e-9)


def _best_gain(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much the best single change lowers the sum of squares, for series of shape (…, n)."""
    n = ranks.shape[-1]
    sums = np.cumsum(ranks - ranks.mean(axis=-1, keepdims=True), axis=-1)[..., SEGMENT - 1 : n - SEGMENT]
    left = np.arange(SEGMENT, n - SEGMENT + 1)
    return np.asarray((np.square(sums) * (1 / left + 1 / (n - left))).max(axis=-1))
