"""Formats that print the step on a line of its own: each measurement takes the position printed last before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perflog.formats.parser import Pattern
from perflog.matching.matches import FIRST_RANK, UNTAGGED, Ints, Matches
from perflog.measurements.rows import Floats, Rows
from perflog.measurements.series import NO_LINES
from perflog.stats.arrays import distinct

#: No job has so many processes: such a number beside a word like "rank" is none, and its line is the first rank's.
BEYOND_RANKS = 1e9


class _Position(Struct, frozen=True):
    """Position lines of one pattern and rank: line, epoch and step of each, (n,)."""

    line: Ints
    epoch: Floats
    step: Floats


class Positions(Struct):
    """The position lines of the present block, and of each pattern and rank the last one before it."""

    _block: dict[str, tuple[Matches, int]] = field(default_factory=dict)
    _carried: dict[tuple[str, int], _Position] = field(default_factory=dict)

    def see(self, block: Sequence[Matches], first_line: int) -> list[Matches]:
        """Take the position lines of the next block, whose first line is ``first_line``.

        Returns:
            The block, in which position lines that stand below lines of epochs have those epochs.
        """
        self._block = {
            matches.pattern.key: (matches, first_line) for matches in block if matches.pattern.role == "position"
        }
        placed = [self._with_epochs(matches, first_line) for matches in block]
        for matches in placed:
            if matches.pattern.role == "position":
                self._block[matches.pattern.key] = matches, first_line
        return placed

    def _with_epochs(self, matches: Matches, first_line: int) -> Matches:
        """Position lines with the epoch printed last before each; any other lines as they are."""
        pattern = matches.pattern
        if pattern.role != "position" or not pattern.position or not len(matches):
            return matches
        epoch, ranks = np.full(len(matches), np.nan), np.maximum(matches.rank, FIRST_RANK)
        for rank in distinct(ranks)[0].tolist():
            mine = ranks == rank
            placed = self.place(pattern, Rows(matches.line[mine] + first_line, {}), rank)
            epoch[mine] = placed.columns.get("epoch", np.nan)
        return replace(matches, columns={**matches.columns, "epoch": epoch})

    def place(self, pattern: Pattern, rows: Rows, rank: int, starts: Ints = NO_LINES) -> Rows:
        """Rows with the epoch and step printed last before each; the same rows where a line names its own.

        Args:
            starts: the lines at which this rank's runs begin, in order: a run's position is none of the next run's.
        """
        if not pattern.position:
            return rows
        key = f"{pattern.parser}.{pattern.position}"
        parts = [part for part in (self._carried.get((key, rank)), self._of_rank(key, rank)) if part is not None]
        if not parts:
            return rows
        line = np.concatenate([part.line for part in parts])
        index = np.searchsorted(line, rows.lines, "right") - 1
        known = index >= 0
        if len(starts):
            known &= np.searchsorted(starts, line[index], "right") == np.searchsorted(starts, rows.lines, "right")
        epoch, step = (np.concatenate([getattr(part, name) for part in parts])[index] for name in ("epoch", "step"))
        placed = {"epoch": np.where(known, epoch, np.nan), "step": np.where(known, step, np.nan)}
        if "step" in pattern.groups:  # the line tells its step, and the position the epoch
            del placed["step"]
        return replace(rows.with_columns(placed), position_lines=np.where(known, line[index], -1))

    def in_training(self, pattern: Pattern, rows: Rows, evaluations: Ints) -> Rows:
        """The rows that no evaluation's line stands before, since the position line before it; all without positions.

        ``evaluations``: the lines that an evaluation prints, in order.
        """
        if not pattern.position or not len(evaluations) or rows.position_lines is None:
            return rows
        last = np.searchsorted(evaluations, rows.lines, "left") - 1
        evaluated = np.where(last >= 0, evaluations[np.maximum(last, 0)], -1)
        inside = evaluated > rows.position_lines
        return rows.take(~inside) if inside.any() else rows

    def carry(self) -> None:
        """Keep the last position of each rank for the blocks that follow."""
        for key, (matches, _) in self._block.items():
            if not len(matches) or not {"step", "epoch"} & set(matches.columns):
                continue
            for rank in distinct(np.maximum(matches.rank, FIRST_RANK))[0].tolist():
                position = self._of_rank(key, rank)
                if position is not None:
                    self._carried[(key, rank)] = _Position(position.line[-1:], position.epoch[-1:], position.step[-1:])

    def _of_rank(self, key: str, rank: int) -> _Position | None:
        matches, first_line = self._block.get(key, (None, 0))
        if matches is None or not len(matches):
            return None
        mine = np.maximum(matches.rank, FIRST_RANK) == rank
        if not mine.any():
            return None
        lacking = np.full(len(matches), np.nan)
        epoch, step = (matches.columns.get(name, lacking)[mine] for name in ("epoch", "step"))
        return _Position(matches.line[mine] + first_line, epoch, step)


def ranks_of_lines(matches: Matches) -> Ints | None:
    """Each line's rank by its launcher's tag or its own words, (n,); None where nothing tells one.

    A line without a tag, among tagged ones, is the first rank's or nobody's; so is one with a number that is no rank's.
    """
    if (matches.rank != UNTAGGED).any():
        return np.asarray(np.maximum(matches.rank, FIRST_RANK))
    if "rank" in matches.columns:
        printed = matches.columns["rank"]
        named: Ints = np.where(np.abs(printed) < BEYOND_RANKS, printed, FIRST_RANK).astype(np.int64)
        return named
    return None
