"""Runs that fall in two groups: two kinds of node, two clock states. Their median converges to neither (CONFIRM,
Maricq et al. 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: The largest gap is more than this times the median of the other gaps; what that finds by itself is said at
#: :func:`clusters`.
GAP = 5.0
#: The share of the variance that lies between the two groups: for few runs (below MANY), and for many. Chosen by
#: ``python -m tests.tools.simulate_compare``, whose table "Two clusters noted" has what they cost and find.
SHARE_FEW, SHARE_MANY, MANY = 0.95, 0.90, 8
#: Two groups whose gap is below this share of the median are not told apart: half of the verdict's margin.
SMALLEST = 0.01


@dataclass(frozen=True, slots=True)
class Clusters:
    """The two groups, each in ascending order, in the unit of the values."""

    low: tuple[float, ...]
    high: tuple[float, ...]


def clusters(values: Sequence[float], smallest: float = SMALLEST, fewest: int = 2) -> Clusters | None:
    """The two groups of run values, or None: fewer than four values, one that is not finite, or one group.

    Args:
        values: of the runs.
        smallest: a share of their median that the gap between two groups is larger than.
        fewest: how many values a group has at least; with 1 a single run that stands apart is a group, which is so of
            16 % of normal samples of four and 7 % of five.

    The largest gap between neighbours divides them, with ``fewest`` values on each side at least; it is more than five
    times the median of the other gaps, and more than ``smallest`` of the median value. That alone finds two groups in
    10 % of normal samples of five and in 28 % of nineteen, as the median gap shrinks and the tails do not. So the split
    must also explain 95 % of the variance, from eight values on 90 % (for a normal sample cut in the middle it is
    64 %): 4 % at five, below 0.1 % at nineteen; groups twelve standard deviations apart are still found (95 % at five).
    """
    if len(values) < 4 or not all(math.isfinite(v) for v in values):
        return None
    ordered = np.sort(np.asarray(values, dtype=float))
    gaps = np.diff(ordered)
    widest = int(gaps.argmax())
    least = max(GAP * float(np.median(np.delete(gaps, widest))), smallest * abs(float(np.median(ordered))))
    if not fewest - 1 <= widest <= len(gaps) - fewest or not gaps[widest] > least:
        return None
    low, high = ordered[: widest + 1], ordered[widest + 1 :]
    within = float(np.square(low - low.mean()).sum() + np.square(high - high.mean()).sum())
    total = float(np.square(ordered - ordered.mean()).sum())
    if within > (1 - (SHARE_FEW if len(values) < MANY else SHARE_MANY)) * total:
        return None
    return Clusters(tuple(low.tolist()), tuple(high.tolist()))
