"""Which measurements speak for a log: the pattern, the rank and the segment of each run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.measurements.segment import Segment
from perflog.measurements.series import RankSeries
from perflog.reading.reading import Reading
from perflog.runs.run import Outcome, Run, Skipped


def primary_pattern(reading: Reading, catalog: Catalog) -> Pattern | None:
    """The pattern whose measurements make the throughput: measured steps of the most specific parser."""
    return _best_pattern(reading, catalog, reading.series)


def primary_of(reading: Reading, catalog: Catalog, parser: str) -> Pattern | None:
    """The pattern of one parser whose measurements make the throughput of its program."""
    return _best_pattern(reading, catalog, [key for key in reading.series if reading.patterns[key].parser == parser])


def _best_pattern(reading: Reading, catalog: Catalog, keys: Iterable[str]) -> Pattern | None:
    keys = list(keys)
    steps = _best_of(reading, catalog, [key for key in keys if not reading.patterns[key].total])
    totals = _best_of(reading, catalog, [key for key in keys if reading.patterns[key].total])
    if totals is None or (steps is not None and not (_samples_steps(reading, steps) and _measures(reading, totals))):
        return steps
    return totals


def _samples_steps(reading: Reading, pattern: Pattern) -> bool:
    """Whether a pattern's lines each tell of their last step only, and of one in several."""
    segments = [segment for series in reading.series[pattern.key].values() for segment in series.segments]
    return any(s.basis is not None and s.basis.value.span == "last" and s.count.interval > 1 for s in segments)


def _measures(reading: Reading, pattern: Pattern) -> bool:
    return any(s.store.count for series in reading.series[pattern.key].values() for s in series.segments)


def _best_of(reading: Reading, catalog: Catalog, keys: Iterable[str]) -> Pattern | None:
    best: tuple[tuple[bool, int, int], Pattern] | None = None
    for key in keys:
        pattern, ranks = reading.patterns[key], reading.series[key]
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
