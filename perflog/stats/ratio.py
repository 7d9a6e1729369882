"""The ratio of two samples of run values, with the interval that belongs to the exact rank test.

Hodges & Lehmann 1963: the estimate of a shift is the median of all differences, here of logarithms, so the ratio is
the median of all m n ratios new/old. Its interval inverts the Mann–Whitney test (Hollander, Wolfe & Chicken 2014,
section 4.3): with the ratios in order, from the C-th to the C-th from the end, where C is one more than the critical
value of the test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perflog.stats.mannwhitney import at_most, critical, p_value


@dataclass(frozen=True, slots=True)
class Ratio:
    """New over old.

    ``value``: the Hodges–Lehmann ratio, without unit; None with a ``reason``.
    ``low``, ``high``: its closed interval at the true ``level``, None with fewer than two runs on a side;
    ``asked``: the level asked for, which the true one is at least, where that many runs can reach it.
    ``p``: two-sided, that the ratio is 1; the interval at the level 1 − p begins or ends at 1. From :func:`ratio` it is
    Mann–Whitney's, from :mod:`perflog.stats.family` the largest of the row's p-values.
    ``flat``: the sides ("old", "new") with several runs and no difference at all among them.
    """

    n_old: int
    n_new: int
    asked: float
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    p: float | None = None
    flat: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""


def ratio(old: Sequence[float], new: Sequence[float], level: float = 0.95) -> Ratio:
    """The ratio of ``new`` (n run values) to ``old`` (m run values), both in the same unit.

    The interval is the narrowest symmetric one whose level is at least ``level``; where no interval reaches it
    (n = m = 3: 90 %), the full range at the level that it has. Ties widen the interval, they never shorten it.
    Values that are not positive and finite are no ratio: the result has a reason and no numbers, whatever the others
    say, as leaving out a failed run would favour the side that fails. Raises ValueError for a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, not {level!r}")
    sides = {"old": [float(v) for v in old], "new": [float(v) for v in new]}
    m, n = len(old), len(new)
    refusal = _refusal(sides)
    if refusal:
        return Ratio(m, n, level, reason=refusal)
    x, y = np.array(sides["old"]), np.array(sides["new"])
    with np.errstate(over="ignore", under="ignore"):
        ratios = np.sort(np.divide.outer(y, x).ravel())
    if not (ratios[0] > 0 and np.isfinite(ratios[-1])):
        return Ratio(m, n, level, reason="the values are too far apart for a ratio")
    flat = tuple(name for name, values in sides.items() if len(values) > 1 and min(values) == max(values))
    notes = [f"all {len(sides[name])} runs of the {name} side have the value {sides[name][0]:g}" for name in flat]
    value = middle(ratios)
    if min(m, n) < 2:
        notes.append("one run on a side says nothing of the spread between runs")
        return Ratio(m, n, level, value, flat=flat, notes=tuple(notes))
    rank = max(0, critical(m, n, level))
    tied = m + n - len({*sides["old"], *sides["new"]})
    if tied:
        notes.append(f"{tied} of {m + n} run values repeat another: the interval and p are conservative")
    low, high = float(ratios[rank]), float(ratios[-1 - rank])
    p = p_value(sides["old"], sides["new"])
    return Ratio(m, n, level, value, low, high, 1 - 2 * at_most(rank, m, n), p, flat, tuple(notes))


def _refusal(sides: Mapping[str, Sequence[float]]) -> str:
    """Why the values of a side make no ratio; empty where they do."""
    for name, values in sides.items():
        if not values:
            return f"no value on the {name} side"
        unusable = sum(not (math.isfinite(v) and v > 0) for v in values)
        if unusable:
            return f"{unusable} of {len(values)} values of the {name} side are not positive, finite numbers"
    return ""


def middle(ordered: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """The median through logarithms: of two middle ratios the geometric mean, so that new/old is 1 / (old/new)."""
    low, high = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    return low if low == high else math.sqrt(low) * math.sqrt(high)
