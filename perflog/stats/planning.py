"""How many runs a change needs in a row that has a memory (:mod:`perflog.stats.memory`).

``compare`` calls such a row by Student's t with the moderated variance, so its power follows from four numbers that
chance decides: the variance that the next campaign's runs have, the variances that the runs of both sides show, and
the difference of the means. The power is the normal chance of the last one, averaged over the others by quadrature.

**What is not known.** A memory is an estimate itself. So a plan takes the variance of the runs, and for sides that are
measured apart also the variance between campaigns, at the upper end of their 80 % intervals (Browne 1995): the power is
then as promised in about nine of ten plans. What `compare` makes of the memory is what the plan reckons with: runs that
are improbably noisier than the memory are judged by themselves.

**Sides that are measured apart** have twice the variance between campaigns in their difference, and no number of runs
makes it smaller. Where the promise cannot be kept with any number of runs, there is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from perflog.stats.contrast import Floats
from perflog.stats.mannwhitney import runs_for
from perflog.stats.memory import IMPROBABLE, Memory, chance_of_noise, squared_error, with_memory_of_campaigns
from perflog.stats.power import CLEARED, Table, beyond_margin, distance_from_margin, fewest, smallest
from perflog.stats.sequential import TableRule, critical_t

#: Nodes of the quadrature over the variance of the next campaign, and over that which the runs of a side show: with
#: twice as many the power is the same to 0.005.
_NODES = (8, 16)
#: The end of the 80 % interval that a plan is made for.
_UPPER = 0.9
#: So many standard errors of how much campaigns' variances differ are added to it.
_DOUBT = 0.75
#: The most rounds that a measurement in turn is foreseen for, and how many are simulated, with which first number.
MOST_ROUNDS, _MEASUREMENTS, _SEED = 300, 2000, 20261127
#: Where the search for the smallest change ends, as a logarithm, and how near it comes.
_WIDEST, _NEAR = 4.0, 1e-5


@dataclass(frozen=True, slots=True)
class Outlook:
    """A case before it is measured.

    Attributes:
        memory: of the case, as `compare` will use it.
        apart: whether one side will be measured after the other; False where both are measured in turn.
        run_variance: what the variance of the logarithms of runs is taken to be.
        run_freedom: the degrees of freedom with which the next campaign has it.
        campaign_variance: the same of the effects of campaigns, runs left out; counts only for sides measured apart.
    """

    memory: Memory
    apart: bool
    run_variance: float
    run_freedom: float
    campaign_variance: float


def outlook(memory: Memory, apart: bool, *, upper: bool) -> Outlook:
    """What is expected of the next campaign.

    Args:
        memory: of the case.
        apart: whether one side will be measured after the other.
        upper: whether variances are taken at the upper ends of their 80 % intervals; else as the memory has them.
    """
    runs, campaigns, of_next = memory.run_variance, memory.variance, memory.run_freedom
    within = runs * memory.inverse_runs
    if upper:
        of_next, known = _freedoms(memory)
        runs, campaigns = _upper_end(runs, known), _upper_end(campaigns, memory.freedom)
    return Outlook(memory, apart, runs, of_next, max(0.0, campaigns - within))


def _freedoms(memory: Memory) -> tuple[float, float]:
    """The degrees of freedom with which the next campaign has the memory's variance, and with which that is known.

    2/f is a squared coefficient of variation. Few campaigns know badly how much their variances differ, so that
    :data:`_DOUBT` standard errors of it are added: of the mean of (s²/σ² − 1)² over the campaigns, whose variance is
    8/d² + 48/d³ for d degrees of freedom where they do not differ.
    """
    usual = memory.campaigns - memory.rejected
    d = memory.known_freedom / usual
    error = math.sqrt((8 + 48 / d) / usual) / (d + 2)
    of_next = 2 / memory.run_freedom + _DOUBT * error
    return 2 / of_next, 2 / (2 / memory.known_freedom + of_next / usual)


def _upper_end(variance: float, freedom: float) -> float:
    """The upper end of the 80 % interval of a variance (χ²)."""
    from scipy.special import chdtri

    return variance * freedom / float(chdtri(freedom, _UPPER))


def power(change: float, n: int, expected: Outlook, table: Table) -> float:
    """The chance that ``compare`` calls a changed row faster or slower, n runs a side.

    Args:
        change: 0.05 or −0.05: 5 %.
        n: runs a side.
        expected: the case.
        table: the table that the row is in; of the other rows nothing is taken to have changed.

    Raises:
        ValueError: for a change of −1 or less.
    """
    return _power(beyond_margin(change, table.margin), n, expected, table)


def runs_needed(change: float, expected: Outlook, wanted: float, table: Table) -> int | None:
    """The fewest runs a side with which a change of this size is called with a chance of at least ``wanted``.

    None where :data:`perflog.stats.power.MOST_RUNS` do not suffice.

    Raises:
        ValueError: as :func:`power` does, and for a change within the margin, which no number of runs makes a verdict.
    """
    if not beyond_margin(change, table.margin) > 0:
        raise ValueError(f"no number of runs tells a change of {change!r} from a margin of {table.margin!r}")
    return _fewest(beyond_margin(change, table.margin), expected, wanted, table)


def runs_for_verdict(expected: Outlook, table: Table, halvings: int = 0) -> int | None:
    """The fewest runs a side that decide a case, unless its change lies near the margin.

    As :func:`perflog.stats.power.runs_for_verdict` has it, for a case with a memory. None beyond
    :data:`perflog.stats.power.MOST_RUNS`, and for a margin of 0.
    """
    return _fewest(distance_from_margin(table.margin, halvings), expected, CLEARED, table)


def _fewest(beyond: float, expected: Outlook, wanted: float, table: Table) -> int | None:
    """The fewest runs a side with this chance to call a change that lies so far beyond the margin, in logarithms."""
    return fewest(runs_for(table.level), lambda n: _power(beyond, n, expected, table) >= wanted)


def detectable_change(n: int, expected: Outlook, wanted: float, table: Table) -> float | None:
    """The smallest change upwards, a share, that n runs a side show with a chance of at least ``wanted``.

    None with fewer runs than a verdict needs, and for a change beyond fiftyfold.
    """
    if n < runs_for(table.level) or _power(_WIDEST, n, expected, table) < wanted:
        return None
    beyond = smallest(_WIDEST, _NEAR, lambda beyond: _power(beyond, n, expected, table) >= wanted)
    return (1 + table.margin) * math.exp(beyond) - 1


def rounds_needed(expected: Outlook, wanted: float, rule: TableRule) -> int | None:
    """The rounds by which ``perflog run --against`` decides a case that did not change, with a chance of ``wanted``.

    "Same" takes the longest of all that a case may be, but for a change near the margin: one of twice the margin lies
    as far from it. Rounds are simulated, each the difference of two runs of one campaign, whose variance is drawn for
    each measurement from what the next campaign may have; what a pair of runs has in common ends it sooner.

    None where :data:`MOST_ROUNDS` do not suffice.
    """
    random = np.random.default_rng(_SEED)
    variances = expected.run_variance * _next_variance(random.uniform(size=_MEASUREMENTS), expected.run_freedom)
    differences = np.sqrt(2 * variances)[:, None] * random.standard_normal((_MEASUREMENTS, MOST_ROUNDS))
    rounds = np.arange(1, MOST_ROUNDS + 1)
    means = np.cumsum(differences, axis=1) / rounds
    squares = np.cumsum(differences**2, axis=1) / rounds - means**2
    looks = rounds[rounds >= rule.first_look]
    critical = np.array([critical_t(n, rule.row_alpha) for n in looks.tolist()])
    half = critical * np.sqrt(np.maximum(squares[:, looks - 1], 0.0) / (looks - 1))
    low, high = means[:, looks - 1] - half, means[:, looks - 1] + half
    border = math.log1p(-rule.margin), math.log1p(rule.margin)
    decided = ((low >= border[0]) & (high <= border[1])) | (low > border[1]) | (high < border[0])
    shares = np.maximum.accumulate(decided, axis=1).mean(axis=0)
    enough = np.flatnonzero(shares >= wanted)
    return int(looks[enough[0]]) if len(enough) else None


def _power(beyond: float, n: int, expected: Outlook, table: Table) -> float:
    """The power for a change that lies so far beyond the margin, in logarithms."""
    from scipy.special import ndtr

    if n < runs_for(table.level) or beyond <= 0:
        return 0.0
    weights, deviations, half_widths = _judged(n, expected, table.rows, table.level)
    return float(np.sum(weights * ndtr((beyond - half_widths) / deviations)))


@lru_cache(maxsize=1024)
def _judged(n: int, expected: Outlook, rows: int, level: float) -> tuple[Floats, Floats, Floats]:
    """By node its weight, the true standard deviation of the difference, and half the width of its interval.

    The row is judged at the level that a table asks of a single changed row.
    """
    from scipy.special import stdtrit

    memory, d = expected.memory, n - 1
    (of_next, first), (of_side, weights) = (_quantiles(count) for count in _NODES)
    variances = expected.run_variance * _next_variance(of_next, expected.run_freedom)
    shown = _chi_square(of_side, d)
    old, new = variances[:, None, None] * shown[:, None], variances[:, None, None] * shown
    own = [(np.broadcast_to(side, (len(variances), len(shown), len(shown))), d) for side in (old, new)]
    square, freedom = squared_error(memory, own, expected.apart)
    alone, its_freedom = _own_error(expected, own, n)
    doubted = chance_of_noise(memory, own)[0] < IMPROBABLE
    error = np.where(doubted, alone, np.sqrt(square))
    half = -stdtrit(np.where(doubted, its_freedom, freedom), (1 - level) / rows / 2) * error
    if n < Table(rows, level=level).least_runs:
        half = np.where(doubted, np.inf, half)  # its ranks cannot call it
    true = 2 * (variances / n + (expected.campaign_variance if expected.apart else 0.0))
    deviations = np.broadcast_to(np.sqrt(true)[:, None, None], half.shape)
    return first[:, None, None] * weights[:, None] * weights, deviations, half


def _own_error(expected: Outlook, own: list[tuple[Floats, int]], n: int) -> tuple[Floats, Floats]:
    """(standard errors, degrees of freedom) of differences whose runs are noisier than the memory (Welch 1938)."""
    parts = [variance / n for variance, _ in own]
    total: Floats = np.sum(parts, axis=0)
    freedom = total**2 / np.sum([part**2 / d for part, (_, d) in zip(parts, own, strict=True)], axis=0)
    if not expected.apart:
        return np.sqrt(total), freedom
    return with_memory_of_campaigns(np.sqrt(total), freedom, expected.memory)


@lru_cache(maxsize=8)
def _quantiles(count: int) -> tuple[Floats, Floats]:
    """Gauss and Legendre's nodes between 0 and 1, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _chi_square(shares: Floats, freedom: float) -> Floats:
    """The quantiles of χ² over its degrees of freedom: of the variance that runs show, over the true one."""
    from scipy.special import chdtri

    return np.asarray(chdtri(freedom, 1 - shares) / freedom)


def _next_variance(shares: Floats, freedom: float) -> Floats:
    """The quantiles of the next campaign's variance over the memory's: inverse χ², as Smyth (2004) has it."""
    return 1 / _chi_square(1 - shares, freedom)
