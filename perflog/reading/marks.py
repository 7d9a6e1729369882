"""Lines that say something about the measured lines around them: pauses, evaluations, settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perflog.formats.parser import Pattern
from perflog.formats.printed import scaled_number
from perflog.matching.matches import FIRST_RANK, UNTAGGED, Ints, Matches
from perflog.measurements.rows import NOTHING_SHOWN, SHOWN, Floats, Mask, Rows, Shown, shifted
from perflog.measurements.series import NO_LINES
from perflog.stats.arrays import distinct

# ----------------------------------------------------------------------------------------------------
# Progress bars beside the training's: where one begins, something else than training happens.
#
# A bar of an evaluation is drawn from its first step to its last between two refreshes of the training's bar, whatever
# its description says. A bar around the training's (of epochs, or of all steps) begins once, before it.

NO_TOTALS: Floats = np.empty(0)
#: A pattern's key, a rank and how many steps its bar has.
_Bar = tuple[str, int, float]


class Bars(Struct):
    """Where the bars of a log begin, folded block by block: a few numbers for each bar, however often it is drawn."""

    _last: dict[_Bar, float] = field(default_factory=dict)
    _begun: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)

    def see(self, matches: Matches, places: Ints) -> None:
        """Keep where bars begin among one pattern's matches in a block.

        A bar begins where its steps fall, and where a bar that was at its end is drawn at its end: of some bars a log
        holds the last refresh alone.

        Args:
            places: where each match stands among all of the log, (n,).
        """
        columns = [_numbers(matches.columns[group]) for group in ("step", "run_steps")]
        order = np.lexsort((places, columns[1], matches.rank))
        step, total, rank = columns[0][order], columns[1][order], matches.rank[order]
        anew = np.append(True, (np.diff(total) != 0) | (np.diff(rank) != 0))
        before = shifted(step, np.nan)
        heads = [(matches.pattern.key, *bar) for bar in zip(rank[anew].tolist(), total[anew].tolist(), strict=True)]
        before[anew] = [self._last.get(bar, np.inf) for bar in heads]
        self._last.update(zip(heads, step[np.append(anew[1:], True)].tolist(), strict=True))
        begins = (step < before) | ((step == before) & (step == total))
        if begins.any():
            self._begun.append((places[order][begins], rank[begins], total[begins]))

    def begun_beside(self, totals: Floats) -> list[tuple[Ints, Ints]]:
        """(the places where bars of other lengths begin, their ranks).

        Args:
            totals: the lengths of the bars that are meant themselves, (k,).
        """
        found = []
        for places, ranks, lengths in self._begun:
            other = ~np.isin(lengths, totals)
            if other.any():
                found.append((places[other], ranks[other]))
        return found


def _numbers(column: Iterable[object]) -> Floats:
    """A column of a measuring pattern's numbers, or of an ignored one's texts, (n,)."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return column
    numbers = [scaled_number(str(text)) for text in column]
    return np.array([np.nan if number is None else number for number in numbers])


class Marks(Struct):
    """The marks of a log, folded block by block."""

    _training: dict[str, list[Ints]] = field(default_factory=dict)
    _evaluated: dict[str, list[tuple[Ints, Ints]]] = field(default_factory=dict)
    _paused: list[tuple[Ints, Ints]] = field(default_factory=list)
    _told: list[Ints] = field(default_factory=list)
    _bars: Bars = field(default_factory=Bars)
    _shown: dict[str, dict[str, list[tuple[int, float]]]] = field(default_factory=dict)

    def see(self, matches: Matches, first_line: int, places: Ints) -> None:
        """Keep what one pattern's matches in a block say.

        Args:
            first_line: the number of the block's first line.
            places: where each match stands among all of the log, (n,).
        """
        pattern = matches.pattern
        if not len(matches):
            return
        if pattern.speaks_for_training:
            self._training.setdefault(pattern.parser, []).append(matches.line + first_line)
        if pattern.evaluates:
            self._evaluated.setdefault(pattern.parser, []).append((matches.line + first_line, matches.rank))
        if pattern.pauses or pattern.evaluates:
            self._told.append(matches.line + first_line)
        if pattern.pauses:
            self._paused.append((places, matches.rank))
        if pattern.draws_bars:
            self._bars.see(matches, places)
        if pattern.role == "metadata" and not pattern.section:
            for key in SHOWN.intersection(pattern.groups):
                self._show(pattern.parser, key, matches, first_line)

    def _show(self, parser: str, key: str, matches: Matches, first_line: int) -> None:
        of_key = self._shown.setdefault(parser, {}).setdefault(key, [])
        for line, text in zip(matches.line.tolist(), matches.columns[key], strict=True):
            number = scaled_number(str(text)) if text is not None else None
            if number is not None:
                of_key.append((line + first_line, number))
        of_key.sort()

    def pauses(self, pattern: Pattern, rank: int, totals: Floats = NO_TOTALS) -> Ints:
        """Where a rank did something else than train, by any parser's word, in order; of patterns that ask for it.

        A line without a launcher's tag says it of all ranks.

        Args:
            totals: how many steps the pattern's own bars have, (k,): where a bar of another total begins is a pause.
        """
        if not pattern.interrupted:
            return NO_LINES
        others = self._bars.begun_beside(totals) if pattern.draws_bars else []
        return _of_rank([*self._paused, *others], rank)

    @property
    def pause_lines(self) -> Ints:
        """The lines, in order, that tell of an evaluation, of saving or the like, by any parser's word, (n,)."""
        return np.sort(np.concatenate(self._told)) if self._told else NO_LINES

    def evaluations(self, parser: str, rank: int) -> Ints:
        """The lines, in order, that a rank's evaluations print, by a parser's word; untagged ones are of all ranks."""
        return _of_rank(self._evaluated.get(parser, []), rank)

    def training_lines(self, parser: str) -> Ints:
        """The lines, in order, of a parser's patterns that speak for the training."""
        return np.sort(np.concatenate(self._training.get(parser, [NO_LINES])))

    def shown(self, pattern: Pattern) -> Shown:
        """The settings that the lines of a pattern's parser showed; nothing for patterns that need none."""
        return Shown(self._shown.get(pattern.parser, {})) if pattern.needs_settings else NOTHING_SHOWN


def _of_rank(marked: Sequence[tuple[Ints, Ints]], rank: int) -> Ints:
    """The places or lines of a rank and of nobody, in order; ``marked``: them and their ranks."""
    mine = [places[(ranks == rank) | (ranks == UNTAGGED)] for places, ranks in marked]
    return np.sort(np.concatenate(mine)) if mine else NO_LINES


# ----------------------------------------------------------------------------------------------------
# What a bar's ticks are, where its counts alone leave it open: steps, the samples of a batch, or an evaluation's.
#
# A loop that calls ``bar.update(batch_size)`` draws the same bar as one that calls ``bar.update(1)``. Its counts are
# multiples of the batch size; those of a bar of steps are so too where it is drawn at each k-th step. And a loop that
# both trains and evaluates may call both of an epoch's bars alike.

#: Counts that any number might be are all multiples of ``k`` by chance once in ``2**CHANCE`` logs.
CHANCE = 12
#: No bar has so many ticks.
MOST_TICKS = 1e15
#: A count that falls below this share of what it was is another bar's.
FALLEN = 0.5
#: So many epochs with a second bar, and half of all, are no restarts after failures.
LEAST_EPOCHS = 2


class Ticks(Struct):
    """The counts that the bars of one pattern show: those before they are full, by how many ticks the bars have."""

    _seen: dict[float, tuple[int, int]] = field(default_factory=dict)
    _last: tuple[float, float] = (np.nan, np.nan)
    _second: int = 0
    _epochs: int = 0

    def see(self, step: Floats, total: Floats, epoch: Floats) -> None:
        """Add counts, (n,), of bars of so many ticks and of these epochs (NaN: none is printed), (n,) each.

        A full bar's count tells nothing of its ticks: its total may be any number.
        """
        if len(step):
            before, of_epoch = shifted(step, self._last[0]), shifted(epoch, self._last[1])
            self._second += int(((epoch == of_epoch) & (step < FALLEN * before)).sum())
            self._epochs += int((np.isfinite(epoch) & (epoch != of_epoch)).sum())
            self._last = float(step[-1]), float(epoch[-1])
        on_the_way = (step > 0) & (step < MOST_TICKS) & (step != total)
        for number in np.unique(total[on_the_way]).tolist():
            counts: Ints = step[on_the_way & (total == number)].astype(np.int64)
            common, seen = self._seen.get(number, (0, 0))
            self._seen[number] = int(np.gcd.reduce(counts, initial=common)), seen + len(np.unique(counts))

    @property
    def common(self) -> int:
        """The number above 1 that all counts of the bars with most of them are multiples of, not by chance; else 1."""
        common, seen = max(self._seen.values(), key=lambda both: both[1], default=(1, 0))
        return common if common > 1 and seen * np.log2(common) >= CHANCE else 1

    @property
    def twice(self) -> bool:
        """Whether most epochs have two bars of one name: one may be an evaluation's."""
        return self._second >= LEAST_EPOCHS and self._epochs > 1 and 2 * self._second >= self._epochs


# ----------------------------------------------------------------------------------------------------
# Formats that print the step on a line of its own: each measurement takes the position printed last before it.

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
