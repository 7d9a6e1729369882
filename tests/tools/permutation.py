"""The permutation test with mid-ranks, which perflog does not use: the simulation shows what it would find.

It is exact for the tied sample at hand, but no interval with a level known beforehand belongs to it
(:mod:`perflog.stats.mannwhitney`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Up to so many additions of an array the distribution is counted out, beyond it is normal.
_EXACT_WORK = 100_000_000


def permutation_p(old: Sequence[float], new: Sequence[float]) -> float:
    """Two-sided p from all C(m + n, m) ways to deal the pooled mid-ranks, ties and all: twice the smaller tail.

    Counted out by dynamic programming over the sum of doubled mid-ranks (Streitberg & Röhmel 1986, the shift
    algorithm); for large samples the normal approximation with the tie correction. 1 for an empty side.
    """
    m, n = len(old), len(new)
    if not m or not n:
        return 1.0
    from scipy import stats

    ranks = np.rint(2 * stats.rankdata([*old, *new])).astype(int)
    most = int(np.sort(ranks)[-m:].sum())
    if len(ranks) * m * most > _EXACT_WORK:
        return float(stats.mannwhitneyu(old, new, method="asymptotic").pvalue)
    ways = np.zeros((m + 1, most + 1))
    ways[0, 0] = 1
    for rank in ranks.tolist():
        ways[1:, rank:] += ways[:-1, : most + 1 - rank]
    tails: NDArray[np.float64] = ways[m]
    seen = int(ranks[:m].sum())
    return float(min(1.0, 2 * min(tails[: seen + 1].sum(), tails[seen:].sum()) / tails.sum()))
