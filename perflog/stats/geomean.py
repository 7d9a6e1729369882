"""One ratio over several rows: a summary for a title (Hoefler & Belli 2015, rule 4), and what it decides.

Where every case of a table falls by a little, no row may be sure of it and all together are. The mean of the rows'
differences of log means has the variance Σ sᵢ² / R², with the degrees of freedom of Satterthwaite over the rows, and no
more than the runs have of their own: variances that rows share are known once. Its interval holds at a fifth of the
error of the table, so that rows and mean together keep the table's promise (``python -m tests.tools.simulate_tables
--part together``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perflog.stats.contrast import LogDifference

#: The share of a table's error that is left to the mean of its rows.
SHARE = 0.2


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """The geometric mean of the ratios of the ``n`` rows that have enough runs, with its interval at ``level``."""

    value: float
    n: int
    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class Geomean:
    """``value`` over ``n`` ratios, None for none; ``left_out``: how many could not be counted.

    ``interval`` is that of the rows that have enough runs; None for fewer than two of them.
    """

    value: float | None
    n: int
    left_out: int
    interval: MeanInterval | None = None


def geomean(ratios: Iterable[float | None]) -> Geomean:
    """exp of the mean logarithm of the ratios; None, NaN, infinite and non-positive ones are left out and counted.

    The geometric mean is the one that does not depend on which side is the base (Fleming & Wallace 1986).
    """
    given = list(ratios)
    logs = [math.log(r) for r in given if r is not None and math.isfinite(r) and r > 0]
    value = math.exp(math.fsum(logs) / len(logs)) if logs else None
    return Geomean(value, len(logs), len(given) - len(logs))


def mean_interval(ratios: Sequence[float], rows: Sequence[LogDifference], level: float) -> MeanInterval | None:
    """The interval of the mean of the rows' differences, as a ratio; None for fewer than two rows.

    Args:
        ratios: of the rows, whose geometric mean the interval is shown with, and holds.
        rows: their differences; their runs share nothing but the campaign.
        level: 1 − α of the table; the interval's own is 1 − α · :data:`SHARE`.

    What campaigns differ by falls on all rows alike: with a row that includes it, errors are added and not their
    squares.
    """
    if len(rows) < 2:
        return None
    from scipy.special import stdtrit

    squares = [row.error**2 for row in rows]
    if any(row.knows_campaigns for row in rows):
        error, freedom = math.fsum(row.error for row in rows), min(row.freedom for row in rows)
    else:
        error = math.sqrt(math.fsum(squares))
        weighted = math.fsum(square**2 / row.freedom for square, row in zip(squares, rows, strict=True))
        freedom = min(error**4 / weighted, float(sum(row.own_freedom for row in rows)))
    alpha = (1 - level) * SHARE
    centre = math.fsum(row.centre for row in rows) / len(rows)
    half = -float(stdtrit(freedom, alpha / 2)) * error / len(rows)
    value = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    low, high = min(value, math.exp(centre - half)), max(value, math.exp(centre + half))
    return MeanInterval(value, len(rows), low, high, 1 - alpha)
