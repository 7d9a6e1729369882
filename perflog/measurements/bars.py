"""Progress bars: the same step drawn again, and a bar that begins again.

A bar is drawn many times at one step, by its own refresh, by every text written above it and when it is closed; only
the first time tells when the step ended. A bar begins again when its clock falls: for the next epoch, or in another
run, where the epoch that it prints falls too or a line says that a run begins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perflog.formats.parser import Pattern
from perflog.measurements.order import BLENDED
from perflog.measurements.rows import Floats, Ints, Mask, Rows, shifted

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
    begins = _begins(clock, last.clock) & ~_goes_on(rows, last)
    if pattern.redrawn or pattern.step_counts == "samples":  # a step's samples are not told by a distance of nothing
        fresh = (step != shifted(step, last.step)) | begins
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


def _begins(clock: np.ndarray, before: float) -> Mask:
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
