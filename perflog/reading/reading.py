"""A reading: everything that one log said, folded block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.formats.printed import scaled_number
from perflog.logs.containers import TextHash
from perflog.logs.find import LogFile
from perflog.logs.streams import LimitError, UnreadableError
from perflog.matching.matches import FIRST_RANK, Ints, Matches, Samples
from perflog.measurements.rows import Floats, Rows
from perflog.measurements.series import NO_LINES, RankSeries
from perflog.measurements.structure import leave_out_slow_ends
from perflog.reading.account import Account, Counts, LogFact, facts_of, facts_that_count
from perflog.reading.marks import NO_TOTALS, Marks, Positions, Ticks, ranks_of_lines
from perflog.reading.records import Clock, Records, refuse_mixed, samples_of_records, with_all_columns, with_seconds
from perflog.reading.tracks import Totals, Tracks, named_by_summaries, ranks_of, steps_of_an_epoch, work_of_a_step
from perflog.stats.arrays import distinct

#: When more facts of one pattern are at hand, those that cannot count are let go: a log of 10 GB has a flat memory.
MOST_FACTS = 10_000
#: Of so many blocks of a log lines are sampled; of more, those of every other block are let go.
MOST_SAMPLED = 128
#: A block has fewer bytes than this power of two.
BLOCK_BITS = 40
#: The class has a field of that name.
_Text = bytes


class Reading(Struct):
    """Everything that one log said.

    Attributes:
        as_printed: whether running means are taken as they stand (conventions of published reports).
        lines, bytes: read so far.
        problem: why the log cannot be read, empty when it can.
        failed: whether what the log says is unknown for that, so that it may be a training's.
        notes: what is to be said with every run of the log.
        series: measurements by pattern and rank.
        facts: summary, event and metadata lines, by line.
        units: the distinct units that a pattern's lines print.
        counts: how often each pattern's literal occurred, and its regex matched.
        samples: some of the lines of measuring and position patterns, by pattern.
        lines_of_records: the same of the lines behind the first of records on several lines.
        beginning: the first bytes of the text while its format may have to be inferred: of a log without measurements.
        undecided: why none of several progress bars is taken for the training's, empty where one is.
        hashed: a hash of the text so far, where one is asked for and all of the text could be read.
    """

    log: LogFile
    as_printed: bool = False
    lines: int = 0
    bytes: int = 0
    problem: str = ""
    failed: bool = False
    notes: list[str] = field(default_factory=list)
    series: dict[str, dict[int, RankSeries]] = field(default_factory=dict)
    facts: list[LogFact] = field(default_factory=list)
    units: dict[str, set[str]] = field(default_factory=dict)
    undecided: str = ""
    beginning: _Text = b""
    hashed: TextHash | None = None
    samples: dict[str, list[Samples]] = field(default_factory=dict)
    lines_of_records: dict[str, list[Samples]] = field(default_factory=dict)
    _facts: dict[str, list[LogFact]] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)
    _positions: Positions | None = None
    _records: dict[str, Records] = field(default_factory=dict)
    _totals: dict[str, Totals] = field(default_factory=dict)
    _tracks: dict[str, Tracks] = field(default_factory=dict)
    _ticks: dict[str, Ticks] = field(default_factory=dict)
    _marks: Marks = field(default_factory=Marks)
    _clocks: dict[str, Clock] = field(default_factory=dict)
    _block: int = 0
    counts: Counts = field(default_factory=Counts)

    @property
    def measures(self) -> bool:
        """Whether some line measures steps."""
        return any(series.pattern.role == "step" for ranks in self.series.values() for series in ranks.values())

    @property
    def pause_lines(self) -> Ints:
        """The lines that tell of an evaluation, of saving or the like, by any parser's word, in order, (n,)."""
        return self._marks.pause_lines

    def give_up(self, reason: str) -> None:
        """Say why the log could not be read."""
        self.problem, self.failed = reason, True

    def hash_text(self, text: _Text) -> None:
        """Add the next bytes of the text to its hash, where one is asked for."""
        if self.hashed is not None:
            self.hashed.update(text)

    def end_early(self, error: UnreadableError) -> None:
        """Say why the text could not be read to its end, so that it has no hash.

        Of one that is damaged or cut short, what could be read counts, with a note; of one that a limit or the system
        ended there is more, and nothing counts.
        """
        if isinstance(error, LimitError):
            self.give_up(str(error))
        else:
            self.notes.append(str(error))
        self.hashed = None

    @property
    def accounts(self) -> Mapping[str, Account]:
        """How often each pattern whose literal occurs was seen, by its key."""
        return self.counts.accounts

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        """The patterns whose literals occur, by their keys."""
        return self.counts.patterns

    def add(self, block: Sequence[Matches], line_count: int, cut: bool) -> None:
        """Fold the matches in the log's next block of ``line_count`` lines in.

        ``cut``: whether the block's last line was left out because it may have been cut inside a number.
        """
        for matches in block:
            self.counts.add(matches.pattern, sum(matches.candidates.values()), matches.line + self.lines + 1)
        self.add_counted([matches for matches in block if len(matches)], line_count, cut)

    def add_counted(self, block: Sequence[Matches], line_count: int, cut: bool) -> None:
        """Fold a block's matches in, of patterns that match in it and are counted already (see :meth:`add`)."""
        first_line = self.lines + 1
        block = [with_seconds(matches, self._clocks) for matches in block]
        for matches in block:
            if matches.pattern.starts_run:
                self._starts.extend((matches.line + first_line).tolist())
            self._marks.see(matches, first_line, self._places(matches))
            self.add_samples(matches, first_line)
        starts = np.array(sorted(self._starts), dtype=np.int64)
        self._positions = self._positions or Positions()
        block = self._positions.see(block, first_line)
        for matches in block:
            if not len(matches):
                continue
            if matches.pattern.block or matches.pattern.heads:
                self._records_of(matches.pattern).add(matches, first_line, self._places(matches))
            if matches.pattern.block:
                continue
            if matches.pattern.role in ("step", "position"):
                self._add_series(matches, first_line, starts)
            elif matches.pattern.role != "ignore":
                self.add_facts(matches, first_line)
        self._positions.carry()
        self._add_records(starts, at_end=False)
        self._block += 1
        self.end_block(line_count, cut)

    def add_samples(self, matches: Matches, first_line: int) -> None:
        """Keep the sampled lines of one text's matches, in a block that begins at ``first_line``."""
        of_patterns = self.lines_of_records if matches.pattern.block else self.samples
        for samples in matches.samples.values():
            kept = of_patterns.setdefault(matches.pattern.key, [])
            kept.append(replace(samples, line=samples.line + first_line - 1))
            if len(kept) > MOST_SAMPLED:
                of_patterns[matches.pattern.key] = [*kept[:-1:2], kept[-1]]

    def _records_of(self, pattern: Pattern) -> Records:
        head = f"{pattern.parser}.{pattern.block or pattern.name}"
        return self._records.setdefault(head, Records(head))

    def _add_records(self, starts: Ints, at_end: bool) -> None:
        """Fold in the records on several lines to which no later line can belong."""
        for head, records in self._records.items():
            pattern = records.carrier
            if pattern is None:
                continue
            of_rank = self.series.setdefault(pattern.key, {})
            for rank, rows in records.finished(at_end, partial(self._marks.evaluations, pattern.parser)).items():
                whole = with_all_columns(pattern, rows)
                self._fold(pattern, rank, whole, starts)
                if rank == min(of_rank):
                    self.samples.setdefault(pattern.key, []).extend(
                        samples_of_records(whole, self.samples.get(head, ()))
                    )

    def add_facts(self, matches: Matches, first_line: int) -> None:
        """Keep the facts on a pattern's lines in a block that begins at ``first_line``."""
        facts = self._facts.setdefault(matches.pattern.key, [])
        facts.extend(facts_of(matches, first_line, self._starts))
        if len(facts) > MOST_FACTS:
            self._facts[matches.pattern.key] = facts_that_count(facts, self._starts)

    def end_block(self, line_count: int, cut: bool) -> None:
        """Count a block's lines, and say what was left out at its end."""
        self.lines += line_count
        if cut:
            self.notes.append(f"line {self.lines} ends the log inside a number that may go on: it is left out")

    def gather_facts(self) -> None:
        """Put the facts of all patterns in the order of their lines: to be called at the log's end."""
        if not self._facts and not self.facts:
            return
        self.facts = sorted((fact for facts in self._facts.values() for fact in facts), key=lambda fact: fact.line)

    def next_start(self, line: int) -> int:
        """The first line after ``line`` that says a run begins."""
        return min((start for start in self._starts if start > line), default=self.lines + 1)

    def starts_between(self, first: int, last: int) -> list[int]:
        """The lines from ``first`` to ``last`` that say that a run begins, in order."""
        return sorted({line for line in self._starts if first <= line <= last})

    def settle(self, catalog: Catalog) -> None:
        """Forget what generic parsers read where a more specific one measured: to be called at the log's end."""
        self.gather_facts()
        starts = np.array(sorted(self._starts), dtype=np.int64)
        self._add_records(starts, at_end=True)
        for ranks in self.series.values():
            for series in ranks.values():
                series.close(starts)
        for records in self._records.values():
            if records.carrier is not None:
                refuse_mixed(records, self.series[records.carrier.key])
        self._decide_tracks(starts)
        self._add_totals()
        self._drop_contradicted()
        self._decide_structure()
        generic = catalog.generic
        if generic.isdisjoint(self.counts.parsers()) or self.counts.parsers_that_measured() <= generic:
            return
        dropped = [key for key, pattern in self.patterns.items() if pattern.parser in generic]
        for key in dropped:
            self.counts.forget(key)
            for table in (self.series, self.units, self._facts):
                table.pop(key, None)
        self.gather_facts()

    def _decide_structure(self) -> None:
        """Leave out the records that hold no training (:mod:`perflog.measurements.structure`)."""
        if self.as_printed:
            return
        pauses = self.pause_lines
        for ranks in self.series.values():
            for series in ranks.values():
                for segment in series.segments if series.pattern.role == "step" else ():
                    leave_out_slow_ends(segment, pauses)

    def _drop_contradicted(self) -> None:
        """Forget measurements of patterns whose numbers mean something else in this log, by a line that says so."""
        for key in list(self.series):
            pattern = self.patterns[key]
            if untold := self._untold(pattern):
                self.series[key], self.undecided = {}, f"{pattern.parser} cannot read this log: {untold}"
            for name in pattern.never_with:
                other = f"{pattern.parser}.{name}"
                if self.counts.matched(other):
                    line = self.accounts[other].first_line
                    self.series[key] = {}
                    self.undecided = (
                        f"{pattern.parser} cannot read this log: by its line {line} ({name}) the numbers "
                        "of its measured lines mean something else"
                    )

    def _untold(self, pattern: Pattern) -> str:
        """Why it is not known what a pattern's numbers count, if it is not."""
        ticks = self._ticks.get(pattern.key, Ticks())
        if ticks.twice:
            return "its epochs have two bars of one name each, of which one may be an evaluation's"
        common = ticks.common
        if common > 1 and not self._tells(pattern.parser, pattern.ticks_told_by):
            return (
                f"all counts of its bars are multiples of {common:,}, so that they may count samples in batches of "
                f"{common:,}, or steps and be drawn at each {common:,}th, and no line says which; if they are "
                "steps, give --as bar=NAME_OR_TOTAL"
            )
        if pattern.told_by and not self._tells(pattern.parser, pattern.told_by):
            return (
                f"what the numbers of its lines ({pattern.name}) count is told by others "
                f"({', '.join(pattern.told_by)}), and none of these stands in the log"
            )
        return ""

    def _tells(self, parser: str, names: tuple[str, ...]) -> bool:
        """Whether a line of one of these patterns of a parser stands in the log (``"a+b"``: of both)."""
        return any(all(self.counts.matched(f"{parser}.{name}") for name in both.split("+")) for both in names)

    def _add_totals(self) -> None:
        """Measure the lines of whole epochs, whose steps the step lines of the same parser may say."""
        starts = np.array(sorted(self._starts), dtype=np.int64)
        for key, totals in self._totals.items():
            others = [p for p in self.patterns.values() if p.parser == totals.pattern.parser and not p.total]
            steps, work = steps_of_an_epoch(others, self.samples), work_of_a_step(others, self.samples)
            self.series[key] = totals.series(self.as_printed, starts, steps, work)
        self._totals = {}

    def _places(self, matches: Matches) -> Ints:
        """Where each match stands among all of the log, (n,): behind each other in the order of the text."""
        return np.asarray(matches.offset + (self._block << BLOCK_BITS))

    def _decide_tracks(self, starts: Ints) -> None:
        """Take the progress bars that are the training's for measurements, or say why none is."""
        for key, tracks in self._tracks.items():
            pattern = tracks.pattern
            lines = self._marks.training_lines(pattern.parser)
            told = [fact.fields.get(pattern.track, "") for fact in self.facts if fact.pattern.speaks_for_training]
            numbers = [number for text in told if (number := scaled_number(text)) is not None]
            for series in tracks.series.values():
                series.close(NO_LINES)
            numbers += named_by_summaries({number for _, number in tracks.series}, self.facts)
            self.series[key], self.undecided = ranks_of(tracks, lines, numbers, starts)
        self._tracks = {}

    def _add_series(self, matches: Matches, first_line: int, starts: Ints) -> None:
        pattern = matches.pattern
        for printed in matches.units.values():
            self.units.setdefault(pattern.key, set()).update(printed)
        columns: dict[str, Floats] = {name: column for name, column in matches.columns.items() if name != "rank"}
        if pattern.ticks_told_by:
            totals = columns.get("run_steps", np.zeros(len(matches)))
            epochs = columns.get("epoch", np.full(len(matches), np.nan))
            self._ticks.setdefault(pattern.key, Ticks()).see(columns["step"], totals, epochs)
        ranks = ranks_of_lines(matches)
        self.series.setdefault(pattern.key, {})
        for rank in (FIRST_RANK,) if ranks is None else distinct(ranks)[0].tolist():
            rows = Rows(matches.line + first_line, columns, places=self._places(matches))
            if ranks is not None:
                rows = rows.take(ranks == rank)
            if self._positions is not None:
                rows = self._positions.place(pattern, rows, rank, starts if ranks is None else NO_LINES)
                rows = self._positions.in_training(pattern, rows, self._marks.evaluations(pattern.parser, rank))
            if pattern.total:
                self._totals.setdefault(pattern.key, Totals(pattern)).add(rows, rank)
                continue
            if pattern.track:
                tracks = self._tracks.setdefault(pattern.key, Tracks(pattern, self.as_printed))
                tracks.add(rows, rank, starts, partial(self._marks.pauses, pattern, rank))
                continue
            self._fold(pattern, rank, rows, starts)

    def _fold(self, pattern: Pattern, rank: int, rows: Rows, starts: Ints) -> None:
        """Add rows to the series of a pattern and rank, which begins with the first of them."""
        of_rank = self.series[pattern.key]
        if rank not in of_rank:
            of_rank[rank] = RankSeries(pattern, self.as_printed)
        of_rank[rank].shown = self._marks.shown(pattern)
        of_rank[rank].add(rows, starts, self._marks.pauses(pattern, rank, rows.columns.get("run_steps", NO_TOTALS)))
