"""Where the warm-up ends: MSER-5 (White 1997; White, Cobb & Spratt 2000).

The cut that makes the standard error of the mean of what is left the least, over batches of five: leaving out slow
first steps lowers the spread, leaving out good ones costs data.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from perflog.stats.arrays import middle

#: Measurements of a batch, as in MSER-5 of White, Cobb & Spratt (2000).
BATCH = 5
#: With fewer batches than this the rule has nothing to weigh.
_LEAST_BATCHES = 4
#: Batches that a cut leaves at least where the second half is looked at: the variance of fewer says little.
_LEAST_LEFT = 5
#: A cut in the second half counts when it at least halves the statistic: 1.5 % of steady series do, instead of 6 %
#: (``python -m tests.tools.simulate_compare``, table Warm-up).
_CLEARLY = 0.5


class Warmup(Struct, frozen=True):
    """``cut``: how many measurements at the start are warm-up, a multiple of five and at most half of them.

    ``at_cap``: the series does not settle in its first half, so the cut is the most that may be left out and not the
    end of the warm-up. ``cut`` is None, with a ``reason``, where the rule cannot be used.
    """

    cut: int | None
    at_cap: bool = False
    reason: str = ""


def mser5(values: ArrayLike) -> Warmup:
    """The warm-up of a series of step times (or other equal-weight measurements), shape (n,), in order; O(n).

    Batches Z of five (an incomplete last one is left out); of k batches the cut d that makes
    Σ (Z_j − mean)² / (k − d)², j > d, the least, over the first half. White calls a run unconverged when the minimum
    over all cuts lies in the second half. That is judged here on batch *medians*, and only where the statistic is at
    most
    half of what the first half reaches: on means, a checkpoint spike in the middle makes every cut after it look
    better, and without the factor 6 % of steady series are called unsettled.
    Needs 20 finite values.
    """
    series = np.asarray(values, dtype=float)
    k = len(series) // BATCH
    if k < _LEAST_BATCHES:
        measurements = f"{len(series)} measurement{'' if len(series) == 1 else 's'}"
        return Warmup(None, reason=f"{measurements}, MSER-5 needs {_LEAST_BATCHES * BATCH}")
    if not np.isfinite(series).all():
        return Warmup(None, reason="a measurement is not a finite number")
    batches = series[: k * BATCH].reshape(k, BATCH)
    half = k // 2
    statistic = _mser(batches.mean(axis=1))
    cut = int(statistic[: half + 1].argmin())
    robust = _mser(middle(batches))
    late = robust[half + 1 : k - _LEAST_LEFT + 1]
    at_cap = cut == half or (late.size > 0 and bool(late.min() < _CLEARLY * robust[: half + 1].min()))
    return Warmup((half if at_cap else cut) * BATCH, at_cap)


def _mser(batches: NDArray[np.float64]) -> NDArray[np.float64]:
    """The statistic for each number of batches left out, shape (k,): sums from the end, around the median."""
    centred = batches - middle(batches)
    centred = centred / (np.abs(centred).max() or 1.0)  # the minimum's place stays, and no square is beyond all numbers
    left = np.arange(len(batches), 0, -1)
    total = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum(np.square(centred)[::-1])[::-1]
    return np.asarray(np.maximum(squares - total * total / left, 0.0) / np.square(left, dtype=float))
