"""What the reading stage makes of one log: series of measurements, facts, and an account of every pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perflog.formats.parser import Pattern
from perflog.logs.find import LogFile
from perflog.matching.claim import Block
from perflog.matching.matches import FIRST_RANK, UNTAGGED
from perflog.measurements.series import Lines, RankSeries
from perflog.reading.account import Account, LogFact
from perflog.reading.timestamps import seconds_of_timestamps

#: Facts kept per pattern: the first so many, and as many of the last.
FACTS_KEPT = 400
#: A pattern that failed on so many lines of a large log, and matched none, is not tried on its later blocks.
ENOUGH_TRIED = 4000


@dataclass(slots=True)
class Reading:
    """Everything a log said, folded."""

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
    _starts: list[int] = field(default_factory=list)
    _positions: dict[tuple[str, int], tuple[int, float, float]] = field(default_factory=dict)

    def add(self, blocks: Sequence[Block], line_count: int) -> None:
        """Fold the matches of the log's next block in."""
        shift = self.lines + 1
        for block in blocks:
            block.lines += shift
            self._account(block)
            if block.pattern.starts_run:
                self._starts.extend(block.lines.tolist())
        starts = np.array(sorted(self._starts), dtype=np.int64)
        positions = {block.pattern.name: block for block in blocks if block.pattern.role == "position"}
        for block in blocks:
            if not len(block.lines):
                continue
            if block.pattern.role in ("step", "position"):
                self._add_series(block, starts, positions)
            elif block.pattern.role != "ignore":
                self._add_facts(block)
        for block in positions.values():
            self._carry(block)
        self.facts.sort(key=lambda fact: fact.line)
        self.lines += line_count

    def next_start(self, line: int) -> int:
        """The first line after ``line`` that says a run begins."""
        return min((start for start in self._starts if start > line), default=self.lines + 1)

    def _account(self, block: Block) -> None:
        key = block.pattern.key
        account = self.accounts.get(key)
        if account is None:
            account = self.accounts[key] = Account()
            self.patterns[key] = block.pattern
        account.candidates += block.candidates
        account.matches += len(block.lines)
        if len(block.lines):
            account.first_line = account.first_line or int(block.lines[0])
            account.last_line = int(block.lines[-1])

    def _add_facts(self, block: Block) -> None:
        names = list(block.columns)
        n = len(block.lines)
        rows = range(n) if n <= 2 * FACTS_KEPT else [*range(FACTS_KEPT), *range(n - FACTS_KEPT, n)]
        for at in rows:
            fields = {name: str(block.columns[name][at]) for name in names if block.columns[name][at] is not None}
            rank = int(block.ranks[at]) if block.ranks is not None else UNTAGGED
            self.facts.append(LogFact(block.pattern, int(block.lines[at]), rank, fields))

    def _add_series(self, block: Block, starts: Lines, positions: dict[str, Block]) -> None:
        unit = block.columns.pop("unit", None)
        if unit is not None:
            seen = self.units.setdefault(block.pattern.key, set())
            seen.update(str(u) for u in set(unit.tolist()) if u is not None)
        columns = {name: column for name, column in block.columns.items() if name != "rank"}
        seconds_of_timestamps(columns)
        ranks = block.ranks
        if ranks is None and "rank" in block.columns:
            ranks = np.nan_to_num(block.columns["rank"], nan=FIRST_RANK).astype(np.int64)
        of_rank = self.series.setdefault(block.pattern.key, {})
        if ranks is not None:  # a line without a tag, among tagged ones, is the first rank's or nobody's
            ranks = np.maximum(ranks, FIRST_RANK)
        for rank in (FIRST_RANK,) if ranks is None else np.unique(ranks).tolist():
            rows: Any = slice(None) if ranks is None else ranks == rank
            lines = block.lines[rows]
            mine = {name: column[rows] for name, column in columns.items()}
            where = self._locate(block.pattern, lines, mine, rank, positions)
            if rank not in of_rank:
                of_rank[rank] = RankSeries(block.pattern, self.as_printed)
            of_rank[rank].add(lines, mine, starts, where)

    def _locate(self, pattern: Pattern, lines: Lines, columns: dict[str, NDArray[np.float64]], rank: int, positions: dict[str, Block]) -> Lines | None:
        """Give measurements without a step of their own the epoch and step printed last before them."""
        if not pattern.position:
            return None
        key = f"{pattern.parser}.{pattern.position}"
        carried = self._positions.get((key, rank))
        block = positions.get(pattern.position)
        at_lines = np.empty(0, dtype=np.int64)
        epochs = steps = np.empty(0)
        if block is not None and len(block.lines):
            mine = slice(None) if block.ranks is None else np.maximum(block.ranks, FIRST_RANK) == rank
            at_lines = block.lines[mine]
            steps = block.columns["step"][mine] if "step" in block.columns else np.full(len(at_lines), np.nan)
            epochs = block.columns["epoch"][mine] if "epoch" in block.columns else np.full(len(at_lines), np.nan)
        if carried is not None:
            at_lines = np.concatenate(([carried[0]], at_lines))
            epochs = np.concatenate(([carried[1]], epochs))
            steps = np.concatenate(([carried[2]], steps))
        if not len(at_lines):
            return None
        index = np.searchsorted(at_lines, lines, "right") - 1
        known = index >= 0
        columns["epoch"] = np.where(known, epochs[index], np.nan)
        columns["step"] = np.where(known, steps[index], np.nan)
        return np.where(known, at_lines[index], -1)

    def _carry(self, block: Block) -> None:
        if not len(block.lines) or "step" not in block.columns:
            return
        ranks = np.maximum(block.ranks, FIRST_RANK) if block.ranks is not None else np.full(len(block.lines), FIRST_RANK)
        for rank in np.unique(ranks).tolist():
            at = int(np.flatnonzero(ranks == rank)[-1])
            epoch = float(block.columns["epoch"][at]) if "epoch" in block.columns else float("nan")
            self._positions[(block.pattern.key, rank)] = (int(block.lines[at]), epoch, float(block.columns["step"][at]))
