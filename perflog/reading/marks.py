"""Lines that say something about the measured lines around them: pauses, evaluations, settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct, field

from perflog.formats.parser import Pattern
from perflog.formats.printed import scaled_number
from perflog.matching.matches import UNTAGGED, Ints, Matches
from perflog.measurements.rows import NOTHING_SHOWN, SHOWN, Floats, Shown, shifted
from perflog.measurements.series import NO_LINES

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
