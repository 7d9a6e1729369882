"""Which measurements speak for a log: the pattern, the rank and the segment of each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.measurements.segment import Segment
from perflog.measurements.series import RankSeries
from perflog.reading.reading import Reading
from perflog.runs.run import Outcome, Run, Skipped


def primary_pattern(reading: Reading, catalog: Catalog) -> Pattern | None:
    """The pattern whose measurements make the throughput: measured steps of the most specific parser."""
    best: tuple[tuple[bool, int, int], Pattern] | None = None
    for key, ranks in reading.series.items():
        pattern = reading.patterns[key]
        if pattern.role != "step":
            continue
        printed = sum(s.tally.printed for series in ranks.values() for s in series.segments)
        measured = any(s.basis is not None or s.refused for series in ranks.values() for s in series.segments)
        if not printed:
            continue
        rank = (measured, catalog.by_name[pattern.parser].priority, printed)
        if best is None or rank > best[0]:
            best = (rank, pattern)
    return best[1] if best else None


def main_rank(ranks: Mapping[int, RankSeries]) -> int:
    return min(ranks)


def segments_of(reading: Reading, outcome: Outcome, catalog: Catalog) -> Iterator[tuple[Run, Segment]]:
    """Each run with the measurements of the rank that speaks for it; nothing for what has no measured steps."""
    pattern = None if isinstance(outcome, Skipped) else primary_pattern(reading, catalog)
    if isinstance(outcome, Skipped) or pattern is None:
        return
    ranks = reading.series[pattern.key]
    yield from zip(outcome, ranks[main_rank(ranks)].segments, strict=False)
