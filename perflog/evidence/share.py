"""One measurement that rules the total: named, with its share of the time and the value without it."""

from __future__ import annotations

from perflog.evidence.survey import Heaviest

#: The total may change by so much without one measurement before that is said.
MOST = 0.05
#: With fewer measurements each holds a large share by itself.
LEAST_COUNT = 5


def ruling_record(heaviest: Heaviest | None, used: int, time: float, work: float, throughput: float) -> str:
    """What is to be said of a measurement without which the throughput would be more than 5 % higher; else empty.

    Args:
        used: how many measurements the estimate holds, with ``time`` and ``work`` together.
        throughput: the estimate in its unit.
    """
    if heaviest is None or used < LEAST_COUNT or heaviest.time >= time or time <= 0 or work <= 0:
        return ""
    change = (work - heaviest.work) / (time - heaviest.time) / (work / time)
    if change <= 1 + MOST:
        return ""
    return (
        f"line {heaviest.line} alone holds {heaviest.time / time:.0%} of the measured time; without it the throughput "
        f"is {throughput * change:.5g}"
    )
