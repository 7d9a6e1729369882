"""From rows that are in order to measurements: steps covered, work and time of each."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from perflog.formats.parser import Pattern
from perflog.measurements.basis import Basis
from perflog.measurements.differences import counted_work, differences, until_full
from perflog.measurements.rows import Floats, Mask, Rows, kept
from perflog.measurements.segment import Count, RunningTotal
from perflog.measurements.steps import Steps, explicit_covers
from perflog.measurements.store import FIELDS
from perflog.measurements.work import work_and_time


class Measured(Struct, frozen=True):
    """The measurements of ``n`` rows.

    Attributes:
        rows: those that can be used, (len(store.FIELDS), used).
        unusable: rows without a usable number, (n,).
        unknown: rows whose covers cannot be known, (n,).
        running: where a running mean stands after the last row.
        good: which rows can be used, (n,).
    """

    rows: Floats
    unusable: Mask
    unknown: Mask
    running: RunningTotal
    good: Mask


def measure(
    pattern: Pattern, basis: Basis, rows: Rows, steps: Steps, count: Count, running: RunningTotal, as_printed: bool
) -> Measured:
    """Measure rows; ``as_printed`` takes running means as they stand instead of their differences."""
    span, cumulative = basis.value.span, basis.value.span == "cumulative"
    clock = basis.value.is_clock
    if clock or (cumulative and not as_printed):
        covers, work, time, running = differences(basis, rows.columns, steps, count, running)
        covers = np.where(_behind_unknown_epochs(pattern, basis, rows, steps, count), np.nan, covers)
        if as_printed:
            covers = np.ones(len(rows)) if span == "last" else steps.covers
    else:
        covers = _covers(pattern, basis, rows, steps, count, as_printed)
        work, time = work_and_time(basis, rows.columns, covers)
    exact = np.zeros(len(rows), dtype=bool)
    if span == "window" and basis.value.quantity == "step_time" and not as_printed:
        time, exact, running = until_full(basis, rows.columns, steps, covers, time, running)
    by_design = np.zeros(len(rows), dtype=bool)
    counter = basis.work if basis.counts_work and basis.work is not None and basis.work.span == "cumulative" else None
    if counter is not None:
        per_epoch = counter.since == "epoch"
        work, running = counted_work(rows.columns[counter.group], covers, time, steps, running, per_epoch)
        by_design = np.isnan(work)
    reach = np.where(exact, covers, np.maximum(covers, _reach(basis, steps))) if span == "window" else covers
    good = (covers > 0) & np.isfinite(time) & np.isfinite(work) & (work > 0 if counter is None else work >= 0)
    if not cumulative or as_printed:
        good &= time > 0
    unknown = np.isnan(covers)
    by_design |= unknown
    if cumulative and basis.value.offset:  # the steps that a mean leaves out are known to be in none
        unknown &= (steps.within if basis.value.since == "epoch" else steps.end) > basis.value.offset
    if basis.first_is_start:  # nothing to be said of it
        unknown = np.zeros(len(good), dtype=bool)
    measured = np.empty((len(FIELDS), int(good.sum())))
    np.subtract(kept(steps.end, good), kept(reach, good), out=measured[0])
    for place, column in enumerate((steps.end, covers, time, work, rows.lines, steps.epoch), 1):
        measured[place] = kept(column, good)
    return Measured(measured, ~good & ~by_design, unknown, running, good)


def _behind_unknown_epochs(pattern: Pattern, basis: Basis, rows: Rows, steps: Steps, count: Count) -> Mask:
    """Whether the epoch before each row's ended at a step that no line tells, (n,).

    Steps are counted on from the last line of such an epoch, while a clock has run on to the epoch's end. Where an
    epoch has one line, that line is its end.
    """
    if pattern.step_per != "epoch" or basis.value.since == "epoch" or not (pattern.irregular or count.interval):
        return np.zeros(len(rows), dtype=bool)
    told = np.isfinite(rows.columns["epoch_steps"]) if "epoch_steps" in rows.columns else False
    return np.asarray((steps.covers == steps.within) & (steps.end > steps.within) & ~np.asarray(told))


def _covers(pattern: Pattern, basis: Basis, rows: Rows, steps: Steps, count: Count, as_printed: bool) -> Floats:
    """Steps that each value stands for, (n,)."""
    span = basis.value.span
    if span == "last":
        return np.ones(len(rows))
    if as_printed:
        return steps.covers
    if span == "window" and basis.window:
        return np.minimum(steps.own, _reach(basis, steps))
    covers = steps.own
    if explicit_covers(pattern, rows) is None:
        if count.interval:
            covers = np.minimum(covers, count.interval)
        if basis.value.since == "epoch":  # the meter is new in each epoch
            covers = np.minimum(covers, steps.within)
    return covers


def _reach(basis: Basis, steps: Steps) -> Floats:
    """How many steps back a mean over a window looks, (n,): no further than where the meter began."""
    return np.minimum(basis.window, steps.within if basis.value.since == "epoch" else steps.end)
