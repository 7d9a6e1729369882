"""Rows: the printed lines of one pattern and one rank, in the order of the log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from perflog.formats.parser import LAST_GROUPS, Pattern

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Columns = Mapping[str, Floats]


class Rows(Struct, frozen=True):
    """``n`` lines of a log and the numbers on them.

    Attributes:
        lines: their line numbers, (n,).
        columns: the printed numbers by group, each (n,), NaN where a line lacks one.
        places: where each row stands among all that the log prints, rising through the log, (n,).
        position_lines: for formats that print the step on a line of its own, that line's number or -1, (n,).
    """

    lines: Ints
    columns: Columns
    position_lines: Ints | None = None
    places: Ints | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def take(self, which: slice | Mask) -> Rows:
        """The chosen rows, in the same order."""
        positions = self.position_lines[which] if self.position_lines is not None else None
        places = self.places[which] if self.places is not None else None
        columns = {name: column[which] for name, column in self.columns.items()}
        return Rows(self.lines[which], columns, positions, places)

    def with_columns(self, columns: Columns) -> Rows:
        """The same rows with some columns more, or others of those names."""
        return Rows(self.lines, {**self.columns, **columns}, self.position_lines, self.places)

    def behind(self, before: Rows | None) -> Rows:
        """These rows behind some others of the same columns."""
        if before is None:
            return self
        columns = {name: np.concatenate((before.columns[name], column)) for name, column in self.columns.items()}
        positions, places = (
            None if mine is None or theirs is None else np.concatenate((theirs, mine))
            for mine, theirs in ((self.position_lines, before.position_lines), (self.places, before.places))
        )
        return Rows(np.concatenate((before.lines, self.lines)), columns, positions, places)

    def has_steps(self) -> bool:
        """Whether any row names its step."""
        return "step" in self.columns and not bool(np.isnan(self.columns["step"]).all())

    def value_names(self, pattern: Pattern) -> list[str]:
        """The groups whose numbers tell one event from another; those that are read of the last lines alone do not."""
        return [name for name in sorted(self.columns) if name != "rank" and name not in pattern.also_groups]

    def last(self, name: str) -> float:
        """The last row's number in a group; NaN where the format has no such group."""
        return float(self.columns[name][-1]) if name in self.columns else float("nan")


def shifted(values: NDArray[Any], first: float) -> NDArray[Any]:
    """Each value's predecessor, (n,); ``first`` is the first one's."""
    before = np.empty_like(values)
    before[0] = first
    before[1:] = values[:-1]
    return before


def kept(values: NDArray[Any], keep: Mask) -> NDArray[Any]:
    """Those of values, (…, n), that a mask keeps, (n,); the very array where it keeps all, as nearly always."""
    return values if keep.all() else values[..., keep]


def last_numbers(lines: Ints, columns: Columns) -> dict[str, tuple[float, int]]:
    """The last number of each of ``LAST_GROUPS``, with its line."""
    last = {}
    for name in LAST_GROUPS:
        if name in columns:
            column = columns[name]
            place = len(column) - 1
            if math.isnan(column[place]):
                finite = np.flatnonzero(~np.isnan(column))
                place = int(finite[-1]) if len(finite) else -1
            if place >= 0:
                last[name] = float(column[place]), int(lines[place])
    return last
