"""The programs that speak in a log: one, nearly always; several where logs were joined to one file.

Programs that speak one behind the other have runs of their own, each from its own lines: two formats, or two shapes of
one format's lines, of which a program prints one. Where the lines of two formats are woven, they may be two programs or
one that prints twice: the format that counts most speaks, without the settings of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from msgspec import Struct

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.measurements.segment import Segment
from perflog.measurements.series import RankSeries
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.runs.run import Run
from perflog.runs.throughput import main_rank, primary_of

#: A format that measured fewer lines may have met a line of that shape by chance.
LEAST_MEASURED = 2


class Program(Struct, frozen=True):
    """A program's measurements and the lines that are its own.

    Attributes:
        pattern: the pattern whose measurements make the throughput.
        begin: the line behind the program before it, where its settings may begin.
        end: the last line that may hold a setting of it.
        span: the first and the last line of its measurements and summaries.
    """

    pattern: Pattern
    begin: int
    end: int
    span: tuple[int, int]


def measuring_parsers(reading: Reading) -> set[str]:
    """The parsers that measured steps in a log."""
    return {
        reading.patterns[key].parser
        for key, ranks in reading.series.items()
        if reading.patterns[key].role == "step" and _measured(ranks) >= LEAST_MEASURED
    }


def programs_of(reading: Reading, catalog: Catalog, primary: Pattern) -> list[Program]:
    """The programs of a log, the one of the ``primary`` pattern, which counts most, first."""
    measuring = measuring_parsers(reading)
    others = measuring - {primary.parser} if primary.parser in measuring else set()
    shapes = _other_shapes(reading, primary)
    if not (others or shapes):  # nearly always: the whole log is its own
        return [Program(primary, 1, reading.lines, (1, reading.lines))]
    patterns = {primary.key: primary}
    places = {primary.key: _lines_of(reading, primary)}
    for parser in sorted(others, key=lambda name: (-catalog.by_name[name].priority, name)):
        pattern = primary_of(reading, catalog, parser)
        if pattern is None:
            continue
        first, last = _lines_of(reading, pattern)
        apart = all(last < low or high < first for low, high in places.values())
        if apart and _is_a_program(reading, catalog, pattern, primary, (_begin(first, places), last)):
            patterns[pattern.key] = pattern
            places[pattern.key] = first, last
    for pattern in shapes:
        first, last = _lines_of(reading, pattern)
        if all(last < low or high < first for low, high in places.values()):
            patterns[pattern.key] = pattern
            places[pattern.key] = first, last
    return [_program(pattern, places, reading.lines) for pattern in patterns.values()]


def _other_shapes(reading: Reading, primary: Pattern) -> list[Pattern]:
    """The patterns of the primary one's parser that measured steps too, by other lines than those of whole epochs."""
    if len(reading.series) == 1:  # nearly always
        return []
    return [
        reading.patterns[key]
        for key, ranks in sorted(reading.series.items())
        if (pattern := reading.patterns[key]).parser == primary.parser
        and (pattern.role, pattern.total) == ("step", "")
        and key != primary.key
        and _measured(ranks) >= LEAST_MEASURED
    ]


def woven_shapes(reading: Reading, pattern: Pattern, span: tuple[int, int]) -> dict[str, int]:
    """The other patterns of a run's format whose lines are woven with its own, and where those begin.

    They may be of another program.

    Args:
        span: the first and the last line that the run measured.
    """
    shapes = () if pattern.total else _other_shapes(reading, pattern)  # totals stand behind the steps that they hold
    found = {shape.key: _lines_of(reading, shape) for shape in shapes}
    return {key: first for key, (first, last) in found.items() if first <= span[1] and last >= span[0]}


def _is_a_program(
    reading: Reading, catalog: Catalog, pattern: Pattern, primary: Pattern, lines: tuple[int, int]
) -> bool:
    """Whether lines beside those of the primary pattern are a training of their own, and no evaluation of the same.

    They are where the framework is another one, or where the format's settings stand before its measurements.
    """
    own, other = (catalog.by_name[p.parser].framework for p in (pattern, primary))
    if own and other and own != other:
        return True
    settings = (fact for fact in reading.facts if fact.pattern.role == "metadata")
    return any(fact.pattern.parser == pattern.parser and lines[0] <= fact.line <= lines[1] for fact in settings)


def _begin(first: int, places: Mapping[str, tuple[int, int]]) -> int:
    """The line behind the program that measured before the line ``first``."""
    return 1 + max((high for _, high in places.values() if high < first), default=0)


def of_several(run: Run, programs: int, span: tuple[int, int]) -> Run:
    """A run of one of the programs of its log, which says so."""
    note = f"{programs} programs speak in this log, one behind the other: this one in lines {span[0]} to {span[1]}"
    return replace(run, notes=[*run.notes, Note(note)])


def _program(pattern: Pattern, places: Mapping[str, tuple[int, int]], lines: int) -> Program:
    """A program between those before and behind it, by the lines of their measurements."""
    first, last = places[pattern.key]
    begin = _begin(first, places)
    behind = min((low for low, _ in places.values() if low > last), default=0)
    span = (first if begin > 1 else 1, behind - 1 if behind else lines)
    return Program(pattern, begin, last if behind else lines, span)


def _lines_of(reading: Reading, pattern: Pattern) -> tuple[int, int]:
    """The first and the last line that a pattern measured, of the rank that speaks for all."""
    ranks = reading.series[pattern.key]
    measured = [segment for segment in ranks[main_rank(ranks)].segments if segment.last_line]
    return (measured[0].first_line, measured[-1].last_line) if measured else (1, reading.lines)


def _measured(ranks: Mapping[int, RankSeries]) -> int:
    segments: Iterable[Segment] = (segment for series in ranks.values() for segment in series.segments)
    return sum(segment.tally.printed for segment in segments if segment.basis is not None)
