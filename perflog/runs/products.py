"""The batch that two numbers on one line tell: samples per second times seconds per step.

Programs compute the rate of a step from its time and the batch, and print both: their product is the batch, one whole
number on all lines. It is the batch of whatever the rate is said of: of the job, or of one rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import isfinite

from perflog.evidence.rounding import decimals_of
from perflog.formats.parser import Pattern, Value
from perflog.formats.units import kind, rate_unit, seconds_in
from perflog.formats.vocabulary import Fact
from perflog.matching.samples import Samples
from perflog.reading.reading import Reading
from perflog.runs.extent import Extent
from perflog.stats.centre import median

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
