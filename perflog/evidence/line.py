"""A second quantity on the measured lines: rate times time per step is the work of a step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from perflog.evidence.survey import ManyMarks
from perflog.evidence.witness import MOST_OUTSIDE, About, Agreement, Witness, near_factor
from perflog.formats.parser import Value
from perflog.formats.printed import kind, rate_unit, seconds_in
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


class Jobs(Struct, frozen=True):
    """What is known of ``n`` jobs, each by itself and as columns (n, 1) with NaN for what is unknown."""

    each: Sequence[Job]
    batch: Floats
    tokens: Floats
    multipliers: Mapping[str, Floats]

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> Jobs:
        scopes = {"job", *(scope for job in jobs for scope in job.multipliers)}
        return cls(
            jobs,
            _column([job.batch for job in jobs]),
            _column([job.tokens for job in jobs]),
            {scope: _column([job.multiplier(scope) for job in jobs]) for scope in scopes},
        )

    def work(self, what: str) -> Floats:
        """Work in one step, of the kind that is counted, (n, 1)."""
        unknown = np.full(self.batch.shape, np.nan)
        return {"items": self.batch, "tokens": self.tokens, "steps": np.ones(self.batch.shape)}.get(what, unknown)

    def multiplier(self, scope: str) -> Floats:
        """How many of a scope make up each job, (n, 1)."""
        return self.multipliers.get(scope, np.full(self.batch.shape, np.nan))


def _column(numbers: Sequence[float | None]) -> Floats:
    return np.array([[np.nan if number is None else number] for number in numbers], dtype=np.float64)


class Lines(Struct, frozen=True):
    """The measured lines of ``n`` logs of one format, ``k`` of each.

    Attributes:
        base: the value that the measurements stand on.
        scale: how many times its stored time is a second, (n,); NaN where that is unknown.
        marks: the measurements at the lines.
        columns: the printed numbers at the marks by group, (n, k) each.
        rounding: of each log by group, half of the last printed digit as a share of the number; none is known to
            matter of groups that are not named.
        jobs: what is known of the jobs.
    """

    base: Value
    scale: Floats
    marks: ManyMarks
    columns: Mapping[str, Floats]
    rounding: Sequence[Mapping[str, float]]
    jobs: Jobs


def line_witnesses(lines: Lines, others: Sequence[Value]) -> list[list[Witness]]:
    """Hold each other number on the lines against the one that is taken: the witnesses of each log, (n,).

    Args:
        others: the other values of the lines that measure.
    """
    found: list[list[Witness]] = [[] for _ in lines.rounding]
    for value in others:
        if value.group not in lines.columns or value is lines.base:
            continue
        said: Sequence[Witness | None] = ()
        if value.quantity == "elapsed":
            said = [_of_elapsed(lines, value, log) for log in range(len(found))]
        elif value.quantity in ("rate", "step_time", "interval_time"):
            with np.errstate(all="ignore"):
                said = _of_value(lines, value)
        for witnesses, witness in zip(found, said, strict=bool(said)):
            if witness is not None:
                witnesses.append(witness)
    return found


def _of_value(lines: Lines, value: Value) -> list[Witness | None]:
    base, marks = lines.base, lines.marks
    told = _seconds_per_step(value, lines)
    same_span, holds_base = base.coverage == value.coverage, base.group in lines.columns
    if same_span and holds_base:
        seconds = _seconds_per_step(base, lines)
    elif "cumulative" in (value.span, base.span):
        return _far_off(lines, value, told)
    else:
        seconds = marks.own[1] / marks.own[0] * lines.scale[:, np.newaxis]
    known = np.isfinite(told).any(axis=1) & np.isfinite(seconds).any(axis=1)
    comparable = np.asarray(known, dtype=np.bool_).tolist()
    products = _products(lines, value) if same_span and holds_base and not all(comparable) else None
    ratios = (told / seconds).tolist()
    return [
        _compared(lines, value, log, ratios[log], seconds[log]) if is_comparable
        else _product(lines, value, log, products[log]) if products is not None else None
        for log, is_comparable in enumerate(comparable)
    ]  # fmt: skip


def _far_off(lines: Lines, value: Value, told: Floats) -> list[Witness | None]:
    """A value beside a mean since the beginning: the clock holds its differences, and last steps its size."""
    marks = lines.marks
    if not compares_last(lines.base, value) or told.shape[1] < LEAST_LAST:
        return [None] * len(told)
    time, covers = (part[:, -1] - part[:, 0] for part in (marks.time, marks.covers))
    per_step = time / covers * lines.scale
    name = f"{value.group} on the lines"
    return [
        Witness(name, "time per step", "s", mine, float(told[log].mean()), "contradicts", marks.places[log])
        if is_far else None
        for log, (is_far, mine) in enumerate(zip(far_off(per_step, told).tolist(), per_step.tolist(), strict=True))
    ]  # fmt: skip


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


def _seconds_per_step(value: Value, lines: Lines) -> Floats:
    """What a value says of the time per step, (n, k); NaN where that needs a batch size that is not known."""
    printed = lines.columns[value.group]
    if value.quantity == "step_time":
        return printed * seconds_in(value.unit)
    if value.quantity == "interval_time":
        return np.asarray(printed * seconds_in(value.unit) / lines.marks.own[0])
    parsed = rate_unit(value.unit)
    if parsed is None:
        return np.full(printed.shape, np.nan)
    work, multiplier = lines.jobs.work(kind(parsed[0])), lines.jobs.multiplier(value.scope)
    return np.asarray(work / (printed * parsed[1] * multiplier))


def _compared(
    lines: Lines, value: Value, log: int, ratios_: Sequence[float], seconds: NDArray[np.float64]
) -> Witness | None:
    """Two numbers of a log that both tell the time per step: the base's seconds, and the other's as multiples, (k,)."""
    base, job, place = lines.base, lines.jobs.each[log], lines.marks.places[log]
    ratios = [ratio for ratio in ratios_ if math.isfinite(ratio) and ratio > 0]
    if not ratios:
        return None
    ratio = median(ratios)
    tolerance = SAME_SPAN if base.coverage == value.coverage else OTHER_SPAN
    tolerance += lines.rounding[log].get(value.group, 0.0) + lines.rounding[log].get(base.group, 0.0)
    agreement = _agreement(ratio, tolerance, job.factors)
    work = _work_of(base, job), _work_of(value, job)
    if (work[0] is None) == (work[1] is None):
        measured = median([second for second in seconds.tolist() if math.isfinite(second)])
        name = f"{value.group} on the lines"
        return Witness(name, "time per step", "s", measured, measured * ratio, agreement, place)
    size, unit = work[0] or work[1] or (1.0, "")
    product = size * ratio if work[0] is not None else size / ratio  # rate times time, whichever is measured
    rate, time = (base, value) if work[0] is not None else (value, base)
    name = f"{time.group} times {rate.group} on the lines"
    return Witness(name, "work per step", unit, float(size), product, agreement, place)


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


def _rate_and_time(one: Value, other: Value) -> tuple[Value, Value, tuple[str, float]] | None:
    """(a rate of work, a time, the rate's unit and its scale); None where two values are not one of each."""
    rate, time = (one, other) if one.quantity == "rate" else (other, one)
    parsed = rate_unit(rate.unit) if rate.quantity == "rate" else None
    return None if parsed is None or kind(parsed[0]) == "steps" or time.quantity == "rate" else (rate, time, parsed)


def _products(lines: Lines, value: Value) -> list[list[float]] | None:
    """Rate times time on each line, (n, k); None where the base and the value are not one of each."""
    pair = _rate_and_time(lines.base, value)
    if pair is None:
        return None
    rate, time, (_, scale) = pair
    multiplier = lines.jobs.multiplier(rate.scope)
    known = np.where(np.isnan(multiplier), 1.0, multiplier)
    products: list[list[float]] = (lines.columns[rate.group] * scale * known * _seconds_per_step(time, lines)).tolist()
    return products


def _product(lines: Lines, value: Value, log: int, products: Sequence[float]) -> Witness | None:
    """Rate times time where no batch size is known: one whole number on all lines is the work of a step."""
    pair = _rate_and_time(lines.base, value)
    known = [product for product in products if math.isfinite(product) and product > 0]
    if pair is None or len(known) < LEAST_PRODUCTS:
        return None
    rate, time, (unit, _) = pair
    typical = median(known)
    constant = all(abs(product / typical - 1) <= CONSTANT for product in known)
    off = abs(typical - round(typical)) / typical
    agreement: Agreement = "agrees" if constant and off <= CONSTANT else "silent"
    if typical < 1 - 2 * CONSTANT:
        agreement = "contradicts"  # less than one sample in a step of all devices
    elif constant and off > 2 * CONSTANT:
        agreement = "doubts"  # a part of a sample in every step
    name, told = f"{time.group} times {rate.group} on the lines", float(round(typical)) or 1.0
    return Witness(name, "work per step", unit.partition("/")[0], typical, told, agreement, lines.marks.places[log])


def _of_elapsed(lines: Lines, value: Value, log: int) -> Witness | None:
    """A clock since the start, by its differences."""
    marks, scale = lines.marks, float(lines.scale[log])
    if math.isnan(scale) or marks.end.shape[1] < 2:
        return None
    steps, clock = np.diff(marks.end[log]), np.diff(lines.columns[value.group][log] * seconds_in(value.unit))
    covers, time = np.diff(marks.covers[log]), np.diff(marks.time[log])
    usable = (steps > 0) & (clock > 0) & (covers > 0) & np.isfinite(clock)
    if not usable.any():
        return None
    measured = time[usable] / covers[usable] * scale * steps[usable]
    ratio = float(clock[usable].sum() / measured.sum())
    typical = ratio if abs(ratio - 1) <= SAME_SPAN else median((clock[usable] / measured).tolist())
    agreement = _agreement(typical, 0.05, lines.jobs.each[log].factors)
    if agreement == "doubts" and 1 < typical <= MOST_OUTSIDE:
        agreement = "slower"
    per_step, name = float(measured.sum() / steps[usable].sum()), f"{value.group} on the lines"
    return Witness(name, "time per step", "s", per_step, per_step * typical, agreement, marks.places[log])


# ----------------------------------------------------------------------------------------------------
# The program's own account of the whole run, held against all its measurements, the warm-up's too.

#: A mean over the same run agrees within this much.
TOLERANCE = 0.05
#: A program's mean holds evaluations and its start too; it may be so many times lower without a word.
OUTSIDE = 1.5
#: Two accounts of the same steps agree within this.
CLOSE = 0.02
#: A number that rounding hides more of says nothing.
MOST_ROUNDED = 0.25
#: The time of a whole run holds its start too, which may be long beside few steps.
WITH_START = 1.9


class Account(Struct, frozen=True):
    """What a program says of its whole run, in the unit of the measurements it is compared with.

    ``quantity``: *throughput*, *time per step* (seconds), or *run time* (seconds of the whole run). ``rounding``: what
    the printed digits may hide of it, as a share. ``close``: it is of the very steps of the
    window, of which the measurements are means that overlap, so that nothing explains more than :data:`CLOSE`.
    """

    name: str
    quantity: str
    value: float
    unit: str
    line: int
    rounding: float = 0.0
    close: bool = False


class Whole(Struct, frozen=True):
    """The run by its measurements.

    Attributes:
        throughput: of the window and of all measurements, in ``unit``; None where there is none.
        seconds_per_step: of the window and of all measurements; None where the log's times are not in seconds.
        seconds: of all measured steps; None where unknown.
        made: steps of this log, as a share of those that a program counts which went on from a checkpoint.
    """

    throughput: tuple[float, float] | None
    unit: str
    seconds_per_step: tuple[float, float] | None
    seconds: float | None
    made: float = 1.0


def summary_witnesses(accounts: Sequence[Account], whole: Whole, factors: Sequence[float]) -> list[Witness]:
    """Hold each account against the measurements; those of another unit are left out."""
    found = []
    for account in accounts:
        witness = None
        measured = _measured(account, whole)
        if account.quantity == "throughput" and measured is not None and account.unit == whole.unit:
            witness = _mean(account, measured, _of_steps_made(account.value, measured, whole), factors)
        elif account.quantity == "time per step" and measured is not None and account.value > 0:
            told = 1 / _of_steps_made(1 / account.value, _inverse(measured), whole)
            witness = _mean(account, measured, told, factors)
        elif account.quantity == "run time" and whole.seconds is not None:
            witness = _run_time(account, whole.seconds)
        if witness is not None:
            found.append(witness)
    return found


def counts_steps_before(account: Account, whole: Whole) -> bool:
    """Whether a rate or a time per step counts the steps before a checkpoint in the time of those of this log."""
    measured = _measured(account, whole)
    if measured is None or account.value <= 0:
        return False
    told = account.value
    if account.quantity == "time per step":
        measured, told = _inverse(measured), 1 / told
    agrees = min(measured) / (1 + TOLERANCE) <= told <= max(measured) * (1 + TOLERANCE)
    return not agrees and _of_steps_made(told, measured, whole) != told


def _measured(account: Account, whole: Whole) -> tuple[float, float] | None:
    """What an account is held against; None where it was not measured, or as nothing."""
    measured = {"throughput": whole.throughput, "time per step": whole.seconds_per_step}.get(account.quantity)
    return measured if measured is not None and min(measured) > 0 else None


def _inverse(numbers: tuple[float, float]) -> tuple[float, float]:
    return 1 / numbers[0], 1 / numbers[1]


def _of_steps_made(told: float, measured: tuple[float, float], whole: Whole) -> float:
    """A rate over the steps that were made; programs that resume often count those before the checkpoint too."""
    made = told * whole.made
    nearest = min(max(made, min(measured)), max(measured))
    return made if whole.made < 1 and abs(made / nearest - 1) <= TOLERANCE else told


def _mean(account: Account, measured: tuple[float, float], told: float, factors: Sequence[float]) -> Witness | None:
    if told <= 0 or account.rounding > MOST_ROUNDED:
        return None
    low, high = (measured[0], measured[0]) if account.close else (min(measured), max(measured))
    nearest = min(max(told, low), high)
    ratio = told / nearest
    faster = ratio if account.quantity == "throughput" else 1 / ratio
    about: About = "throughput" if account.quantity == "throughput" else "time per step"
    agreement = _agreement_of_summary(faster, factors, TOLERANCE + account.rounding)
    off = abs(faster - 1) > CLOSE + account.rounding
    if account.close and off and agreement != "contradicts":
        agreement = "doubts"
    return Witness(account.name, about, account.unit, nearest, told, agreement, (account.line, account.line))


def _agreement_of_summary(faster: float, factors: Sequence[float], tolerance: float) -> Agreement:
    """``faster``: how many times as fast the program says that it was."""
    if 1 / (1 + tolerance) <= faster <= 1 + tolerance:
        return "agrees"
    if near_factor(faster, factors):
        return "contradicts"
    if faster > 1 + 2 * tolerance or faster < 1 / OUTSIDE:
        return "doubts"
    return "slower" if faster < 1 else "silent"


def _run_time(account: Account, seconds: float) -> Witness | None:
    if seconds <= 0 or account.value <= 0:
        return None
    ratio = account.value / seconds
    agreement: Agreement = "slower"
    if ratio < 1 / (1 + 2 * TOLERANCE):
        agreement = "contradicts"  # the measured steps alone took longer than the whole run
    elif ratio <= 1 + TOLERANCE:
        agreement = "agrees"
    elif ratio > WITH_START:
        agreement = "doubts"
    lines = account.line, account.line
    return Witness(account.name, "time of the run", "s", seconds, account.value, agreement, lines)
