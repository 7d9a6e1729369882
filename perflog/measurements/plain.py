"""Plain logs, many at a time: what :mod:`perflog.measurements.series` does log by log, for a whole batch at once.

A log is plain under a pattern when its steps rise by one interval within one epoch and every line holds a number
that can be used: nearly all are. What is not plain takes the general path, and a property test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from perflog.formats.parser import LAST_GROUPS, Pattern
from perflog.measurements.basis import MEASURING, Basis, are_swapped, choose_basis, twin
from perflog.measurements.estimate import Estimate, MeansOverTime, with_metrics
from perflog.measurements.measure import measure
from perflog.measurements.rows import Columns, Floats, Ints, Mask, Rows, Store, last_numbers
from perflog.measurements.segment import Count, RunningTotal, Segment, Taken, Tally
from perflog.measurements.steps import Steps, explicit_covers
from perflog.measurements.structure import SLOW, ends_slowly
from perflog.measurements.window import STEP_TOLERANCE, borders, doubt
from perflog.settings.options import Window


class Texts(Struct, frozen=True):
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


class PlainBatch(Struct, frozen=True):
    """The plain texts of a batch under one pattern.

    ``rows``: measurements of all, (len(store.FIELDS), rows), with what lines print beside them below; ``texts``: whose
    they are; ``origin``, ``end``: steps of the program before each text's first measurement and up to its last,
    (texts,); ``segments``: one a text.
    """

    rows: Floats
    texts: Texts
    origin: Floats
    end: Floats
    segments: list[Segment]


class _Printed(Struct, frozen=True):
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


def _regular(
    first: Ints, count: Ints, step: Floats, epoch: Floats | None, columns: Sequence[Floats]
) -> tuple[Floats, Ints]:
    """Which logs have steps that rise by one interval, within one epoch.

    Args:
        first, count: where each log's rows begin and how many they are, at least one, (logs,).
        step, epoch: the printed numbers, (rows,).
        columns: numbers of which a log's rows must all be finite or none, each (rows,).

    Returns:
        The steps from one row to the next, (logs,), and which columns are finite, as bits, (logs,); -1 for a log that
        is not of this kind.
    """
    with np.errstate(invalid="ignore"):  # a step of 400 digits is infinite, and no step
        interval = np.where(count > 1, step[np.minimum(first + 1, len(step) - 1)] - step[first], 0.0)
        mask = np.empty(len(step), dtype=bool)
        np.equal(np.diff(step), np.repeat(interval, count)[1:], out=mask[1:])
    mask[first] = True
    if epoch is not None:
        mask &= epoch == np.repeat(epoch[first], count)
    kind = (interval > 0) & np.logical_and.reduceat(mask & np.isfinite(step), first)
    bits = np.zeros(len(first), dtype=np.int64)
    for bit, column in enumerate(columns):
        finite = np.isfinite(column)
        everywhere = np.logical_and.reduceat(finite, first)
        kind &= everywhere | np.logical_and.reduceat(~finite, first)
        bits |= everywhere.astype(np.int64) << bit
    return interval, np.where(kind, bits, -1)


def plain_batches(
    pattern: Pattern, text: Ints, lines: Ints, columns: Columns, as_printed: bool, paused: Mask
) -> Iterator[PlainBatch]:
    """The plain texts among rows of many, by the basis of their measurements.

    Args:
        text: the text that each row is of, in order, (rows,).
        lines: line numbers, (rows,).
        columns: printed numbers, each (rows,).
        paused: whether a line of each text reports an evaluation or the like, for all texts of the batch.
    """
    if not len(text) or not _may_be_plain(pattern, columns):
        return
    first = np.append(0, np.flatnonzero(text[1:] != text[:-1]) + 1)
    texts = Texts(text[first], first, np.diff(np.append(first, len(text))))
    step = columns["step"]
    epoch = columns.get("epoch") if pattern.step_per == "epoch" else None
    interval, signature = _regular(first, texts.count, step, epoch, _that_measure(pattern, columns))
    plain = (signature >= 0) & (step[first] + (1 - pattern.step_base) > 0)
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
            if basis.value.span == "window" and basis.value.quantity == "step_time" and not as_printed:
                continue  # a mean over a window needs the rows as far back as that reaches
            chosen = chosen & ~_swapped(pattern, basis, texts, columns, chosen)
            printed = _Printed(texts, lines, columns, key[1], resumed).of(chosen)
            batch = _measured(pattern, basis, printed, as_printed, paused)
            if batch is not None:
                yield batch


def _swapped(pattern: Pattern, basis: Basis, texts: Texts, columns: Columns, chosen: Mask) -> Mask:
    """Which of the chosen texts print a running mean and the last step's time the other way round, (texts,)."""
    swapped = np.zeros(len(chosen), dtype=bool)
    last = twin(pattern, basis, columns)
    if last is None:
        return swapped
    for text in np.flatnonzero(chosen).tolist():
        rows = slice(int(texts.first[text]), int(texts.first[text] + texts.count[text]))
        step = columns["step"][rows] + (1 - pattern.step_base) - basis.value.offset
        epoch = np.zeros(len(step), dtype=np.int64)
        mean, other = columns[basis.value.group][rows], columns[last.group][rows]
        swapped[text] = are_swapped(mean, other, step, epoch)
    return swapped


def _may_be_plain(pattern: Pattern, columns: Columns) -> bool:
    special = pattern.position or pattern.position_once or pattern.step_repeats or not pattern.plain
    if pattern.role != "step" or special or "step" not in columns or "rank" in columns:
        return False
    one_row = Rows(np.zeros(1, dtype=np.int64), {name: column[:1] for name, column in columns.items()})
    return explicit_covers(pattern, one_row) is None


def _that_measure(pattern: Pattern, columns: Columns) -> list[Floats]:
    """The columns that decide what is measured, (rows,) each: a log must print each on all its lines or on none."""
    groups = [value.group for value in pattern.values if value.quantity in MEASURING or value.quantity == "samples"]
    return [columns[group] for group in dict.fromkeys([*groups, "global_batch_size"]) if group in columns]


def _measured(pattern: Pattern, basis: Basis, printed: _Printed, as_printed: bool, paused: Mask) -> PlainBatch | None:
    """The measurements of plain texts; those of them without a number that can be used are left out."""
    texts, columns = printed.texts, printed.columns
    if not len(texts.first) or (as_printed and basis.value.quantity == "elapsed"):
        return None
    within = columns["step"] + (1 - pattern.step_base)
    deltas = np.full(len(within), printed.interval)
    deltas[texts.first] = np.minimum(within[texts.first], printed.interval)
    steps = Steps(within, deltas, deltas, within, np.zeros(len(within), dtype=np.int64))
    count, printed_rows = Count(interval=printed.interval), Rows(printed.lines, columns, first=texts.first)
    measured = measure(pattern, basis, printed_rows, steps, count, RunningTotal(), as_printed)
    good = measured.good
    rows = with_metrics(pattern, measured.rows, columns, good)
    rows, deltas, printed = _of_texts(texts.all(good), rows, good, deltas, printed)
    if not as_printed and len(printed.texts.first):
        whole = ~_may_leave_out(rows, printed.texts, paused)
        rows, deltas, printed = _of_texts(whole, rows, np.ones(len(deltas), dtype=bool), deltas, printed)
    return _with_segments(basis, rows, deltas, printed)


def _of_texts(
    chosen: Mask, rows: Floats, good: Mask, deltas: Floats, printed: _Printed
) -> tuple[Floats, Floats, _Printed]:
    """The measurements, the steps since the row before and what is printed, of the chosen texts, whose rows are good.

    Args:
        rows: measurements of the good rows, (fields, used).
        good: which rows those are, (n,).
    """
    if chosen.all():
        return rows, deltas, printed
    kept = printed.texts.for_rows(chosen).astype(bool)
    return np.compress(kept[good], rows, axis=1), deltas[kept], printed.of(chosen)


def _may_leave_out(rows: Floats, texts: Texts, paused: Mask) -> Mask:
    """Whether a record of each text may be one that :mod:`perflog.measurements.structure` leaves out, (texts,)."""
    with np.errstate(divide="ignore", invalid="ignore"):  # those without a usable number are no plain text's
        per_step = rows[3] / rows[2]
        slow = per_step >= SLOW * texts.for_rows(np.minimum.reduceat(per_step, texts.first))
    slow[texts.first] = False
    final = texts.first + texts.count - 1
    leaves_out = paused[texts.number] & ~texts.all(~slow)
    for text in np.flatnonzero(slow[final] & ~leaves_out).tolist():
        leaves_out[text] = ends_slowly(per_step[texts.first[text] : final[text] + 1])
    return leaves_out


def _with_segments(basis: Basis, rows: Floats, deltas: Floats, printed: _Printed) -> PlainBatch:
    """A segment for each text; ``deltas`` are the steps since the row before, (rows,)."""
    texts, lines = printed.texts, printed.lines
    final = texts.first + texts.count - 1
    origin, end = rows[1][texts.first] - deltas[texts.first], rows[1][final]
    counts: dict[tuple[float, float, bool], Count] = {}  # repeats of one training have the same
    segments = []
    for low, high, first_line, last_line, last, *key in zip(
        texts.first.tolist(), (final + 1).tolist(), lines[texts.first].tolist(), lines[final].tolist(),
        _last_numbers(printed), origin.tolist(), end.tolist(), printed.resumed.tolist(), strict=True,
    ):  # fmt: skip
        begin, until, resumed = key
        count = counts.get((begin, until, resumed))
        if count is None:
            count = counts[begin, until, resumed] = Count(begin, until, 0.0, 0, printed.interval, resumed)
        store, tally = Store(rows[:, low:high]), Tally(high - low, begun=True)
        segments.append(Segment(first_line, last_line, "", last, basis, store, tally, count))
    return PlainBatch(rows, texts, origin, end, segments)


def _last_numbers(printed: _Printed) -> list[dict[str, tuple[float, int]]]:
    """What :func:`perflog.measurements.rows.last_numbers` gives for each text, (texts,)."""
    first, final = printed.texts.first, printed.texts.first + printed.texts.count - 1
    lines = printed.lines[final].tolist()
    last: list[dict[str, tuple[float, int]]] = [{} for _ in lines]
    columns = {name: printed.columns[name] for name in LAST_GROUPS if name in printed.columns}
    lacking = np.zeros(len(lines), dtype=bool)
    for name, column in columns.items():
        numbers = column[final]
        lacking |= np.isnan(numbers)
        for numbers_of_text, number, line in zip(last, numbers.tolist(), lines, strict=True):
            numbers_of_text[name] = number, line
    for text in np.flatnonzero(lacking).tolist():
        rows = slice(int(first[text]), int(final[text]) + 1)
        last[text] = last_numbers(printed.lines[rows], {name: column[rows] for name, column in columns.items()})
    return last


# ----------------------------------------------------------------------------------------------------
# What the options' window takes of plain logs, for a whole batch at once: the same as :func:`window.take` gives.


def take_of_batch(batch: PlainBatch, window: Window, estimator: str, doubts: bool) -> None:
    """Set ``taken`` of the batch's segments, where the window is of a kind that can be computed for all at once.

    The others keep None, and :func:`perflog.measurements.window.take` computes theirs log by log.
    """
    if estimator != "total" or window.last is not None or window.warmup.unit not in ("steps", "records"):
        return
    if window.steps is not None and window.steps.unit != window.warmup.unit:
        return
    if not batch.segments:
        return
    before, used, feasible = _inside(batch, window)
    rows = batch.rows
    low = batch.texts.first + before
    high = low + used
    asked, after = (window, estimator, doubts), (batch.texts.count - before - used).tolist()
    covers, times, works = (_sums(rows[field], low, high) for field in (2, 3, 4))
    places = np.flatnonzero(feasible & (used > 0) & (np.array(times) > 0))  # a sum of differences may come to nothing
    begin, final = low[places], high[places] - 1
    bounds = (rows[field][at].tolist() for field, at in ((5, begin), (5, final), (0, begin), (1, final)))
    for place, first_line, last_line, first_step, last_step in zip(places.tolist(), *bounds, strict=True):
        count, time, work = int(used[place]), times[place], works[place]
        warm, late = int(before[place]), after[place]
        excluded = {"warm-up": warm} if warm else {}
        if late:
            excluded["after the window"] = late
        result = Estimate(work / time, count, covers[place], time, work)
        segment = batch.segments[place]
        doubted = doubt(segment, window) if doubts else None
        metrics = MeansOverTime.of(rows[:, int(low[place]) : int(high[place])])
        segment.taken = Taken(
            asked, result, excluded, int(first_line), int(last_line), first_step, last_step, "", "", doubted, metrics
        )


def _sums(values: Floats, low: Ints, high: Ints) -> list[float]:
    """The sums of ``values[low:high]`` for many slices, each as it is of a log alone."""
    return [float(values[begin:end].sum()) for begin, end in zip(low.tolist(), high.tolist(), strict=True)]


def _inside(batch: PlainBatch, window: Window) -> tuple[Ints, Ints, Mask]:
    """(rows before the window, rows inside it, whether the log is long enough), each (texts,)."""
    rows, texts = batch.rows, batch.texts
    origin = batch.origin
    total = batch.end - origin
    low, high = borders(window, 0.0)
    if window.warmup.unit == "records":
        before = np.minimum(texts.count, int(low))
        until = texts.count if window.steps is None else np.minimum(texts.count, int(high))
        return (
            before,
            np.maximum(until - before, 0),
            texts.count > before if window.steps is None else texts.count >= high,
        )
    start = rows[0] - texts.for_rows(origin)
    before_rows = start < low - STEP_TOLERANCE
    before = np.add.reduceat(before_rows, texts.first, dtype=np.int64)
    if window.steps is None:
        return before, texts.count - before, total > low
    until_rows = rows[1] - texts.for_rows(origin) <= high + STEP_TOLERANCE
    used = np.add.reduceat(~before_rows & until_rows, texts.first, dtype=np.int64)
    return before, used, total >= high
