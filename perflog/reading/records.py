"""Records that are printed on several lines: a head line, and lines below it that belong to it.

Patterns that name the same head in ``block`` are parts of one record. The first of them bears the record's values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perflog.formats.parser import Pattern
from perflog.matching.matches import FIRST_RANK, Ints, Matches
from perflog.matching.samples import Samples
from perflog.measurements.rows import Floats, Rows


@dataclass(slots=True)
class _Lines:
    """Lines of one pattern and rank that are in no finished record yet: numbers in the log, and columns, (n,)."""

    lines: Ints
    columns: Mapping[str, Floats]

    def after(self, line: int) -> _Lines:
        """Those from a line on."""
        low = int(np.searchsorted(self.lines, line, "left"))
        return _Lines(self.lines[low:], {name: column[low:] for name, column in self.columns.items()})


@dataclass(slots=True)
class Records:
    """The records of one block of a parser, folded block by block of the log.

    ``head``: the key of the pattern of the head line; ``carrier``: the pattern that bears the values.
    """

    head: str
    carrier: Pattern | None = None
    _open: dict[tuple[int, str], _Lines] = field(default_factory=dict)

    def add(self, matches: Matches, first_line: int) -> None:
        """Take the lines of the head or of a part, in a block of the log that begins at ``first_line``."""
        pattern = matches.pattern
        if pattern.block and self.carrier is None:  # whichever part comes first: all know the values of all
            self.carrier = pattern
        ranks = np.maximum(matches.rank, FIRST_RANK)
        for rank in dict.fromkeys(ranks.tolist()):
            mine = ranks == rank
            columns = {name: column[mine] for name, column in matches.columns.items() if not isinstance(column, list)}
            added = _Lines(matches.line[mine] + first_line, columns)
            before = self._open.get((rank, pattern.key))
            self._open[rank, pattern.key] = added if before is None else _joined(before, added)

    def finished(self, at_end: bool) -> dict[int, Rows]:
        """By rank the records that no later line can belong to; at the log's end all."""
        rows = {}
        for rank in sorted({rank for rank, _ in self._open}):
            heads = self._open.get((rank, self.head))
            if heads is None or not len(heads.lines):
                continue
            whole = len(heads.lines) if at_end else len(heads.lines) - 1
            if whole > 0:
                made = self._rows(rank, heads, whole)
                if len(made):
                    rows[rank] = made
                end = int(heads.lines[whole]) if whole < len(heads.lines) else np.iinfo(np.int64).max
                for key in [key for key in self._open if key[0] == rank]:
                    self._open[key] = self._open[key].after(end)
        return rows

    def _rows(self, rank: int, heads: _Lines, whole: int) -> Rows:
        columns = {name: column[:whole] for name, column in heads.columns.items() if name != "rank"}
        bearing = np.zeros(whole, dtype=bool)
        for (of_rank, key), part in self._open.items():
            if of_rank != rank or key == self.head:
                continue
            place = np.searchsorted(heads.lines[:whole], part.lines, "right") - 1
            inside = place >= 0
            if whole < len(heads.lines):
                inside &= part.lines < heads.lines[whole]
            bearing[place[inside]] = True
            for name, column in part.columns.items():
                if name != "rank":
                    target = columns.setdefault(name, np.full(whole, np.nan)).copy()
                    target[place[inside]] = column[inside]
                    columns[name] = target
        rows = Rows(heads.lines[:whole], columns)
        return rows.take(bearing)


def _joined(one: _Lines, other: _Lines) -> _Lines:
    names = dict.fromkeys((*one.columns, *other.columns))
    columns = {
        name: np.concatenate([part.columns.get(name, np.full(len(part.lines), np.nan)) for part in (one, other)])
        for name in names
    }
    return _Lines(np.concatenate((one.lines, other.lines)), columns)


def with_all_columns(pattern: Pattern, rows: Rows) -> Rows:
    """Rows with a column for each value of a pattern, NaN where the log prints none."""
    lacking = {v.group: np.full(len(rows), np.nan) for v in pattern.values if v.group not in rows.columns}
    return rows.with_columns(lacking)


def samples_of_records(rows: Rows, heads: Sequence[Samples]) -> list[Samples]:
    """The records whose head lines were sampled."""
    found = []
    for samples in heads:
        place = np.searchsorted(rows.lines, samples.line)
        inside = np.flatnonzero(place < len(rows.lines))
        inside = inside[rows.lines[place[inside]] == samples.line[inside]]
        columns: dict[str, Any] = {name: column[place[inside]] for name, column in rows.columns.items()}
        if len(inside):
            texts = tuple(samples.text[head] for head in inside.tolist())
            places = tuple(samples.place[head] for head in inside.tolist())
            found.append(Samples(samples.line[inside], texts, places, columns))
    return found
