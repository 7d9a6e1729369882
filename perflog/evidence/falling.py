"""The time behind a running mean never gets less: where it does, a number is damaged, or the mean began anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perflog.measurements.segment import Segment, Taken

#: Digits explain a fall by so many times their worth: a mean's share of rounding changes while it settles.
SPARE = 4.0
#: What sums of binary fractions may hide of a total.
BINARY = 1e-9


def falls(rows: NDArray[np.float64]) -> bool:
    """Whether the time behind a running mean gets less anywhere among some measurements, (fields, n)."""
    return bool(rows.shape[1]) and bool(rows[3].min() < 0)


def why_falling(segment: Segment, taken: Taken, share: float) -> str:
    """Why a window of a running mean's differences gives no number, where its time falls; else empty.

    Such a difference is not left out of the sum, because it makes good for an earlier one that was too long; where the
    damaged total is the first or the last of the window, or so large that the others vanish beside it, nothing does.

    Args:
        share: how much the printed digits may hide of one mean, as a share of it.
    """
    total = 0.0
    for rows in segment.store.blocks():
        after = total + rows[3].cumsum()
        before = np.append(total, after[:-1])
        hidden = (SPARE * share + BINARY) * (np.abs(before) + np.abs(after))
        inside = taken.holds(rows)
        fallen = np.flatnonzero(inside & (rows[3] < -hidden))
        if len(fallen):
            return (
                f"the log contradicts itself: the running mean of line {rows[5, fallen[0]]:g} stands for less time "
                "than the one before it: one of them is damaged, or the mean began anew"
            )
        total = float(after[-1]) if len(after) else total
    return ""
