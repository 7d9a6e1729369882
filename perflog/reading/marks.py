"""Lines that say something about the measured lines around them: pauses, evaluations, settings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from perflog.formats.parser import Pattern
from perflog.formats.printed import scaled_number
from perflog.matching.matches import UNTAGGED, Ints, Matches
from perflog.measurements.rows import Floats
from perflog.measurements.series import NO_LINES
from perflog.measurements.shown import NOTHING_SHOWN, SHOWN, Shown
from perflog.reading.other_bars import NO_TOTALS, Bars


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
