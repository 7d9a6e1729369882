"""Whether runs show states of a machine, and whether a difference between two samples may be that of two of them.

Runs of identical versions may fall in two states, half of them in each. That all n runs of one side are in one state
has then the chance 2^(1 − n): 12.5 % for four runs, 6.25 % for five. Where the other side's runs show two states, that
side could not be called anything else; where they show the same two states, ranks and variances know of them
(:mod:`perflog.stats.separation`, :mod:`perflog.stats.pooling`). What no number says is whether the side that seems
to be steady has states of its own that lie further apart: its few runs would look as they do. So such rows are told
of.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from perflog.stats.clusters import clusters
from perflog.stats.mannwhitney import ROUNDING

#: From this share of the samples of a side on whose runs fall in two groups, and from more of them than chance makes in
#: one table of fifty, its machine has states: ``python -m tests.tools.simulate_tables --part quiet-rows``.
SHARE, BY_CHANCE = 0.5, 0.02
#: The share of normal samples of four runs and of more that fall in two groups by chance (``clusters``, ``fewest=1``).
_GROUPED = {4: 0.16}
_GROUPED_OF_MORE = 0.07


def shows_states(samples: Collection[Sequence[float]]) -> bool:
    """Whether the samples of one side of a table show that its machine has states.

    Of runs in one of two equally frequent states 88 % of samples of four fall in two groups, and 94 % of five. A single
    run that stands apart is a group here: it may be the only one in its state.
    """
    grouped = sum(clusters(values, smallest=0.0, fewest=1) is not None for values in samples)
    if not samples or grouped < SHARE * len(samples):
        return False
    chance = sum(_GROUPED.get(len(values), _GROUPED_OF_MORE) for values in samples) / len(samples)
    return _chance_of(grouped, len(samples), chance) <= BY_CHANCE


def _chance_of(least: int, of: int, chance: float) -> float:
    """The chance of ``least`` or more successes among so many, each with the same chance."""
    return sum(math.comb(of, k) * chance**k * (1 - chance) ** (of - k) for k in range(least, of + 1))


@dataclass(frozen=True, slots=True)
class OneState:
    """A side that may be all in one of two states.

    Attributes:
        side: ``old`` or ``new``.
        runs: how many runs it has.
        chance: that all of them are in one of two states that are equally frequent.
        needs: with how many runs that is rare enough for the table.
    """

    side: str
    runs: int
    chance: float
    needs: int


def one_state(old: Sequence[float], new: Sequence[float], rows: int = 1, level: float = 0.95) -> OneState | None:
    """The side whose runs may all be in one state, where the other side's fall in two groups; None for neither.

    Args:
        old: the values of the old side's runs.
        new: those of the new side.
        rows: how many rows the table has.
        level: the level of the table.
    """
    grouped = [clusters(values, smallest=0.0, fewest=1) is not None for values in (old, new)]
    if grouped[0] == grouped[1]:
        return None
    side, runs = ("new", len(new)) if grouped[0] else ("old", len(old))
    chance = 2.0 ** (1 - runs)
    if rows * chance <= 1 - level + ROUNDING:
        return None
    return OneState(side, runs, chance, math.ceil(1 - math.log2((1 - level) / rows)))
