"""Arithmetic on the rows of many logs at once: by the compiled library where it is at hand, else by numpy.

A log's rows stand behind those of the log before it; each function gives the same either way, to the last bit. The
library does it in one call that holds no lock of Python's, where numpy takes a call for every step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perflog.matching.library import available, library
from perflog.measurements.rows import Floats, Ints


def regular(
    first: Ints, count: Ints, step: Floats, epoch: Floats | None, columns: Sequence[Floats]
) -> tuple[Floats, Ints]:
    """Which logs have steps that rise by one interval, within one epoch.

    Args:
        first, count: where each log's rows begin and how many they are, at least one, (logs,).
        step, epoch: the printed numbers, (rows,).
        columns: numbers of which a log's rows must all be finite or none, each (rows,).

    Returns:
        The steps from one row to the next, (logs,), and which columns are finite, as bits, (logs,); -1 for a log that
        is not of this kind.
    """
    if available():
        return _regular_by_numpy(first, count, step, epoch, columns)
    arrays = [np.ascontiguousarray(column) for column in (step, *columns, *([] if epoch is None else [epoch]))]
    addresses = np.array([array.ctypes.data for array in arrays], dtype=np.int64)
    interval, finite = np.empty(len(first)), np.empty(len(first), dtype=np.int64)
    library().pf_regular(
        len(first), _address(first), _address(count), int(addresses[0]), None if epoch is None else int(addresses[-1]),
        len(columns), addresses[1:].ctypes.data, interval.ctypes.data, finite.ctypes.data,
    )  # fmt: skip
    return interval, finite


def _regular_by_numpy(
    first: Ints, count: Ints, step: Floats, epoch: Floats | None, columns: Sequence[Floats]
) -> tuple[Floats, Ints]:
    with np.errstate(invalid="ignore"):  # a step of 400 digits is infinite, and no step
        interval = np.where(count > 1, step[np.minimum(first + 1, len(step) - 1)] - step[first], 0.0)
        mask = np.empty(len(step), dtype=bool)
        np.equal(np.diff(step), np.repeat(interval, count)[1:], out=mask[1:])
    mask[first] = True
    if epoch is not None:
        mask &= epoch == np.repeat(epoch[first], count)
    kind = (interval > 0) & np.logical_and.reduceat(mask & np.isfinite(step), first)
    bits = np.zeros(len(first), dtype=np.int64)
    for bit, column in enumerate(columns):
        finite = np.isfinite(column)
        everywhere = np.logical_and.reduceat(finite, first)
        kind &= everywhere | np.logical_and.reduceat(~finite, first)
        bits |= everywhere.astype(np.int64) << bit
    return interval, np.where(kind, bits, -1)


def sums(values: Floats, low: Ints, high: Ints) -> list[float]:
    """The sums of ``values[low:high]`` for many slices, in the order of additions of numpy's own sum."""
    if available():
        return [float(values[begin:end].sum()) for begin, end in zip(low.tolist(), high.tolist(), strict=True)]
    result = np.empty(len(low))
    library().pf_sums(len(low), _address(low), _address(high), _address(values), result.ctypes.data)
    return result.tolist()


def rates_to_end(first: Ints, count: Ints, work: Floats, time: Floats) -> tuple[Floats, Floats]:
    """The smallest and the largest rate from a row to its log's end, over the rows up to the middle one, (logs,) each.

    Rates that are no number are left out, or make the result none.
    """
    smallest, largest = np.empty(len(first)), np.empty(len(first))
    if not available():
        library().pf_rates_to_end(
            len(first), _address(first), _address(count), _address(work), _address(time), smallest.ctypes.data,
            largest.ctypes.data,
        )  # fmt: skip
        return smallest, largest
    for log, (begin, rows) in enumerate(zip(first.tolist(), count.tolist(), strict=True)):
        works, times = (np.cumsum(column[begin : begin + rows][::-1])[::-1] for column in (work, time))
        with np.errstate(divide="ignore", invalid="ignore"):  # differences of running means may come to nothing
            rates = works[: rows // 2 + 1] / times[: rows // 2 + 1]
        smallest[log], largest[log] = rates.min(), rates.max()
    return smallest, largest


def _address(values: Floats | Ints) -> int:
    """Where the numbers lie; they must lie side by side, and be held by the caller."""
    assert values.flags.c_contiguous
    return int(values.ctypes.data)
