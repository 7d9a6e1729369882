"""One throughput from the measurements of a window.

Sources: Hoefler & Belli, *Scientific Benchmarking of Parallel Computing Systems*, SC 2015, rule 3 (rates are
summarised by total work over total time). The other estimators exist to reproduce published tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perflog.formats.parser import Pattern, Value
from perflog.measurements.rows import FIELDS, Columns, Floats, Mask, Values, kept

#: The trimmed mean drops this many, or this share, at each end, whichever is more (PaddlePaddle/benchmark).
TRIM_COUNT, TRIM_SHARE = 5, 0.05


#: A record is estimated by itself only where its time is so many times the last digit of its clock: its rate is then at
#: most 10 % off, by a rounding that differs from record to record.
LEAST_QUANTA = 10.0
#: Of fewer merged records there is no estimate of single ones.
LEAST_MERGED = 3
#: An estimate that leaves out more than this share of the records is none.
MOST_LEFT_OUT = 0.1


class Estimate(NamedTuple):  # a tuple is made in a fifth of the time: there is one of each of very many logs
    """A centre, and the sums behind it: ``value`` in work per unit of time as stored (see measure.py).

    ``merged``: into how many the records were merged where one is too short for its clock; 0 where none was.
    """

    value: float = float("nan")
    used: int = 0
    covers: float = 0.0
    time: float = 0.0
    work: float = 0.0
    dropped: int = 0
    reason: str = ""
    merged: int = 0


class Digits(NamedTuple):
    """How finely the time of a record is printed.

    Attributes:
        clock: the last digit of a clock, in the store's time; 0 where no clock is measured.
        mean: by how much the last digit of a running mean moves the time of one step, in the store's time; else 0.
            A mean of ``k`` steps places the end of the k-th within k times that.
        per_epoch: whether the mean begins anew with each epoch, else with the run; ``origin``: at which step.
    """

    clock: float = 0.0
    mean: float = 0.0
    per_epoch: bool = False
    origin: float = 0.0

    def quanta(self, rows: NDArray[np.float64], before: tuple[float, float]) -> NDArray[np.float64]:
        """By how much the digits may move the end of each record, (n,), in the store's time.

        Args:
            before: the epoch of the record before these, and the step at which that epoch began.
        """
        if not self.mean:
            return np.full(rows.shape[1], self.clock)
        return np.asarray((rows[1] - self.begins(rows, before)) * self.mean)

    def begins(self, rows: NDArray[np.float64], before: tuple[float, float]) -> NDArray[np.float64]:
        """The step at which the mean of each record began, (n,); ``before``: as :meth:`quanta` takes it."""
        if not self.per_epoch:
            return np.full(rows.shape[1], self.origin)
        first = rows[6] != np.append(before[0], rows[6, :-1])
        latest = np.maximum.accumulate(np.where(first, np.arange(rows.shape[1]), -1))
        return np.where(latest >= 0, rows[0, latest], before[1])

    @property
    def known(self) -> bool:
        """Whether the last digit may matter."""
        return self.clock > 0 or self.mean > 0


FINE = Digits()


def estimate(blocks: Iterable[NDArray[np.float64]], estimator: str, digits: Digits = FINE) -> Estimate:
    """Estimate throughput from blocks of rows (store.FIELDS, n).

    Args:
        estimator: ``total`` Σ work / Σ time; ``mean``, ``median``, ``trimmed`` of each measurement's rate;
            ``last`` the last measurement's rate.
        digits: how finely times are printed. Records too short for that are merged with those behind them before their
            rates are taken.
    """
    used, covers, time, work = 0, 0.0, 0.0, 0.0
    single = estimator != "total"
    rates, merger = Values(), _Merger(digits)
    for rows in blocks:
        used += rows.shape[1]
        covers += float(rows[2].sum())
        time += float(rows[3].sum())
        work += float(rows[4].sum())
        if single:
            rates.append(merger.rates(rows))
    if not used:
        return Estimate(float("nan"), 0, 0.0, 0.0, 0.0, reason="no measurement lies wholly inside the window")
    if not single:
        value = work / time if time > 0 else float("nan")
        reason = "" if 0 < value < math.inf else "the measured time is zero or negative"
        return Estimate(value, used, covers, time, work, reason=reason)
    rates.append(merger.rest())
    whole = Estimate(float("nan"), used, covers, time, work)
    if merger.merges and rates.count < LEAST_MERGED:
        reason = (
            f"the {used} records are too short for the digits of their clock: merged into stretches of "
            f"{LEAST_QUANTA:g} times its last digit they are {rates.count}, and {LEAST_MERGED} are needed (take "
            "--estimator total)"
        )
        return whole._replace(reason=reason)
    return _of_rates(rates.array(), estimator, whole._replace(merged=rates.count if merger.merges else 0))


def _of_rates(printed: NDArray[np.float64], estimator: str, whole: Estimate) -> Estimate:
    """The estimate of single rates, (n,), which may be reordered; ``whole``: with the sums behind it."""
    positive = printed[np.isfinite(printed) & (printed > 0)]  # differences of rounded running means may vanish
    lost = len(printed) - len(positive)
    if lost > MOST_LEFT_OUT * len(printed):
        reason = (
            f"{lost} of {len(printed)} records have no positive rate: an estimate of single records would leave out "
            "more than a tenth of them (take --estimator total)"
        )
        return whole._replace(dropped=lost, reason=reason)
    if estimator == "last":
        return whole._replace(value=float(positive[-1]), dropped=lost)
    if estimator == "trimmed":
        drop = max(TRIM_COUNT, int(len(positive) * TRIM_SHARE))
        if len(positive) <= 2 * drop:
            reason = f"{len(positive)} measurements, trimmed mean drops {drop} at each end"
            return whole._replace(dropped=lost, reason=reason)
        kept = np.sort(positive)[drop : len(positive) - drop]
        used = whole.used if whole.merged else len(kept)
        return whole._replace(value=float(np.mean(kept)), used=used, dropped=lost + 2 * drop)
    value = float(np.mean(positive)) if estimator == "mean" else _median(positive)
    used = whole.used if whole.merged else whole.used - lost
    return whole._replace(value=value, used=used, dropped=lost)


class _Merger:
    """Puts neighbouring records together until their time is long enough for the digits of their clock."""

    def __init__(self, digits: Digits) -> None:
        self.merges = False
        self._digits = digits
        self._work = self._time = self._quanta = np.empty(0)  # of the records that were not given yet
        self._epoch = (-1.0, 0.0)  # of the last record, and the step at which it began
        self._last: tuple[float, float] | None = None  # work and time of the last merged record, which may grow

    def rates(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rates of the records that are long enough with those of a block, (fields, n), behind those held back."""
        if not self._digits.known:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(rows[4] / rows[3])
        self._work = np.concatenate((self._work, rows[4]))
        self._time = np.concatenate((self._time, rows[3]))
        self._quanta = np.concatenate((self._quanta, self._digits.quanta(rows, self._epoch)))
        self._epoch = float(rows[6, -1]), float(self._digits.begins(rows, self._epoch)[-1])
        bounds = self._bounds()
        if len(bounds) < 2:
            return np.empty(0)
        works, times = (np.add.reduceat(column[: bounds[-1]], bounds[:-1]) for column in (self._work, self._time))
        if self._last is not None:
            works, times = np.append(self._last[0], works), np.append(self._last[1], times)
        self._last = float(works[-1]), float(times[-1])
        self._work, self._time, self._quanta = (
            column[bounds[-1] :] for column in (self._work, self._time, self._quanta)
        )
        return np.asarray(works[:-1] / times[:-1])

    def _bounds(self) -> list[int]:
        """Where merged records begin and end."""
        passed = np.append(0.0, np.cumsum(self._time))
        enough = np.maximum.accumulate(passed[1:] - LEAST_QUANTA * self._quanta)
        bounds, place = [0], 0
        if self._last is None or not self.merges:
            long_enough = self._time >= LEAST_QUANTA * self._quanta
            if long_enough.all():
                return list(range(len(passed)))
        self.merges = True
        while place < len(self._time):
            end = int(np.searchsorted(enough, passed[place])) + 1
            if end > len(self._time):
                break
            place = max(end, place + 1)
            bounds.append(place)
        return bounds

    def rest(self) -> NDArray[np.float64]:
        """The rate of the last record, with what was left behind it."""
        if self._last is None:
            self.merges |= bool(len(self._time))
            return np.empty(0)
        work, time = self._last[0] + float(self._work.sum()), self._last[1] + float(self._time.sum())
        return np.array([work / time if time > 0 else np.nan])


def _median(values: NDArray[np.float64]) -> float:
    """The median, by partition in place (values may be mapped from a file)."""
    middle = len(values) // 2
    if len(values) % 2:
        values.partition(middle)
        return float(values[middle])
    values.partition((middle - 1, middle))
    return float((values[middle - 1] + values[middle]) / 2)


# ----------------------------------------------------------------------------------------------------
# Numbers that lines print beside what they measure, such as the TFLOP/s of a device: kept with each measurement.
#
# They stand in a segment's store below the fields of its measurements, one row for each of the pattern's
# ``printed_means`` in their order. Their mean over a window is weighted by the time of each measurement, so that a
# rate's mean is its total work over the total time.

_COVERS, _TIME, _LINE = (FIELDS.index(field) for field in ("covers", "time", "line"))


class Mean(NamedTuple):
    """The mean over time of one printed metric.

    ``value``: NaN where no line has a number; ``used``, ``unusable``: measurements with and without a number that says
    something; ``first_line``, ``last_line``: of those used.
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
    numbers = [kept(columns.get(value.group, unknown), good) for value in metrics]
    return np.vstack((measured, *map(partial(_usable, measured), metrics, numbers)))


def _usable(measured: Floats, value: Value, numbers: Floats) -> Floats:
    """A metric's printed numbers (used,), NaN for one that says nothing; a part of a step's time as a share of it.

    A share or a rate that is not positive says that the program does not know it. A part may be 0: a loader that is
    always ahead takes no time. Weighted by time, its shares have the mean that its total has of the total time.
    """
    if not value.is_part:
        return np.where(numbers > 0, numbers, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(numbers >= 0, numbers * measured[_COVERS] / measured[_TIME], np.nan)


class MeansOverTime:
    """Sums of printed metrics, block by block of the rows of a window."""

    def __init__(self) -> None:
        self._sums: Floats = np.zeros((2, 0))  # metric × time, time
        self._means: list[Mean] = []

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> tuple[Mean, ...]:
        """The mean of each metric over the rows of one block."""
        if len(rows) <= len(FIELDS):
            return ()
        means = cls()
        means._add(rows)
        return means.result()

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
        usable = np.isfinite(metrics) & (time > 0)
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
