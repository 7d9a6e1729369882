"""Cumulative values, running means and clocks, back to intervals."""

from __future__ import annotations

import numpy as np

from perflog.measurements.basis import Basis
from perflog.measurements.rows import Columns, Floats, Ints, shifted
from perflog.measurements.segment import Count, RunningTotal
from perflog.measurements.steps import Steps
from perflog.measurements.work import running_totals


def differences(
    basis: Basis, columns: Columns, steps: Steps, count: Count, running: RunningTotal
) -> tuple[Floats, Floats, Floats, RunningTotal]:
    """(covers (n,), work (n,), time (n,), where the mean stands after the last row).

    A row whose count of steps cannot be known (a resumed run, before the mean restarts) has NaN covers.

    Args:
        columns: printed numbers by group, each (n,).
        running: where the mean or clock stood before the first row.
    """
    per_epoch = basis.value.since == "epoch"
    counted = (steps.within if per_epoch else steps.end) - basis.value.offset
    totals = running_totals(basis, columns, counted)
    covers, time = np.full(len(counted), np.nan), np.full(len(counted), np.nan)
    usable = np.flatnonzero(np.isfinite(totals) & (counted > 0))
    if not len(usable):
        return covers, covers.copy(), time, running
    total, count_of, epoch = totals[usable], counted[usable], steps.epoch[usable]
    before_total, before_count = _before(basis, total, count_of, epoch, count.resumed, running)
    covers[usable] = count_of - before_count
    time[usable] = total - before_total
    batch = columns["global_batch_size"] if basis.batch_on_line else 1.0
    after = RunningTotal(float(total[-1]), float(count_of[-1]), int(epoch[-1]) if per_epoch else running.epoch)
    return covers, covers * batch, time, after


def _before(
    basis: Basis, total: Floats, counted: Floats, epoch: Ints, resumed: bool, running: RunningTotal
) -> tuple[Floats, Floats]:
    """(total (n,), counted (n,)) at the row before each, 0 where the mean restarts, NaN where it cannot be known."""
    known = running.known
    before_total = shifted(total, running.total if known else 0.0)
    before_count = shifted(counted, running.counted if known else 0.0)
    restart = np.zeros(len(total), dtype=bool)
    if basis.value.since == "epoch":
        restart = np.diff(epoch, prepend=epoch[0]) > 0
        if known:
            restart[0] = epoch[0] != running.epoch
    before_total = np.where(restart, 0.0, before_total)
    before_count = np.where(restart, 0.0, before_count)
    if not known and (basis.value.quantity == "timestamp" or resumed):
        before_count[0] = before_total[0] = np.nan  # nothing says when the first interval began
    if resumed and basis.value.quantity not in ("elapsed", "timestamp"):
        blind = epoch == 0 if basis.value.since == "epoch" else np.ones(len(epoch), dtype=bool)
        before_count[blind] = np.nan  # counts are wrong until the mean restarts with an epoch
    return before_total, before_count
