"""Plain logs, many at a time: what :mod:`perflog.measurements.series` does log by log, for a whole batch at once.

A log is plain under a pattern when its steps rise by one interval within one epoch and every line holds a number
that can be used: nearly all are. What is not plain takes the general path, and a property test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perflog.formats.parser import Pattern
from perflog.measurements.basis import MEASURING, Basis, choose_basis
from perflog.measurements.rows import Columns, Floats, Ints, Mask, Rows
from perflog.measurements.segment import Count, Segment, Tally
from perflog.measurements.series import last_numbers
from perflog.measurements.steps import explicit_covers
from perflog.measurements.store import FIELDS
from perflog.measurements.work import running_totals, work_and_time


@dataclass(frozen=True, slots=True)
class Texts:
    """Rows of several texts behind each other: where each text's rows begin, and how many they are, (texts,)."""

    number: Ints
    first: Ints
    count: Ints

    def all(self, mask: Mask) -> Mask:
        """Whether a mask (rows,) holds throughout each text, (texts,)."""
        return np.asarray(np.logical_and.reduceat(mask, self.first)) if len(self.first) else np.empty(0, dtype=bool)

    def for_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value a text, (texts,), repeated for its rows, (rows,)."""
        return np.repeat(values, self.count)


@dataclass(frozen=True, slots=True)
class PlainBatch:
    """The plain texts of a batch under one pattern.

    ``rows``: measurements of all, (len(store.FIELDS), rows); ``texts``: whose they are; ``segments``: one a text.
    """

    rows: Floats
    texts: Texts
    segments: list[Segment] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Printed:
    """What texts print that have one interval between their lines.

    Attributes:
        texts: whose the rows are.
        lines: line numbers, (rows,).
        columns: printed numbers, each (rows,).
        interval: steps from one line to the next.
        resumed: whether each text begins in the middle of a run, (texts,).
    """

    texts: Texts
    lines: Ints
    columns: Columns
    interval: float
    resumed: Mask

    def of(self, chosen: Mask) -> _Printed:
        """The rows of the chosen texts, (texts,)."""
        if chosen.all():
            return self
        kept = self.texts.for_rows(chosen).astype(bool)
        count = self.texts.count[chosen]
        texts = Texts(self.texts.number[chosen], np.cumsum(count) - count, count)
        columns = {name: column[kept] for name, column in self.columns.items()}
        return _Printed(texts, self.lines[kept], columns, self.interval, self.resumed[chosen])


def plain_batches(
    pattern: Pattern, text: Ints, lines: Ints, columns: Columns, as_printed: bool
) -> Iterator[PlainBatch]:
    """The plain texts among rows of many, by the basis of their measurements.

    Args:
        text: the text that each row is of, in order, (rows,).
        lines: line numbers, (rows,).
        columns: printed numbers, each (rows,).
    """
    if not len(text) or not _may_be_plain(pattern, columns):
        return
    first = np.flatnonzero(np.diff(text, prepend=-1))
    texts = Texts(text[first], first, np.diff(np.append(first, len(text))))
    step = columns["step"]
    with np.errstate(invalid="ignore"):  # a step of 400 digits is infinite, and no step
        interval = np.where(texts.count > 1, step[np.minimum(first + 1, len(step) - 1)] - step[first], 0.0)
        plain = (interval > 0) & texts.all(_regular(pattern, columns, texts, interval) & np.isfinite(step))
    plain &= step[first] + (1 - pattern.step_base) > 0
    signature, usable = _signatures(pattern, columns, texts)
    plain &= usable
    # a set of few: np.unique would import numpy.ma, a tenth of what a command takes to start
    for key in sorted(set(zip(signature[plain].tolist(), interval[plain].tolist(), strict=True))):
        chosen = plain & (signature == key[0]) & (interval == key[1])
        row = int(first[np.argmax(chosen)])
        sample = {name: column[row : row + 1] for name, column in columns.items()}
        basis = choose_basis(pattern, sample, key[1] == 1, key[1], as_printed)
        if basis is not None and basis.value.quantity != "timestamp":
            resumed = step[first] + (1 - pattern.step_base) > 2 * key[1]
            if (basis.value.span == "cumulative" or basis.value.quantity == "elapsed") and not as_printed:
                chosen = chosen & ~resumed
            printed = _Printed(texts, lines, columns, key[1], resumed).of(chosen)
            batch = _measured(pattern, basis, printed, as_printed)
            if batch is not None:
                yield batch


def _may_be_plain(pattern: Pattern, columns: Columns) -> bool:
    special = pattern.position or pattern.position_once or pattern.step_repeats
    if pattern.role != "step" or special or "step" not in columns or "rank" in columns:
        return False
    one_row = Rows(np.zeros(1, dtype=np.int64), {name: column[:1] for name, column in columns.items()})
    return explicit_covers(pattern, one_row) is None


def _regular(pattern: Pattern, columns: Columns, texts: Texts, interval: Floats) -> Mask:
    """Whether each row is one interval after the one before it, in the same epoch, (rows,)."""
    step = columns["step"]
    regular = np.empty(len(step), dtype=bool)
    np.equal(np.diff(step), texts.for_rows(interval)[1:], out=regular[1:])
    regular[texts.first] = True
    if pattern.step_per == "epoch" and "epoch" in columns:
        epoch = columns["epoch"]
        regular &= epoch == texts.for_rows(epoch[texts.first])
    return regular


def _signatures(pattern: Pattern, columns: Columns, texts: Texts) -> tuple[Ints, Mask]:
    """(which of the numbers that may be measured a text prints, as bits; whether on all its lines), each (texts,)."""
    groups = [v.group for v in pattern.values if v.quantity in MEASURING or v.quantity == "samples"]
    signature = np.zeros(len(texts.first), dtype=np.int64)
    usable = np.ones(len(texts.first), dtype=bool)
    for bit, group in enumerate(dict.fromkeys([*groups, "global_batch_size"])):
        if group not in columns:
            continue
        finite = np.isfinite(columns[group])
        everywhere = texts.all(finite)
        usable &= everywhere | texts.all(~finite)
        signature |= everywhere.astype(np.int64) << bit
    return signature, usable


def _measured(pattern: Pattern, basis: Basis, printed: _Printed, as_printed: bool) -> PlainBatch | None:
    """The measurements of plain texts; those of them without a number that can be used are left out."""
    texts, columns = printed.texts, printed.columns
    if not len(texts.first) or (as_printed and basis.value.quantity == "elapsed"):
        return None
    within = columns["step"] + (1 - pattern.step_base)
    deltas = np.full(len(within), printed.interval)
    deltas[texts.first] = np.minimum(within[texts.first], printed.interval)
    if (basis.value.span == "cumulative" or basis.value.quantity == "elapsed") and not as_printed:
        covers, work, time = _differences(basis, columns, within, texts)
    else:
        covers = _covers(basis, deltas, within, as_printed)
        work, time = work_and_time(basis, columns, covers)
    reach = np.maximum(covers, np.minimum(basis.value.window, within)) if basis.value.span == "window" else covers
    good = (covers > 0) & np.isfinite(time) & np.isfinite(work) & (work > 0)
    if basis.value.span != "cumulative" or as_printed:
        good &= time > 0
    rows = np.empty((len(FIELDS), len(within)))
    for place, column in enumerate((within - reach, within, covers, time, work, printed.lines, np.zeros(len(within)))):
        rows[place] = column
    whole = texts.all(good)
    if not whole.all():
        kept = texts.for_rows(whole).astype(bool)
        rows, deltas = rows[:, kept], deltas[kept]
    return _with_segments(basis, rows, deltas, printed.of(whole))


def _covers(basis: Basis, deltas: Floats, within: Floats, as_printed: bool) -> Floats:
    if basis.value.span == "last":
        return np.ones(len(deltas))
    if not as_printed and basis.value.span == "window" and basis.value.window:
        return np.minimum(deltas, np.minimum(basis.value.window, within))
    return deltas


def _differences(basis: Basis, columns: Columns, within: Floats, texts: Texts) -> tuple[Floats, Floats, Floats]:
    """(covers, work, time) of running means and clocks, each (rows,); NaN where a mean has not begun."""
    counted = within - basis.value.offset
    totals = running_totals(basis, columns, counted)
    counted = np.where(np.isfinite(totals) & (counted > 0), counted, np.nan)
    covers, time = counted.copy(), totals.copy()
    covers[1:] -= counted[:-1]
    time[1:] -= totals[:-1]
    covers[texts.first], time[texts.first] = counted[texts.first], totals[texts.first]
    batch = columns["global_batch_size"] if basis.batch_on_line else 1.0
    return covers, covers * batch, time


def _with_segments(basis: Basis, rows: Floats, deltas: Floats, printed: _Printed) -> PlainBatch:
    """A segment for each text; ``deltas`` are the steps since the row before, (rows,)."""
    texts, end = printed.texts, rows[1]
    bounds = zip(texts.first.tolist(), (texts.first + texts.count).tolist(), printed.resumed.tolist(), strict=True)
    segments = []
    for low, high, resumed in bounds:
        lines = printed.lines[low:high]
        segment = Segment(
            first_line=int(lines[0]),
            last_line=int(lines[-1]),
            last=last_numbers(lines, {name: column[low:high] for name, column in printed.columns.items()}),
            basis=basis,
            tally=Tally(printed=high - low),
            count=Count(float(end[low] - deltas[low]), float(end[high - 1]), 0.0, 0, printed.interval, resumed),
        )
        segment.store.append(rows[:, low:high])
        segments.append(segment)
    return PlainBatch(rows, texts, segments)
