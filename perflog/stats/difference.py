"""The difference of two means with its interval, for numbers that may be 0 and have no ratio."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """New less old, in the unit of the values, with the ends of its interval."""

    value: float
    low: float
    high: float


def mean_difference(old: Sequence[float], new: Sequence[float], level: float = 0.95) -> Difference | None:
    """The difference of two means with Welch's interval (1938; degrees of freedom by Satterthwaite 1946).

    Args:
        old: finite values of one side.
        new: of the other.
        level: of the interval, a share.

    Returns:
        None for fewer than two values on a side, or where both sides are without spread: copies of one log, or too
        coarse a print.
    """
    if min(len(old), len(new)) < 2:
        return None
    from scipy.special import stdtrit

    means = [math.fsum(side) / len(side) for side in (old, new)]
    parts = [
        math.fsum((value - mean) ** 2 for value in side) / (len(side) - 1) / len(side)
        for side, mean in zip((old, new), means, strict=True)
    ]
    total = sum(parts)
    if not total:
        return None
    freedom = total**2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, (old, new), strict=True))
    half = -float(stdtrit(freedom, (1 - level) / 2)) * math.sqrt(total)
    value = means[1] - means[0]
    return Difference(value, value - half, value + half)
