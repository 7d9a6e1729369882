"""Centres and intervals over runs: plain functions on numbers, each with its source."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: The level that an interval of the median has at least, where there are six runs or more.
LEVEL = 0.95


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones. Raises ValueError for no values."""
    if not values:
        raise ValueError("median of no values")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, summed without rounding error. Raises ValueError for no values."""
    if not values:
        raise ValueError("mean of no values")
    return math.fsum(values) / len(values)


def olympic(values: Sequence[float]) -> float:
    """The mean without the fastest and the slowest (MLCommons training_rules.adoc): of n runs, ⌊n/10⌋ but at
    least one is dropped at each end. Raises ValueError for fewer than three values.
    """
    if len(values) < 3:
        raise ValueError(f"olympic mean needs 3 runs, there are {len(values)}")
    drop = max(1, len(values) // 10)
    return mean(sorted(values)[drop : len(values) - drop])


def olympic_of_set(times: Sequence[float], failed: int = 0, drop: int = 1) -> float:
    """The mean of a set of runs without its ``drop`` fastest and ``drop`` slowest, as MLPerf scores one.

    A run that failed has no time and counts as slower than all others, so it takes a place among the slowest that are
    dropped (mlcommons/logging result_summarizer.py, ``_compute_olympic_average``).

    Args:
        times: those of the runs that did not fail, shape (n,), in any unit.
        failed: how many runs of the set failed.
        drop: how many runs are dropped at each end.

    Raises:
        ValueError: when more runs failed than are dropped, or none is left.
    """
    if failed > drop:
        raise ValueError(f"{failed} runs failed, at most {drop} may be dropped")
    kept = sorted(times)[drop : len(times) - (drop - failed)]
    if not kept:
        raise ValueError(f"{len(times) + failed} runs, {drop} dropped at each end: none is left")
    return mean(kept)


def order_interval(values: Sequence[float]) -> tuple[float, float, float] | None:
    """A confidence interval of the median from order statistics: (low, high, true level).

    The narrowest symmetric pair of ranks whose level is at least 95 %; for fewer than six runs no pair
    reaches 95 % and [min, max] is given with the level it has, 1 − 2^(1−n): 93.75 % for n = 5
    (Le Boudec, *Performance Evaluation*, 2010, table A.1; Hoefler & Belli 2015, rule 5).
    None for fewer than two values, all of which must be finite numbers, shape (n,), in any unit.
    """
    n = len(values)
    if n < 2:
        return None
    ordered = sorted(values)
    best = (0, n - 1, 1 - 2.0 ** (1 - n))
    total, below, ways = 1 << n, 0, 1  # of 2^n outcomes, those with at most `low` values below the median; C(n, low)
    for low in range(n // 2):
        below += ways
        ways = ways * (n - low) // (low + 1)
        true_level = (total - 2 * below) / total
        if true_level < LEVEL:
            break
        best = (low, n - 1 - low, true_level)
    return ordered[best[0]], ordered[best[1]], best[2]


def relative_range(values: Sequence[float]) -> float | None:
    """(max − min) / median, as a fraction; None for fewer than two values, or a median of 0."""
    if len(values) < 2:
        return None
    centre = median(values)
    return (max(values) - min(values)) / centre if centre else None


#: The centres that a user may choose, by their names on the command line.
CENTRES = {"median": median, "mean": mean, "olympic": olympic}
