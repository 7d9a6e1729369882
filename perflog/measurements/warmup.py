"""When a run's warm-up is over: the rule of ``--warmup auto``, and the doubt about a fixed one.

The detector is MSER-5 (:mod:`perflog.stats.warmup`) on the time per step of every measurement.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from perflog.measurements.series import Segment
from perflog.measurements.store import FIELDS
from perflog.settings.amount import Amount, Window
from perflog.stats.warmup import mser5

#: Longer series are judged by their first part: memory stays flat.
MOST = 2_000_000
#: A fixed warm-up is doubted when the rate behind the detector's end differs by more than this share.
DIFFERENCE = 0.01


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
    """(the window with the warm-up found in place of ``auto``, a note that says it, a reason where none can be found)."""
    rows = rows_of(segment)
    found = mser5(rows[3] / rows[2])
    if found.cut is None:
        return window, "", f"warm-up auto: {found.reason}"
    steps = float(rows[0, found.cut]) - segment.origin
    in_records = segment.keyless or (window.steps is not None and window.steps.unit == "records")
    amount = Amount(found.cut, "records") if in_records else Amount(max(0.0, steps), "steps")
    note = f"warm-up auto: {amount} left out (MSER-5)"
    if found.at_cap:
        note = f"warm-up auto: not settled in the first half, {amount} left out (MSER-5 at its cap)"
    return replace(window, warmup=amount), note, ""


def doubt(segment: Segment, window: Window) -> str:
    """A note where the detector finds a later end of the warm-up than the fixed one, and it matters; else empty."""
    if window.last is not None or segment.store.count > MOST:
        return ""
    rows = rows_of(segment)
    if not _may_matter(rows):
        return ""
    found = mser5(rows[3] / rows[2])
    if not found.cut:
        return ""
    start = rows[0] - segment.origin
    end = window.warmup.number + window.steps.number if window.steps is not None and window.steps.unit == window.warmup.unit == "steps" else np.inf
    if window.warmup.unit == "steps":
        inside = (start >= window.warmup.number - 1e-9) & (rows[1] - segment.origin <= end + 1e-9)
    elif window.warmup.unit == "records":
        inside = np.arange(rows.shape[1]) >= window.warmup.number
    else:
        return ""
    later = inside.copy()
    later[: found.cut] = False
    if later.sum() == inside.sum() or later.sum() < 5:
        return ""
    rates = [float(rows[4, mask].sum() / rows[3, mask].sum()) for mask in (inside, later)]
    change = rates[1] / rates[0] - 1
    if not abs(change) > DIFFERENCE:
        return ""
    until = f"{start[found.cut]:g} steps" if window.warmup.unit == "steps" else f"{found.cut} records"
    cap = " or longer" if found.at_cap else ""
    return f"warm-up {window.warmup}, the detector (MSER-5) finds {until}{cap}: the rate then differs by {100 * change:+.1f} %"


def _may_matter(rows: NDArray[np.float64]) -> bool:
    """Whether any cut in the first half changes the rate enough: most logs are steady, and this is quickly seen."""
    half = rows.shape[1] // 2
    if not half:
        return False
    work, time = (np.cumsum(column[::-1])[::-1] for column in (rows[4], rows[3]))
    rates = work[: half + 1] / time[: half + 1]
    return bool((rates.max() - rates.min()) > DIFFERENCE * rates.min())
