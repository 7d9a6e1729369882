"""Formats that print the step on a line of its own: each measurement takes the position printed last before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perflog.formats.parser import Pattern
from perflog.matching.matches import FIRST_RANK, UNTAGGED, Ints, Matches
from perflog.measurements.rows import Floats, Mask, Rows, shifted
from perflog.measurements.series import NO_LINES
from perflog.stats.arrays import distinct

#: No job has so many processes: such a number beside a word like "rank" is none, and its line is the first rank's.
BEYOND_RANKS = 1e9
#: An epoch and a step as one number: no epoch has so many steps.
KEYS = float(1 << 31)
#: So many position lines of one step, or that no measurement has taken, are kept for the next block.
MOST_WAITING = 65_536


class _Position(Struct, frozen=True):
    """Position lines of one pattern and rank: line, epoch, step and the sum of what else each prints, (n,)."""

    line: Ints
    epoch: Floats
    step: Floats
    rest: Floats

    def take(self, which: slice) -> _Position:
        """Some of the lines."""
        return _Position(self.line[which], self.epoch[which], self.step[which], self.rest[which])

    @property
    def key(self) -> Floats:
        """A number for each line that tells its epoch and step from any other; NaN for one without a step, (n,)."""
        return np.asarray(np.nan_to_num(self.epoch, nan=-1.0) * KEYS + self.step)

    def since(self, line: int) -> _Position:
        """The lines from the first on that names the step of a line, all of the last step's among them."""
        key = self.key
        place = min(int(np.searchsorted(self.line, line)), len(key) - 1)
        first = min(place, *(int(np.argmax(key == key[at])) for at in (place, -1)))
        return self.take(slice(max(first, len(key) - MOST_WAITING), None))

    def once(self) -> Mask:
        """Which lines are not the line before them printed again, (n,)."""
        key = self.key
        return np.asarray((key != shifted(key, np.nan)) | (self.rest != shifted(self.rest, np.nan)))

    def behind(self, before: _Position | None) -> _Position:
        """These lines behind some others."""
        if before is None:
            return self
        names = ("line", "epoch", "step", "rest")
        return _Position(*(np.concatenate((getattr(before, name), getattr(self, name))) for name in names))


class _Turns(Struct):
    """How the measurements of a pattern take the position lines of several processes, each of which prints both.

    Attributes:
        begun: whether each takes its turn: some step had several lines of both kinds.
        next: the line of the next position line to be taken.
        taken: the line that was taken before the turns began.
        heading: the first position line of the present step; ``behind``: how many measurements stand behind that.
    """

    begun: bool = False
    next: int = 0
    taken: int = -1
    heading: int = -1
    behind: int = 0

    def places(self, last: Ints, position: _Position) -> Ints:
        """The place of the position line that each measurement takes, (n,).

        The position lines of ranks that train together come before or between each other's measurements. Each rank
        prints its measurement right behind its own line, so that the measurements take them in their order.

        Args:
            last: the place of the last position line before each measurement.
        """
        once = position.once()
        line, key = position.line[once], position.key[once]
        last = (np.cumsum(once) - 1)[last]
        places = last.copy()
        _, first, kind, number = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        for row, end in enumerate(last.tolist()):
            if not self.begun:
                heading = int(first[kind[end]])
                self.see(int(line[heading]), int(line[end]), 1)
                if self.behind < 2 or end == heading:
                    continue
                self.begun, self.next = True, int(line[heading])
            place = int(np.searchsorted(line, self.next))
            while place < end and self._is_passed(place, end, line, key, int(number[kind[place]])):
                place += 1
            places[row] = min(place, end)
            self.next = int(line[places[row]]) + 1
        return np.flatnonzero(once)[places]

    def see(self, heading: int, taken: int, behind: int) -> None:
        """Note that so many measurements took a position line of a step, whose first one is ``heading``."""
        if heading != self.heading:
            self.heading, self.behind, self.taken = heading, 0, taken
        self.behind += behind

    def _is_passed(self, place: int, end: int, line: Ints, key: Floats, number: int) -> bool:
        """Whether a position line has its measurement, or all ranks have gone on to later steps without it."""
        return bool(line[place] == self.taken or (key[place : end + 1] > key[place]).sum() >= number)


class Positions(Struct):
    """The position lines of the present block, and of each pattern and rank those before it that may be needed."""

    _turns: dict[tuple[str, int], dict[str, _Turns]] = field(default_factory=dict)
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
        position = self._of_rank(key, rank)
        if position is None:
            return rows
        line, epoch, step = position.line, position.epoch, position.step
        index = np.searchsorted(line, rows.lines, "right") - 1
        known = index >= 0
        if "step" not in pattern.groups:
            turns = self._turns.setdefault((key, rank), {}).setdefault(pattern.key, _Turns())
            steps = position.key[position.once()]
            if turns.begun or bool((steps[1:] == steps[:-1]).any()):
                index[known] = turns.places(index[known], position)
            elif len(index) and index[-1] >= 0:
                last = int(line[index[-1]])
                turns.see(last, last, int((index == index[-1]).sum()))
        if len(starts):
            known &= np.searchsorted(starts, line[index], "right") == np.searchsorted(starts, rows.lines, "right")
        placed = {"epoch": np.where(known, epoch[index], np.nan), "step": np.where(known, step[index], np.nan)}
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
                if position is None:
                    continue
                turns = [its.next for its in self._turns.get((key, rank), {}).values() if its.begun]
                self._carried[(key, rank)] = position.since(min(turns, default=int(position.line[-1])))

    def _of_rank(self, key: str, rank: int) -> _Position | None:
        """A rank's position lines of a pattern, up to the end of the present block; None where there is none."""
        carried = self._carried.get((key, rank))
        matches, first_line = self._block.get(key, (None, 0))
        if matches is None or not len(matches):
            return carried
        mine = np.maximum(matches.rank, FIRST_RANK) == rank
        if not mine.any():
            return carried
        lacking, rest = np.full(len(matches), np.nan), np.zeros(len(matches))
        for name in sorted(set(matches.columns) - {"epoch", "step", "rank"}):
            rest = rest + np.nan_to_num(matches.columns[name])
        epoch, step = (matches.columns.get(name, lacking)[mine] for name in ("epoch", "step"))
        return _Position(matches.line[mine] + first_line, epoch, step, rest[mine]).behind(carried)


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
