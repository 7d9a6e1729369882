"""The polars engine: the same matches as the compiled one gives, where no compiler is at hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.logs.clean import clean_block, rank_of, valid_utf8
from perflog.matching.columns import with_numbers
from perflog.matching.layouts import Cut, Layouts
from perflog.matching.matches import UNIT, UNTAGGED, Batch, Ints, Matches, Samples, in_turn, is_text
from perflog.matching.sampling import Sampling

#: What numbers consist of: stripped from the end, for a regex that ends with it would begin anew at each digit.
_OF_NUMBERS, _DIGIT = b"-+0123456789.eE", re.compile(rb"[0-9]")
#: How many of each text's last matches the ``also`` of a pattern is read from.
LAST_LINES = 64
#: A launcher's tag stands in so many bytes of its line.
TAG_BYTES = 128


class PolarsEngine:
    """Finds all patterns of a catalogue: what they find is decided once a layout of lines."""

    def __init__(self, catalog: Catalog) -> None:
        self._patterns = in_turn(catalog)
        self._priority = {parser.name: parser.priority for parser in catalog.parsers}
        self._free: list[Layouts] = []  # those that no thread uses

    def match(self, texts: Sequence[bytes], at_end: bool) -> Batch:
        """See :class:`perflog.matching.matches.Engine`."""
        clean = [_valid(clean_block(text)) for text in texts]
        cut = Cut.of(clean)
        try:
            layouts = self._free.pop()
        except IndexError:
            layouts = Layouts(self._patterns, self._priority)
        found = _Found(clean, cut, layouts, layouts.of(cut), at_end)
        batch = Batch(found.matches(self._patterns), found.lines(), found.is_cut)
        self._free.append(layouts)
        return batch


def _valid(text: bytes) -> bytes:
    return text if text.isascii() else valid_utf8(text)


class _Found:
    """What stands in the lines of a batch of texts."""

    def __init__(self, texts: Sequence[bytes], cut: Cut, layouts: Layouts, of_line: Ints, at_end: bool) -> None:
        """``of_line``: the layout of each line, by number, (lines,); ``at_end``: see :class:`Engine`."""
        self._texts, self._cut, self._layouts, self._of_line = texts, cut, layouts, of_line
        rows = layouts.layouts["rows"].take(of_line)  # which is faster than an index
        unsure = np.array([at_end and _may_be_cut(text) for text in texts], dtype=bool)
        last = cut.first[1:][unsure] - 1
        self.is_cut = unsure.copy()
        self.is_cut[unsure] = rows[last] > 0
        rows[last] = 0
        which = np.flatnonzero(rows)
        count = rows.take(which)
        row = _spread(layouts.layouts["first_row"].take(of_line.take(which)), count)
        pattern = layouts.rows["pattern"].take(row).astype(np.int16)  # which are sorted by their digits
        order = np.argsort(pattern, kind="stable")
        self._row, self._line = row.take(order), np.repeat(which, count).take(order)
        self._bounds = np.searchsorted(pattern.take(order), np.arange(layouts.n_patterns + 1))

    def lines(self) -> Ints:
        """How many lines each text has, an unfinished last one counted, (texts,)."""
        unfinished = [text.endswith(b"\r") for text in self._texts]  # all others end with a line feed now
        return np.diff(self._cut.feeds[self._cut.first]) + np.array(unfinished, dtype=np.int64)

    def matches(self, patterns: Sequence[Pattern]) -> list[Matches]:
        """All matches, of every pattern whose literal occurs."""
        candidates = self._candidates()
        numbers = {literal: number for number, literal in enumerate(self._layouts.literals)}
        return [
            self._of_pattern(pattern, slice(low, high), candidates[literal])
            for pattern, low, high in zip(patterns, self._bounds.tolist(), self._bounds[1:].tolist(), strict=False)
            if (literal := numbers[pattern.literal, pattern.tail is None]) in candidates
        ]

    def _candidates(self) -> dict[int, dict[int, int]]:
        """How often each literal that occurs does, by its number and text."""
        layouts, (n_texts, n_literals) = self._layouts, (len(self._texts), len(self._layouts.literals))
        lines = np.flatnonzero(layouts.layouts["literals"].take(self._of_line))
        pairs = np.sort(self._cut.text.take(lines) * len(layouts.layouts) + self._of_line.take(lines))
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        times = np.diff(first, append=len(pairs))
        text, layout = np.divmod(pairs[first], len(layouts.layouts))
        count = layouts.layouts["literals"][layout]
        held = layouts.counts[_spread(layouts.layouts["first_literal"][layout], count)]
        place = held["literal"] * n_texts + np.repeat(text, count)
        total = np.bincount(place, held["count"] * np.repeat(times, count), n_texts * n_literals).astype(np.int64)
        found: dict[int, dict[int, int]] = {}
        for place in np.flatnonzero(total).tolist():
            found.setdefault(place // n_texts, {})[place % n_texts] = int(total[place])
        return found

    def _of_pattern(self, pattern: Pattern, which: slice, candidates: Mapping[int, int]) -> Matches:
        cut, line, row = self._cut, self._line[which], self._row[which]
        captured = self._layouts.rows["first_capture"].take(row)
        text, start = cut.text.take(line), cut.start.take(line)
        first = cut.first.take(text)
        columns: dict[str, Any] = {}
        units: dict[int, frozenset[str]] = {}
        measures = pattern.role in ("step", "position")
        for n, group in enumerate(dict.fromkeys(pattern.groups + pattern.also_groups)):
            captures = captured + n
            if group in pattern.also_groups:
                columns[group] = np.full(len(line), np.nan)
                last = _last_of_each(text, LAST_LINES)
                columns[group][last] = self._layouts.numbers(cut, captures[last], start[last])
            elif not is_text(pattern, group):
                columns[group] = self._layouts.numbers(cut, captures, start)
            elif measures and group == UNIT:
                units = self._units(text, captures, start)
            else:
                columns[group] = self._layouts.printed(cut, captures, start)
        offset = start - cut.start.take(first) + self._layouts.rows["at"].take(row)
        rank, number = self._rank(line), cut.feeds.take(line) - cut.feeds.take(first)
        samples: Mapping[int, Samples] = {}
        if measures:
            columns = with_numbers(pattern, columns)
            samples = Sampling(text, number, rank, offset, columns, self._texts)
        return Matches(pattern, text, number, rank, columns, units, candidates, samples, offset)

    def _units(self, text: Ints, captures: Ints, start: Ints) -> dict[int, frozenset[str]]:
        """The units that are printed, by text."""
        units: dict[int, set[str]] = {}
        of_text = zip(text.tolist(), self._layouts.printed(self._cut, captures, start), strict=True)
        for number, unit in set(of_text):
            if unit:
                units.setdefault(number, set()).add(unit)
        return {number: frozenset(printed) for number, printed in units.items()}

    def _rank(self, line: Ints) -> Ints:
        """The rank whose tag begins each line, (n,)."""
        ranks = np.full(len(line), UNTAGGED, dtype=np.int64)
        cut = self._cut
        for n in np.flatnonzero(self._layouts.layouts["tagged"].take(self._of_line.take(line))).tolist():
            start, end = cut.start[line[n] : line[n] + 2].tolist()
            rank = rank_of(cut.data[start : min(end - 1, start + TAG_BYTES)])
            ranks[n] = UNTAGGED if rank is None else rank
        return ranks


def _may_be_cut(text: bytes) -> bool:
    """Whether a text's last line may be cut inside a number: 12 may have been 1234."""
    last = text[max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 :]
    return _DIGIT.search(last, len(last.rstrip(_OF_NUMBERS))) is not None


def _spread(first: Ints, count: Ints) -> Ints:
    """So many numbers in turn from each of the first ones on."""
    return np.repeat(first - (np.cumsum(count) - count), count) + np.arange(count.sum())


def _last_of_each(text: Ints, most: int) -> Ints:
    """Which of the matches are each text's last ones."""
    ends = np.searchsorted(text, text, side="right")
    return np.flatnonzero(np.arange(len(text)) >= ends - most)
