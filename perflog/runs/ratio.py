"""The number of devices by two numbers on one line: a rate of the job beside one of a device.

Where a line prints work and time of the job in place of its rate, these give it. The number is a fact of the log when
it is the one whole number that the printed digits of all sampled lines allow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from perflog.formats.parser import Pattern, Value
from perflog.formats.units import rate_unit, seconds_in, work_unit
from perflog.formats.vocabulary import Fact
from perflog.reading.reading import Reading
from perflog.runs.extent import Extent

#: A range of ratios that is wider than this allows a whole number by chance; where one line tells it, than that.
WIDEST, WIDEST_OF_ONE = 0.5, 0.05
#: A number is never known more exactly than by this share.
EXACT = 1e-9
_TIMES = ("step_time", "interval_time")


class _Pair(NamedTuple):
    """A device's rate and what gives the job's: its rate, or its work per step and the time of a step.

    ``scale``: what turns the quotient of the printed numbers into a number of devices.
    """

    device: str
    job: str
    time: str | None
    scale: float


def prints_two_scopes(reading: Reading, parser: str) -> bool:
    """Whether lines of a parser print numbers of the job and of a device, so that a log may tell its devices."""
    return any(_pair(reading.patterns[key]) for key in reading.series if reading.patterns[key].parser == parser)


def devices_by_ratio(reading: Reading, parser: str, extent: Extent) -> Fact | None:
    """The number of devices that the measured lines of a run tell; None where they tell none for certain."""
    for key in reading.series:
        pattern = reading.patterns[key]
        pair = _pair(pattern) if pattern.parser == parser else None
        if pair is None:
            continue
        low, high, lines = 0.0, math.inf, []
        for line, *bounds in _ratios(reading, key, pair):
            if extent.first_step <= line <= extent.last_step:
                low, high = max(low, bounds[0]), min(high, bounds[1])
                lines.append(line)
        count = math.ceil(low)
        widest = WIDEST if len(lines) > 1 else WIDEST_OF_ONE
        if lines and 1 <= count <= high < count + 1 and high - low <= widest:
            return Fact("devices", str(count), "log", f"the rates on lines {min(lines)} to {max(lines)}")
    return None


def _pair(pattern: Pattern) -> _Pair | None:
    """What a pattern prints of a device and of the job, over the same steps."""
    rates = [(value, unit) for value in pattern.values if value.quantity == "rate" and (unit := rate_unit(value.unit))]
    for device, (work, scale) in rates:
        if device.scope != "device":
            continue
        for job, (other, factor) in rates:
            if job.scope == "job" and (other, job.coverage) == (work, device.coverage):
                return _Pair(device.group, job.group, None, factor / scale)
        counted = next((value for value in pattern.values if _is_work_of_step(value, work)), None)
        time = next((v for v in pattern.values if v.quantity in _TIMES and v.coverage == device.coverage), None)
        if counted is not None and time is not None and time.unit != "clock":
            return _Pair(device.group, counted.group, time.group, 1 / (scale * seconds_in(time.unit)))
    return None


def _is_work_of_step(value: Value, rate: str) -> bool:
    """Whether a value is the job's work in one step, in the unit of a rate."""
    counts = value.quantity == "samples" and value.scope == "job" and value.span != "cumulative"
    return counts and f"{work_unit(value.unit)}/s" == rate


def _ratios(reading: Reading, key: str, pair: _Pair) -> Iterator[tuple[int, float, float]]:
    """(line, least, greatest number of devices) that the digits of each sampled line allow."""
    groups = [group for group in pair[:3] if group is not None]
    for samples in reading.samples.get(key, []):
        if any(group not in samples.columns for group in groups):
            continue
        columns = [samples.columns[group].tolist() for group in groups]
        for line, device, job, *time in zip(samples.line.tolist(), *columns, strict=True):
            ranges = [_digits(number) for number in (device, job, *time)]
            if all(low > 0 and math.isfinite(high) for low, high in ranges):
                below, above = ranges[0], ranges[1]
                least, greatest = ranges[2] if time else (1.0, 1.0)
                low, high = above[0] / (below[1] * greatest), above[1] / (below[0] * least)
                yield line, low * pair.scale, high * pair.scale


def _digits(number: float) -> tuple[float, float]:
    """The range that a printed number stands for, by one of its last digit: it may be rounded or cut.

    Zeros at the end of a whole number may be no digits that were printed (``2.05M``).
    """
    if not math.isfinite(number) or number <= 0:
        return 0.0, math.inf
    text = f"{number:.15f}" if number < 1 else repr(number)
    if "e" in text:  # larger than any rate
        return 0.0, math.inf
    whole, _, decimals = text.partition(".")
    decimals = decimals.rstrip("0")
    unit = 10.0 ** -len(decimals) if decimals else 10.0 ** (len(whole) - len(whole.rstrip("0")))
    unit = max(unit, number * EXACT)
    return number - unit, number + unit
