"""Progress bars beside the training's: where one begins, something else than training happens.

A bar of an evaluation is drawn from its first step to its last between two refreshes of the training's bar, whatever
its description says. A bar around the training's (of epochs, or of all steps) begins once, before it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct, field

from perflog.formats.printed import scaled_number
from perflog.matching.matches import Ints, Matches
from perflog.measurements.rows import Floats, shifted

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
