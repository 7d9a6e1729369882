"""Measurements that rule the total: named, with their share of the time and the value without them."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from perflog.evidence.survey import SLOW, Heaviest, Slow
from perflog.measurements.segment import Segment, Taken
from perflog.measurements.store import Values
from perflog.stats.arrays import middle

#: The total may change by so much without one measurement before that is said.
MOST = 0.05
#: With fewer measurements each holds a large share by itself: the total may change by this factor without one.
LEAST_COUNT, MOST_OF_FEW = 5, 3.0
#: Of a longer series the median is not looked for: memory stays flat.
LONGEST = 2_000_000


class Ruling(Struct, frozen=True):
    """Slow measurements that rule a total.

    Attributes:
        text: the sentence that names them.
        label: how the number without them is made, for a cell.
        change: that number as a multiple of the total.
        records: how many they are; ``covers`` and ``time``: their steps and time, in the store's units.
    """

    text: str
    label: str
    change: float
    records: int
    covers: float
    time: float


def ruling_records(
    heaviest: Heaviest | None, slow: Slow, used: int, time: float, work: float, throughput: float
) -> Ruling | None:
    """The slow measurements without which the throughput would be more than 5 % higher; None for none.

    A clock runs on through evaluation and saving of which no line tells, and waiting for data looks alike.

    Args:
        used: how many measurements the estimate holds, with ``time`` and ``work`` together.
        throughput: the estimate in its unit.
    """
    if slow.number < 2 or used < LEAST_COUNT or slow.time >= time or work <= 0:
        return ruling_record(heaviest, used, time, work, throughput)
    change = (work - slow.work) / (time - slow.time) / (work / time)
    if change <= 1 + MOST:
        return ruling_record(heaviest, used, time, work, throughput)
    text = (
        f"{slow.number} measurements, the first at line {slow.first_line}, took {SLOW:g} times as long as the mean or "
        f"longer and hold {slow.time / time:.0%} of the measured time (evaluation, saving or waiting for data); "
        f"without them the throughput is {throughput * change:.5g}"
    )
    return Ruling(text, f"without {slow.number} slow records", change, slow.number, slow.covers, slow.time)


def ruling_record(heaviest: Heaviest | None, used: int, time: float, work: float, throughput: float) -> Ruling | None:
    """The measurement without which the throughput would be more than 5 % higher; None for none.

    Of fewer than five measurements, one without which it would be three times as high.

    Args:
        used: how many measurements the estimate holds, with ``time`` and ``work`` together.
        throughput: the estimate in its unit.
    """
    if heaviest is None or heaviest.time >= time or time <= 0 or work <= 0:
        return None
    change = (work - heaviest.work) / (time - heaviest.time) / (work / time)
    if change <= (1 + MOST if used >= LEAST_COUNT else MOST_OF_FEW):
        return None
    text = (
        f"line {heaviest.line} alone holds {heaviest.time / time:.0%} of the measured time; without it the throughput "
        f"is {throughput * change:.5g}"
    )
    return Ruling(text, f"without line {heaviest.line}", change, 1, heaviest.covers, heaviest.time)


def median_of_records(segment: Segment, taken: Taken) -> float:
    """The median of the rates of a window's measurements, as ``--estimator median`` takes it; NaN for too few."""
    rates = Values()
    for rows in segment.store.blocks():
        rates.append(rates_of(rows[:, taken.holds(rows)]))
    return middle_rate(rates.array())


def total_of_records(segment: Segment, taken: Taken) -> float:
    """The work of a window's measurements over their time, as ``--estimator total`` takes it; NaN for none."""
    inside = [rows[:, taken.holds(rows)] for rows in segment.store.blocks()]
    return total_rate(np.concatenate(inside, axis=1)) if inside else math.nan


def total_rate(rows: np.ndarray) -> float:
    """Work over time of measurements, rows (fields, n); NaN where they have no time."""
    work, time = math.fsum(rows[4]), math.fsum(rows[3])
    return work / time if time > 0 else math.nan


def rates_of(rows: np.ndarray) -> np.ndarray:
    """Work per time of each measurement, (n,), of rows (fields, n)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(rows[4] / rows[3])


def middle_rate(rates: np.ndarray) -> float:
    """The median of the rates that are positive numbers, (n,); NaN for fewer than five."""
    usable = rates[np.isfinite(rates) & (rates > 0)]
    return float(middle(usable)) if len(usable) >= LEAST_COUNT else float("nan")


def is_off(ratio: float, hidden: float = 0.0) -> bool:
    """Whether another estimate of the same records, as a multiple of the number, differs from it by more than 5 %.

    Args:
        hidden: what the last digit may hide of one record, as a share; more than 5 % hide the median.
    """
    return hidden <= MOST and abs(ratio - 1) > MOST + hidden  # False for NaN
