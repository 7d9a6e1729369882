"""The batch that two numbers on one line tell: samples per second times seconds per step.

Programs compute the rate of a step from its time and the batch, and print both: their product is the batch, one whole
number on all lines. It is the batch of whatever the rate is said of: of the job, or of one rank.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from perflog.evidence.rounding import decimals_of
from perflog.formats.parser import Pattern, Value
from perflog.formats.units import kind, rate_unit, seconds_in
from perflog.formats.vocabulary import Fact
from perflog.matching.samples import Samples
from perflog.measurements.rows import Floats
from perflog.reading.reading import Reading
from perflog.runs.extent import Extent
from perflog.stats.centre import median

#: So many lines must show the batch, and this share of those that are looked at.
LEAST_LINES, MOST_LINES = 3, 0.95
#: Of whose work a rate tells, and the fact that the batch then is.
_FACTS = {"job": "global_batch_size", "rank": "batch_size", "device": "batch_size"}
_DECIMALS = 8


def batch_on_lines(reading: Reading, parser: str, extent: Extent) -> list[Fact]:
    """The batch size that the measured lines of one parser tell by two of their numbers; none where they do not."""
    for key, samples in reading.samples.items():
        pattern = reading.patterns.get(key)
        if pattern is None or pattern.parser != parser or pattern.role != "step":
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
    rates = [value for value in pattern.values if value.quantity == "rate" and value.scope in _FACTS]
    of_samples = [rate for rate in rates if _of_samples(rate)]
    return [(rate, time) for rate, time in product(of_samples, times) if rate.coverage == time.coverage]


def _of_samples(rate: Value) -> bool:
    parsed = rate_unit(rate.unit)
    return parsed is not None and kind(parsed[0]) == "items" and not rate.same


def _batch(rate: Value, time: Value, samples: list[Samples], extent: Extent) -> int | None:
    """The one whole number that rate times time is on the lines of a run, within their digits; None for none or two."""
    parts = [_numbers(rate, time, part, extent) for part in samples if {rate.group, time.group} <= part.columns.keys()]
    numbers = parts[0] if len(parts) == 1 else np.concatenate([np.empty((2, 0)), *parts], axis=1)
    if numbers.shape[1] < LEAST_LINES:
        return None
    parsed = rate_unit(rate.unit)
    scale = seconds_in(time.unit) * (parsed[1] if parsed else 1.0)
    halves = np.array([[_half_digit(column)] for column in numbers])
    least, most = (np.maximum(numbers - halves, 0.0), numbers + halves)
    low, high = least[0] * least[1] * scale, most[0] * most[1] * scale
    middle = round(median((numbers[0] * numbers[1]).tolist()) * scale)
    whole = [n for n in (middle - 1, middle, middle + 1) if n > 0]
    lines = numbers.shape[1]
    near = [n for n in whole if int(((low <= n) & (n <= high)).sum()) / lines >= MOST_LINES]
    return near[0] if len(near) == 1 else None


def _numbers(rate: Value, time: Value, samples: Samples, extent: Extent) -> Floats:
    """Rate and time on the lines of a run that hold both, as they are printed, (2, n)."""
    both = np.array((samples.columns[rate.group], samples.columns[time.group]))
    inside = (samples.line >= extent.first_step) & (samples.line <= extent.last_step)
    with np.errstate(all="ignore"):
        known = inside & (both > 0).all(axis=0) & np.isfinite(both[0] * both[1])
    return both if known.all() else both[:, known]


def _half_digit(numbers: Floats) -> float:
    """Half of the last digit that the numbers need."""
    decimals = decimals_of(numbers.tolist(), _DECIMALS - 1)
    return float(0.5 * 10.0 ** -(_DECIMALS if decimals is None else decimals))
