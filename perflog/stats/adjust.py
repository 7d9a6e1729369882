"""p-values of many rows at once: a table of 28 identical rows has one p below 0.05 more often than not."""

from __future__ import annotations

import math
from collections.abc import Sequence


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Adjusted p in the order given: rows with adjusted p ≤ q have a false discovery rate of at most q.

    The i-th smallest of m becomes the least of p_j m / j over j ≥ i (Benjamini & Hochberg 1995; the adjusted form as in
    Yekutieli & Benjamini 1999). With five runs a side a table needs a changed row in every six: one among 28 has at best
    0.0079 × 28 = 0.22. NaN stays NaN and is not counted in m. Raises ValueError for a p outside [0, 1].
    """
    order = _order(values)
    adjusted = [math.nan] * len(values)
    least = 1.0
    for rank in range(len(order), 0, -1):
        at = order[rank - 1]
        least = min(least, values[at] * (len(order) / rank))
        adjusted[at] = least
    return adjusted


def holm(values: Sequence[float]) -> list[float]:
    """Adjusted p in the order given: the chance of even one false finding is held (Holm 1979).

    With five runs a side it cannot call seven or more rows (7 × 0.0079 > 0.05). NaN and errors as for
    :func:`benjamini_hochberg`.
    """
    order = _order(values)
    adjusted = [math.nan] * len(values)
    most = 0.0
    for rank, at in enumerate(order):
        most = max(most, min(1.0, values[at] * (len(order) - rank)))
        adjusted[at] = most
    return adjusted


def _order(values: Sequence[float]) -> list[int]:
    bad = next((v for v in values if not math.isnan(v) and not 0 <= v <= 1), None)
    if bad is not None:
        raise ValueError(f"a p-value lies between 0 and 1, not {bad!r}")
    return sorted((i for i, v in enumerate(values) if not math.isnan(v)), key=lambda i: values[i])
