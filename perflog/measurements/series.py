"""The measurements of one rank in the order of the log, folded block by block into segments.

Stages: rows → order (doubles out, a second run apart, blended ranks refused) → steps → measurements → store.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from perflog.formats.parser import LAST_GROUPS, Pattern
from perflog.measurements.basis import choose_basis
from perflog.measurements.measure import measure
from perflog.measurements.order import equal_to_previous, in_order, name_of_step, not_doubled, why_broken
from perflog.measurements.rows import Columns, Ints, Mask, Rows, shifted
from perflog.measurements.segment import Previous, Segment
from perflog.measurements.steps import Steps, count_steps, explicit_covers


class RankSeries:
    """The segments of one rank (or of an untagged log) under one pattern."""

    def __init__(self, pattern: Pattern, as_printed: bool = False) -> None:
        self.pattern = pattern
        self.as_printed = as_printed
        self.segments: list[Segment] = [Segment()]

    def add(self, rows: Rows, starts: Ints) -> None:
        """Fold a block's rows in; ``starts``: the lines where a run may begin, in order."""
        segment = self.segments[-1]
        if segment.refused or not len(rows):
            segment.last_line = int(rows.lines[-1]) if len(rows) else segment.last_line
            segment.tally.printed += len(rows)
            return
        rows = self._with_steps(segment, rows)
        if self.pattern.position_once and rows.position_lines is not None:  # what follows is an evaluation's
            rows = rows.take(rows.position_lines != shifted(rows.position_lines, segment.previous.position_line))
        if len(rows):
            self._fold(rows, starts)

    def _with_steps(self, segment: Segment, rows: Rows) -> Rows:
        """The rows that name their step, where others do; a number too large for a float is no step."""
        if "step" not in rows.columns:
            return rows
        if np.isinf(rows.columns["step"]).any():
            step = np.where(np.isinf(rows.columns["step"]), np.nan, rows.columns["step"])
            rows = Rows(rows.lines, {**rows.columns, "step": step}, rows.position_lines)
        placed_by_covers = rows.position_lines is not None and explicit_covers(self.pattern, rows) is not None
        lacking = np.isnan(rows.columns["step"])
        if placed_by_covers or not lacking.any() or lacking.all():
            return rows
        segment.tally.unusable += int(lacking.sum())
        return rows.take(~lacking)

    def _fold(self, rows: Rows, starts: Ints) -> None:
        segment = self.segments[-1]
        order = in_order(self.pattern, rows, segment.previous)
        if order is None:  # without steps, only the very same line printed twice in a row can be told
            adjacent = np.diff(rows.lines, prepend=segment.previous.line) == 1
            line = int(rows.lines[-1])
            rows = self._without_doubles(segment, rows, ~(equal_to_previous(rows, segment.previous) & adjacent))
            segment.previous = replace(segment.previous, line=line)
        elif not order.all():
            rows = self._without_doubles(segment, rows, not_doubled(self.pattern, rows, segment.previous, order))
            order = in_order(self.pattern, rows, segment.previous) if len(rows) else None
            if order is not None and not order.all():
                self._broken(segment, rows, starts, int(np.argmin(order)))
                return
        if len(rows):
            self._append(segment, rows)

    def _without_doubles(self, segment: Segment, rows: Rows, keep: Mask) -> Rows:
        if keep.all():
            return rows
        segment.tally.doubled += int((~keep).sum())
        return rows.take(keep)

    def _broken(self, segment: Segment, rows: Rows, starts: Ints, place: int) -> None:
        """Steps that repeat or go back at a row: a second run begins there, or this is no run at all."""
        if place:
            self._append(segment, rows.take(slice(0, place)))
        line, before = int(rows.lines[place]), segment.last_line
        began = np.searchsorted(starts, line, "right") - np.searchsorted(starts, before, "right")
        if began > 0 and segment.tally.printed:
            self.segments.append(Segment())
            self._fold(rows.take(slice(place, None)), starts)
            return
        segment.refused = why_broken(self.pattern, rows, segment.previous, before, place)
        segment.last_line = int(rows.lines[-1])
        segment.tally.printed += len(rows) - place

    def _append(self, segment: Segment, rows: Rows) -> None:
        """Turn rows that are in order into measurements."""
        segment.tally.printed += len(rows)
        segment.first_line = segment.first_line or int(rows.lines[0])
        segment.last_line = int(rows.lines[-1])
        segment.last = segment.last | last_numbers(rows.lines, rows.columns)
        learn = segment.basis is None
        steps, count = count_steps(self.pattern, rows, segment.previous, segment.count, learn)
        if learn:
            segment.basis = choose_basis(self.pattern, rows.columns, steps.every_step, steps.usual, self.as_printed)
        self._note_steps(segment, rows, steps)
        segment.count = count
        segment.previous = _previous_of(rows, segment.previous)
        if self.pattern.role == "position" or segment.basis is None:
            return
        measured = measure(self.pattern, segment.basis, rows, steps, count, segment.running, self.as_printed)
        segment.running = measured.running
        segment.tally.unknown += int(measured.unknown.sum())
        segment.tally.unusable += int(measured.unusable.sum())
        if measured.unusable.any() and not segment.tally.unusable_line:
            segment.tally.unusable_line = int(rows.lines[int(np.argmax(measured.unusable))])
        segment.store.append(measured.rows)

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


def last_numbers(lines: Ints, columns: Columns) -> dict[str, tuple[float, int]]:
    """The last number of each of ``LAST_GROUPS``, with its line."""
    last = {}
    for name in LAST_GROUPS:
        if name in columns:
            column = columns[name]
            place = len(column) - 1
            if math.isnan(column[place]):
                finite = np.flatnonzero(~np.isnan(column))
                place = int(finite[-1]) if len(finite) else -1
            if place >= 0:
                last[name] = float(column[place]), int(lines[place])
    return last


def _previous_of(rows: Rows, before: Previous) -> Previous:
    """The last row, as the next block's first one is compared with it."""
    stepped = "step" in rows.columns or "epoch" in rows.columns
    return Previous(
        epoch=rows.last("epoch") if stepped else before.epoch,
        step=rows.last("step") if stepped else before.step,
        values={name: float(rows.columns[name][-1]) for name in rows.value_names()},
        position_line=before.position_line if rows.position_lines is None else int(rows.position_lines[-1]),
        moment=rows.last("timestamp") if "timestamp" in rows.columns else before.moment,
        line=max(before.line, int(rows.lines[-1])),
    )
