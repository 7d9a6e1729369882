"""Medians and distinct values of arrays, without numpy's own functions for them.

``np.median`` and ``np.unique`` import ``numpy.ma`` when first called: a tenth of what a command takes to start.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def middle(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The medians along the last axis, of shape (…, n): shape (…). NaN where a value is NaN.

    Raises:
        ValueError: when n is 0.
    """
    n = values.shape[-1]
    if not n:
        raise ValueError("median of no values")
    low, high = (n - 1) // 2, n // 2
    ordered = np.partition(values, sorted({low, high, n - 1}), axis=-1)
    centre = ordered[..., low] if low == high else (ordered[..., low] + ordered[..., high]) / 2
    return np.where(np.isnan(ordered[..., -1]), np.nan, centre)


def distinct(values: NDArray[np.generic]) -> tuple[NDArray[np.generic], NDArray[np.intp]]:
    """The distinct values of an array without NaN, rising, and how often each is there: (n,) gives (k,), (k,)."""
    ordered = np.sort(values)
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    return ordered[first], np.diff(np.append(first, len(ordered)))
