"""How many runs a change needs, and what change so many runs can show.

The chance that a row whose runs are log-normal, with the coefficient of variation ``variation`` (0.01 is 1 %) on both
sides, is called faster or slower by :mod:`perflog.stats.family` in a table of so many rows: its interval, at the level
that the table asks of one changed row, must lie wholly beyond the margin. Only the distance of the change from the
margin in standard deviations matters. Up to :data:`SIMULATED` runs a side it is simulated with a fixed seed; beyond, it
is a formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from perflog.stats.mannwhitney import critical
from perflog.stats.pooling import LEAST_SAMPLES, side_noise
from perflog.stats.separation import runs_for_rows

#: Up to so many runs a side the power is simulated: from here on the formula is within 2 points
#: (``python -m tests.tools.simulate_tables``, part "plan").
SIMULATED = 30
#: Nobody runs more often: a change that needs more is called out of reach.
MOST_RUNS = 1000
#: The chance that an end of a row's interval clears its border where a verdict is planned for.
CLEARED = 0.9
#: Simulated rows, each of which tells of a change upwards and of one downwards: a power of 0.8 is then the same for
#: other seeds within 0.5 points (standard deviation).
_REPEATS = 5_000
#: Tables are simulated with so many rows at most: the noise that the rows have in common is known by then.
_MOST_ROWS = 100
#: The first number of the generator: fixed, so that the same question has the same answer.
_SEED = 20260
#: Where the search for the smallest change ends, in standard deviations, and how near it comes.
_WIDEST, _NEAR = 64.0, 1e-4
#: Nodes of the quadrature over a normal difference: with twice as many the power is the same to 0.001.
_NODES = 61


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """The standard deviation (ddof 1) of the logarithms of run values: the coefficient of variation.

    For the small variations of benchmark runs the two agree (at 5 % within 0.1 %), and that of logarithms does not
    depend on which of two versions is the base.

    None for fewer than two values, or where one is not positive and finite.
    """
    if len(values) < 2 or not all(math.isfinite(v) and v > 0 for v in values):
        return None
    logs = [math.log(v) for v in values]
    mean = math.fsum(logs) / len(logs)
    return math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1))


def pooled_coefficient_of_variation(groups: Iterable[Sequence[float]]) -> tuple[float, int] | None:
    """The common coefficient of variation of several groups of runs, and its degrees of freedom.

    The groups are both sides of a case, or a history.
    The root of the mean variance of the logarithms, weighted by n − 1. Groups without one are left out; None
    where none is left.
    """
    known = [(s, len(group) - 1) for group in groups if (s := coefficient_of_variation(group)) is not None]
    freedom = sum(f for _, f in known)
    return (math.sqrt(sum(s * s * f for s, f in known) / freedom), freedom) if freedom else None


def variation_bounds(variation: float, freedom: float) -> tuple[float, float]:
    """The 80 % interval of the true variation behind an estimated one with so many degrees of freedom (χ², normal
    logs).

    With 4 degrees of freedom (five runs): from 0.72 to 1.94 times the estimate. A plan made for the upper end
    rarely falls short (Browne 1995). Raises ValueError for no degrees of freedom.
    """
    if freedom < 1:
        raise ValueError("a coefficient of variation needs at least two runs")
    from scipy.stats import chi2

    low, high = (math.sqrt(freedom / chi2.ppf(share, freedom)) for share in (0.9, 0.1))
    return variation * low, variation * high


@dataclass(frozen=True, slots=True)
class Table:
    """The table that a change has to be found in.

    Attributes:
        rows: how many rows it has, all with the same noise; one of them is changed.
        margin: changes within this share do not matter, so one has to be told from it.
        level: 1 − α of the table.
    """

    rows: int = 1
    margin: float = 0.0
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.rows < 1 or not 0 <= self.margin < 1 or not 0 < self.level < 1:
            raise ValueError(f"no table: {self.rows!r} rows, margin {self.margin!r}, level {self.level!r}")

    @property
    def least_runs(self) -> int:
        """The fewest runs a side with which one changed row can be called."""
        return runs_for_rows(self.rows, self.level)


def power(change: float, variation: float, n: int, table: Table = Table()) -> float:
    """The chance that ``compare`` calls a changed row faster or slower, n runs a side.

    Args:
        change: 0.05 or −0.05: 5 %.
        variation: the coefficient of variation of the runs on both sides.
        n: runs a side.
        table: the table that the row is in.

    Returns:
        0 with too few runs for the table.

    Raises:
        ValueError: for a change of −1 or less, or a variation that is negative or not finite.
    """
    effect = _effect(change, variation, table.margin)
    if n < table.least_runs or effect <= 0:
        return 0.0
    return _power(effect, n, table)


def runs_needed(change: float, variation: float, wanted: float = 0.8, table: Table = Table()) -> int | None:
    """The fewest runs a side with which a change of this size is called with a chance of at least ``wanted``.

    None beyond :data:`MOST_RUNS`.

    Raises:
        ValueError: as :func:`power` does, and for a change within the margin, which no number of runs makes a verdict.
    """
    if not _effect(change, variation, table.margin) > 0:
        raise ValueError(f"no number of runs tells a change of {change!r} from a margin of {table.margin!r}")
    return fewest(table.least_runs, lambda n: power(change, variation, n, table) >= wanted)


def fewest(least: int, suffices: Callable[[int], bool]) -> int | None:
    """The fewest runs from ``least`` on that suffice, as all larger numbers do; None beyond :data:`MOST_RUNS`."""
    low, high = least, MOST_RUNS
    if not suffices(high):
        return None
    while low < high:
        middle = (low + high) // 2 if high <= 2 * SIMULATED else min(2 * low, (low + high) // 2)
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low


def smallest(widest: float, near: float, suffices: Callable[[float], bool]) -> float:
    """The smallest number between 0 and ``widest`` that suffices, as all larger ones do, to within ``near``."""
    low, high = 0.0, widest
    while high - low > near:
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def runs_for_verdict(variation: float, table: Table, halvings: int = 0) -> int | None:
    """The fewest runs a side that decide a row, unless its change lies near the margin.

    With a chance of 80 % or more so many runs call a change of margin · (1 − f) or less "same", and one of
    margin · (1 + f) or more faster or slower, with f = 2^−halvings: by itself (f = 1) no change is told from one of
    twice the margin. Each end of the interval clears its border with a chance of 90 %, for an unchanged row has two of
    them. By the formula alone, as every row of a table asks it: up to :data:`SIMULATED` runs it asks for one run too
    few at most, and one is added there.

    Args:
        variation: the coefficient of variation of the runs on both sides.
        table: the table that the row is in.
        halvings: how often the distance from the margin is halved, 0 or more.

    Returns:
        None beyond :data:`MOST_RUNS`, and for a margin of 0, within which no interval lies.

    Raises:
        ValueError: for a variation that is negative or not finite.
    """
    distance = distance_from_margin(table.margin, halvings)
    if not (math.isfinite(variation) and variation >= 0):
        raise ValueError(f"a coefficient of variation is a share of 0 or more, not {variation!r}")
    if not variation or not distance:
        return table.least_runs if distance else None
    runs = fewest(table.least_runs, lambda n: _normal_power(distance / variation, n, table) >= CLEARED)
    return runs + 1 if runs is not None and runs <= SIMULATED else runs


def distance_from_margin(margin: float, halvings: int = 0) -> float:
    """How far the changes margin · (1 ± 2^−halvings) lie from the margin, in logarithms: the nearest of them."""
    return math.log1p(margin * 2.0**-halvings / (1 + margin))


def detectable_change(variation: float, n: int, wanted: float = 0.8, table: Table = Table()) -> float | None:
    """The smallest change upwards, a share, that n runs a side show with a chance of at least ``wanted``.

    None with too few runs for the table. The margin for a variation of 0.

    Raises:
        ValueError: for a variation that is negative or not finite.
    """
    _effect(0.0, variation, 0.0)
    if n < table.least_runs:
        return None
    effect = smallest(_WIDEST, _NEAR, lambda effect: _power(effect, n, table) >= wanted)
    return (1 + table.margin) * math.exp(effect * variation) - 1


def beyond_margin(change: float, margin: float) -> float:
    """By how much the logarithm of a change lies beyond the margin's border; at most 0 for a change within it.

    Raises:
        ValueError: for a change of −1 or less.
    """
    if not change > -1 or not math.isfinite(change):
        raise ValueError(f"a change is a share above −1, not {change!r}")
    border = math.log1p(margin) if change >= 0 else -math.log1p(-margin)
    return abs(math.log1p(change)) - border


def _effect(change: float, variation: float, margin: float) -> float:
    """By how many standard deviations of the logarithms a change lies beyond the margin; at most 0 within it."""
    beyond = beyond_margin(change, margin)
    if not (math.isfinite(variation) and variation >= 0):
        raise ValueError(f"a coefficient of variation is a share of 0 or more, not {variation!r}")
    if beyond <= 0:
        return beyond
    return beyond / variation if variation else math.inf


def _power(effect: float, n: int, table: Table) -> float:
    if math.isinf(effect):
        return 1.0
    if n > SIMULATED:
        return _normal_power(effect, n, table)
    thresholds = _thresholds(n, table.rows, table.level)
    return float(np.searchsorted(thresholds, effect)) / len(thresholds)


@lru_cache(maxsize=256)
def _thresholds(n: int, rows: int, level: float) -> NDArray[np.float64]:
    """The effect beyond which each simulated row is called, in order, in standard deviations beyond the margin.

    The ends of a row's interval move with the change and scale with the noise, so two numbers for each row, the negated
    lower end and the upper end of an unchanged row of standard normal logarithms, serve all changes upwards and
    downwards, and all noises. The row is judged at the level that a table asks of a single changed row.
    """
    random = np.random.default_rng(_SEED)
    shared = rows >= LEAST_SAMPLES
    # Fewer rows than share their noise are as good as many tables of one row: as many at once as memory likes.
    of_table = min(rows, _MOST_ROWS) if shared else _REPEATS // 10
    alpha = (1 - level) / rows
    tables = range(max(1, _REPEATS // of_table))
    ends = [_ends(random.standard_normal((2, of_table, n)), alpha, shared) for _ in tables]
    return np.sort(np.concatenate(ends))


def _ends(samples: NDArray[np.float64], alpha: float, shared: bool) -> NDArray[np.float64]:
    """By how much a table's rows would have to change to lie above 0, and by how much to lie below: shape (2 · rows,).

    Args:
        samples: of shape (2, rows, n): the old and the new side.
        alpha: 1 − the level of the intervals.
        shared: whether the rows' noise is pooled; else each has its own.
    """
    from scipy.special import stdtrit

    old, new = samples
    n = samples.shape[2]
    cut = max(0, critical(n, n, 1 - alpha))
    pairs = (new[:, :, None] - old[:, None, :]).reshape(len(new), n * n)
    pairs.partition((cut, n * n - 1 - cut), axis=1)
    centres = new.mean(axis=1) - old.mean(axis=1)
    variances = samples.var(axis=2, ddof=1)
    noises = [[(variance, np.full(len(new), n - 1.0)) for variance in variances]]
    if shared:
        sides = [side_noise(variance.tolist(), [n - 1] * len(new)) for variance in variances]
        noises = [[(side.variances, side.freedoms) for side in sides]]
    up, down = [-pairs[:, cut]], [pairs[:, n * n - 1 - cut]]
    for (old_variance, old_freedom), (new_variance, new_freedom) in noises:
        a, b = old_variance / n, new_variance / n
        freedom = (a + b) ** 2 / (a * a / old_freedom + b * b / new_freedom)
        half = -stdtrit(freedom, alpha / 2) * np.sqrt(a + b)
        up.append(half - centres)
        down.append(half + centres)
    return np.concatenate([np.maximum.reduce(up), np.maximum.reduce(down)])


def _normal_power(effect: float, n: int, table: Table) -> float:
    """For many runs: the chance that both the interval of the means and that of the ranks lie beyond the margin.

    The estimate of the ranks is the mean plus an independent difference with π/3 − 1 of its variance, for the mean is
    efficient for normal logarithms (Hodges & Lehmann 1956), and its interval is √(π/3) times as wide.
    """
    from scipy.special import ndtr, stdtrit

    alpha = (1 - table.level) / table.rows
    quantile = -float(stdtrit(2 * n - 2, alpha / 2))
    nodes, weights = _quadrature()
    differences = nodes * math.sqrt(math.pi / 3 - 1)
    ends = np.maximum(quantile, quantile * math.sqrt(math.pi / 3) - differences)
    return float(weights @ ndtr(effect / math.sqrt(2 / n) - ends) / weights.sum())


@lru_cache(maxsize=1)
def _quadrature() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The nodes and weights of a Gauss-Hermite quadrature over a normal variable."""
    return np.polynomial.hermite_e.hermegauss(_NODES)
