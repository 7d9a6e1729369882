"""Which measurements count: the warm-up left out, and how much is taken after it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from perflog.measurements.series import Segment
from perflog.settings.amount import Amount, Window


@dataclass(slots=True)
class Taken:
    """What a window took: blocks of rows, and why rows were left out."""

    excluded: dict[str, int] = field(default_factory=dict)
    used: int = 0
    first_line: int = 0
    last_line: int = 0
    first_step: float = 0.0
    last_step: float = 0.0
    reason: str = ""

    def leave_out(self, why: str, count: int) -> None:
        if count:
            self.excluded[why] = self.excluded.get(why, 0) + count


def select(segment: Segment, window: Window, seconds_scale: float | None, taken: Taken) -> Iterator[NDArray[np.float64]]:
    """The rows of a segment's store inside the window, block by block; ``taken`` is filled on the way.

    ``seconds_scale``: what turns the time column into seconds, None when that is unknown.
    A measurement that covers steps on both sides of a border is left out (Hoefler & Belli 2015, rule 9).
    """
    store = segment.store
    if not store.count:
        taken.reason = "no measurement in the log"
        if segment.unknown_count:
            taken.reason = "the log prints running means and does not hold their beginning (it was cut, or its run resumed)"
        return
    origin = segment.origin
    total = segment.end - origin
    taken.reason = _impossible(segment, window, seconds_scale, total)
    if taken.reason:
        return
    low, high = _borders(window, total)
    position, clock = 0, 0.0
    for rows in store.blocks():
        n = rows.shape[1]
        start, end = rows[0] - origin, rows[1] - origin
        inside = np.ones(n, dtype=bool)
        index = np.arange(position, position + n)
        if window.last is not None:
            inside = index >= store.count - window.last.number if window.last.unit == "records" else start >= total - window.last.number - 1e-9
            taken.leave_out("before the window", n - int(inside.sum()))
        else:
            first = _after_warmup(window.warmup, rows, start, index, low, clock, seconds_scale)
            taken.leave_out("warm-up", n - int(first.sum()))
            inside = first
            if window.steps is not None:
                until = index < low + window.steps.number if window.steps.unit == "records" else end <= high + 1e-9
                taken.leave_out("after the window", int((first & ~until).sum()))
                inside = first & until
        position += n
        clock += float(rows[3].sum()) * (seconds_scale or 0.0)
        if not inside.any():
            continue
        picked = rows if inside.all() else rows[:, inside]
        if not taken.used:
            taken.first_line, taken.first_step = int(picked[5, 0]), float(picked[0, 0])
        taken.used += picked.shape[1]
        taken.last_line, taken.last_step = int(picked[5, -1]), float(picked[1, -1])
        yield picked


def _after_warmup(
    warmup: Amount,
    rows: NDArray[np.float64],
    start: NDArray[np.float64],
    index: NDArray[np.int64],
    low: float,
    clock: float,
    scale: float | None,
) -> NDArray[np.bool_]:
    if warmup.unit == "records":
        return np.asarray(index >= warmup.number)
    if warmup.unit == "epochs":
        return np.asarray(rows[6] >= warmup.number)
    if warmup.unit == "s":
        assert scale is not None
        began = clock + np.concatenate(([0.0], np.cumsum(rows[3])[:-1])) * scale
        return np.asarray(began >= warmup.number)
    return np.asarray(start >= low - 1e-9)


def _borders(window: Window, total: float) -> tuple[float, float]:
    """Steps at which the window begins and ends (records: its first record)."""
    low = window.warmup.number
    if window.warmup.unit == "%":
        low = math.ceil(total * window.warmup.number / 100)
    high = low + window.steps.number if window.steps else math.inf
    return low, high


def _impossible(segment: Segment, window: Window, scale: float | None, total: float) -> str:
    """Why the window cannot be taken, in the words shown instead of a number; empty when it can."""
    count = segment.store.count
    asked = [a for a in (window.warmup if window.last is None else None, window.steps, window.last) if a is not None]
    if segment.keyless and any(a.unit in ("steps", "%") for a in asked):
        return "this format prints no step numbers: give the warm-up in records (--warmup 5records)"
    if window.last is not None:
        have = count if window.last.unit == "records" else total
        return f"{have:g} {window.last.unit}, last {window.last.number:g} asked for" if have < window.last.number else ""
    warmup = window.warmup
    if warmup.unit == "s" and scale is None:
        return "the log's rates cannot be turned into seconds without the batch size: give --set batch_size=N"
    if warmup.unit in ("steps", "%"):
        low = math.ceil(total * warmup.number / 100) if warmup.unit == "%" else warmup.number
        if total <= low:
            return f"{total:g} steps, warm-up {warmup.number:g}"
        if window.steps is not None and window.steps.unit == "steps" and total < low + window.steps.number:
            return f"{total:g} steps, warm-up {low:g} and {window.steps.number:g} asked for after it"
    if warmup.unit == "records":
        if count <= warmup.number:
            return f"{count} records, warm-up {warmup.number:g}"
        if window.steps is not None and window.steps.unit == "records" and count < warmup.number + window.steps.number:
            return f"{count} records, warm-up {warmup.number:g} and {window.steps.number:g} asked for after it"
    return ""
