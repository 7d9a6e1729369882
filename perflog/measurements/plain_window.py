"""What the options' window takes of plain logs, for a whole batch at once: the same as :func:`window.take` gives."""

from __future__ import annotations

import numpy as np

from perflog.measurements.estimate import Estimate
from perflog.measurements.many import rates_to_end, sums
from perflog.measurements.plain import PlainBatch
from perflog.measurements.rows import Ints, Mask
from perflog.measurements.segment import Taken
from perflog.measurements.warmup import DIFFERENCE, doubt
from perflog.measurements.window import STEP_TOLERANCE, borders
from perflog.settings.amount import Window


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
    may_matter = _may_matter(batch) if doubts else np.zeros(len(batch.segments), dtype=bool)
    rows = batch.rows
    low = batch.texts.first + before
    high = low + used
    asked, after = (window, estimator, doubts), (batch.texts.count - before - used).tolist()
    covers, times, works = (sums(rows[field], low, high) for field in (2, 3, 4))
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
        doubted = doubt(segment, window) if may_matter[place] else None
        segment.taken = Taken(
            asked, result, excluded, int(first_line), int(last_line), first_step, last_step, "", "", doubted
        )


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


def _may_matter(batch: PlainBatch) -> Mask:
    """Whether a later end of the warm-up could change a log's rate enough to be said, (texts,)."""
    texts = batch.texts
    smallest, largest = rates_to_end(texts.first, texts.count, batch.rows[4], batch.rows[3])
    with np.errstate(invalid="ignore"):
        return np.asarray((texts.count > 1) & (largest - smallest > DIFFERENCE * smallest))
