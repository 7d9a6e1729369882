"""Two lines that are one record: the first counts the steps, and the next one tells their time or their rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perflog.inference.columns import Columns
from perflog.matching.matches import Ints
from perflog.matching.tables import Column, Table

#: Of so many lines that count the next one measures, and hardly one measures that stands behind none.
MOST_PAIRED = 0.9
#: Parts the words of the two lines: no unit, no key and no name goes on from the one to the other.
_PART = " ;\n"


class Pair(Table, kw_only=True):
    """Rows of two tables that take turns, as the rows of one: the tokens of both lines, one behind the other.

    Attributes:
        upper: the lines that count; ``lower``: those that measure; as many rows, and one of each belongs together.
        is_shifted: whether the lines that measure seem to stand before those that count their steps.
        evaluations: lines that count an evaluation's steps, below which stand lines that measure too, no rows.
    """

    upper: Table
    lower: Table
    is_shifted: bool = False
    evaluations: tuple[Table, ...] = ()

    def _at(self, place: int) -> tuple[Table, int]:
        """(which of the two a place of a token is in, its place there)."""
        first = len(self.upper.kinds)
        return (self.upper, place) if place < first else (self.lower, place - first)

    def column(self, place: int) -> Column:
        table, own = self._at(place)
        return table.column(own)

    def offsets(self, place: int) -> list[int]:
        table, own = self._at(place)
        return table.offsets(own)

    def heads(self) -> list[bytes]:
        return self.lower.heads()

    def row(self, place: int) -> str:
        return f"{self.upper.row(place)}\n{self.lower.row(place)}"

    def lengths(self) -> Ints:
        return self.lower.lengths()

    def where(self, keep: NDArray[np.bool_]) -> Pair:
        return pair_of(self.upper.where(keep), self.lower.where(keep), self.evaluations, is_shifted=self.is_shifted)

    def _between(self) -> list[int]:
        rows = np.concatenate((self.upper._rows, self.lower._rows))
        return [int(row) for row in np.setdiff1d(np.arange(rows.min(), rows.max()), rows)]


def pair_of(upper: Table, lower: Table, evaluations: Sequence[Table] = (), *, is_shifted: bool = False) -> Pair:
    """Two tables with as many rows as one."""
    words = (*upper.words[:-1], f"{upper.words[-1]}{_PART}{lower.words[0]}", *lower.words[1:])
    return Pair(
        words, (*upper.kinds, *lower.kinds), upper.first, upper.lines, upper._text, upper=upper, lower=lower,
        is_shifted=is_shifted, evaluations=tuple(evaluations),
    )  # fmt: skip


def pairs_of(read: Sequence[tuple[Table, Columns]]) -> list[Pair]:
    """The tables that count steps and tell no time, each with one that measures and counts none, line by line."""
    able = [(table, columns) for table, columns in read if not columns.is_bar]
    evaluations = [table for table, columns in able if columns.evaluates and columns.step is not None]
    able = [(table, columns) for table, columns in able if not columns.evaluates]
    counting = [table for table, columns in able if columns.step is not None and not columns.measures]
    measuring = [table for table, columns in able if columns.step is None and columns.measures]
    return [
        pair for upper in counting for lower in measuring if (pair := _paired(upper, lower, evaluations)) is not None
    ]


def _paired(upper: Table, lower: Table, evaluations: Sequence[Table]) -> Pair | None:
    """Two tables as pairs of lines; None where they do not take turns."""
    evaluated = np.array(sorted(line for table in evaluations for line in table.lines.tolist()), dtype=np.int64)
    behind = _last_before(evaluated, lower.lines) > _last_before(upper.lines, lower.lines)
    if behind.any():
        lower = lower.where(~behind)
    of_upper = np.searchsorted(upper.lines, lower.lines) - 1
    known = of_upper >= 0
    counts = np.bincount(of_upper[known], minlength=len(upper))
    if (counts > 1).any() or (counts == 1).sum() < MOST_PAIRED * max(len(upper), len(lower)):
        return None
    is_shifted = not known[0] and not counts[-1]
    own = evaluations if behind.any() else ()
    return pair_of(upper.where(counts == 1), lower.where(known), own, is_shifted=is_shifted)


def _last_before(lines: Ints, others: Ints) -> Ints:
    """The last of some lines before each of others, by their numbers, in order; 0 where there is none."""
    return np.append(0, lines)[np.searchsorted(lines, others)]
