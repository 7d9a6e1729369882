"""Measurements that rule the total: named, with their share of the time and the value without them."""

from __future__ import annotations

from perflog.evidence.survey import SLOW, Heaviest, Slow

#: The total may change by so much without one measurement before that is said.
MOST = 0.05
#: With fewer measurements each holds a large share by itself: the total may change by this factor without one.
LEAST_COUNT, MOST_OF_FEW = 5, 3.0


def ruling_records(
    heaviest: Heaviest | None, slow: Slow, used: int, time: float, work: float, throughput: float
) -> str:
    """What is to be said of slow measurements without which the throughput would be more than 5 % higher; else empty.

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
    return (
        f"{slow.number} measurements, the first at line {slow.first_line}, took {SLOW:g} times as long as the mean or "
        f"longer and hold {slow.time / time:.0%} of the measured time (evaluation, saving or waiting for data); "
        f"without them the throughput is {throughput * change:.5g}"
    )


def ruling_record(heaviest: Heaviest | None, used: int, time: float, work: float, throughput: float) -> str:
    """What is to be said of a measurement without which the throughput would be more than 5 % higher; else empty.

    Of fewer than five measurements, one without which it would be three times as high.

    Args:
        used: how many measurements the estimate holds, with ``time`` and ``work`` together.
        throughput: the estimate in its unit.
    """
    if heaviest is None or heaviest.time >= time or time <= 0 or work <= 0:
        return ""
    change = (work - heaviest.work) / (time - heaviest.time) / (work / time)
    if change <= (1 + MOST if used >= LEAST_COUNT else MOST_OF_FEW):
        return ""
    return (
        f"line {heaviest.line} alone holds {heaviest.time / time:.0%} of the measured time; without it the throughput "
        f"is {throughput * change:.5g}"
    )
