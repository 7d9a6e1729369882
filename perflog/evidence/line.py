"""A second quantity on the measured lines: rate times time per step is the work of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from perflog.evidence.survey import Marks
from perflog.evidence.witness import MOST_OUTSIDE, Agreement, Witness, near_factor
from perflog.formats.parser import Value
from perflog.formats.units import kind, rate_unit, seconds_in
from perflog.measurements.rows import Floats
from perflog.stats.arrays import middle
from perflog.stats.centre import median

#: Two means over the same steps agree within this much, and the rounding of what is printed.
SAME_SPAN = 0.02
#: Two means over different steps are only held against each other for factors.
OTHER_SPAN = 0.25
#: Last steps of so many lines, all far shorter or longer than a running mean's steps, are no chance: it is another sum.
LEAST_LAST, FAR_OFF = 5, 10.0
#: Of work per step, as rate times time: it is the same whole number on all lines within this much.
CONSTANT = 0.01
#: On so many lines at least.
LEAST_PRODUCTS = 3


class Job(Struct, frozen=True):
    """What is known of the job.

    Attributes:
        batch: samples in one step of the whole job; None while unknown.
        tokens: tokens in one step of the whole job; None while unknown.
        multipliers: how many of each scope (``rank``, ``device``, ``node``) make up the job, those that are known.
        factors: ratios that a misreading of this log would give: devices, accumulation, print interval.
        certain: whether the log prints the samples of a step of the whole job, so that nothing is left out of them.
        accumulation: micro-batches in a step, as the log states them; 1 where it does not.
    """

    batch: float | None
    tokens: float | None
    multipliers: Mapping[str, float]
    factors: Sequence[float]
    certain: bool = True
    accumulation: float = 1.0

    def multiplier(self, scope: str) -> float | None:
        return 1.0 if scope == "job" else self.multipliers.get(scope)

    def work(self, what: str) -> float | None:
        """Work in one step, of the kind that is counted: ``items``, ``tokens`` or ``steps``."""
        return {"items": self.batch, "tokens": self.tokens, "steps": 1.0}.get(what)


class Base(Struct, frozen=True):
    """The value that the measurements stand on, and how many times its stored time is a second (None: unknown)."""

    value: Value
    scale: float | None


def line_witnesses(
    base: Base, others: Sequence[Value], marks: Marks, columns: Mapping[str, Floats], rounding: Mapping[str, float],
    job: Job,
) -> list[Witness]:  # fmt: skip
    """Hold each other number on the lines against the one that is taken.

    Args:
        others: the other values of the lines that measure.
        columns: the printed numbers at the marks by group, (k,) each.
        rounding: half of the last printed digit by group, as a share of the number; 0 where it is not known.
        job: what is known of the job.
    """
    found = []
    for value in others:
        if value.group not in columns or value is base.value:
            continue
        witness = None
        if value.quantity == "elapsed":
            witness = _of_elapsed(base, value, marks, columns[value.group], job)
        elif value.quantity in ("rate", "step_time", "interval_time"):
            tolerance = SAME_SPAN if base.value.coverage == value.coverage else OTHER_SPAN
            tolerance += rounding.get(value.group, 0.0) + rounding.get(base.value.group, 0.0)
            witness = _of_value(base, value, marks, columns, job, tolerance)
        if witness is not None:
            found.append(witness)
    return found


def _of_value(
    base: Base, value: Value, marks: Marks, columns: Mapping[str, Floats], job: Job, tolerance: float
) -> Witness | None:
    covers, time, _ = marks.own
    printed = columns[value.group]
    with np.errstate(divide="ignore", invalid="ignore"):
        told = _seconds_per_step(value, printed, covers, job)
        if base.value.coverage == value.coverage and base.value.group in columns:
            seconds = _seconds_per_step(base.value, columns[base.value.group], covers, job)
            if not np.isfinite(told).any() or not np.isfinite(seconds).any():
                return _product(base.value, value, marks, columns, job)
        elif "cumulative" in (value.span, base.value.span):
            # a mean since the beginning beside records: the clock holds its differences, and last steps its size
            if not compares_last(base.value, value) or len(marks) < LEAST_LAST:
                return None
            per_step = (marks.time[-1] - marks.time[0]) / (marks.covers[-1] - marks.covers[0])
            per_step *= base.scale if base.scale is not None else np.nan
            if not far_off(np.array([per_step]), told[np.newaxis])[0]:
                return None
            name, mean = f"{value.group} on the lines", float(told.mean())
            return Witness(name, "time per step", "s", float(per_step), mean, "contradicts", _lines(marks))
        else:
            seconds = time / covers * (base.scale if base.scale is not None else np.nan)
        if not np.isfinite(told).any() or not np.isfinite(seconds).any():
            return None
        return _compared(base, value, marks, seconds, told, job, tolerance)


def compares_last(base: Value, value: Value) -> bool:
    """Whether a value is of last steps alone, beside a mean since the beginning that is taken."""
    return value.span == "last" and base.span == "cumulative"


def far_off(per_step: Floats, told: Floats) -> NDArray[np.bool_]:
    """Whether each log's last steps, (n, k) seconds, are all but impossible as some of its steps.

    Steps may stall, and the printed ones be those that do not; of a factor above ten, both by their mean and by their
    median, a sum that is taken for a mean is the cause.

    Args:
        per_step: the mean time of all steps by differences of the running mean, (n,).
    """
    usable = np.isfinite(told).all(axis=1) & (told > 0).all(axis=1) & (per_step > 0)
    mean, centre = told.mean(axis=1), middle(told)
    short = np.maximum(mean, centre) * FAR_OFF < per_step
    long = np.minimum(mean, centre) > per_step * FAR_OFF
    return np.asarray(usable & (short | long), dtype=np.bool_)


def _seconds_per_step(value: Value, printed: Floats, covers: Floats, job: Job) -> Floats:
    """What a value says of the time per step, (k,); NaN where that needs a batch size that is not known."""
    if value.quantity == "step_time":
        return printed * seconds_in(value.unit)
    if value.quantity == "interval_time":
        return printed * seconds_in(value.unit) / covers
    parsed = rate_unit(value.unit)
    multiplier = job.multiplier(value.scope)
    work = job.work(kind(parsed[0])) if parsed is not None else None
    if parsed is None or multiplier is None or work is None:
        return np.full(len(printed), np.nan)
    return work / (printed * parsed[1] * multiplier)


def _compared(
    base: Base, value: Value, marks: Marks, seconds: Floats, told: Floats, job: Job, tolerance: float
) -> Witness | None:
    ratios = [ratio for ratio in (told / seconds).tolist() if np.isfinite(ratio) and ratio > 0]
    if not ratios:
        return None
    ratio = median(ratios)
    agreement = _agreement(ratio, tolerance, job.factors)
    work = _work_of(base.value, job), _work_of(value, job)
    if (work[0] is None) == (work[1] is None):
        measured = median([second for second in seconds.tolist() if np.isfinite(second)])
        name = f"{value.group} on the lines"
        return Witness(name, "time per step", "s", measured, measured * ratio, agreement, _lines(marks))
    size, unit = work[0] or work[1] or (1.0, "")
    product = size * ratio if work[0] is not None else size / ratio  # rate times time, whichever is measured
    rate, time = (base.value, value) if work[0] is not None else (value, base.value)
    name = f"{time.group} times {rate.group} on the lines"
    return Witness(name, "work per step", unit, float(size), product, agreement, _lines(marks))


def _work_of(value: Value, job: Job) -> tuple[float, str] | None:
    """The work of a step, without which a number tells no time per step, and its unit; None for other numbers."""
    parsed = rate_unit(value.unit) if value.quantity == "rate" else None
    work = job.work(kind(parsed[0])) if parsed is not None and kind(parsed[0]) != "steps" else None
    return None if parsed is None or work is None else (work, parsed[0].partition("/")[0])


def _agreement(ratio: float, tolerance: float, factors: Sequence[float]) -> Agreement:
    if tolerance >= 1 or 1 - tolerance <= ratio <= 1 / (1 - tolerance):  # either number may be the rounded one
        return "agrees"
    if near_factor(ratio, factors) or not 0.5 <= ratio <= 2:
        return "contradicts"
    return "doubts" if tolerance < OTHER_SPAN else "silent"


def _product(one: Value, other: Value, marks: Marks, columns: Mapping[str, Floats], job: Job) -> Witness | None:
    """Rate times time where no batch size is known: one whole number on all lines is the work of a step."""
    rate, time = (one, other) if one.quantity == "rate" else (other, one)
    parsed = rate_unit(rate.unit) if rate.quantity == "rate" else None
    if parsed is None or kind(parsed[0]) == "steps" or time.quantity == "rate":
        return None
    multiplier = job.multiplier(rate.scope) or 1.0
    seconds = _seconds_per_step(time, columns[time.group], marks.own[0], job)
    products = columns[rate.group] * parsed[1] * multiplier * seconds
    known = [product for product in products.tolist() if np.isfinite(product) and product > 0]
    if len(known) < LEAST_PRODUCTS:
        return None
    typical = median(known)
    constant = all(abs(product / typical - 1) <= CONSTANT for product in known)
    off = abs(typical - round(typical)) / typical
    agreement: Agreement = "agrees" if constant and off <= CONSTANT else "silent"
    if typical < 1 - 2 * CONSTANT:
        agreement = "contradicts"  # less than one sample in a step of all devices
    elif constant and off > 2 * CONSTANT:
        agreement = "doubts"  # a part of a sample in every step
    name = f"{time.group} times {rate.group} on the lines"
    unit = parsed[0].partition("/")[0]
    return Witness(name, "work per step", unit, typical, float(round(typical)) or 1.0, agreement, _lines(marks))


def _of_elapsed(base: Base, value: Value, marks: Marks, printed: Floats, job: Job) -> Witness | None:
    """A clock since the start, by its differences."""
    if base.scale is None or len(marks) < 2:
        return None
    steps, clock = np.diff(marks.end), np.diff(printed * seconds_in(value.unit))
    covers, time = np.diff(marks.covers), np.diff(marks.time)
    usable = (steps > 0) & (clock > 0) & (covers > 0) & np.isfinite(clock)
    if not usable.any():
        return None
    measured = time[usable] / covers[usable] * base.scale * steps[usable]
    ratio = float(clock[usable].sum() / measured.sum())
    typical = ratio if abs(ratio - 1) <= SAME_SPAN else median((clock[usable] / measured).tolist())
    agreement = _agreement(typical, 0.05, job.factors)
    if agreement == "doubts" and 1 < typical <= MOST_OUTSIDE:
        agreement = "slower"
    per_step = float(measured.sum() / steps[usable].sum())
    return Witness(
        f"{value.group} on the lines", "time per step", "s", per_step, per_step * typical, agreement, _lines(marks)
    )


def _lines(marks: Marks) -> tuple[int, int]:
    return int(marks.lines[0]), int(marks.lines[-1])
