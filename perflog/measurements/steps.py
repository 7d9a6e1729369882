"""How many steps each row stands for, counted over the whole run from what the lines print."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from perflog.formats.parser import Pattern
from perflog.formats.printed import seconds_in
from perflog.measurements.rows import Floats, Ints, Mask, Rows, shifted
from perflog.measurements.segment import MOST_MISSING, Count, Previous
from perflog.stats.arrays import distinct, middle


class Steps(Struct, frozen=True):
    """The steps of ``n`` rows.

    Attributes:
        end: the step at which each row was printed, counted over the run, (n,).
        covers: steps since the row before it, or as the line itself says, (n,).
        within: the step within the epoch, (n,).
        epoch: how many epochs began before, (n,).
        repeats: how many rows repeat the step before them.
        gaps, gap_row: how many records are missing, and the row before which the first is.
        own: of ``covers``, those that are of the row's own record and not of records missing before it, (n,).
        every_step: whether each step prints a line; None where that was known before.
        usual: the usual number of steps between two lines, for the choice of what to measure; 0 where no line tells.
    """

    end: Floats
    covers: Floats
    own: Floats
    within: Floats
    epoch: Ints
    repeats: int = 0
    gaps: int = 0
    gap_row: int = 0
    every_step: bool = False
    usual: float = 0.0


def explicit_covers(pattern: Pattern, rows: Rows) -> Floats | None:
    """Steps covered as the line itself says, (n,); None when it does not."""
    columns = rows.columns
    if "covers" in columns:
        return columns["covers"]
    if pattern.assumed_covers:
        return np.full(len(rows), float(pattern.assumed_covers))
    if "first_step" in columns and "step" in columns:
        return columns["step"] - columns["first_step"]
    interval = next((v for v in pattern.values if v.quantity == "interval_time" and v.group in columns), None)
    step = next((v for v in pattern.values if v.quantity == "step_time" and v.group in columns), None)
    if interval and step and "step" not in pattern.groups:
        with np.errstate(invalid="ignore", divide="ignore"):
            interval_seconds = columns[interval.group] * seconds_in(interval.unit)
            ratio = interval_seconds / (columns[step.group] * seconds_in(step.unit))
        return np.where(np.isfinite(ratio), np.rint(ratio), np.nan)
    return None


def count_steps(pattern: Pattern, rows: Rows, previous: Previous, count: Count, learn: bool) -> tuple[Steps, Count]:
    """The steps of rows that are in order, and the count after them.

    Args:
        previous: the row before the first one.
        count: what was counted before it.
        learn: whether the print interval is to be learned from these rows (a segment's first block).
    """
    explicit = explicit_covers(pattern, rows)
    if not rows.has_steps() or (rows.position_lines is not None and explicit is not None):
        return _count_by_covers(rows, previous, count, explicit)
    if learn and pattern.step_base_shown:
        count = count._replace(step_base=_shown_base(rows.columns["step"]))
    within = rows.columns["step"] + (1 - (count.step_base if pattern.step_base_shown else pattern.step_base))
    end, changed, base = _over_epochs(pattern, rows, within, previous, count)
    epoch = count.epochs + np.cumsum(changed)
    fresh = math.isnan(previous.step)
    deltas = end - shifted(end, float(end[0]) if fresh else count.end)
    usual, every_step = count.interval, False
    inner = (deltas / _epochs_ended(rows, previous) if pattern.ends_epoch else deltas)[int(fresh) :]
    if learn and pattern.irregular:
        usual = float(middle(inner[inner > 0])) if (inner > 0).any() else 0.0
    elif learn:
        count, usual, every_step = _learned(count, inner, changed[1:] if fresh else changed, within)
        count = count._replace(firsts=_firsts_alone(rows, changed, within))
    if fresh:
        between = usual if pattern.irregular else count.interval
        deltas[0] = min(float(within[0]), between) if between else float(within[0])
        count = count._replace(origin=float(end[0] - deltas[0]))
    repeats = int((deltas <= 0).sum()) if pattern.step_repeats else 0
    if repeats:  # the counter stands still, the steps are real
        deltas = np.where(deltas > 0, deltas, count.interval or 1.0)
        first = float(end[0]) if fresh else count.end + float(deltas[0])
        end = first + np.concatenate(([0.0], np.cumsum(deltas[1:])))
        base = float(end[-1] - within[-1])
    gaps, gap_row = _gaps(deltas, changed, fresh, count.interval)
    own, lost, count = _own_steps(pattern, rows, within, deltas, changed, previous, count, learn)
    if lost is not None:
        gaps, gap_row = int(lost.sum()), int(np.argmax(lost > 0))
    if explicit is not None:
        deltas, own = (np.where(np.isfinite(explicit), explicit, each) for each in (deltas, own))
    steps = Steps(end, deltas, own, within, epoch, repeats, gaps, gap_row, every_step, usual)
    return steps, count._replace(end=float(end[-1]), base=base, epochs=int(epoch[-1]))


def _own_steps(
    pattern: Pattern,
    rows: Rows,
    within: Floats,
    deltas: Floats,
    changed: Mask,
    previous: Previous,
    count: Count,
    learn: bool,
) -> tuple[Floats, Floats | None, Count]:
    """(the steps that each row's own time is of, (n,); how many lines of epochs are missing before each; the count).

    They are those since the row before, but where lines of epochs are missing: a row's time is of its own epoch alone.
    NaN where nothing tells how many steps that has. Without lines that end epochs, none is known to be missing.
    """
    if pattern.ends_epoch and pattern.irregular:
        lost = _epochs_ended(rows, previous) - 1
        return np.where(lost > 0, np.nan, deltas), lost, count
    if not count.interval and not pattern.irregular and changed.any():  # one line an epoch
        lost, count = _epochs_lost(rows, changed, previous, count, learn)
        return np.where(lost > 0, np.minimum(deltas, within * count.epoch_rise), deltas), lost, count
    if pattern.ends_epoch and math.isnan(previous.step) and not count.interval and rows.columns["epoch"][0] > 1:
        return np.full(len(rows), np.nan), None, count  # the only line ends one of several epochs
    return deltas, None, count


def _epochs_ended(rows: Rows, previous: Previous) -> Floats:
    """How many epochs ended since the row before each, (n,); 1 for one without a row before, or without an epoch."""
    epoch = rows.columns["epoch"]
    return np.asarray(np.fmax(epoch - shifted(epoch, previous.epoch), 1.0))


def _epochs_lost(rows: Rows, changed: Mask, previous: Previous, count: Count, learn: bool) -> tuple[Floats, Count]:
    """(how many lines of epochs are missing before each row (n,), the count with the usual rise of the epoch).

    ``learn``: whether that rise is to be learned from these rows: the least of several; headings stand before each
    epoch, so that it is one where they print the positions, and where nothing tells more.
    """
    rise = np.where(changed, rows.columns["epoch"] - shifted(rows.columns["epoch"], previous.epoch), 0.0)
    if learn or not count.epoch_rise:
        learned = rise[changed].min() if changed.sum() > 1 and rows.position_lines is None else 1.0
        count = count._replace(epoch_rise=float(max(learned, 1.0)))
    return np.maximum(np.rint(rise / count.epoch_rise) - 1, 0.0), count


def _over_epochs(
    pattern: Pattern, rows: Rows, within: Floats, previous: Previous, count: Count
) -> tuple[Floats, Mask, float]:
    """(end (n,), where an epoch begins (n,), steps before the last row's epoch) of steps counted per epoch or run."""
    changed = np.zeros(len(rows), dtype=bool)
    if pattern.step_per != "epoch" or "epoch" not in rows.columns:
        return count.base + within, changed, count.base  # a counter that stood still has a base
    epoch = rows.columns["epoch"]
    before = shifted(epoch, previous.epoch)
    changed = (epoch != before) & ~np.isnan(before)
    if not changed.any():
        return count.base + within, changed, count.base
    length = previous_within = shifted(within, count.end - count.base)
    if "epoch_steps" in rows.columns:
        printed = rows.columns["epoch_steps"]
        length = np.where(
            np.isfinite(printed), np.maximum(printed * (epoch - before), previous_within), previous_within
        )
    bases = count.base + np.cumsum(np.where(changed, length, 0.0))
    return bases + within, changed, float(bases[-1])


def _count_by_covers(rows: Rows, previous: Previous, count: Count, explicit: Floats | None) -> tuple[Steps, Count]:
    """Formats whose lines say how many steps they cover, not which; positions serve to find gaps."""
    n = len(rows)
    keyless = explicit is None
    covers = np.ones(n) if explicit is None else np.where(np.isfinite(explicit), explicit, 1.0)
    missing, gaps, gap_row = np.zeros(n), 0, 0
    epoch = count.epochs + np.arange(n)
    if rows.has_steps() and "epoch" in rows.columns:
        jump = rows.columns["epoch"] - shifted(rows.columns["epoch"], previous.epoch)
        lost = np.where(jump > 1, jump - 1, 0.0)
        gaps, gap_row = int(lost.sum()), int(np.argmax(lost > 0))
        missing = lost * covers
    end = count.end + np.cumsum(covers + missing)
    every_step = not keyless and bool((covers == 1).all())
    usual = 0.0 if keyless else float(middle(covers))
    steps = Steps(end, covers, covers, end, epoch, 0, gaps, gap_row, every_step, usual)
    keyless = keyless or count.keyless
    return steps, count._replace(end=float(end[-1]), epochs=int(epoch[-1]) + 1, keyless=keyless)


def _learned(count: Count, deltas: Floats, changed: Mask, within: Floats) -> tuple[Count, float, bool]:
    """(the count with the print interval, the usual interval, whether every step is printed), from a first block."""
    inner = deltas[~changed & (deltas > 0)]
    interval = 0.0
    if len(inner) and (inner == inner[0]).all():
        interval = float(inner[0])
    elif len(inner):
        values, counts = distinct(inner)
        interval = float(values[np.argmax(counts)])
    usual = interval or float(within[0])
    every_step = usual == 1 and (inner > 1).sum() <= MOST_MISSING * len(inner)
    resumed = bool(interval and within[0] > 2 * interval)
    return count._replace(interval=interval, resumed=resumed), usual, every_step


def _firsts_alone(rows: Rows, changed: Mask, within: Floats) -> bool:
    """Whether every row is the first step of another epoch, and no line says that epochs have one step.

    So print programs whose epochs are shorter than their interval between lines.
    """
    if len(rows) < 2 or not changed[1:].all() or not (within == 1).all():
        return False
    return "epoch_steps" not in rows.columns or not (rows.columns["epoch_steps"] == 1).all()


def _gaps(deltas: Floats, changed: Mask, fresh: bool, interval: float) -> tuple[int, int]:
    """(how many records are missing, the row before which the first is)."""
    if not interval:
        return 0, 0
    wide = (deltas > 1.5 * interval) & ~changed
    if fresh:
        wide[0] = False
    if not wide.any():
        return 0, 0
    return int(np.rint(deltas[wide] / interval - 1).sum()), int(np.argmax(wide))


def _shown_base(step: Floats) -> int:
    """The number of a run's first step, 0 or 1, as the numbers of its first lines show it.

    A log that is not cut begins with its first step, or with its k-th where every k-th step is printed.
    """
    if step[0] in (0.0, 1.0):
        return int(step[0])
    interval = float(step[1] - step[0]) if len(step) > 1 else 0.0
    if interval <= 1 or step[0] == interval:
        return 1
    return 0 if step[0] % interval == 0 else 1
