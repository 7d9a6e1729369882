"""The exact Mann–Whitney test of two samples of run values (Mann & Whitney 1947).

Each pair of an old and a new run is a vote. Under the null hypothesis every order of the m + n runs is equally
likely, so the distribution of the votes is known exactly, whatever the distribution of the noise.

Ties (rounded rates): :func:`p_value` counts a tied pair against the finding and keeps the distribution without
ties. That is valid for any ties, since breaking them at random gives an untied sample with no more votes against,
and it is the test whose inversion is the closed interval of :func:`perflog.stats.ratio.ratio`. The permutation
distribution with mid-ranks (Streitberg & Röhmel 1986) is exact for the tied sample at hand, but as the ties change with
the assumed ratio, no interval with a level known beforehand belongs to it; ``tests/tools/simulate_compare.py`` has it
for the simulation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

#: Up to this much work (about 66 against 66 runs, a tenth of a second) the null distribution is counted out. Beyond it
#: is normal: at 70 against 70, p is within 2 % of the exact one (``tests/stats/test_mannwhitney.py``).
_EXACT_WORK = 300_000
#: 1 − 0.9 is a little below 0.1 in binary, and 1 − 0.95 a little above 0.05.
ROUNDING = 1e-12


def p_value(old: Sequence[float], new: Sequence[float]) -> float:
    """Two-sided p that ``old`` (m values) and ``new`` (n values) come from one distribution; 1 for an empty side.

    Exact without ties; with ties valid and conservative (see the module). Values must not be NaN.
    """
    if not len(old) or not len(new):
        return 1.0
    up, down = votes(old, new)
    return min(1.0, 2 * at_most(min(up, down), len(old), len(new)))


def votes(old: Sequence[float], new: Sequence[float]) -> tuple[int, int]:
    """The number of pairs with new ≤ old (against "new is higher") and with new ≥ old (against "new is lower")."""
    ordered = np.sort(np.asarray(old, dtype=float))
    values = np.asarray(new, dtype=float)
    against_higher = len(ordered) * len(values) - int(np.searchsorted(ordered, values, "left").sum())
    return against_higher, int(np.searchsorted(ordered, values, "right").sum())


def at_most(u: int, m: int, n: int) -> float:
    """P(U ≤ u) for samples of m and n values without ties; for large samples the normal approximation."""
    if u < 0:
        return 0.0
    if u >= m * n:
        return 1.0
    if _is_exact(m, n):
        return _orders(m, n)[u] / math.comb(m + n, m)
    return _normal((u + 0.5 - m * n / 2) / math.sqrt(m * n * (m + n + 1) / 12))


@lru_cache(maxsize=4096)
def critical(m: int, n: int, level: float = 0.95) -> int:
    """The largest u with 2 P(U ≤ u) ≤ 1 − level; −1 where even u = 0 is too likely (three against three at 95 %)."""
    alpha = 1 - level + ROUNDING
    low, high = -1, m * n // 2
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if 2 * at_most(middle, m, n) <= alpha else (low, middle - 1)
    return low


def runs_for(level: float = 0.95) -> int:
    """The fewest runs a side with which this level can be reached: 2 / C(2n, n) ≤ 1 − level; 4 for 95 %, 5 for 99 %.

    Raises ValueError for a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, not {level!r}")
    n = 1
    while 2 / math.comb(2 * n, n) > 1 - level + ROUNDING:
        n += 1
    return n


def _is_exact(m: int, n: int) -> bool:
    return min(m, n) * m * n <= _EXACT_WORK


@lru_cache(maxsize=256)
def _orders(m: int, n: int) -> tuple[int, ...]:
    """In how many orders of m and n values U is at most 0, 1, …, m n: the Gaussian binomial's coefficients, summed.

    The product over i = 1 … m of (1 − q^(n+i)) / (1 − q^i), one factor after the other.
    """
    if m > n:
        return _orders(n, m)
    count = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for power in range(m * n, n + i - 1, -1):
            count[power] -= count[power - n - i]
        for power in range(i, m * n + 1):
            count[power] += count[power - i]
    return tuple(itertools.accumulate(count))


def _normal(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))
