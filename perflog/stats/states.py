"""Whether a difference between two samples may be that of two states of a machine.

Runs of identical versions may fall in two states, half of them in each. That all n runs of one side are in one state
has then the chance 2^(1 − n): 12.5 % for four runs, 6.25 % for five. Where the other side's runs show two states, that
side could not be called anything else; where they show the same two states, ranks and variances know of them
(:mod:`perflog.stats.separation`, :mod:`perflog.stats.pooling`). What no number says is whether the side that seems
to be steady has states of its own that lie further apart: its few runs would look as they do. So such rows are told
of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perflog.stats.clusters import clusters
from perflog.stats.mannwhitney import ROUNDING


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
