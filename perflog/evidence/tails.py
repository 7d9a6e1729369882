"""The steps behind the last line of each epoch: no measurement holds them, and its first ones may be unlike."""

from __future__ import annotations

import numpy as np

from perflog.measurements.segment import Segment, Taken
from perflog.notes import Note

#: Up to so large a change of the total nothing is said of the steps that are in no measurement.
MOST = 0.01


def unmeasured_tails(segment: Segment, taken: Taken, value: float, unit: str) -> Note | None:
    """What is to be said where an epoch goes on behind its last line, and its first line is slower or faster; or None.

    Lines behind steps 1, 6 and 11 of 15 measure the first step, in which the reading of data begins, and leave out four
    of the others: the total counts the first one too often. Where no line tells how long an epoch is, it may go on up
    to where the next line would stand.

    Args:
        value: the throughput of the window in ``unit``.
    """
    basis, interval = segment.basis, segment.count.interval
    if basis is None or basis.value.span not in ("interval", "cumulative") or not segment.count.epochs:
        return None
    offset = basis.value.offset if basis.value.span == "cumulative" else 0
    rest, epochs, behind = np.zeros(3), 0, 0.0
    last = np.full(7, np.nan)
    for rows in segment.store.blocks():
        before = np.column_stack((last, rows[:7, :-1]))
        inside = taken.holds(rows)
        begins = inside & (rows[6] > before[6])
        rest += rows[2:5, inside & ~(begins | np.isnan(before[6]))].sum(axis=1)
        epochs += int(begins.sum())
        behind += float(np.maximum(rows[0] - before[1] - offset, 0.0)[begins].sum())
        last = rows[:7, -1]
    told = behind > 0 or "epoch_steps" in segment.previous.values
    if not told and (basis.value.since == "epoch" or not basis.value.is_clock):
        behind = max(interval - 1, 0.0) * epochs
    covers, time, work = rest.tolist()
    if behind <= 0 or covers <= 0 or time <= 0 or taken.estimate.time <= 0:
        return None
    whole, more = taken.estimate, behind / covers
    change = (1 + more * work / whole.work) / (1 + more * time / whole.time)
    if abs(change - 1) <= MOST:
        return None
    length = f"{behind / epochs:.3g}" if told else f"up to {interval - 1:g}"
    text = (
        f"{length} steps of each epoch, behind its last line, stand in no measurement, and the steps up to its first "
        f"line took another time than those between lines: with these steps like the latter the throughput is "
        f"{value * change:.5g} {unit}"
    )
    return Note.of_number(text, value=value, other=value * change, label="with all steps of each epoch")
