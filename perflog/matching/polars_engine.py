"""The polars engine: the same matches as the compiled one gives, where no compiler is at hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.logs.clean import LOST, clean_block, may_hold_ranks, rank_of, valid_utf8
from perflog.matching.columns import with_numbers
from perflog.matching.matches import UNIT, UNTAGGED, Batch, Matches, Samples, in_turn
from perflog.matching.polars_texts import Hits, Texts, numbers
from perflog.matching.sampling import Sampling

# ----------------------------------------------------------------------------------------------------
# Which parser gets which line of a text: the most specific one that matched there; for the polars engine.

Ints = NDArray[np.int64]
#: What numbers consist of: stripped from the end, for a regex that ends with it would begin anew at each digit.
_OF_NUMBERS, _DIGIT = b"-+0123456789.eE", re.compile(rb"[0-9]")
#: How many of each text's last matches the ``also`` of a pattern is read from.
LAST_LINES = 64
#: A launcher's tag stands in so many bytes of its line.
TAG_BYTES = 128


@dataclass(frozen=True, slots=True)
class ClaimedText:
    """One text: each pattern's hits that were left to it, and where the lines of the text end.

    ``breaks``: byte offsets of line feeds and carriage returns; ``feeds``: of line feeds alone.
    """

    hits: list[Hits]
    feeds: Ints
    breaks: Ints
    lines: int
    cut: bool
    tagged: bool

    def line_of(self, offset: Ints) -> Ints:
        """The line, from 0, that each byte offset is in, (n,)."""
        return np.searchsorted(self.feeds, offset)

    def rank_of(self, text: bytes, offset: Ints) -> Ints:
        """The rank whose tag begins each offset's sub-line, (n,)."""
        ranks = np.full(len(offset), UNTAGGED, dtype=np.int64)
        if not self.tagged:
            return ranks
        places = np.searchsorted(self.breaks, offset)
        starts = np.where(places > 0, self.breaks[places - 1] + 1, 0) if len(self.breaks) else np.zeros_like(offset)
        for row, start in enumerate(starts.tolist()):
            end = int(self.breaks[places[row]]) if places[row] < len(self.breaks) else len(text)
            rank = rank_of(text[start : min(end, start + TAG_BYTES)])
            ranks[row] = UNTAGGED if rank is None else rank
        return ranks


def claimed(text: bytes, hits: Sequence[Hits], priority: Mapping[str, int], at_end: bool) -> ClaimedText:
    """Give each sub-line of a clean text to one parser, and lines that are to be ignored to none.

    Args:
        hits: of each pattern, in the order in which they take turns.
        priority: of each parser.
        at_end: whether the text's end is its log's, so that its last line may be cut inside a number.
    """
    raw = np.frombuffer(text, dtype=np.uint8)
    feeds = np.flatnonzero(raw == 10)
    unfinished = bool(text) and not text.endswith(b"\n")
    lines = len(feeds) + unfinished
    if not any(len(found) for found in hits):
        return ClaimedText(list(hits), feeds, feeds, lines, False, False)
    breaks = np.flatnonzero((raw == 10) | (raw == 13)) if b"\r" in text else feeds
    left = _owned(hits, [np.searchsorted(breaks, found.offset) for found in hits], len(breaks) + 1, priority)
    cut = False
    if at_end and not text.endswith((b"\n", b"\r")):
        last = int(breaks[-1]) + 1 if len(breaks) else 0
        rest = text[last:]
        if _DIGIT.search(rest, len(rest.rstrip(_OF_NUMBERS))):  # 12 may have been 1234
            whole = [found.take(found.offset < last) for found in left]
            cut = any(len(a) < len(b) for a, b in zip(whole, left, strict=True))
            left = whole
    return ClaimedText(left, feeds, breaks, lines, cut, may_hold_ranks(text))


def _owned(hits: Sequence[Hits], rows: Sequence[Ints], n: int, priority: Mapping[str, int]) -> list[Hits]:
    """The hits that stay, where ``rows`` are the sub-lines of each pattern's hits and ``n`` is how many there are."""
    claimants = [place for place, found in enumerate(hits) if len(found) and found.pattern.role != "metadata"]
    parsers = sorted({hits[place].pattern.parser for place in claimants})
    ignoring = [place for place in claimants if hits[place].pattern.role == "ignore"]
    if len(parsers) < 2 and not ignoring:
        return list(hits)
    owner = np.full(n, -1, dtype=np.int64)
    for place in sorted(claimants, key=lambda place: -priority[hits[place].pattern.parser]):
        mine = rows[place]
        owner[mine[owner[mine] < 0]] = parsers.index(hits[place].pattern.parser)
    ignored = {hits[place].pattern.parser: np.zeros(n, dtype=bool) for place in ignoring}
    for place in ignoring:
        ignored[hits[place].pattern.parser][rows[place]] = True
    left = list(hits)
    for place in claimants:
        pattern, mine = hits[place].pattern, rows[place]
        keep = (owner[mine] == parsers.index(pattern.parser)) | (pattern.role == "position")
        if pattern.role != "ignore" and pattern.parser in ignored:
            keep &= ~ignored[pattern.parser][mine]
        left[place] = hits[place] if keep.all() else hits[place].take(keep)
    return left


def numbers_of_also(pattern: Pattern, text: bytes, offset: Ints) -> dict[str, NDArray[np.float64]]:
    """The groups of a pattern's ``also`` at its matches in one text, each (n,); NaN but for the last matches."""
    import polars as pl

    columns = {group: np.full(len(offset), np.nan) for group in pattern.also_groups}
    literal = b"" if pattern.tail is None else pattern.literal.encode()  # by line: the whole sub-line
    first = max(0, len(offset) - LAST_LINES)
    subjects = [_subject(text, literal, place).decode("utf-8") for place in offset[first:].tolist()]
    fields = pl.Series(subjects, dtype=pl.String).str.extract_groups(pattern.also)
    for group in pattern.also_groups:
        columns[group][first:] = numbers(fields.struct.field(group))
    return columns


def _subject(text: bytes, literal: bytes, place: int) -> bytes:
    """What follows a literal, up to the end of its sub-line or its next occurrence there; all of it without one."""
    start = place + len(literal)
    ends = [end for end in (text.find(b"\n", start), text.find(b"\r", start)) if end >= 0]
    end = min(ends, default=len(text))
    again = text.find(literal, start, end) if literal else -1
    return text[start : again if again >= 0 else end]


class PolarsEngine:
    """Finds all patterns of a catalogue: texts are split at the literals that occur in them."""

    def __init__(self, catalog: Catalog) -> None:
        self._patterns = in_turn(catalog)
        self._literals = list(dict.fromkeys(pattern.literal for pattern in self._patterns))
        self._priority = {parser.name: parser.priority for parser in catalog.parsers}

    def match(self, texts: Sequence[bytes], at_end: bool) -> Batch:
        """See :class:`perflog.matching.matches.Engine`."""
        if not texts:
            return Batch([], np.empty(0, dtype=np.int64), np.empty(0, dtype=bool))
        clean = [_valid(clean_block(text)) for text in texts]
        batch = Texts(clean)
        literals = batch.literals(self._literals)
        hits = [found for p in self._patterns if p.literal in literals and (found := batch.match(p)) is not None]
        given = [claimed(text, _of_text(hits, n), self._priority, at_end) for n, text in enumerate(clean)]
        matches = [_matches(found, [(n, text.hits[place]) for n, text in enumerate(given)], clean, given)
                   for place, found in enumerate(hits)]  # fmt: skip
        lines = np.array([text.lines for text in given], dtype=np.int64)
        return Batch(matches, lines, np.array([text.cut for text in given], dtype=bool))


def _valid(text: bytes) -> bytes:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return valid_utf8(text)
    return valid_utf8(text) if LOST in text else text


def _of_text(hits: Sequence[Hits], text: int) -> list[Hits]:
    """Each pattern's hits in one text, in the order of the patterns."""
    bounds = [np.searchsorted(found.text, (text, text + 1)).tolist() for found in hits]
    return [found.take(slice(low, high)) for found, (low, high) in zip(hits, bounds, strict=True)]


def _matches(found: Hits, by_text: Sequence[tuple[int, Hits]], texts: Sequence[bytes],
             given: Sequence[ClaimedText]) -> Matches:  # fmt: skip
    """One pattern's hits in all texts, as they were left to it, with lines and ranks."""
    pattern = found.pattern
    kept = [(n, hits) for n, hits in by_text if len(hits)]
    offsets = [hits.offset for _, hits in kept]
    text = np.repeat(np.array([n for n, _ in kept], dtype=np.int64), [len(offset) for offset in offsets])
    line = _joined([given[n].line_of(hits.offset) for n, hits in kept], np.int64)
    rank = _joined([given[n].rank_of(texts[n], hits.offset) for n, hits in kept], np.int64)
    columns = {
        group: np.concatenate([hits.columns[group] for _, hits in kept]) if kept else found.columns[group][:0]
        for group in found.columns
    }
    units = {}
    if UNIT in columns and pattern.role in ("step", "position"):
        for n, hits in kept:
            units[n] = frozenset(str(unit) for unit in hits.columns[UNIT] if unit is not None)
        del columns[UNIT]
    for group in columns:
        if columns[group].dtype == object:
            columns[group] = columns[group].tolist()
    if pattern.also:
        columns |= _also(pattern, kept, texts)
    samples: Mapping[int, Samples] = {}
    if pattern.role in ("step", "position"):
        columns = with_numbers(pattern, columns)
        samples = Sampling(text, line, rank, _joined(offsets, np.int64), columns, texts)
    units = {n: printed for n, printed in units.items() if printed}
    return Matches(pattern, text, line, rank, columns, units, found.candidates, samples, _joined(offsets, np.int64))


def _also(pattern: Pattern, kept: Sequence[tuple[int, Hits]], texts: Sequence[bytes]) -> dict[str, np.ndarray]:
    parts = [numbers_of_also(pattern, texts[n], hits.offset) for n, hits in kept]
    return {group: _joined([part[group] for part in parts], np.float64) for group in pattern.also_groups}


def _joined(parts: Sequence[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
