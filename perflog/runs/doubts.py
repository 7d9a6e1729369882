"""Why a segment of measurements is no run, and what is said beside one that is."""

from __future__ import annotations

from perflog.formats.parser import Pattern
from perflog.measurements.series import Segment
from perflog.reading.reading import Reading

#: Where a format's step counter may stand still (a loss scaler backing off), for at most this share of records.
MOST_REPEATS = 0.45


def refusal(reading: Reading, pattern: Pattern, segment: Segment, main: int) -> str:
    if segment.refused:
        return segment.refused
    if segment.printed >= 10 and segment.repeats > MOST_REPEATS * segment.printed:
        return f"{segment.repeats} of {segment.printed} records repeat the step before them: several ranks are blended"
    if pattern.position:
        positions = reading.series.get(f"{pattern.parser}.{pattern.position}", {})
        series = positions.get(main) or next(iter(positions.values()), None)
        for part in series.segments if series else ():
            if part.refused and part.first_line <= segment.last_line:
                return part.refused
    return ""


def notes_of_segment(segment: Segment) -> list[str]:
    notes = []
    if segment.doubled:
        notes.append(f"{_many(segment.doubled, 'event')} printed twice, counted once")
    if segment.gaps:
        times = "1 record is" if segment.gaps == 1 else f"{segment.gaps} records are"
        notes.append(f"{times} missing, the first {segment.gap_at}")
    if segment.unusable:
        notes.append(
            f"{_many(segment.unusable, 'record')} without a usable number" + (f", the first at line {segment.unusable_line}" if segment.unusable_line else "")
        )
    if segment.unknown_count:
        notes.append(f"{_many(segment.unknown_count, 'running mean')} left out: how many steps they cover cannot be known")
    if segment.plan is not None and segment.plan.note:
        notes.append(segment.plan.note)
    return notes


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
