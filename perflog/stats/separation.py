"""What two samples without any overlap can prove.

All runs of one side above all of the other is the most that ranks can show. Among exchangeable runs it happens by
chance in 2 / C(m + n, m) of all orders, which five runs a side carry through a table of six rows and no further. Yet
the magnitude of the difference speaks too, and the one noise that produces a separation with any magnitude is that of
a machine with two states (two clocks, two kinds of node): all old runs in one state and all new runs in the other. Its
chance is known, however far apart the states lie and however often each occurs. It is the p-value that a separation
has in :mod:`perflog.stats.family`, where the difference must also be larger than the noise of the rows explains.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from perflog.stats.mannwhitney import ROUNDING, at_most, runs_for

#: Shares of time in the first state at which the chance of a separation is looked at. The largest value on this grid
#: is below the true maximum by less than a millionth of it.
_SHARES = 20_001


@lru_cache(maxsize=4096)
def two_state_chance(m: int, n: int) -> float:
    """The largest chance, over all shares p, that m runs are all in one of two states and n runs all in the other.

    The maximum of p^m (1 − p)^n + (1 − p)^m p^n, which is 2^(1 − 2n) for n = m.

    Args:
        m: how many runs the old side has, at least 1.
        n: how many runs the new side has, at least 1.
    """
    if m == n:
        return 2.0 ** (1 - 2 * n)
    share = np.linspace(0.0, 0.5, _SHARES)
    chance = share**m * (1 - share) ** n + (1 - share) ** m * share**n
    return float(chance.max()) * (1 + 1e-6)


def rank_p(votes_against: int, m: int, n: int) -> float:
    """The two-sided p-value of so many votes against a finding, of m old and n new runs.

    Exact Mann–Whitney, but for a separation (no vote against), whose p-value is :func:`two_state_chance` where that is
    smaller.
    """
    exact = min(1.0, 2 * at_most(votes_against, m, n))
    return exact if votes_against else min(exact, two_state_chance(m, n))


def runs_for_rows(rows: int, level: float = 0.95) -> int:
    """The fewest runs a side with which one changed row of a table of so many rows can be called.

    4 for up to 6 rows at 95 %, 5 for up to 25, 6 for up to 102, 7 for up to 409.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    least = runs_for(level)
    return max(least, math.ceil((1 - math.log2((1 - level) / max(rows, 1) * (1 + ROUNDING) + ROUNDING)) / 2))


def rows_for_runs(m: int, n: int, level: float = 0.95) -> int:
    """The largest table in which one changed row with m old and n new runs can be called."""
    return math.floor((1 - level + ROUNDING) / two_state_chance(m, n))
