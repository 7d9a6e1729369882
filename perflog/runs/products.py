"""The batch that two numbers on one line tell: samples per second times seconds per step.

Programs compute the rate of a step from its time and the batch, and print both: their product is the batch, one whole
number on all lines. It is the batch of whatever the rate is said of: of the job, or of one rank.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import isfinite
from types import MappingProxyType
from typing import NamedTuple

from perflog.evidence.witness import decimals_of
from perflog.formats.parser import Pattern, Value, once_a_pattern
from perflog.formats.printed import kind, rate_unit, seconds_in, work_unit
from perflog.formats.vocabulary import Fact
from perflog.matching.matches import Samples
from perflog.reading.reading import Reading
from perflog.stats.centre import median

# ----------------------------------------------------------------------------------------------------
# Which lines of a log are a run's own.


class Extent(NamedTuple):
    """The lines of one run.

    Attributes:
        begin: the line behind the run before it in the log; 1 where there is none.
        end: the last line that speaks of the run.
        first_step, last_step: the run's first and last measured line.
        program: the first line of its program; what is said before is another's.
        shapes: the patterns of the same format whose lines are woven with the run's, and where those begin.
    """

    begin: int
    end: int
    first_step: int
    last_step: int
    program: int = 1
    shapes: Mapping[str, int] = MappingProxyType({})

    def serves_another(self, line: int) -> bool:
        """Whether what a line says is of lines of another shape, which are the first to stand behind it."""
        return any(line < first < self.first_step or self.first_step < line < first for first in self.shapes.values())


#: So many lines must show the batch, and this share of those that are looked at.
LEAST_LINES, MOST_LINES = 3, 0.95
#: Of whose work a rate tells, and the fact that the batch then is.
_FACTS = {"job": "global_batch_size", "rank": "batch_size", "device": "batch_size"}
_DECIMALS = 8


def batch_on_lines(reading: Reading, parser: str, extent: Extent) -> list[Fact]:
    """The batch size that the lines of a run tell by two of their numbers; none where they do not."""
    for key, samples in reading.samples.items():
        pattern = reading.patterns.get(key)
        if pattern is None or pattern.parser != parser or pattern.role != "step" or key in extent.shapes:
            continue
        for rate, time in _pairs(pattern):
            batch = _batch(rate, time, samples, extent)
            if batch is not None:
                where = f"{rate.group} times {time.group} on lines {extent.first_step} to {extent.last_step}"
                return [Fact(_FACTS[rate.scope], batch, "log", where)]
    return []


@once_a_pattern
def _pairs(pattern: Pattern) -> list[tuple[Value, Value]]:
    """The rates of samples and times of a step that are means over the same steps."""
    times = [value for value in pattern.values if value.quantity == "step_time"]
    rates = [value for value in pattern.values if value.quantity == "rate"] if times else []
    of_samples = [rate for rate in rates if rate.scope in _FACTS and _of_samples(rate)]
    return [(rate, time) for rate, time in product(of_samples, times) if rate.coverage == time.coverage]


def _of_samples(rate: Value) -> bool:
    parsed = rate_unit(rate.unit)
    return parsed is not None and kind(parsed[0]) == "items" and not rate.same


def _batch(rate: Value, time: Value, samples: list[Samples], extent: Extent) -> int | None:
    """The one whole number that rate times time is on the lines of a run, within their digits; None for none or two."""
    parts = [_numbers(rate, time, part, extent) for part in samples if {rate.group, time.group} <= part.columns.keys()]
    numbers = [pair for part in parts for pair in part]
    if len(numbers) < LEAST_LINES:
        return None
    parsed = rate_unit(rate.unit)
    scale = seconds_in(time.unit) * (parsed[1] if parsed else 1.0)
    rates, times = zip(*numbers, strict=True)
    half_rate, half_time = _half_digit(rates), _half_digit(times)
    lows = [(r - half_rate if r > half_rate else 0.0) * (t - half_time if t > half_time else 0.0) * scale
            for r, t in numbers]  # fmt: skip
    highs = [(r + half_rate) * (t + half_time) * scale for r, t in numbers]
    middle = round(median([r * t for r, t in numbers]) * scale)
    near = [n for n in (middle - 1, middle, middle + 1) if n > 0 and _share_of_lines(n, lows, highs) >= MOST_LINES]
    return near[0] if len(near) == 1 else None


def _share_of_lines(batch: int, lows: Sequence[float], highs: Sequence[float]) -> float:
    """On which share of the lines, each with its bounds, a batch may be what rate times time is."""
    if min(lows) > batch or max(highs) < batch:
        return 0.0
    if max(lows) <= batch <= min(highs):
        return 1.0
    return sum(low <= batch <= high for low, high in zip(lows, highs, strict=True)) / len(lows)


def _numbers(rate: Value, time: Value, samples: Samples, extent: Extent) -> list[tuple[float, float]]:
    """Rate and time on the lines of a run that hold both, as they are printed."""
    lines, first, last = samples.line.tolist(), extent.first_step, extent.last_step
    pairs: Iterable[tuple[float, float]]
    pairs = zip(samples.columns[rate.group].tolist(), samples.columns[time.group].tolist(), strict=True)
    if lines and (lines[0] < first or lines[-1] > last):
        pairs = (pair for line, pair in zip(lines, pairs, strict=True) if first <= line <= last)
    return [(r, t) for r, t in pairs if r > 0 and t > 0 and isfinite(r * t)]


def _half_digit(numbers: Sequence[float]) -> float:
    """Half of the last digit that the numbers need."""
    decimals = decimals_of(numbers, _DECIMALS - 1)
    return float(0.5 * 10.0 ** -(_DECIMALS if decimals is None else decimals))


# ----------------------------------------------------------------------------------------------------
# The number of devices by two numbers on one line: a rate of the job beside one of a device.
#
# Where a line prints work and time of the job in place of its rate, these give it. The number is a fact of the log when
# it is the one whole number that the printed digits of all sampled lines allow.

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


@once_a_pattern
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
