"""Why a segment of measurements is no run, and what is said beside one that is."""

from __future__ import annotations

import numpy as np

from perflog.formats.parser import Pattern
from perflog.measurements.segment import Segment, Taken
from perflog.reading.reading import Reading

#: Where a format's step counter may stand still (a loss scaler backing off), for at most this share of records.
MOST_REPEATS = 0.45
#: Of the time that is measured, the second that a clock in whole seconds may be off is at most this share.
MOST_OF_A_SECOND = 0.03
CLOCKS = ("elapsed", "timestamp")


def refusal(reading: Reading, pattern: Pattern, segment: Segment, main: int) -> str:
    if segment.refused:
        return segment.refused
    if segment.tally.printed >= 10 and segment.tally.repeats > MOST_REPEATS * segment.tally.printed:
        repeats = f"{segment.tally.repeats} of {segment.tally.printed} records repeat the step before them"
        return f"{repeats}: several ranks are blended"
    if pattern.position:
        positions = reading.series.get(f"{pattern.parser}.{pattern.position}", {})
        series = positions.get(main) or next(iter(positions.values()), None)
        for part in series.segments if series else ():
            if part.refused and part.first_line <= segment.last_line:
                return part.refused
    return ""


def too_coarse(pattern: Pattern, segment: Segment, taken: Taken) -> str:
    """Why there is no number where a clock in whole seconds is too coarse for what is measured; else empty.

    Each of its seconds is cut, so that a stretch of it may be a second longer or shorter, and so may that of each bar
    that begins anew.
    """
    if segment.basis is None or segment.basis.value.quantity not in CLOCKS or taken.estimate.time <= 0:
        return ""
    stretches, time = 1, taken.estimate.time
    if time > 1 / MOST_OF_A_SECOND and not pattern.restarts:
        return ""
    epochs: set[float] = set()
    for rows in segment.store.blocks():
        if not np.array_equal(rows[3], np.rint(rows[3])):
            return ""
        inside = (rows[5] >= taken.first_line) & (rows[5] <= taken.last_line)
        epochs.update(rows[6, inside].tolist())
    if pattern.restarts:
        stretches = max(len(epochs), 1)
    share = stretches / time
    if share <= MOST_OF_A_SECOND:
        return ""
    bars = f" in {stretches} bars" if stretches > 1 else ""
    return f"the clock is printed in whole seconds, and {time:g} s{bars} are measured: they may be {share:.0%} off"


def notes_of_segment(segment: Segment) -> list[str]:
    notes, tally = [], segment.tally
    if tally.doubled:
        notes.append(f"{_many(tally.doubled, 'event')} printed twice, counted once")
    if tally.gaps:
        times = "1 record is" if tally.gaps == 1 else f"{tally.gaps} records are"
        notes.append(f"{times} missing, the first {tally.gap_place}")
    if tally.paused:
        records = f"{_many(tally.paused, 'record')} left out that hold an evaluation or the like"
        notes.append(f"{records} ({tally.paused_time:.4g} s)")
    if tally.unusable:
        place = f", the first at line {tally.unusable_line}" if tally.unusable_line else ""
        notes.append(f"{_many(tally.unusable, 'record')} without a usable number{place}")
    if tally.unknown:
        notes.append(f"{_many(tally.unknown, 'running mean')} left out: how many steps they cover cannot be known")
    if segment.basis is not None and segment.basis.note:
        notes.append(segment.basis.note)
    return notes


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
