"""When a run's warm-up is over: the rule of ``--warmup auto``, and the doubt about a fixed one.

The detector is MSER-5 (:mod:`perflog.stats.warmup`) on the time per step of every measurement.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from perflog.measurements.segment import Segment
from perflog.measurements.store import FIELDS
from perflog.notes import Note
from perflog.settings.amount import Amount, Window
from perflog.stats.warmup import mser5

#: Longer series are judged by their first part: memory stays flat.
MOST = 2_000_000
#: A fixed warm-up is doubted when the rate behind the detector's end differs by more than this share.
DIFFERENCE = 0.01
#: Measurements behind the detector's end at least: the rate of fewer says little.
LEAST_LATER = 5


def rows_of(segment: Segment, most: int = MOST) -> NDArray[np.float64]:
    """The first ``most`` measurements of a segment, (store.FIELDS, n)."""
    blocks, count = [], 0
    for block in segment.store.blocks():
        blocks.append(block[:, : most - count])
        count += blocks[-1].shape[1]
        if count >= most:
            break
    return np.concatenate(blocks, axis=1) if blocks else np.empty((len(FIELDS), 0))


def settled(segment: Segment, window: Window) -> tuple[Window, str, str]:
    """(the window with the warm-up found in place of ``auto``, a note that says it, why none can be found)."""
    rows = rows_of(segment)
    found = mser5(rows[3] / rows[2])
    if found.cut is None:
        return window, "", f"warm-up auto: {found.reason}"
    steps = float(rows[0, found.cut]) - segment.count.origin
    in_records = segment.count.keyless or (window.steps is not None and window.steps.unit == "records")
    records = found.cut + segment.tally.leading
    amount = Amount(records, "records") if in_records else Amount(max(0.0, steps), "steps")
    note = f"warm-up auto: {amount} left out (MSER-5)"
    if found.at_cap:
        note = f"warm-up auto: not settled in the first half, {amount} left out (MSER-5 at its cap)"
    return replace(window, warmup=amount), note, ""


def doubt(segment: Segment, window: Window) -> Note | None:
    """A note where the detector finds a later end of the warm-up than the fixed one, and it matters; else None."""
    if window.last is not None or segment.store.count > MOST:
        return None
    rows = rows_of(segment)
    if not _may_matter(rows):
        return None
    found = mser5(rows[3] / rows[2])
    if not found.cut:
        return None
    inside = _inside(segment, window, rows)
    later = inside.copy()
    later[: found.cut] = False
    if later.sum() == inside.sum() or later.sum() < LEAST_LATER:
        return None
    times = [float(rows[3, mask].sum()) for mask in (inside, later)]
    if min(times) <= 0:  # differences of running means may come to nothing
        return None
    rates = [float(rows[4, mask].sum()) / time for mask, time in zip((inside, later), times, strict=True)]
    change = rates[1] / rates[0] - 1
    if not abs(change) > DIFFERENCE:
        return None
    step = float(rows[0, found.cut]) - segment.count.origin
    until = f"{step:g} steps" if window.warmup.unit == "steps" else f"{found.cut + segment.tally.leading} records"
    cap = " or longer" if found.at_cap else ""
    text = (
        f"warm-up {window.warmup}, the detector (MSER-5) finds {until}{cap}: "
        f"the rate then differs by {100 * change:+.1f} %"
    )
    return Note(text, "number", change, label=f"with a warm-up of {until}")


def _inside(segment: Segment, window: Window, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which measurements a fixed window takes, (n,); none where its warm-up is neither in steps nor in records."""
    warmup, steps = window.warmup, window.steps
    if warmup.unit == "records":
        return np.arange(rows.shape[1]) >= warmup.number - segment.tally.leading
    if warmup.unit != "steps":
        return np.zeros(rows.shape[1], dtype=bool)
    start, end = rows[0] - segment.count.origin, rows[1] - segment.count.origin
    high = warmup.number + steps.number if steps is not None and steps.unit == "steps" else np.inf
    return np.asarray((start >= warmup.number - 1e-9) & (end <= high + 1e-9))


def _may_matter(rows: NDArray[np.float64]) -> bool:
    """Whether any cut in the first half changes the rate enough: most logs are steady, and this is quickly seen."""
    half = rows.shape[1] // 2
    if not half:
        return False
    work, time = (np.cumsum(column[::-1])[::-1] for column in (rows[4], rows[3]))
    with np.errstate(divide="ignore", invalid="ignore"):  # differences of running means may come to nothing
        rates = work[: half + 1] / time[: half + 1]
        return bool((rates.max() - rates.min()) > DIFFERENCE * rates.min())
