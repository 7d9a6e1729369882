"""What the reading stage makes of one log: series of measurements, facts, and an account of every pattern."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perflog.catalog import Catalog
from perflog.find import LogFile
from perflog.match import Matches, Texts
from perflog.parser import Pattern
from perflog.series import Lines, RankSeries
from perflog.text import may_hold_ranks, rank_of

#: Facts kept per pattern: the first so many, and as many of the last.
FACTS_KEPT = 400
#: A pattern that failed on so many lines of a large log, and matched none, is not tried on its later blocks.
ENOUGH_TRIED = 4000
#: Parsers up to this priority are asked only where no more specific one found a measurement.
GENERIC = 20
#: Lines without a launcher's tag; their measurements count as the first rank's.
UNTAGGED, FIRST_RANK = -1, 0
_ENDS_IN_NUMBER = re.compile(rb"[0-9][-+0-9.eE]*$")


@dataclass(slots=True)
class LogFact:
    """A summary, event or metadata line: what it says and where."""

    pattern: Pattern
    line: int
    rank: int
    fields: dict[str, str]


@dataclass(slots=True)
class Account:
    """How often a pattern's literal was seen and its regex matched, and at which lines."""

    candidates: int = 0
    matches: int = 0
    first_line: int = 0
    last_line: int = 0


@dataclass(slots=True)
class Block:
    """One pattern's matches in one block of one log, with lines counted from the block's first line as 0."""

    pattern: Pattern
    lines: Lines
    ranks: NDArray[np.int64] | None
    columns: dict[str, NDArray[Any]]
    candidates: int


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
        _timestamps(columns)
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


def _timestamps(columns: dict[str, NDArray[Any]]) -> None:
    """Printed moments as seconds since 1970."""
    column = columns.get("timestamp")
    if column is None or column.dtype != object:
        return
    import polars as pl

    texts = pl.Series(column.tolist(), dtype=pl.String)
    seconds = texts.cast(pl.Float64, strict=False)
    if seconds.null_count() == len(seconds):
        for form in ("%Y-%m-%d %H:%M:%S%.f", "%Y/%m/%d %H:%M:%S%.f", "%Y-%m-%d %H:%M:%S,%f"):
            moments = texts.str.to_datetime(form, strict=False, time_unit="us")
            if moments.null_count() < len(moments):
                seconds = moments.dt.timestamp("us").cast(pl.Float64) / 1e6
                break
    columns["timestamp"] = seconds.fill_null(float("nan")).to_numpy()


# ---------------------------------------------------------------- from texts to blocks


def match_texts(
    texts: Sequence[bytes], catalog: Catalog, literals: set[str] | None = None, excluded: frozenset[str] = frozenset(), whole: bool = True,
    at_end: bool = True,
) -> tuple[list[tuple[list[Block], int]], set[str]]:  # fmt: skip
    """All patterns' matches in clean texts: for each text its blocks and number of lines; and the literals seen."""
    batch = Texts(texts)
    unseen = [x for x in catalog.literals if not literals or x not in literals]
    seen = (literals or set()) | batch.literals(unseen, whole=False)
    found: list[list[Matches]] = [[] for _ in texts]
    patterns = [p for literal in catalog.literals if literal in seen for p in catalog.by_literal[literal] if p.key not in excluded]
    priority = {p.name: p.priority for p in catalog.parsers}
    generic = {name for name, number in priority.items() if number <= GENERIC}
    _match_all(batch, [p for p in patterns if p.parser not in generic], priority, found, list(range(len(texts))))
    rest = [p for p in patterns if p.parser in generic]
    unmeasured = [n for n, matches in enumerate(found) if not any(m.pattern.role == "step" and len(m) for m in matches)]
    if unmeasured and (rest or whole):
        others = batch if len(unmeasured) == len(texts) else Texts([batch.bytes[n] for n in unmeasured])
        if whole:  # every byte is searched where the two ends told of no measurement
            late = others.literals([x for x in unseen if x not in seen], whole=True)
            seen |= late
            rest += [p for literal in catalog.literals if literal in late for p in catalog.by_literal[literal] if p.key not in excluded]
        _match_all(others, rest, priority, found, unmeasured)
    return [_blocks(text, matches, catalog, at_end) for text, matches in zip(batch.bytes, found, strict=True)], seen


def _match_all(batch: Texts, patterns: Sequence[Pattern], priority: Mapping[str, int], found: list[list[Matches]], numbers: list[int]) -> None:
    """Add the matches of patterns in a batch to ``found``; ``numbers`` are the batch's texts' places there."""
    for pattern in sorted(patterns, key=lambda p: -priority[p.parser]):  # what a specific parser takes, no other is asked for
        matches = batch.match(pattern, pattern.groups)
        if matches is None:
            continue
        bounds = np.searchsorted(matches.text, np.arange(len(numbers) + 1)).tolist()
        for number, (low, high) in zip(numbers, pairwise(bounds), strict=True):
            if high > low or len(numbers) == 1:
                found[number].append(matches.rows(slice(low, high)))


def _blocks(text: bytes, found: list[Matches], catalog: Catalog, at_end: bool) -> tuple[list[Block], int]:
    unfinished = not text.endswith(b"\n")
    if not any(len(m) for m in found):
        none = [Block(m.pattern, np.empty(0, dtype=np.int64), None, m.columns, m.candidates) for m in found]
        return none, text.count(b"\n") + unfinished
    raw = np.frombuffer(text, dtype=np.uint8)
    feeds = np.flatnonzero(raw == 10)
    if at_end and not text.endswith((b"\n", b"\r")):
        found = [_without_cut_number(text, m) for m in found]
    found = _claim(text, feeds, raw, found, catalog)
    ranked = may_hold_ranks(text)
    blocks = []
    for matches in found:
        lines = np.searchsorted(feeds, matches.offset)
        ranks = _ranks(text, matches.offset) if ranked and len(matches) else None
        blocks.append(Block(matches.pattern, lines, ranks, matches.columns, matches.candidates))
    return blocks, len(feeds) + unfinished


def _without_cut_number(text: bytes, matches: Matches) -> Matches:
    """Drop a match in an unfinished last line whose last number touches the end: 12 may have been 1234."""
    last = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
    if not len(matches) or matches.offset[-1] < last:
        return matches
    tail = text[int(matches.offset[-1]) :]
    if not _ENDS_IN_NUMBER.search(tail):
        return matches
    return matches.rows(slice(0, len(matches) - 1))


def _ranks(text: bytes, offsets: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The rank whose tag begins each match's line or sub-line; None when no line has one."""
    ranks = np.empty(len(offsets), dtype=np.int64)
    for at, offset in enumerate(offsets.tolist()):
        start = max(text.rfind(b"\n", 0, offset), text.rfind(b"\r", max(0, offset - 4096), offset)) + 1
        rank = rank_of(text[start : start + 128])
        ranks[at] = UNTAGGED if rank is None else rank
    return None if (ranks == UNTAGGED).all() else ranks


def _claim(text: bytes, feeds: NDArray[np.int64], raw: NDArray[np.uint8], found: list[Matches], catalog: Catalog) -> list[Matches]:
    """Give each line to one parser (the most specific), and lines that are to be ignored to none."""
    active = [m for m in found if len(m)]
    claimants = [m for m in active if m.pattern.role != "metadata"]
    parsers = {m.pattern.parser for m in claimants}
    ignoring = [m for m in claimants if m.pattern.role == "ignore"]
    if len(parsers) < 2 and not ignoring:
        return found
    breaks = np.flatnonzero((raw == 10) | (raw == 13)) if b"\r" in text else feeds
    rows = {id(m): np.searchsorted(breaks, m.offset) for m in claimants}
    numbers = {name: number for number, name in enumerate(sorted(parsers))}
    priority = {name: catalog.by_name[name].priority for name in parsers}
    owner = np.full(len(breaks) + 1, -1, dtype=np.int16)
    for m in sorted(claimants, key=lambda m: -priority[m.pattern.parser]):
        mine = rows[id(m)]
        owner[mine[owner[mine] < 0]] = numbers[m.pattern.parser]
    ignored = {name: np.zeros(len(breaks) + 1, dtype=bool) for name in {m.pattern.parser for m in ignoring}}
    for m in ignoring:
        ignored[m.pattern.parser][rows[id(m)]] = True
    result = []
    for m in found:
        if id(m) in rows:
            mine = rows[id(m)]
            keep = owner[mine] == numbers[m.pattern.parser]
            if m.pattern.role != "ignore" and m.pattern.parser in ignored:
                keep &= ~ignored[m.pattern.parser][mine]
            m = m if keep.all() else m.rows(keep)
        result.append(m)
    return result
