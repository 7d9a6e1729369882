"""The measurements of one rank in the order of the log, folded block by block into segments.

Stages: rows → order (doubles out, a second run apart, blended ranks refused) → steps → measurements → store.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from perflog.formats.parser import Pattern
from perflog.measurements.basis import are_swapped, choose_basis, twin
from perflog.measurements.blended import (
    MOST_AHEAD,
    MOST_RANKS,
    Blend,
    Lane,
    can_be_compared,
    first_far_behind,
    is_regular,
    keys_of,
    lacking,
    may_blend,
    slowest,
)  # fmt: skip
from perflog.measurements.estimate import with_metrics
from perflog.measurements.measure import measure
from perflog.measurements.order import (
    CLOCK_DIGIT,
    NOTHING_BEHIND,
    NOTHING_DRAWN,
    drawn_once,
    epochs_left_out,
    equal_to_previous,
    first_bars,
    in_order,
    is_bar,
    last_of_each_epoch,
    marks_of,
    name_of_step,
    not_doubled,
    outside_epochs,
    why_another_bar,
    why_broken,
    why_counter_stands,
    why_it_goes_on,
)  # fmt: skip  # fmt: skip
from perflog.measurements.rows import NOTHING_SHOWN, Floats, Ints, Mask, Rows, Shown, kept, last_numbers, shifted
from perflog.measurements.segment import (
    EXACT,
    Previous,
    Segment,
    previous_of,
    steps_from_counter,
    unrounded,
    until_timed,
    whole_records,
)
from perflog.measurements.steps import Steps, count_steps, explicit_covers
from perflog.stats.resolution import printed_quantum


def _finer(digit: float, printed: Floats) -> float:
    """The last digit of numbers, (n,), or of those before them, whichever is finer; 0 for none."""
    found = printed_quantum(printed[np.isfinite(printed)]) or 0.0
    return min(digit, found) if digit and found else digit or found


NO_LINES: Ints = np.empty(0, dtype=np.int64)

#: The end of a bar is left out when its steps took so many times as long as those before.
CLOSING = 2.0
#: A table that is drawn again on a terminal has no more rows.
REDRAWN = 100


class RankSeries:
    """The segments of one rank (or of an untagged log) under one pattern, beginning with one that is at hand."""

    __slots__ = (
        "_behind",
        "_drawn",
        "_held",
        "_lanes",
        "_opening",
        "_pauses",
        "as_printed",
        "pattern",
        "segments",
        "shown",
        "stretches",
    )

    def __init__(self, pattern: Pattern, as_printed: bool = False, first: Segment | None = None) -> None:
        self.pattern = pattern
        self.as_printed = as_printed
        self.segments: list[Segment] = [first or Segment()]
        #: Of a bar that is one of several: its first and last line each time that it began.
        self.stretches: list[tuple[int, int]] = []
        self._behind = NOTHING_BEHIND
        self._drawn = NOTHING_DRAWN
        self._pauses = NO_LINES
        self._held: Rows | None = None
        self._opening = Lane()
        self._lanes: list[tuple[Lane, RankSeries]] = []
        self.shown: Shown = NOTHING_SHOWN

    def add(self, rows: Rows, starts: Ints, pauses: Ints = NO_LINES) -> None:
        """Fold a block's rows in.

        Args:
            starts: the lines where a run may begin, in order.
            pauses: the lines that say that something else than training happened, in order.
        """
        self._pauses = pauses
        segment = self.segments[-1]
        if segment.refused or not len(rows):
            segment.last_line = int(rows.lines[-1]) if len(rows) else segment.last_line
            segment.tally.printed += len(rows)
            return
        rows = self._with_counter(rows)
        if is_bar(self.pattern) and "step" in rows.columns:
            self._add_bar(rows, starts)
        elif self.pattern.redrawn and "epoch" in rows.columns:
            drawn = rows.behind(self._held)
            segment.refused = why_another_bar(drawn)
            rows, self._held = last_of_each_epoch(drawn)
            self._add_lines(rows, starts)
        else:
            self._add_lines(rows, starts)

    def close(self, starts: Ints) -> None:
        """Fold in what was held back: to be called at the log's end."""
        if self._held is not None:
            rows, self._held = self._held, None
            self._add_lines(rows, starts)
        self._close_lanes()
        refused = "the bar counts epochs, not steps" if self._drawn.counts_epochs else self._behind.refused
        for segment in self.segments if refused else ():
            segment.refused = refused

    def _add_bar(self, rows: Rows, starts: Ints) -> None:
        """Fold the rows of a progress bar in; where it begins again in another run, so does a segment."""
        if self.pattern.position_once:
            rows, self._behind = first_bars(rows, self._behind)
            if not len(rows):
                return
        rows, begins, self._drawn = drawn_once(self.pattern, rows, self._drawn, starts)
        if self.pattern.track and self.pattern.restarts and len(rows):
            self._note_stretches(rows)
        bounds = [0, *(np.flatnonzero(begins[1:]) + 1).tolist(), len(rows)]
        for low, high in pairwise(bounds):
            if high > low and begins[low] and self.segments[-1].tally.printed:
                self.segments.append(Segment())
            if high > low:
                self._add_lines(rows.take(slice(low, high)), starts)

    def _note_stretches(self, rows: Rows) -> None:
        """Note between which lines a bar was drawn, from each time that it began to its next."""
        began = rows.columns["epoch"].astype(np.int64)
        bounds = [0, *(np.flatnonzero(began[1:] != began[:-1]) + 1).tolist(), len(rows)]
        for low, high in pairwise(bounds):
            first, last = int(rows.lines[low]), int(rows.lines[high - 1])
            if int(began[low]) == len(self.stretches) - 1:  # it goes on from the block before
                self.stretches[-1] = (self.stretches[-1][0], last)
            else:
                self.stretches.append((first, last))

    def _add_lines(self, rows: Rows, starts: Ints) -> None:
        segment = self.segments[-1]
        if self.pattern.epochs_unnamed and "epoch" not in rows.columns and "step" in rows.columns:
            step, before = rows.columns["step"], segment.previous
            begun = np.cumsum(step < shifted(step, before.step))
            rows = rows.with_columns({"epoch": begun + np.nan_to_num(before.epoch, nan=1.0)})
        rows = self._with_steps(segment, self._counted(segment, rows))
        if segment.refused:
            segment.last_line = int(rows.lines[-1]) if len(rows) else segment.last_line
            segment.tally.printed += len(rows)
            return
        once = self.pattern.position_once and not is_bar(self.pattern)
        if once and rows.position_lines is not None:  # what follows is an evaluation's
            first = rows.position_lines != shifted(rows.position_lines, segment.previous.position_line)
            outside = outside_epochs(rows, first)
            segment.tally.behind_first += len(rows) - int((first | outside).sum())
            segment.tally.leave_out(rows.lines[outside])
            rows = rows.take(first & ~outside)
            segment.tally.unplaced += epochs_left_out(rows, segment.previous)
        if len(rows):
            self._fold(rows, starts)

    def _counted(self, segment: Segment, rows: Rows) -> Rows:
        """The rows with the steps that follow from a counter of samples, or from one that is rounded."""
        if self.pattern.step_rounded and "step" in rows.columns and not np.isnan(rows.columns["step"]).any():
            interval = self.shown.before("print_interval", int(rows.lines[0]))
            step, segment.counter, wrong = unrounded(rows.columns["step"], segment.counter, interval)
            if wrong >= 0:
                why = "steps are printed in whole thousands, and no interval between the lines fits"
                segment.refused = f"line {rows.lines[wrong]}: {why}"
            return rows.with_columns({"step": step})
        if self.pattern.step_counts != "samples":
            return rows
        known = segment.step_work or self.shown.global_batch(int(rows.lines[0])) if len(rows) else None
        counter = rows.columns[self._counter_of_samples()]
        if known and is_bar(self.pattern):  # a bar ends with a batch that may be smaller
            whole = np.abs(counter / known - np.rint(counter / known)) < EXACT
            rows, counter = rows.take(whole), counter[whole]
        if not len(rows):
            return rows
        steps, segment.step_work = steps_from_counter(counter, rows.columns.get("epoch"), known)
        if steps is None and is_bar(self.pattern):
            why = "the bar counts samples, and nothing in the log says how many of them a step has"
            segment.refused = f"line {rows.lines[0]}: {why}"
        return rows if steps is None else rows.with_columns({"step": steps})

    def _counter_of_samples(self) -> str:
        """The group that counts samples, of a pattern whose steps follow from it."""
        return next(v.group for v in self.pattern.values if v.quantity == "samples" and v.span == "cumulative")

    def _with_counter(self, rows: Rows) -> Rows:
        """The rows of a bar that counts samples, with its counter in place of the steps until these are known."""
        if self.pattern.step_counts != "samples" or not is_bar(self.pattern) or rows.has_steps():
            return rows
        return rows.with_columns({"step": rows.columns[self._counter_of_samples()]})

    def _with_steps(self, segment: Segment, rows: Rows) -> Rows:
        """The rows that name their step, where others do; a number too large for a float is no step."""
        if "step" not in rows.columns:
            return rows
        if np.isinf(rows.columns["step"]).any():
            step = np.where(np.isinf(rows.columns["step"]), np.nan, rows.columns["step"])
            rows = rows.with_columns({"step": step})
        placed_by_covers = rows.position_lines is not None and explicit_covers(self.pattern, rows) is not None
        lacking = np.isnan(rows.columns["step"])
        if placed_by_covers or not lacking.any() or lacking.all():
            return rows
        segment.tally.unusable += int(lacking.sum())
        return rows.take(~lacking)

    def _fold(self, rows: Rows, starts: Ints) -> None:
        segment = self.segments[-1]
        if self._lanes:
            self._fold_lanes(rows, starts)
            return
        order = in_order(self.pattern, rows, segment.previous)
        if order is None:  # without steps, only the very same line printed twice in a row can be told
            adjacent = np.diff(rows.lines, prepend=segment.previous.line) == 1
            line = int(rows.lines[-1])
            again = equal_to_previous(self.pattern, rows, segment.previous) & adjacent
            rows = self._without_doubles(segment, rows, ~again)
            segment.previous = replace(segment.previous, line=line)
            segment.refused = why_counter_stands(self.pattern, rows, segment.previous)
            if segment.refused:
                segment.tally.printed += len(rows)
                return
        elif not order.all():
            fresh, printed = not_doubled(self.pattern, rows, segment.previous, order, starts, segment.recent), rows
            rows = self._without_doubles(segment, rows, fresh)
            order = in_order(self.pattern, rows, segment.previous) if len(rows) else None
            if order is not None and not order.all():
                place = int(np.argmin(order))
                if self._blends(segment, printed, rows, starts, place):
                    segment.tally.doubled -= len(printed) - len(rows)
                    self._fold_lanes(printed, starts)
                else:
                    self._broken(segment, rows, starts, place)
                return
        if len(rows):
            self._append(segment, rows)

    def _without_doubles(self, segment: Segment, rows: Rows, keep: Mask) -> Rows:
        if keep.all():
            return rows
        segment.tally.doubled += int((~keep).sum())
        return rows.take(keep)

    def _begin(self) -> None:
        """Begin another segment."""
        self._close_lanes()
        self._opening = Lane()
        self.segments.append(Segment())

    def _blends(self, segment: Segment, printed: Rows, rows: Rows, starts: Ints, place: int) -> bool:
        """Whether rows go into lanes from now on: one at a place is not in order, near the beginning of a run.

        Args:
            printed: the rows with those that were printed twice.
        """
        if not may_blend(self.pattern) or segment.tally.printed + place > MOST_AHEAD:
            return False
        lines = [*self._opening.lines, rows.lines[:place]]
        line, before = int(rows.lines[place]), int(rows.lines[place - 1]) if place else segment.last_line
        if sum(map(len, lines)) != segment.tally.printed + place or keys_of(self.pattern, printed) is None:
            return False
        if np.searchsorted(starts, line, "right") > np.searchsorted(starts, before, "right"):
            return False
        previous = previous_of(self.pattern, rows.take(slice(place)), segment.previous) if place else segment.previous
        printed_before = segment.tally.printed + place
        if len(self.segments) > 1 and why_it_goes_on(self.segments[-2], segment, previous, printed_before):
            return False
        segment.blend = Blend(0, why_broken(self.pattern, rows, previous, before, place))
        self._lanes = [(self._opening, self)]
        return True

    def _fold_lanes(self, rows: Rows, starts: Ints) -> None:
        """Fold rows of several processes in, each into the first lane that it comes behind."""
        segment = self.segments[-1]
        assert segment.blend is not None
        keys = keys_of(self.pattern, rows)
        if keys is None:
            self._refuse_blend(segment, rows)
            return
        far = first_far_behind(self._lanes[0][0], keys)
        rest, left = rows.take(slice(far if far >= 0 else None)), keys[: far if far >= 0 else None]
        at = 0
        while len(rest):
            if at == len(self._lanes):
                self._lanes.append((Lane(), RankSeries(self.pattern, self.as_printed)))
            lane, series = self._lanes[at]
            taken = lane.takes(left)
            if taken.any():
                series.shown, series._pauses = self.shown, self._pauses
                series._append(series.segments[-1], rest.take(taken))
                lane.add(rest.lines[taken], left[taken])
            rest, left, at = rest.take(~taken), left[~taken], at + 1
            if at == MOST_RANKS:
                self._refuse_blend(segment, rest)
                return
        if far < 0:
            return
        line, before = int(rows.lines[far]), int(rows.lines[far - 1]) if far else segment.last_line
        if np.searchsorted(starts, line, "right") > np.searchsorted(starts, before, "right"):
            self._begin()
            self._fold(rows.take(slice(far, None)), starts)
        else:
            self._refuse_blend(segment, rows.take(slice(far, None)))

    def _refuse_blend(self, segment: Segment, rows: Rows) -> None:
        """Refuse a segment whose lanes are no ranks', with the rows that are left."""
        assert segment.blend is not None
        segment.tally.printed += sum(series.segments[-1].tally.printed for _, series in self._lanes[1:])
        segment.refused, segment.blend, self._lanes = segment.blend.reason, None, []
        self._refuse_where_it_goes_on()
        segment.last_line = int(rows.lines[-1]) if len(rows) else segment.last_line
        segment.tally.printed += len(rows)

    def _refuse_where_it_goes_on(self) -> None:
        """Refuse the segment before the last, which is refused, where that one holds rows of it."""
        if len(self.segments) > 1:
            before, segment = self.segments[-2:]
            why = why_it_goes_on(before, segment, segment.previous, segment.tally.printed)
            before.refused = before.refused or why

    def _close_lanes(self) -> None:
        """Take of each step the slowest record, where nearly all have one in each lane."""
        if not self._lanes:
            return
        segment, lanes = self.segments[-1], [lane for lane, _ in self._lanes]
        assert segment.blend is not None
        keys, without = lacking(lanes)
        measures = self.pattern.role == "step"
        if not is_regular(len(keys), without) or (measures and not can_be_compared(segment.basis)):
            self._refuse_blend(segment, Rows(NO_LINES, {}))
            return
        segment.last_line = max(series.segments[-1].last_line for _, series in self._lanes)
        if measures:
            store = slowest(lanes, [series.segments[-1].store for _, series in self._lanes], keys)
            if not store.count:
                self._refuse_blend(segment, Rows(NO_LINES, {}))
                return
            segment.store = store
            segment.tally.unusable += len(keys) + without - segment.store.count
        segment.blend, self._lanes = segment.blend._replace(records=len(lanes)), []

    def _broken(self, segment: Segment, rows: Rows, starts: Ints, place: int) -> None:
        """Steps that repeat or go back at a row: a second run begins there, or this is no run at all."""
        if place:
            self._append(segment, rows.take(slice(0, place)))
        line, before = int(rows.lines[place]), segment.last_line
        began = np.searchsorted(starts, line, "right") - np.searchsorted(starts, before, "right")
        if began > 0 and segment.tally.printed:
            self._begin()
            self._fold(self._counted(self.segments[-1], rows.take(slice(place, None))), starts)
            return
        segment.refused = why_broken(self.pattern, rows, segment.previous, before, place)
        self._refuse_where_it_goes_on()
        segment.last_line = int(rows.lines[-1])
        segment.tally.printed += len(rows) - place

    def _append(self, segment: Segment, rows: Rows) -> None:
        """Turn rows that are in order into measurements."""
        segment.tally.printed += len(rows)
        segment.first_line = segment.first_line or int(rows.lines[0])
        segment.last_line = int(rows.lines[-1])
        if not self._lanes and segment.tally.printed <= MOST_AHEAD and may_blend(self.pattern):
            keys = keys_of(self.pattern, rows)
            if keys is not None:
                self._opening.add(rows.lines, keys)
        segment.last = segment.last | last_numbers(rows.lines, rows.columns)
        if self.pattern.restarts:
            self._note_epochs(segment, rows)
        learn = segment.basis is None
        steps, count = count_steps(self.pattern, rows, segment.previous, segment.count, learn)
        if learn:
            window = self.shown.before("window_size", int(rows.lines[0]))
            segment.basis = choose_basis(
                self.pattern, rows.columns, steps.every_step, steps.usual, self.as_printed, window
            )
            self._refuse_swapped(segment, rows, steps)
        self._note_steps(segment, rows, steps)
        paused = self._paused_rows(rows, segment.previous, steps.epoch, segment.count.epochs)
        segment.count = count
        segment.previous = previous_of(self.pattern, rows, segment.previous)
        if self.pattern.redrawn and "run_steps" not in rows.columns:  # a bar with an end is drawn in one place
            drawn = marks_of(self.pattern, rows.take(slice(-REDRAWN, None)))
            segment.recent = [*segment.recent, *drawn][-REDRAWN:]
        if self.pattern.role == "position" or segment.basis is None:
            return
        if segment.basis.value.span == "cumulative" and not segment.basis.value.is_clock:
            segment.digit = _finer(segment.digit, rows.columns[segment.basis.value.group])
        if segment.basis.value.is_clock:
            paused, segment.paused = until_timed(paused, rows.columns[segment.basis.value.group], segment.paused)
        measured = measure(self.pattern, segment.basis, rows, steps, count, segment.running, self.as_printed)
        segment.running = measured.running
        segment.tally.unknown += int(measured.unknown.sum())
        segment.tally.leave_out(rows.lines[measured.unusable])
        segment.tally.lead(measured.good)
        table = with_metrics(self.pattern, measured.rows, rows.columns, measured.good)
        whole = kept(self._whole_rows(segment, rows), measured.good)
        table = self._without_pauses(segment, kept(table, whole), kept(kept(paused, measured.good), whole))
        table = self._without_closing(segment, table, rows)
        segment.store.append(self._without_first_of_epochs(segment, table))

    def _note_epochs(self, segment: Segment, rows: Rows) -> None:
        """Note the epochs that a bar prints, and how often it began again where they do not rise."""
        printed = rows.columns.get("printed_epoch", np.full(len(rows), np.nan))
        first, last = segment.printed_epochs
        segment.printed_epochs = (float(printed[0]) if math.isnan(first) else first, float(printed[-1]))
        restarted = rows.columns["epoch"] > shifted(rows.columns["epoch"], segment.previous.epoch)
        segment.tally.restarts += int((restarted & ~(printed > shifted(printed, last))).sum())

    def _refuse_swapped(self, segment: Segment, rows: Rows, steps: Steps) -> None:
        """Refuse rows whose running mean and last step's time stand in each other's place."""
        if segment.basis is None or self.as_printed:
            return
        mean, last = segment.basis.value, twin(self.pattern, segment.basis, rows.columns)
        if last is None:
            return
        counted = (steps.within if mean.since == "epoch" else steps.end) - mean.offset
        if are_swapped(rows.columns[mean.group], rows.columns[last.group], counted, steps.epoch):
            segment.refused = (
                f"from line {rows.lines[0]} on, what should be the running mean ({mean.group}) moves like the last "
                f"step's time, and what should be that ({last.group}) like a mean: the program prints them the other "
                "way round"
            )

    def _without_closing(self, segment: Segment, measured: Floats, rows: Rows) -> Floats:
        """The measurements, (fields, used), but for the end of a bar that took much longer than what came before.

        A bar is drawn a last time when it is closed, after what the program did last: an evaluation, saving, or leaving
        Python.
        """
        columns, tally = rows.columns, segment.tally
        if not self.pattern.redrawn or not {"step", "run_steps"} <= set(columns) or not measured.shape[1]:
            return measured
        covers, time = measured[2:4, :-1].sum(axis=1) + np.array((tally.bar_covers, tally.bar_time))
        tally.bar_covers += float(measured[2].sum())
        tally.bar_time += float(measured[3].sum())
        closes = columns["step"][-1] == columns["run_steps"][-1] and measured[5, -1] == rows.lines[-1]
        if not closes or not covers or measured[3, -1] <= CLOSING * measured[2, -1] * time / covers + CLOCK_DIGIT:
            return measured
        tally.closings += 1
        return measured[:, :-1]

    def _paused_rows(self, rows: Rows, before: Previous, epoch: Ints, first_epoch: int) -> Mask:
        """Which rows hold a pause since the row before them, (n,), or since the beginning of a bar that began anew.

        Args:
            before: the row before the first one.
            epoch: how many epochs began before each row, (n,); ``first_epoch``: before the row before the first.
        """
        inside = np.zeros(len(rows), dtype=bool)
        if len(self._pauses) and rows.places is not None:
            last = np.searchsorted(self._pauses, rows.places, "right")
            inside = last > np.searchsorted(self._pauses, shifted(rows.places, before.place), "right")
            if self.pattern.restarts:
                inside &= epoch == shifted(epoch, first_epoch)
        return inside

    def _without_pauses(self, segment: Segment, measured: Floats, paused: Mask) -> Floats:
        """The measurements of a clock and the like, (fields, used), but for those that hold a pause, (used,)."""
        basis = segment.basis
        if not paused.any() or basis is None:
            return measured
        if not basis.value.is_clock and (self.as_printed or not basis.value.holds_pauses):
            return measured
        segment.tally.paused += int(paused.sum())
        segment.tally.paused_time += float(measured[3, paused].sum())
        return measured[:, ~paused]

    def _whole_rows(self, segment: Segment, rows: Rows) -> Mask:
        """Which rows are means over as many steps as the others, (n,), by the work of a step that they print."""
        value = next((v for v in self.pattern.values if v.partial and v.group in rows.columns), None)
        if value is None or self.as_printed:
            return np.ones(len(rows), dtype=bool)
        whole, segment.works = whole_records(rows.columns[value.group], segment.works)
        segment.tally.partial += int((~whole).sum())
        return whole

    def _without_first_of_epochs(self, segment: Segment, measured: Floats) -> Floats:
        """The measurements, (fields, used), but for the first of each epoch where a format is wrong about that one."""
        if self.pattern.drops_first != "epoch" or not measured.shape[1]:
            return measured
        first = measured[6] != shifted(measured[6], segment.tally.last_epoch)
        segment.tally.last_epoch = float(measured[6, -1])
        segment.tally.first_of_epochs += int(first.sum())
        return kept(measured, ~first)

    def _note_steps(self, segment: Segment, rows: Rows, steps: Steps) -> None:
        tally = segment.tally
        tally.repeats += steps.repeats
        tally.gaps += steps.gaps
        if steps.gaps and not tally.gap_place:
            epoch = float(rows.columns["epoch"][steps.gap_row]) if "epoch" in rows.columns else math.nan
            step = float(rows.columns["step"][steps.gap_row])
            line = int(rows.lines[steps.gap_row])
            by_covers = rows.position_lines is not None and explicit_covers(self.pattern, rows) is not None
            tally.gap_place = (
                f"before line {line}"
                if by_covers
                else f"before {name_of_step(self.pattern, epoch, step)} (line {line})"
            )
