"""When a run was under way, by the stamps at the heads of its lines."""

from __future__ import annotations

from perflog.formats.moments import Moment, moment_by_shape
from perflog.formats.parser import Pattern
from perflog.reading.reading import Reading

#: The form of the stamps, and the seconds of the first and of the last one on that form's clock.
Clock = tuple[str, float, float]


def clock_of(reading: Reading, pattern: Pattern, first_line: int, last_line: int) -> Clock | None:
    """The stamps of the first and the last line of a run of which a sample was kept; None where they have none.

    Stamps of a collector of logs tell when lines arrived, not when they were printed.
    """
    lines = [
        (text, place)
        for part in reading.samples.get(pattern.key, ())
        for line, text, place in zip(part.line.tolist(), part.text, part.place, strict=True)
        if first_line <= line <= last_line
    ]
    if len(lines) < 2:
        return None
    from perflog.runs.corroborate import heads_of  # what reads kept runs alone needs no evidence

    ends = lines[0], lines[-1]
    heads = heads_of([text for text, _ in ends], [place for _, place in ends], pattern.literal.encode())
    first, last = map(moment_by_shape, heads)
    return None if not first or not last or not _comparable(first, last) else (first.form, first.seconds, last.seconds)


def _comparable(first: Moment, last: Moment) -> bool:
    return first.form == last.form and not first.collected and first.seconds < last.seconds
