"""Which measurements speak for a log: the pattern, the rank and the segment of each run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.formats.units import kind
from perflog.measurements.segment import Segment
from perflog.measurements.series import RankSeries
from perflog.reading.reading import Reading
from perflog.runs.run import Outcome, Run, Skipped

#: Of two kinds of lines in pairs a log that was cut, or has lost a line, has one more of one kind.
NEARLY_ALL = 0.8


def primary_pattern(reading: Reading, catalog: Catalog) -> Pattern | None:
    """The pattern whose measurements make the throughput: measured steps of the most specific parser."""
    return _best_pattern(reading, catalog, reading.series)


def primary_of(reading: Reading, catalog: Catalog, parser: str) -> Pattern | None:
    """The pattern of one parser whose measurements make the throughput of its program."""
    return _best_pattern(reading, catalog, [key for key in reading.series if reading.patterns[key].parser == parser])


def _best_pattern(reading: Reading, catalog: Catalog, keys: Iterable[str]) -> Pattern | None:
    keys, patterns = list(keys), reading.patterns
    of_totals = [key for key in keys if patterns[key].total]
    steps = _best_of(reading, catalog, [key for key in keys if not patterns[key].total] if of_totals else keys)
    totals = _best_of(reading, catalog, of_totals) if of_totals else None
    if totals is None or (steps is not None and not (_samples_steps(reading, steps) and _measures(reading, totals))):
        return steps
    return totals


def _samples_steps(reading: Reading, pattern: Pattern) -> bool:
    """Whether a pattern's lines each tell of their last step only, and of one in several."""
    segments = [segment for series in reading.series[pattern.key].values() for segment in series.segments]
    return any(s.basis is not None and s.basis.value.span == "last" and s.count.interval > 1 for s in segments)


def _measures(reading: Reading, pattern: Pattern) -> bool:
    return any(s.store.count for series in reading.series[pattern.key].values() for s in series.segments)


def _best_of(reading: Reading, catalog: Catalog, keys: Sequence[str]) -> Pattern | None:
    if len(keys) == 1:  # nearly always: nothing to choose among
        pattern = reading.patterns[keys[0]]
        return pattern if pattern.role == "step" and _printed(reading.series[keys[0]]) else None
    best: tuple[tuple[bool, int, bool, int], Pattern] | None = None
    most: dict[str, int] = {}
    for key in keys:
        parser = reading.patterns[key].parser
        most[parser] = max(most.get(parser, 0), _printed(reading.series[key]))
    for key in keys:
        pattern, ranks = reading.patterns[key], reading.series[key]
        if pattern.role != "step":
            continue
        printed = _printed(ranks)
        measured = any(s.basis is not None or s.refused for series in ranks.values() for s in series.segments)
        if not printed:
            continue
        all_lines = most[pattern.parser]
        nearly_all = printed >= NEARLY_ALL * all_lines
        counts = nearly_all and _counts_work(ranks)
        rank = (measured, catalog.by_name[pattern.parser].priority, counts, all_lines if nearly_all else printed)
        if best is None or rank > best[0]:
            best = (rank, pattern)
    return best[1] if best else None


def _printed(ranks: Mapping[int, RankSeries]) -> int:
    return sum(segment.tally.printed for series in ranks.values() for segment in series.segments)


def _counts_work(ranks: Mapping[int, RankSeries]) -> bool:
    """Whether the lines say how much work was done, samples or tokens, and not steps alone."""
    bases = [segment.basis for series in ranks.values() for segment in series.segments if segment.basis is not None]
    return any(basis.counts_work or (basis.is_rate and kind(basis.unit or "") != "steps") for basis in bases)


def main_rank(ranks: Mapping[int, RankSeries]) -> int:
    return min(ranks)


def segments_of(reading: Reading, outcome: Outcome, catalog: Catalog) -> Iterator[tuple[Run, Segment]]:
    """Each run with the measurements of the rank that speaks for it; nothing for what has no measured steps."""
    pattern = None if isinstance(outcome, Skipped) else primary_pattern(reading, catalog)
    if isinstance(outcome, Skipped) or pattern is None:
        return
    ranks = reading.series[pattern.key]
    yield from zip(outcome, ranks[main_rank(ranks)].segments, strict=False)
