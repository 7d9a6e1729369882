"""p-values of many rows at once: a table of 28 identical rows has one p below 0.05 more often than not."""

from __future__ import annotations

import math
from collections.abc import Sequence


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Adjusted p in the order given: rows with adjusted p ≤ q have a false discovery rate of at most q.

    The i-th smallest of m becomes the least of p_j m / j over j ≥ i (Benjamini & Hochberg 1995; the adjusted form as in
    Yekutieli & Benjamini 1999). With five runs a side a table needs a changed row in every six: one among 28 has at
    best 0.0079 × 28 = 0.22. NaN stays NaN and is not counted in m. Raises ValueError for a p outside [0, 1].

    Holm's adjustment (1979), which holds the chance of even one false finding, is not offered: with five runs a side it
    cannot call a single row of seven or more, as 7 × 0.0079 > 0.05.
    """
    outside = next((p for p in values if not math.isnan(p) and not 0 <= p <= 1), None)
    if outside is not None:
        raise ValueError(f"a p-value lies between 0 and 1, not {outside!r}")
    order = sorted((i for i, p in enumerate(values) if not math.isnan(p)), key=lambda i: values[i])
    adjusted = [math.nan] * len(values)
    least = 1.0
    for rank in range(len(order), 0, -1):
        index = order[rank - 1]
        least = min(least, values[index] * (len(order) / rank))
        adjusted[index] = least
    return adjusted
