"""From rows that are in order to measurements: steps covered, work and time of each."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perflog.formats.parser import Pattern
from perflog.measurements.basis import Basis, running_totals, work_and_time, work_per_step
from perflog.measurements.rows import FIELDS, Columns, Floats, Ints, Mask, Rows, kept, shifted
from perflog.measurements.segment import Count, RunningTotal
from perflog.measurements.steps import Steps, explicit_covers

# ----------------------------------------------------------------------------------------------------
# Cumulative values, running means and clocks, back to intervals.

#: Each further window adds at most half of the last digit of a mean, times its steps, to what is known by differences.
MOST_WINDOWS = 100


def differences(
    basis: Basis, rows: Rows, steps: Steps, count: Count, running: RunningTotal
) -> tuple[Floats, Floats, Floats, RunningTotal]:
    """(covers (n,), work (n,), time (n,), where the mean stands after the last row).

    A row whose count of steps cannot be known (a resumed run, before the mean restarts) has NaN covers.

    Args:
        running: where the mean or clock stood before the first row.
    """
    columns = rows.columns
    per_epoch = basis.value.since == "epoch"
    since_start = basis.value.since == "start"
    counted = (steps.within if per_epoch else steps.end - (count.origin if since_start else 0.0)) - basis.value.offset
    totals = running_totals(basis, columns, counted)
    usable = np.isfinite(totals) & (counted > 0)
    if not usable.any():
        unknown = np.full(len(counted), np.nan)
        return unknown, unknown.copy(), unknown.copy(), running
    total, count_of, epoch = kept(totals, usable), kept(counted, usable), kept(steps.epoch, usable)
    resumed = count.resumed and not since_start
    first = rows.first if len(total) == len(usable) or isinstance(rows.first, int) else _first_usable(rows, usable)
    before_total, before_count = _before(basis, total, count_of, epoch, resumed, running, first)
    fell = np.flatnonzero(np.isnan(before_total))
    fell = fell if running.known else fell[fell > 0]
    fallen, fell_at = running.fallen + len(fell), running.fell_at
    if len(fell):
        fell_at = float(count_of[fell[-1] - 1]) if fell[-1] else running.counted
    if "resumed" in columns:  # a bar that began with a later step: nothing says when its first one began
        before_total[kept(columns["resumed"], usable) > 0] = np.nan
        before_count[kept(columns["resumed"], usable) > 0] = np.nan
    covers = _at(usable, count_of - before_count)
    time = _at(usable, total - before_total)
    batch = work_per_step(basis, columns)
    last_epoch = int(epoch[-1]) if per_epoch else running.epoch
    after = RunningTotal(
        float(total[-1]), float(count_of[-1]), last_epoch, running.work, running.work_step, fallen, fell_at
    )
    return covers, covers * batch, time, after


def _first_usable(rows: Rows, usable: Mask) -> Ints:
    """Where the rows of each log begin among those that are usable, of logs whose first row is usable."""
    begins = np.zeros(len(usable), dtype=bool)
    begins[rows.first] = True
    return np.flatnonzero(begins[usable])


def _at(usable: Mask, values: Floats) -> Floats:
    """Values at the places of a mask, (n,), NaN at the others."""
    if len(values) == len(usable):
        return values
    spread = np.full(len(usable), np.nan)
    spread[usable] = values
    return spread


def _before(
    basis: Basis, total: Floats, counted: Floats, epoch: Ints, resumed: bool, running: RunningTotal, first: Ints | int
) -> tuple[Floats, Floats]:
    """(total (n,), counted (n,)) at the row before each, 0 where the mean restarts, NaN where it cannot be known."""
    known = running.known
    before_total = shifted(total, running.total if known else 0.0, first)
    before_count = shifted(counted, running.counted if known else 0.0, first)
    restart = np.zeros(len(total), dtype=bool)
    if basis.value.since == "epoch":
        restart = epoch > shifted(epoch, epoch[0])
        if known:
            restart[0] = epoch[0] != running.epoch
    before_total[restart] = before_count[restart] = 0.0
    clock = basis.value.is_clock
    if clock:  # a clock that goes back has begun anew at a moment that nothing tells
        back = ~restart & (total < before_total)
        before_total[back] = before_count[back] = np.nan
    if not known and (basis.value.quantity == "timestamp" or resumed or basis.first_is_start):
        before_count[0] = before_total[0] = np.nan  # nothing says when the first interval began
    if resumed and not clock:
        blind = epoch == 0 if basis.value.since == "epoch" else np.ones(len(epoch), dtype=bool)
        before_count[blind] = np.nan  # counts are wrong until the mean restarts with an epoch
    return before_total, before_count


def until_full(
    basis: Basis, columns: Columns, steps: Steps, covers: Floats, time: Floats, running: RunningTotal
) -> tuple[Floats, Mask, RunningTotal]:
    """(time (n,), which rows are differences (n,), where the mean stands after the last row) of a mean over a window.

    Until its window is full such a mean is one since the meter began; from then on the total up to its end follows
    from that up to its beginning. The differences of the totals count each step once, where the means themselves would
    count slow first steps again on the next line. It ends after :data:`MOST_WINDOWS`, since each adds the rounding of a
    mean; the windows that follow stand for themselves.

    Args:
        covers, time: of each row by itself, (n,).
        running: where the mean stood before the first row.
    """
    per_epoch = basis.value.since == "epoch"
    counted = steps.within if per_epoch else steps.end
    epoch = steps.epoch if per_epoch else np.zeros(len(counted), dtype=np.int64)
    of_window = running_totals(basis, columns, np.minimum(counted, basis.window))
    totals, known, last = np.full(len(counted), np.nan), dict(running.recent), running.epoch
    for row in np.flatnonzero(counted <= MOST_WINDOWS * basis.window).tolist():
        if epoch[row] != last:
            known, last = {0.0: 0.0}, int(epoch[row])
        number = float(counted[row])
        totals[row] = of_window[row] + known.get(max(number - basis.window, 0.0), np.nan)
        known[number] = float(totals[row])
    before_total, before_count = shifted(totals, running.total), shifted(counted, running.counted)
    begins = epoch != shifted(epoch, running.epoch)
    before_total, before_count = np.where(begins, 0.0, before_total), np.where(begins, 0.0, before_count)
    exact = np.isfinite(totals - before_total) & (counted - before_count == covers)
    oldest = counted[-1] - basis.window
    recent = tuple(item for item in known.items() if item[0] >= oldest)
    after = replace(running, total=float(totals[-1]), counted=float(counted[-1]), epoch=int(epoch[-1]), recent=recent)
    return np.where(exact, totals - before_total, time), exact, after


def counted_work(
    counter: Floats, covers: Floats, time: Floats, steps: Steps, running: RunningTotal, per_epoch: bool = False
) -> tuple[Floats, RunningTotal]:
    """(work (n,), where the counter stands after the last row), from a printed counter of work since the beginning.

    A row whose time is not known has no work, and the next one holds what was done in both. A row has the work of the
    steps that its time ``covers``: their share, where a row before it lacks the counter. The first row of a run
    counts from 0 when it covers all steps before it. Where the counter goes back nothing is known, unless it counts
    ``per_epoch``: then it has begun again at 0. Where it stands still (one of few printed digits does) the work is 0,
    so that the row's time stays: the work of that time stands in the row where the counter moves on.
    """
    work = np.full(len(counter), np.nan)
    usable = np.flatnonzero(np.isfinite(counter) & np.isfinite(time))
    if not len(usable):
        return work, running
    before = running.work
    if np.isnan(before) and usable[0] == 0 and steps.covers[0] == steps.end[0]:
        before = 0.0
    done = counter[usable] - shifted(counter[usable], before)
    between = steps.end[usable] - shifted(steps.end[usable], running.work_step)
    if per_epoch:
        between = np.where(done < 0, steps.within[usable], between)
        done = np.where(done < 0, counter[usable], done)
    done = done * np.fmin(covers[usable] / between, 1.0)
    work[usable] = np.where(done >= 0, done, np.nan)
    return work, replace(running, work=float(counter[usable[-1]]), work_step=float(steps.end[usable[-1]]))


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
    """Measure rows; ``as_printed`` takes running means as they stand instead of their differences.

    The rows may be those of several logs that begin alike, where all the value needs of other rows is the row before:
    not for means over a window, nor where work is counted.
    """
    span, cumulative = basis.value.span, basis.value.span == "cumulative"
    clock = basis.value.is_clock
    if clock or (cumulative and not as_printed):
        covers, work, time, running = differences(basis, rows, steps, count, running)
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
