"""Work and time of measurements.

For every measurement two numbers are made, ``work`` and ``time``, such that over any set of measurements

    throughput = factor * sum(work) / sum(time)          (Hoefler & Belli 2015, rule 3)

whatever the format prints (rates, step times, running means, elapsed times). ``factor`` is one number for
the run: devices for a rate of one rank, the global batch for step times, 1 for a rate of the job.
"""

from __future__ import annotations

import numpy as np

from perflog.formats.units import rate_unit, seconds_in
from perflog.measurements.basis import Basis
from perflog.measurements.rows import Columns, Floats


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
