"""A reading: everything that one log said, folded block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.logs.find import LogFile
from perflog.matching.matches import FIRST_RANK, TIMESTAMP, UNTAGGED, Ints, Matches
from perflog.measurements.rows import Floats, Rows
from perflog.measurements.series import RankSeries
from perflog.reading.account import Account, LogFact, facts_of, facts_that_count
from perflog.reading.positions import Positions
from perflog.reading.timestamps import seconds_of_timestamps

#: Parsers up to this priority count only in logs where no more specific one found a measurement.
GENERIC = 20
#: When more facts of one pattern are at hand, those that cannot count are let go: a log of 10 GB has a flat memory.
MOST_FACTS = 10_000


@dataclass(slots=True)
class Reading:
    """Everything that one log said.

    Attributes:
        as_printed: whether running means are taken as they stand (conventions of published reports).
        lines, bytes: read so far.
        problem: why the log cannot be read, empty when it can.
        notes: what is to be said with every run of the log.
        accounts, patterns: of every pattern whose literal occurs, by its key.
        series: measurements by pattern and rank.
        facts: summary, event and metadata lines, by line.
        units: the distinct units that a pattern's lines print.
    """

    log: LogFile
    as_printed: bool = False
    lines: int = 0
    bytes: int = 0
    problem: str = ""
    notes: list[str] = field(default_factory=list)
    accounts: dict[str, Account] = field(default_factory=dict)
    patterns: dict[str, Pattern] = field(default_factory=dict)
    series: dict[str, dict[int, RankSeries]] = field(default_factory=dict)
    facts: list[LogFact] = field(default_factory=list)
    units: dict[str, set[str]] = field(default_factory=dict)
    _facts: dict[str, list[LogFact]] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)
    _positions: Positions = field(default_factory=Positions)

    def add(self, block: Sequence[Matches], line_count: int, cut: bool) -> None:
        """Fold the matches in the log's next block of ``line_count`` lines in.

        ``cut``: whether the block's last line was left out because it may have been cut inside a number.
        """
        first_line = self.lines + 1
        for matches in block:
            self.account(matches.pattern, sum(matches.candidates.values()), matches.line + first_line)
            if matches.pattern.starts_run:
                self._starts.extend((matches.line + first_line).tolist())
        starts = np.array(sorted(self._starts), dtype=np.int64)
        self._positions.see(block, first_line)
        for matches in block:
            if not len(matches):
                continue
            if matches.pattern.role in ("step", "position"):
                self._add_series(matches, first_line, starts)
            elif matches.pattern.role != "ignore":
                self.add_facts(matches, first_line)
        self._positions.carry()
        self.end_block(line_count, cut)

    def account(self, pattern: Pattern, tried: int, lines: Ints) -> None:
        """Count how often a pattern was tried in a block, and the lines that it matched."""
        account = self.accounts.get(pattern.key)
        if account is None:
            account = self.accounts[pattern.key] = Account()
            self.patterns[pattern.key] = pattern
        account.candidates += tried
        account.matches += len(lines)
        if len(lines):
            account.first_line = account.first_line or int(lines[0])
            account.last_line = int(lines[-1])

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
        self.facts = sorted((fact for facts in self._facts.values() for fact in facts), key=lambda fact: fact.line)

    def next_start(self, line: int) -> int:
        """The first line after ``line`` that says a run begins."""
        return min((start for start in self._starts if start > line), default=self.lines + 1)

    def settle(self, catalog: Catalog) -> None:
        """Forget what generic parsers read where a more specific one measured: to be called at the log's end."""
        self.gather_facts()
        generic = {parser.name for parser in catalog.parsers if parser.priority <= GENERIC}
        measured = {p.parser for key, p in self.patterns.items() if p.role == "step" and self.accounts[key].matches}
        if not measured - generic or not generic & {p.parser for p in self.patterns.values()}:
            return
        dropped = [key for key, pattern in self.patterns.items() if pattern.parser in generic]
        for key in dropped:
            for table in (self.accounts, self.patterns, self.series, self.units, self._facts):
                table.pop(key, None)
        self.gather_facts()

    def _add_series(self, matches: Matches, first_line: int, starts: Ints) -> None:
        pattern = matches.pattern
        for printed in matches.units.values():
            self.units.setdefault(pattern.key, set()).update(printed)
        columns: dict[str, Floats] = {
            name: seconds_of_timestamps(column) if name == TIMESTAMP else column
            for name, column in matches.columns.items()
            if name != "rank"
        }
        ranks = _ranks(matches)
        of_rank = self.series.setdefault(pattern.key, {})
        for rank in (FIRST_RANK,) if ranks is None else np.unique(ranks).tolist():
            rows = Rows(matches.line + first_line, columns)
            if ranks is not None:
                rows = rows.take(ranks == rank)
            rows = self._positions.place(pattern, rows, rank)
            if rank not in of_rank:
                of_rank[rank] = RankSeries(pattern, self.as_printed)
            of_rank[rank].add(rows, starts)


def _ranks(matches: Matches) -> Ints | None:
    """Each line's rank by its launcher's tag or its own words, (n,); None where nothing tells one.

    A line without a tag, among tagged ones, is the first rank's or nobody's.
    """
    if (matches.rank != UNTAGGED).any():
        return np.asarray(np.maximum(matches.rank, FIRST_RANK))
    if "rank" in matches.columns:
        named: Ints = np.nan_to_num(matches.columns["rank"], nan=FIRST_RANK).astype(np.int64)
        return named
    return None
