"""From a line's numbers to a measurement: how many steps it covers, and their work and time.

For every measurement two numbers are made, ``work`` and ``time``, such that over any set of measurements

    throughput = factor * sum(work) / sum(time)          (Hoefler & Belli 2015, rule 2: total work / total time)

whatever the format prints (rates, step times, running means, elapsed times). ``factor`` is one number for
the run: devices for a rate of one rank, the global batch for step times, 1 for a rate of the job.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perflog.formats.parser import Pattern, Value
from perflog.formats.units import kind, rate_unit, seconds_in

Floats = NDArray[np.float64]
Columns = dict[str, Floats]

_TIMES = ("step_time", "interval_time")
MEASURING = ("rate", "step_time", "interval_time", "elapsed", "timestamp")


@dataclass(frozen=True, slots=True)
class Plan:
    """Which value of a pattern is taken, and how."""

    value: Value
    weight: Value | None = None  # a time or steps per second of the same span, where work per step varies
    work: Value | None = None  # work per step, printed on the line
    batch_on_line: bool = False  # the global batch size is printed on the line
    note: str = ""

    @property
    def is_rate(self) -> bool:
        return self.value.quantity == "rate"

    @property
    def real_time(self) -> bool:
        """Whether ``time`` is in seconds (else in seconds per unit of work per step)."""
        return not self.is_rate or self.weight is not None or self.work is not None

    @property
    def unit(self) -> str | None:
        """Canonical unit of a rate declared by the parser; None when the line must say."""
        parsed = rate_unit(self.value.unit)
        return parsed[0] if parsed else None


def choose_plan(pattern: Pattern, columns: Columns, every_step: bool, steps_per_print: float, as_printed: bool) -> Plan | None:
    """Choose the value that says most about all steps, from what the first lines of a log print.

    A value of the last step alone is used when every step is printed (``every_step``); otherwise one that
    covers the steps in between. ``as_printed`` keeps the parser's order (conventions of published reports).
    """
    usable = [v for v in pattern.values if v.quantity in MEASURING and _any_finite(columns[v.group])]
    if not usable:
        return None
    rank = {"last": 0 if every_step else 4, "interval": 1, "cumulative": 2, "window": 3, "run": 5}
    order = {"rate": 0, "interval_time": 1, "step_time": 1, "elapsed": 2, "timestamp": 3}
    if as_printed:
        usable.sort(key=lambda v: order[v.quantity])
    else:
        usable.sort(key=lambda v: (rank[v.span], order[v.quantity]))
    chosen = usable[0]
    note = ""
    if chosen.span == "last" and not every_step and not as_printed:
        note = f"each line tells of its last step only: 1 of {steps_per_print:g} steps measured"
    if chosen.span == "window":
        note = f"each line is a mean over the last {chosen.window} steps, printed every {steps_per_print:g}"
    weight = work = None
    if chosen.quantity == "rate" and not as_printed:
        unit = rate_unit(chosen.unit)
        varies = unit is not None and kind(unit[0]) in ("tokens", "words")
        work = next((v for v in pattern.values if v.quantity == "samples" and _any_finite(columns[v.group])), None)
        if varies and work is None and chosen.span in ("interval", "last"):
            weight = next((v for v in usable if v.span == chosen.span and (v.quantity in _TIMES or _counts_steps(v))), None)
    batch = "global_batch_size" in columns and _any_finite(columns["global_batch_size"])
    return Plan(chosen, weight, work, batch and chosen.quantity != "rate", note)


def _any_finite(column: Floats) -> bool:
    return len(column) > 0 and bool(np.isfinite(column[0]) or np.isfinite(column).any())


def _counts_steps(value: Value) -> bool:
    unit = rate_unit(value.unit) if value.quantity == "rate" else None
    return unit is not None and unit[1] == 1.0 and kind(unit[0]) == "steps"


def work_and_time(plan: Plan, columns: Columns, covers: Floats) -> tuple[Floats, Floats]:
    """Work and time of measurements that are means over the steps they cover (not cumulative).

    Args:
        columns: printed numbers by group, each (n,).
        covers: steps that each measurement stands for, (n,).

    Returns:
        work (n,) and time (n,); NaN or non-positive where the line has no usable number.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # a printed 0 becomes infinite and is left out
        return _work_and_time(plan, columns, covers)


def _work_and_time(plan: Plan, columns: Columns, covers: Floats) -> tuple[Floats, Floats]:
    value = columns[plan.value.group]
    quantity = plan.value.quantity
    if quantity == "rate":
        parsed = rate_unit(plan.value.unit)
        rate = value * (parsed[1] if parsed else 1.0)
        if plan.work is not None:
            work = columns[plan.work.group] * covers
            return work, work / rate
        if plan.weight is not None:
            weight = columns[plan.weight.group]
            steps = 1.0 if plan.weight.quantity == "interval_time" else covers
            time = covers / weight if plan.weight.quantity == "rate" else weight * seconds_in(plan.weight.unit) * steps
            return rate * time, time
        return covers, covers / rate
    batch = columns["global_batch_size"] if plan.batch_on_line else 1.0
    if quantity == "step_time":
        return batch * covers, value * seconds_in(plan.value.unit) * covers
    if quantity == "interval_time":
        return batch * covers, value * seconds_in(plan.value.unit)
    raise ValueError(f"{quantity} is cumulative")


def running_totals(plan: Plan, columns: Columns, counted: Floats) -> Floats:
    """The time since the mean's beginning that each cumulative value stands for, (n,).

    ``counted``: steps in the mean. For a running mean of rates it is in the unit of :func:`work_and_time`
    (time per unit of work per step), so that differences of it are used like any other time.
    """
    value = columns[plan.value.group]
    if plan.value.quantity == "rate":
        parsed = rate_unit(plan.value.unit)
        with np.errstate(divide="ignore", invalid="ignore"):
            return counted / (value * (parsed[1] if parsed else 1.0))
    scale = seconds_in(plan.value.unit)
    if plan.value.quantity == "step_time":
        return value * scale * counted
    return value * scale  # elapsed, timestamp
