"""A run before its number is held against its log: everything that is made log by log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from perflog.formats.parser import Pattern
from perflog.measurements.segment import Segment
from perflog.measurements.series import RankSeries
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.runs.corroborate import Question
from perflog.runs.metadata import Metadata
from perflog.runs.primary import main_rank
from perflog.runs.run import Metric
from perflog.runs.throughput import Speed


class Draft(NamedTuple):
    """A run before its number is held against its log.

    Attributes:
        ranks: the measurements of all ranks; ``place``: which of the segments of each is the run's.
        span: the first and the last line of the run.
        programs: how many programs speak in the log.
        label: what no pattern understood of the path.
        summaries: the program's own metrics but its rate, which is ``reported``.
        notes: what is to be said of summaries and ranks.
        question: what is to be asked of the log about the speed; None where nothing is.
    """

    reading: Reading
    pattern: Pattern
    ranks: Mapping[int, RankSeries]
    place: int
    span: tuple[int, int]
    programs: int
    metadata: Metadata
    label: str
    summaries: dict[str, Metric]
    reported: Metric | None
    speed: Speed
    notes: list[Note]
    question: Question | None

    @property
    def segments(self) -> list[Segment]:
        """The segments of the rank that speaks for all."""
        return self.ranks[main_rank(self.ranks)].segments

    @property
    def segment(self) -> Segment:
        return self.segments[self.place]
