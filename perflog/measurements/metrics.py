"""Numbers that lines print beside what they measure, such as the TFLOP/s of a device: kept with each measurement.

They stand in a segment's store below the fields of its measurements, one row for each of the pattern's
``printed_means`` in their order. Their mean over a window is weighted by the time of each measurement, so that a rate's
mean is its total work over the total time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perflog.formats.parser import Pattern
from perflog.measurements.rows import Columns, Floats, Mask, kept
from perflog.measurements.store import FIELDS

_TIME, _LINE = FIELDS.index("time"), FIELDS.index("line")


class Mean(NamedTuple):
    """The mean over time of one printed metric.

    ``value``: NaN where no line has a number; ``used``, ``unusable``: measurements with and without a positive number;
    ``first_line``, ``last_line``: of those used.
    """

    value: float = float("nan")
    used: int = 0
    unusable: int = 0
    first_line: int = 0
    last_line: int = 0


def with_metrics(pattern: Pattern, measured: Floats, columns: Columns, good: Mask) -> Floats:
    """Measurements, (len(store.FIELDS), used), with the metrics on their lines below, one row each.

    Args:
        columns: the printed numbers by group, each (n,).
        good: which of the rows are measurements, (n,).
    """
    metrics = pattern.printed_means
    if not metrics:
        return measured
    unknown = np.full(len(good), np.nan)
    return np.vstack((measured, *(kept(columns.get(value.group, unknown), good) for value in metrics)))


class MeansOverTime:
    """Sums of printed metrics, block by block of the rows of a window."""

    def __init__(self) -> None:
        self._sums: Floats = np.zeros((2, 0))  # metric × time, time
        self._means: list[Mean] = []

    def through(self, blocks: Iterator[NDArray[np.float64]]) -> Iterator[NDArray[np.float64]]:
        """The same blocks of rows, each taken into the sums as it passes."""
        for rows in blocks:
            if len(rows) > len(FIELDS):
                self._add(rows)
            yield rows

    def result(self) -> tuple[Mean, ...]:
        """The mean of each metric over the rows that passed, in the pattern's order; none where no row passed."""
        with np.errstate(invalid="ignore"):
            values = self._sums[0] / self._sums[1]
        return tuple(mean._replace(value=value) for mean, value in zip(self._means, values.tolist(), strict=True))

    def _add(self, rows: NDArray[np.float64]) -> None:
        metrics, time, lines = rows[len(FIELDS) :], rows[_TIME], rows[_LINE]
        if not self._means:
            self._means = [Mean()] * len(metrics)
            self._sums = np.zeros((2, len(metrics)))
        # a share or a rate that is not positive says that the program does not know it
        usable = np.isfinite(metrics) & (metrics > 0) & (time > 0)
        self._sums[0] += (np.where(usable, metrics, 0.0) * time).sum(axis=1)
        self._sums[1] += (usable * time).sum(axis=1)
        self._means = [_counted(mean, lines[mask], len(lines)) for mean, mask in zip(self._means, usable, strict=True)]


def _counted(mean: Mean, lines: NDArray[np.float64], rows: int) -> Mean:
    """A mean with the rows of one block counted in, ``lines`` being those of the rows with a usable number."""
    unusable = mean.unusable + rows - len(lines)
    if not len(lines):
        return mean._replace(unusable=unusable)
    first, last = int(lines[0]), int(lines[-1])
    return mean._replace(
        used=mean.used + len(lines), unusable=unusable, first_line=mean.first_line or first, last_line=last
    )
