"""Whether rows come in the order of one run: steps that rise, no event twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perflog.formats.parser import Pattern
from perflog.measurements.rows import Floats, Ints, Mask, Rows, shifted
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


# ----------------------------------------------------------------------------------------------------
# Progress bars: the same step drawn again, and a bar that begins again.
#
# A bar is drawn many times at one step, by its own refresh, by every text written above it and when it is closed; only
# the first time tells when the step ended. A bar begins again when its clock falls: for the next epoch, or in another
# run, where the epoch that it prints falls too or a line says that a run begins.

#: A clock that falls below this share of what it was has begun again; one that falls less belongs to another bar.
FALLEN = 0.5
#: Bars' clocks are cut to whole seconds.
CLOCK_DIGIT = 1.0
#: A bar that shows so many times as many steps in a second as the one before it did not begin with its first step.
RESUMED = 2.0
#: Over so many epochs a bar whose step rises with its epoch is known to count epochs.
LEAST_EPOCHS = 3


class Drawn(NamedTuple):
    """What is known of a bar's rows so far.

    Attributes:
        step, clock: of the last row, NaN before the first.
        restarts: how often the bar began again.
        epoch: the epoch that the last row prints, NaN where none is printed.
        lead: how far the step is ahead of the printed epoch, where it is so on all rows; NaN where it is not.
        epochs: how many printed epochs came.
        line: the line of the last row, 0 before the first.
    """

    step: float = float("nan")
    clock: float = float("nan")
    restarts: int = 0
    epoch: float = float("nan")
    lead: float = float("nan")
    epochs: int = 0
    line: int = 0

    @property
    def counts_epochs(self) -> bool:
        """Whether the bar counts epochs and not steps: both rise together, over several epochs."""
        return self.epochs >= LEAST_EPOCHS and self.lead == self.lead


NOTHING_DRAWN = Drawn()


class Behind(NamedTuple):
    """The last row of a bar that is placed by a line of its own: that line, its step, and whether a bar was over.

    ``epoch``: of that line; ``places``: how many such lines had rows, and how many of them began an epoch ``again``.
    """

    position: int = -1
    step: float = float("nan")
    over: bool = False
    epoch: float = float("nan")
    places: int = 0
    again: int = 0

    @property
    def refused(self) -> str:
        """Why the bars are several processes': many of the epochs begin a second time; else empty."""
        if not self.again or 3 * self.again < self.places:
            return ""
        return f"epochs that begin a second time or behind a later one: {self.again}: {BLENDED}"


NOTHING_BEHIND = Behind()


def is_bar(pattern: Pattern) -> bool:
    """Whether rows of a pattern are a bar's."""
    return pattern.redrawn or bool(pattern.restarts)


def drawn_once(pattern: Pattern, rows: Rows, last: Drawn, starts: Ints) -> tuple[Rows, Mask, Drawn]:
    """(rows of which each is a new step, whether a new run begins at each (n,), the last of them).

    The rows of a pattern that ``restarts`` have an epoch, which is how often the bar began again before; where lines
    print one, it is in ``printed_epoch``; ``resumed`` is 1 where a bar did not begin with its first step, else 0.

    Args:
        starts: the lines that say that a run begins, in order.
    """
    clock, step = _clock_of(pattern, rows), rows.columns["step"]
    begins = _bar_begins(clock, last.clock) & ~_goes_on(rows, last)
    if pattern.redrawn or pattern.step_counts == "samples":  # a step's samples are not told by a distance of nothing
        fresh = (step != shifted(step, last.step)) | begins
        if not pattern.restarts and "epoch" in rows.columns:  # of each epoch a log may hold the last state alone
            epoch = rows.columns["epoch"]
            fresh |= epoch != shifted(epoch, last.epoch)
        if not pattern.redrawn:
            fresh |= clock != shifted(clock, last.clock)
        rows, clock, step, begins = rows.take(fresh), clock[fresh], step[fresh], begins[fresh]
    if not len(rows):
        return rows, begins, last
    restarts = last.restarts + np.cumsum(begins)
    runs = begins & _another_run(rows, last, starts) if begins.any() else begins
    known = np.flatnonzero(np.isfinite(clock))
    clock_after = float(clock[known[-1]]) if len(known) else last.clock
    after = Drawn(float(step[-1]), clock_after, int(restarts[-1]), *_epochs(rows, last), int(rows.lines[-1]))
    if pattern.restarts:
        printed = {"printed_epoch": rows.columns["epoch"]} if "epoch" in rows.columns else {}
        resumed = begins & _is_resumed(step, clock, last)
        rows = rows.with_columns({**printed, "epoch": restarts.astype(np.float64), "resumed": resumed.astype(float)})
    return rows, runs, after


def first_bars(rows: Rows, last: Behind) -> tuple[Rows, Behind]:
    """(the rows of the first bar behind each line of position, the last row of all).

    A bar that begins anew behind the same line is an evaluation's, which looks like the training's; what stands before
    the first such line, or in a log without any, may be one's too. A step that falls less far is left to be judged as
    out of order.
    """
    if rows.position_lines is None or not len(rows):
        return rows.take(slice(0)), last
    step, places = rows.columns["step"], rows.position_lines
    stays = places == shifted(places, last.position)
    begun = np.cumsum(stays & (step < FALLEN * shifted(step, last.step))) + last.over
    over = (begun > np.maximum.accumulate(np.where(stays, 0, begun))) | (places < 0)
    epoch = rows.columns.get("epoch", np.full(len(rows), np.nan))
    again = ~stays & (epoch <= shifted(epoch, last.epoch))
    counts = last.places + int((~stays).sum()), last.again + int(again.sum())
    return rows.take(~over), Behind(int(places[-1]), float(step[-1]), bool(over[-1]), float(epoch[-1]), *counts)


def _goes_on(rows: Rows, last: Drawn) -> Mask:
    """Whether each row's step is above the one before it and no other epoch is printed, (n,).

    Where the clock begins anew there, a training was resumed: its steps go on in the same epoch.
    """
    step = rows.columns["step"]
    goes_on = np.asarray(step > shifted(step, last.step))
    if "epoch" in rows.columns:
        epoch = rows.columns["epoch"]
        goes_on &= (epoch == shifted(epoch, last.epoch)) | np.isnan(epoch)
    return goes_on


def _is_resumed(step: Floats, clock: Floats, last: Drawn) -> Mask:
    """Whether each row's bar, if it begins there, began with a later step than the first, (n,).

    It then shows many steps on a young clock: far more in a second than the bar before it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        before = shifted(step, last.step) / shifted(clock, last.clock)
        return np.asarray(~(step / (clock + CLOCK_DIGIT) <= RESUMED * before))


def _another_run(rows: Rows, last: Drawn, starts: Ints) -> Mask:
    """Whether a run begins at each row, (n,), if its bar begins again there.

    It does where the printed epoch falls, and where it stays, or none is printed, behind a line that says so: the
    bars of one epoch may be several, as those of each iteration of reinforcement learning.
    """
    begun = np.searchsorted(starts, rows.lines, "right")
    announced = np.asarray(begun > np.searchsorted(starts, shifted(rows.lines, last.line), "right"))
    if "epoch" not in rows.columns or not np.isfinite(rows.columns["epoch"]).all():
        return announced
    epoch, before = rows.columns["epoch"], shifted(rows.columns["epoch"], last.epoch)
    return np.asarray((epoch < before) | (announced & (epoch == before)))


def _clock_of(pattern: Pattern, rows: Rows) -> np.ndarray:
    group = next((value.group for value in pattern.values if value.quantity == "elapsed"), "")
    return rows.columns[group] if group in rows.columns else np.full(len(rows), np.nan)


def _bar_begins(clock: np.ndarray, before: float) -> Mask:
    """Whether the clock has begun again at each row, (n,); a row without a clock is passed over."""
    known = np.isfinite(clock)
    begins = np.zeros(len(clock), dtype=bool)
    if known.any():
        with np.errstate(invalid="ignore"):
            begins[known] = clock[known] < FALLEN * shifted(clock[known], before)
    return begins


def _epochs(rows: Rows, last: Drawn) -> tuple[float, float, int]:
    """(the last printed epoch, how far the step is ahead of the epoch on all rows, how many epochs came)."""
    if "epoch" not in rows.columns or np.isnan(rows.columns["epoch"]).any():
        return last.epoch, float("nan"), last.epochs
    epoch = rows.columns["epoch"]
    lead = rows.columns["step"] - epoch
    first = lead[0] if not last.epochs else last.lead
    changes = int((epoch != shifted(epoch, last.epoch)).sum())
    return float(epoch[-1]), float(first) if bool((lead == first).all()) else float("nan"), last.epochs + changes


def why_another_bar(rows: Rows) -> str:
    """Why finished bars of one epoch are not one drawn again; empty where they may be.

    A bar that is drawn again has the ``mark`` that it had, where a format prints one.
    """
    if "mark" not in rows.columns:
        return ""
    epoch, mark = rows.columns["epoch"], rows.columns["mark"]
    another = (epoch[1:] == epoch[:-1]) & (np.abs(mark[1:] - mark[:-1]) > 0)
    if not another.any():
        return ""
    line = int(rows.lines[1:][another][0])
    return f"line {line} ends a second bar of an epoch, which is not the first one drawn again: {BLENDED}"


def last_of_each_epoch(rows: Rows) -> tuple[Rows, Rows]:
    """(the last of consecutive rows of each epoch but the last epoch; the last row of all, which may be redrawn)."""
    epoch = rows.columns["epoch"]
    final = np.append(epoch[1:] != epoch[:-1], False)
    return rows.take(final), rows.take(slice(len(rows) - 1, None))
