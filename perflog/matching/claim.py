"""Which format gets which line: all patterns' matches in clean texts, each line given to one parser."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.logs.ranks import may_hold_ranks, rank_of
from perflog.matching.matches import UNTAGGED
from perflog.matching.polars_engine import Matches, Texts

#: Parsers up to this priority are asked only where no more specific one found a measurement.
GENERIC = 20
_ENDS_IN_NUMBER = re.compile(rb"[0-9][-+0-9.eE]*$")


@dataclass(slots=True)
class Block:
    """One pattern's matches in one block of one log, with lines counted from the block's first line as 0."""

    pattern: Pattern
    lines: NDArray[np.int64]
    ranks: NDArray[np.int64] | None
    columns: dict[str, NDArray[Any]]
    candidates: int


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
