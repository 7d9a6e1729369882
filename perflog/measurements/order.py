"""Whether rows come in the order of one run: steps that rise, no event twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perflog.formats.parser import Pattern
from perflog.measurements.rows import Ints, Mask, Rows, shifted
from perflog.measurements.segment import Previous, Segment

#: What is said where lines of several processes stand in one log and nothing tells whose each is.
BLENDED = "several ranks or runs are blended (log one rank, or have the launcher tag each line)"

#: A segment that printed at most this share of the rows up to its last step has not come there by itself.
FEW = 0.5


def in_order(pattern: Pattern, rows: Rows, previous: Previous) -> Mask | None:
    """Whether each row comes after the one before it, (n,); None where the format prints no step.

    The first row is compared with ``previous``; a row without a predecessor counts as later.
    """
    columns = rows.columns
    counted = "covers" in columns or bool(pattern.assumed_covers) or pattern.ends_epoch
    if "step" not in columns and "epoch" in columns and counted:  # one line an epoch
        return np.asarray(~(columns["epoch"] <= shifted(columns["epoch"], previous.epoch)))
    if not rows.has_steps():
        return None
    if rows.position_lines is None and not pattern.step_repeats and _plainly_in_order(pattern, rows, previous):
        return np.ones(len(rows), dtype=bool)
    if pattern.step_repeats and "timestamp" in columns:  # the counter may even go back; the clock may not
        return np.asarray(~(columns["timestamp"] <= shifted(columns["timestamp"], previous.moment)))
    later, same = _step_after_step(pattern, rows, previous)
    if pattern.step_repeats:
        later |= same & ~equal_to_previous(pattern, rows, previous)
    if rows.position_lines is not None and "step" not in pattern.groups:
        # two measurements after one line that prints the step: such a line is missing between them
        shared = rows.position_lines == shifted(rows.position_lines, previous.position_line)
        later |= same & shared & ~equal_to_previous(pattern, rows, previous)
    return later


def _step_after_step(pattern: Pattern, rows: Rows, previous: Previous) -> tuple[Mask, Mask]:
    """(later, same): whether each row's step, within its epoch, is above or equal to the one before it."""
    step = rows.columns["step"]
    before = shifted(step, previous.step)
    later, same = ~(step <= before), step == before  # NaN (no predecessor, no position yet) counts as later
    if pattern.step_per == "epoch" and "epoch" in rows.columns:
        epoch = np.nan_to_num(rows.columns["epoch"], nan=-1.0)  # a format may leave the epoch out
        epoch_before = shifted(epoch, -1.0 if np.isnan(previous.epoch) else previous.epoch)
        later = ~(epoch <= epoch_before) | ((epoch == epoch_before) & later)
        same = same & (epoch == epoch_before)
    return later, same


def _plainly_in_order(pattern: Pattern, rows: Rows, previous: Previous) -> bool:
    """The common case, told cheaply: steps rise throughout, within one epoch where they are counted per epoch."""
    step = rows.columns["step"]
    if not (step[0] > previous.step or np.isnan(previous.step)) or not (step[1:] > step[:-1]).all():
        return False
    if pattern.step_per == "epoch" and "epoch" in rows.columns:
        epoch = rows.columns["epoch"]
        same = epoch[0] == previous.epoch or bool(np.isnan(previous.epoch))
        return bool((epoch == epoch[0]).all()) and same
    return True


def equal_to_previous(pattern: Pattern, rows: Rows, previous: Previous) -> Mask:
    """Whether each row has the very numbers of the row before it, (n,)."""
    equal = np.ones(len(rows), dtype=bool)
    for name in rows.value_names(pattern):
        column = rows.columns[name]
        before = shifted(column, previous.values.get(name, np.nan))  # a later block may have a group that it lacks
        equal &= (column == before) | (np.isnan(column) & np.isnan(before))
    if not previous.values:
        equal[0] = False
    return equal


def not_doubled(
    pattern: Pattern, rows: Rows, previous: Previous, order: Mask, starts: Ints, recent: Sequence[bytes] = ()
) -> Mask:
    """Which rows are not the same event printed again, (n,).

    First only rows equal to the one before them are doubles. Where that does not bring the rows into order, a
    row is a double when the same numbers stood anywhere before it, if that does, or if fewer runs are left then, each
    of which begins behind a line that says so: a block of lines was sent again.

    Args:
        starts: the lines where a run may begin, in order.
        recent: the marks of rows before these, as :func:`marks_of` gives them.
    """
    keep = order | ~equal_to_previous(pattern, rows, previous)
    if (order | ~keep).all():
        return keep
    fresh = _seen_first(pattern, rows, previous, recent)
    begins = _begins(pattern, rows.take(fresh), previous)
    if not len(begins):
        return fresh
    if pattern.role != "step":  # few numbers tell one position from another
        return keep
    fewer = len(begins) < len(_begins(pattern, rows.take(keep), previous))
    return fresh if fewer and _each_behind_a_start(rows.take(fresh), begins, starts) else keep


def _seen_first(pattern: Pattern, rows: Rows, previous: Previous, recent: Sequence[bytes]) -> Mask:
    """Whether no row before each, nor the previous one or a recent one, has all of its numbers, (n,)."""
    seen = set(recent)
    if previous.values:
        seen.add(np.array([previous.values.get(name, np.nan) for name in rows.value_names(pattern)]).tobytes())
    fresh = np.zeros(len(rows), dtype=bool)
    for place, mark in enumerate(marks_of(pattern, rows)):
        fresh[place] = mark not in seen
        seen.add(mark)
    return fresh


def marks_of(pattern: Pattern, rows: Rows) -> list[bytes]:
    """All numbers of each row, by which one that is printed again is known, (n,)."""
    return [row.tobytes() for row in np.column_stack([rows.columns[name] for name in rows.value_names(pattern)])]


def _begins(pattern: Pattern, rows: Rows, previous: Previous) -> list[int]:
    """The places of rows that do not come after the one before them; none where no row is left or none has a step."""
    order = in_order(pattern, Rows(rows.lines, rows.columns), previous) if len(rows) else None
    return [] if order is None else np.flatnonzero(~order).tolist()


def _each_behind_a_start(rows: Rows, begins: list[int], starts: Ints) -> bool:
    """Whether a line that begins a run stands between each of some rows, by their places, and the row before it."""
    passed = np.searchsorted(starts, rows.lines, "right")
    return all(place > 0 and passed[place] > passed[place - 1] for place in begins)


def epochs_left_out(rows: Rows, previous: Previous) -> int:
    """How many epochs between those of the rows, and since the row before them, have no row."""
    if "epoch" not in rows.columns or not len(rows):
        return 0
    jumps = rows.columns["epoch"] - shifted(rows.columns["epoch"], previous.epoch)
    return int(np.maximum(np.nan_to_num(jumps) - 1, 0).sum())


def outside_epochs(rows: Rows, first: Mask) -> Mask:
    """Which rows stand where an epoch's line stands and are none, (n,).

    They stand before the first heading, or ``first`` behind one and say fewer steps than their epoch has.
    """
    outside = np.zeros(len(rows), dtype=bool) if rows.position_lines is None else rows.position_lines < 0
    if {"step", "epoch_steps"} <= set(rows.columns):
        outside |= first & (rows.columns["step"] < rows.columns["epoch_steps"])
    return outside


def why_counter_stands(pattern: Pattern, rows: Rows, previous: Previous) -> str:
    """Why rows without a step are several processes': a counter stands, or falls within an epoch; else empty."""
    counters = [v.group for v in pattern.values if v.quantity == "samples" and v.span == "cumulative"]
    for name in counters if len(rows) else ():
        counter = rows.columns[name]
        behind = counter - shifted(counter, previous.values.get(name, np.nan))
        wrong = behind == 0
        if "epoch" in rows.columns:
            epoch = rows.columns["epoch"]
            wrong |= (behind < 0) & (epoch == shifted(epoch, previous.epoch))
        if wrong.any():
            return f"line {rows.lines[wrong.argmax()]}: the counter ({name}) does not go on: {BLENDED}"
    return ""


def why_it_goes_on(before: Segment, segment: Segment, now: Previous, printed: int) -> str:
    """Why a segment is no run of its own, where the next one, which is no run either, holds rows of it; else empty.

    Args:
        now: the last row of the next one; ``printed``: how many rows it has up to that.

    It does where the step of that one's last row is the next one of ``before``, and far from those of its own, which
    printed too few rows to have come there. A run that begins again after a failure comes there row by row.
    """
    interval, last = before.count.interval, before.previous
    if not interval or not last.step < now.step <= last.step + 2 * interval:
        return ""
    same_epoch = now.epoch == last.epoch or (np.isnan(now.epoch) and np.isnan(last.epoch))
    if not same_epoch or printed > FEW * now.step / interval:
        return ""
    return f"its steps go on behind line {segment.first_line}, where another run begins: {BLENDED}"


def name_of_step(pattern: Pattern, epoch: float, step: float) -> str:
    """A step as messages name it."""
    if np.isnan(step):
        return f"epoch {epoch:g}"
    if np.isnan(epoch) or pattern.step_per == "run":
        return f"step {step:g}"
    return f"epoch {epoch:g} step {step:g}"


def why_broken(pattern: Pattern, rows: Rows, previous: Previous, previous_line: int, place: int) -> str:
    """Why the row at ``place``, which is not in order, cannot be of the same run as the row before it."""
    epoch = float(rows.columns["epoch"][place]) if "epoch" in rows.columns else float("nan")
    step = float(rows.columns["step"][place]) if "step" in rows.columns else float("nan")
    now, before = name_of_step(pattern, epoch, step), name_of_step(pattern, previous.epoch, previous.step)
    line = int(rows.lines[place])
    if now == before:
        return f"{now} has different records at lines {previous_line} and {line}: {BLENDED}"
    return (
        f"steps go back from {before} (line {previous_line}) to {now} (line {line}) and nothing "
        "between them says that a run begins: two runs appended, or lines out of order"
    )
