"""One throughput from the measurements of a window.

Sources: Hoefler & Belli, *Scientific Benchmarking of Parallel Computing Systems*, SC 2015, rule 3 (rates are
summarised by total work over total time). The other estimators exist to reproduce published tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perflog.measurements.store import Values

#: The trimmed mean drops this many, or this share, at each end, whichever is more (PaddlePaddle/benchmark).
TRIM_COUNT, TRIM_SHARE = 5, 0.05


class Estimate(NamedTuple):  # a tuple is made in a fifth of the time: there is one of each of very many logs
    """A centre, and the sums behind it: ``value`` in work per unit of time as stored (see measure.py)."""

    value: float = float("nan")
    used: int = 0
    covers: float = 0.0
    time: float = 0.0
    work: float = 0.0
    dropped: int = 0
    reason: str = ""


def estimate(blocks: Iterable[NDArray[np.float64]], estimator: str) -> Estimate:
    """Estimate throughput from blocks of rows (store.FIELDS, n).

    Args:
        estimator: ``total`` Σ work / Σ time; ``mean``, ``median``, ``trimmed`` of each measurement's rate;
            ``last`` the last measurement's rate.
    """
    used, covers, time, work, last = 0, 0.0, 0.0, 0.0, float("nan")
    rates = Values() if estimator in ("mean", "median", "trimmed") else None
    for rows in blocks:
        used += rows.shape[1]
        covers += float(rows[2].sum())
        time += float(rows[3].sum())
        work += float(rows[4].sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            if rates is not None:
                rates.append(rows[4] / rows[3])
            last = float(rows[4, -1] / rows[3, -1])
    if not used:
        return Estimate(float("nan"), 0, 0.0, 0.0, 0.0, reason="no measurement lies wholly inside the window")
    if estimator == "total" or rates is None:
        value = last if estimator == "last" else (work / time if time > 0 else float("nan"))
        reason = "" if 0 < value < math.inf else "the measured time is zero or negative"
        return Estimate(value, used, covers, time, work, reason=reason)
    printed = rates.array()
    positive = printed[np.isfinite(printed) & (printed > 0)]  # differences of rounded running means may vanish
    lost = used - len(positive)
    if estimator == "trimmed":
        drop = max(TRIM_COUNT, int(len(positive) * TRIM_SHARE))
        if len(positive) <= 2 * drop:
            reason = f"{len(positive)} measurements, trimmed mean drops {drop} at each end"
            return Estimate(float("nan"), used, covers, time, work, lost, reason)
        kept = np.sort(positive)[drop : len(positive) - drop]
        return Estimate(float(np.mean(kept)), len(kept), covers, time, work, lost + 2 * drop)
    if not len(positive):
        reason = "no measurement has a positive rate"
        return Estimate(float("nan"), used, covers, time, work, lost, reason)
    value = float(np.mean(positive)) if estimator == "mean" else _median(positive)
    return Estimate(value, used - lost, covers, time, work, lost)


def _median(values: NDArray[np.float64]) -> float:
    """The median, by partition in place (values may be mapped from a file)."""
    middle = len(values) // 2
    if len(values) % 2:
        values.partition(middle)
        return float(values[middle])
    values.partition((middle - 1, middle))
    return float((values[middle - 1] + values[middle]) / 2)
