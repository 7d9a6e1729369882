"""The basis of a log's measurements: which of the printed values is taken, and how."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perflog.formats.parser import Pattern, Value
from perflog.formats.printed import kind, rate_unit, seconds_in
from perflog.measurements.rows import Columns, Floats, Ints
from perflog.stats.arrays import middle
from perflog.stats.resolution import printed_quantum

_TIMES = ("step_time", "interval_time")
#: The step of numbers that are printed more finely than matters.
FINER = 1e-7
MEASURING = ("rate", "step_time", "interval_time", "elapsed", "timestamp")


class Basis(Struct, frozen=True):
    """Which value of a pattern is taken, and how."""

    value: Value
    weight: Value | None = None  # a time or steps per second of the same span, where work per step varies
    work: Value | None = None  # work per step, or since the beginning, printed on the line
    batch_on_line: bool = False  # the global batch size is printed on the line
    note: str = ""
    window: int = 0  # over how many steps a value with span "window" looks back
    first_is_start: bool = False  # of a clock: its first row says when the measured steps began, not how long they took

    @property
    def is_rate(self) -> bool:
        return self.value.quantity == "rate"

    @property
    def counts_work(self) -> bool:
        """Whether the work is printed beside a time."""
        return self.work is not None and not self.is_rate

    @property
    def real_time(self) -> bool:
        """Whether ``time`` is in seconds (else in seconds per unit of work per step)."""
        return not self.is_rate or self.weight is not None or self.work is not None

    @property
    def unit(self) -> str | None:
        """Canonical unit of a rate declared by the parser; None when the line must say."""
        parsed = rate_unit(self.value.unit)
        return parsed[0] if parsed else None


def choose_basis(
    pattern: Pattern, columns: Columns, every_step: bool, steps_per_print: float, as_printed: bool,
    window: float | None = None,
) -> Basis | None:  # fmt: skip
    """Choose the value that says most about all steps, from what the first lines of a log print.

    A value of the last step alone is used when every step is printed (``every_step``); otherwise one that
    covers the steps in between. ``as_printed`` keeps the parser's order (conventions of published reports).

    Args:
        steps_per_print: the usual number of steps between two lines, 0 where no line tells its step.
        window: over how many steps the log says that a mean looks back, where it does.
    """
    usable = _usable(pattern, columns, every_step, as_printed)
    if not usable:
        return None
    chosen = usable[0] if as_printed or not pattern.irregular else _finest(usable, columns)
    weight = work = None
    works = [value for value in pattern.values if value.quantity == "samples" and not value.partial]
    counted = next((value for value in works if _any_finite(columns[value.group])), None)
    timed = None if counted is None or as_printed else _timed(usable, chosen)
    if timed is not None:
        chosen, work = timed, counted
    elif chosen.quantity == "rate" and not as_printed:
        unit = rate_unit(chosen.unit)
        varies = unit is not None and kind(unit[0]) in ("tokens", "words")
        work = counted if counted is not None and counted.span != "cumulative" else None
        if varies and work is None and chosen.span in ("interval", "last"):
            weight = next(
                (v for v in usable if v.coverage == chosen.coverage and (v.quantity in _TIMES or _counts_steps(v))),
                None,
            )
    batch = "global_batch_size" in columns and _any_finite(columns["global_batch_size"])
    reach = int(window) if window and chosen.window_from else chosen.window
    note = _note_on(chosen, reach, every_step or as_printed, steps_per_print)
    first_is_start = pattern.first_is_start and chosen.quantity == "elapsed"
    return Basis(chosen, weight, work, batch and chosen.quantity != "rate", note, reach, first_is_start)


def _usable(pattern: Pattern, columns: Columns, every_step: bool, as_printed: bool) -> list[Value]:
    """The values that the lines print, the one that says most about all steps first."""
    usable = [v for v in pattern.values if v.quantity in MEASURING and _any_finite(columns[v.group])]
    rank = {"last": 0 if every_step else 4, "interval": 1, "cumulative": 2, "window": 3, "run": 5}
    order = {"rate": 0, "interval_time": 1, "step_time": 1, "elapsed": 2, "timestamp": 3}
    if as_printed:
        return sorted(usable, key=lambda v: order[v.quantity])
    return sorted(usable, key=lambda v: (rank[v.span], order[v.quantity]))


def _note_on(chosen: Value, window: int, whole: bool, steps_per_print: float) -> str:
    """What is said of a value that does not cover all steps; ``whole``: single steps are taken as they are."""
    if chosen.span == "last" and not whole:
        if not steps_per_print:
            return "each line tells of its last step only, and no line says which steps are printed"
        return f"each line tells of its last step only: 1 of {steps_per_print:g} steps measured"
    if chosen.span == "window":
        printed = f", printed every {steps_per_print:g}" if steps_per_print else ""
        return f"each line is a mean over the last {window} steps{printed}"
    return ""


def _finest(usable: Sequence[Value], columns: Columns) -> Value:
    """Of a bar's running means and clocks the one that is printed most finely; else the best by its span."""
    cumulative = [value for value in usable if value.span == "cumulative"]
    if usable[0] not in cumulative:
        return usable[0]
    return min(cumulative, key=lambda value: _half_digit_share(columns[value.group], value.quantity))


def _half_digit_share(column: Floats, quantity: str) -> float:
    """How much of the largest number its rounding may hide, by the decimals that the numbers need.

    A clock is cut and not rounded, so that a whole digit may be missing.
    """
    known = column[np.isfinite(column) & (column > 0)]
    if not len(known):
        return float("inf")
    quantum = printed_quantum(known) or FINER
    return float((1.0 if quantity == "elapsed" else 0.5) * quantum / known.max())


def _timed(usable: Sequence[Value], chosen: Value) -> Value | None:
    """The time to be set against printed work; None where the best value, a rate of the whole job, says it itself."""
    if chosen.quantity != "rate":
        return chosen
    if chosen.scope in ("job", "unknown"):
        return None
    return next((value for value in usable if value.quantity in (*_TIMES, "elapsed") and value.span != "last"), None)


def _any_finite(column: Floats) -> bool:
    return len(column) > 0 and bool(np.isfinite(column[0]) or np.isfinite(column).any())


def _counts_steps(value: Value) -> bool:
    unit = rate_unit(value.unit) if value.quantity == "rate" else None
    return unit is not None and unit[1] == 1.0 and kind(unit[0]) == "steps"


# ----------------------------------------------------------------------------------------------------
# Work and time of measurements.
#
# For every measurement two numbers are made, ``work`` and ``time``, such that over any set of measurements
#
# throughput = factor * sum(work) / sum(time)          (Hoefler & Belli 2015, rule 3)
#
# whatever the format prints (rates, step times, running means, elapsed times). ``factor`` is one number for
# the run: devices for a rate of one rank, the global batch for step times, 1 for a rate of the job.


def work_and_time(basis: Basis, columns: Columns, covers: Floats) -> tuple[Floats, Floats]:
    """Work and time of measurements that are means over the steps they cover (not cumulative).

    Args:
        columns: printed numbers by group, each (n,).
        covers: steps that each measurement stands for, (n,).

    Returns:
        work (n,) and time (n,); NaN or non-positive where the line has no usable number.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # a printed 0 becomes infinite and is left out
        return _work_and_time(basis, columns, covers)


def _work_and_time(basis: Basis, columns: Columns, covers: Floats) -> tuple[Floats, Floats]:
    value = columns[basis.value.group]
    quantity = basis.value.quantity
    if quantity == "rate":
        parsed = rate_unit(basis.value.unit)
        rate = value * (parsed[1] if parsed else 1.0)
        if basis.work is not None:
            work = columns[basis.work.group] * covers
            return work, work / rate
        if basis.weight is not None:
            weight = columns[basis.weight.group]
            steps = 1.0 if basis.weight.quantity == "interval_time" else covers
            time = (
                covers / weight if basis.weight.quantity == "rate" else weight * seconds_in(basis.weight.unit) * steps
            )
            return rate * time, time
        return covers, covers / rate
    batch = work_per_step(basis, columns)
    if quantity == "step_time":
        return batch * covers, value * seconds_in(basis.value.unit) * covers
    if quantity == "interval_time":
        return batch * covers, value * seconds_in(basis.value.unit)
    raise ValueError(f"{quantity} is cumulative")


def work_per_step(basis: Basis, columns: Columns) -> Floats | float:
    """The work of a step that the lines print, (n,), in the unit of the factor; 1 where they print none."""
    if basis.batch_on_line:
        return columns["global_batch_size"]
    if basis.counts_work and basis.work is not None and basis.work.span != "cumulative":
        return columns[basis.work.group]
    return 1.0


def running_totals(basis: Basis, columns: Columns, counted: Floats) -> Floats:
    """The time since the mean's beginning that each cumulative value stands for, (n,).

    ``counted``: steps in the mean. For a running mean of rates it is in the unit of :func:`work_and_time`
    (time per unit of work per step), so that differences of it are used like any other time.
    """
    value = columns[basis.value.group]
    if basis.value.quantity == "rate":
        parsed = rate_unit(basis.value.unit)
        with np.errstate(divide="ignore", invalid="ignore"):
            return counted / (value * (parsed[1] if parsed else 1.0))
    scale = seconds_in(basis.value.unit)
    if basis.value.quantity == "step_time":
        return value * scale * counted
    return value * scale  # elapsed, timestamp


# ----------------------------------------------------------------------------------------------------
# A running mean and the last step's time on one line, printed the other way round than a format prints them.

#: With fewer intervals nothing is known of how they scatter.
LEAST = 8
#: The intervals between means scatter so many times as much where they are differences of single steps.
SCATTER = 4.0
#: A mean and single steps differ by less than this factor.
ALIKE = 2.0
#: With fewer epochs nothing is known of how their first intervals differ from the others.
LEAST_EPOCHS = 3
#: An effect of less than this share of an interval is no evidence: no number would be wrong by as much.
LEAST_EFFECT = 0.02


def twin(pattern: Pattern, basis: Basis, columns: Columns) -> Value | None:
    """The last step's time beside the running mean that is measured; None where there is none."""
    mean = basis.value
    if mean.span != "cumulative" or mean.quantity != "step_time":
        return None
    return next(
        (v for v in pattern.values if v.span == "last" and v.quantity == mean.quantity and v.group in columns), None
    )


def are_swapped(mean: Floats, last: Floats, counted: Floats, epoch: Ints) -> bool:
    """Whether what is to be a running mean moves like single steps, and what is to be these like a running mean.

    The time since the line before follows from two means; taken from two single steps it scatters the more the more
    steps were counted. Digits that were rounded off scatter so too, and are allowed for. Where neither scatters clearly
    more than the other, the first step of an epoch decides: it is slow, so that the first interval between single steps
    seems short in each epoch.

    Args:
        mean, last: as printed, (n,).
        counted: the steps in each mean, (n,); ``epoch``: how many epochs began before, (n,).
    """
    inner = np.flatnonzero((np.diff(epoch) == 0) & (np.diff(counted) > 0) & (counted[:-1] > 0))
    if len(inner) < LEAST:
        return False
    between = counted[inner + 1] - counted[inner]
    of_means, of_steps = (
        (column[inner + 1] * counted[inner + 1] - column[inner] * counted[inner]) / between for column in (mean, last)
    )
    if not np.isfinite(of_means).all() or not np.isfinite(of_steps).all():
        return False
    if not middle(last) / ALIKE < middle(mean) < ALIKE * middle(last):  # a sum, say
        return False
    rounding = (printed_quantum(mean) or FINER) * counted[inner] / between
    hidden, least = float(middle(rounding)), LEAST_EFFECT * float(middle(mean))
    by_means, by_steps = _scatter(of_means), _scatter(of_steps)
    if by_means > max(SCATTER * (by_steps + hidden), least):
        return True
    if by_steps > SCATTER * (by_means + hidden):
        return False
    first = np.append(True, np.diff(epoch[inner]) > 0)
    if first.sum() < LEAST_EPOCHS:
        return False
    low, other = (float(middle(times[first])) - float(middle(times)) for times in (of_means, of_steps))
    return -low > max(SCATTER * (abs(other) + float(middle(rounding[first]))), least)


def _scatter(values: Floats) -> float:
    return float(middle(np.abs(values - middle(values))))
