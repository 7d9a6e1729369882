"""What the options' window takes of plain logs, for a whole batch at once: the same as :func:`window.take` gives."""

from __future__ import annotations

import numpy as np

from perflog.measurements.estimate import Estimate
from perflog.measurements.plain import PlainBatch
from perflog.measurements.rows import Floats, Ints, Mask
from perflog.measurements.segment import Taken
from perflog.measurements.warmup import DIFFERENCE, doubt
from perflog.measurements.window import STEP_TOLERANCE, borders
from perflog.settings.amount import Window

#: Sums over a batch are rounded otherwise than a log's own: the doubt is looked at from a little below its limit on.
NEARLY = 1 - 1e-6


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
    bounds = zip(batch.texts.first.tolist(), batch.texts.count.tolist(), before.tolist(), used.tolist(), strict=True)
    for place, (first, count, warm, taken) in enumerate(bounds):
        if not feasible[place] or not taken:
            continue
        low, high = first + warm, first + warm + taken
        segment = batch.segments[place]
        covers, time, work = (float(rows[field, low:high].sum()) for field in (2, 3, 4))
        if time <= 0:  # differences of running means may be: the general path says so
            continue
        excluded = {"warm-up": warm} if warm else {}
        if count - warm - taken:
            excluded["after the window"] = count - warm - taken
        segment.taken = Taken(
            asked=(window, estimator, doubts),
            estimate=Estimate(work / time, taken, covers, time, work),
            excluded=excluded,
            first_line=int(rows[5, low]),
            last_line=int(rows[5, high - 1]),
            first_step=float(rows[0, low]),
            last_step=float(rows[1, high - 1]),
            doubt=doubt(segment, window) if may_matter[place] else "",
        )


def _inside(batch: PlainBatch, window: Window) -> tuple[Ints, Ints, Mask]:
    """(rows before the window, rows inside it, whether the log is long enough), each (texts,)."""
    rows, texts = batch.rows, batch.texts
    origin = np.array([segment.count.origin for segment in batch.segments])
    total = np.array([segment.count.end for segment in batch.segments]) - origin
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
    rows, texts = batch.rows, batch.texts
    half = texts.count // 2
    work, time = (_sums_to_the_end(rows[field], batch) for field in (4, 3))
    within = np.arange(rows.shape[1]) - texts.for_rows(texts.first)
    first_half = within <= texts.for_rows(half)
    with np.errstate(divide="ignore", invalid="ignore"):  # differences of running means may come to nothing
        rates = work / time
    largest = np.maximum.reduceat(np.where(first_half, rates, -np.inf), texts.first)
    smallest = np.minimum.reduceat(np.where(first_half, rates, np.inf), texts.first)
    with np.errstate(invalid="ignore"):
        matters = largest - smallest > DIFFERENCE * NEARLY * smallest
    return np.asarray((half > 0) & matters)


def _sums_to_the_end(values: Floats, batch: PlainBatch) -> Floats:
    """Each row's sum of a column from there to the end of its text, (rows,)."""
    texts = batch.texts
    sums = np.cumsum(values)
    ends = sums[texts.first + texts.count - 1]
    return np.asarray(texts.for_rows(ends) - sums + values)
