"""The memory of a case: what its runs and its campaigns have spread by so far, and a row that is judged with it.

Five runs know their own variance badly; thirty campaigns of five runs know it well, as far as the next campaign is like
them. How far that is shows in them: where the campaigns' own variances differ no more than chance makes them differ,
the memory has many degrees of freedom, and few where each campaign had a noise of its own.

**Within campaigns.** The memory's variance is that of the runs' logarithms, pooled over the campaigns but for those
whose own variance is improbable beside their median: a hard rejection from a start of high breakdown (Rousseeuw & Leroy
1987, chapter 1), so that one bad campaign leaves no trace. The degrees of freedom are matched by moments (Satterthwaite
1946): 2/f is the squared coefficient of variation that the campaigns' true variances have, which is what their
variances have beyond chance. The mean of variances is pooled and not that of their logarithms (Smyth 2004): on a
machine with two states some campaigns meet one of them alone and hardly spread, and the mean of logarithms would
believe them.

**A row** has the moderated variance (d₀ s₀² + d s²) / (d₀ + d) of Smyth (2004): s² with d degrees of freedom is that of
its own runs, s₀² with d₀ the memory's. Own runs that are improbably noisier than the memory (the F test) are something
that the history has not seen, such as a run far away: the memory does not apply then. Nor does it in a table of which
more rows than chance has are noisier than usual: the machine is another one today.

**Between campaigns.** S² is the variance of the campaigns' means about the levels that they lie on, τ² + σ²/n, with as
many degrees of freedom as there are more campaigns than levels. Repetitions have levels, and an interval must hold
the variance of the highest level at which anything varies (Kalibera & Jones, ISMM 2013; 2020): a difference of two
campaigns has the variance 2 S², and Student's t with the degrees of freedom of S². Nothing has to be subtracted, so it
is exact for normal effects however few campaigns are known. Nothing is rejected there: campaigns that lie far away are
what two sides that were measured apart must be told from.

Two campaigns of one version say something of what campaigns differ by, long before five say what runs do
(:func:`memory_of_few`): such a memory knows no runs, and is made only where it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from perflog.stats.contrast import Floats, RowSamples

#: The fewest campaigns with two runs or more, and the fewest degrees of freedom of what campaigns differ by.
LEAST_CAMPAIGNS, LEAST_FREEDOM = 5, 3
#: The most degrees of freedom that a memory has, so that a row's own runs always count: those of two sides of five are
#: a fifth of all. More would shorten the interval of a row in a table of twenty by 5 %.
MOST_FREEDOM = 30.0
#: With fewer degrees of freedom a memory says less of a row than five runs of its own.
_LEAST_RUN_FREEDOM = 4.0
#: A campaign whose variance is exceeded with this chance by those of its kind is left out of the pooled variance.
_REJECTED = 0.001
#: With a larger share of rejected campaigns the case has no variance that could be called its usual one.
_MOST_REJECTED = 0.25
#: The chance with which a row's own runs are found too noisy for a memory that does apply.
IMPROBABLE = 0.05
#: In a table whose rows all have the noise of their memories a quarter of them spreads so much, and a larger share than
#: that with the second chance.
_USUAL, _TOGETHER = 0.25, 0.01


@dataclass(frozen=True, slots=True)
class Memory:
    """What the earlier campaigns of one case say of its runs and campaigns.

    Attributes:
        campaigns: how many have a value; of few campaigns those of versions with two or more.
        rejected: how many of them spread improbably, and are no part of ``run_variance``.
        run_variance: of the logarithms of runs within a campaign.
        run_freedom: the degrees of freedom with which the next campaign has that variance, at most
            :data:`MOST_FREEDOM`; 0 where there are too few campaigns to say.
        known_freedom: the degrees of freedom with which the variance itself is known: runs less campaigns.
        variance: of the campaigns' means of logarithms about their level, σ²/n included.
        freedom: its degrees of freedom, campaigns less levels; of few campaigns less versions.
        inverse_runs: the mean of 1/n over the campaigns.
    """

    campaigns: int
    rejected: int
    run_variance: float
    run_freedom: float
    known_freedom: int
    variance: float
    freedom: int
    inverse_runs: float

    @property
    def knows_runs(self) -> bool:
        """Whether it says what the runs of the next campaign spread by."""
        return self.run_freedom > 0

    @property
    def run_spread(self) -> float:
        """The standard deviation of the logarithms of runs within a campaign."""
        return math.sqrt(self.run_variance)

    @property
    def campaign_spread(self) -> float:
        """That between campaigns without what their runs contribute; 0 where these explain it."""
        return math.sqrt(max(0.0, self.variance - self.run_variance * self.inverse_runs))


def memory_of(levels: Sequence[Sequence[Sequence[float]]]) -> Memory | str:
    """The memory of a case, or the reason why there is none.

    Args:
        levels: of the case in order; each has its campaigns, and each campaign the positive values of its runs.
    """
    logs = [[np.log(np.asarray(runs, dtype=float)) for runs in campaigns if len(runs)] for campaigns in levels]
    logs = [campaigns for campaigns in logs if campaigns]
    several = [runs for campaigns in logs for runs in campaigns if len(runs) > 1]
    if len(several) < LEAST_CAMPAIGNS:
        return f"{len(several)} earlier campaigns of it have two runs or more, and a memory needs {LEAST_CAMPAIGNS}"
    count = sum(map(len, logs))
    freedom = count - len(logs)
    if freedom < LEAST_FREEDOM:
        return f"its {count} earlier campaigns lie on {len(logs)} levels: what campaigns differ by is not known"
    pooled = _pooled(np.array([runs.var(ddof=1) for runs in several]), np.array([len(runs) - 1.0 for runs in several]))
    if isinstance(pooled, str):
        return pooled
    run_variance, run_freedom, known, rejected = pooled
    if run_freedom < _LEAST_RUN_FREEDOM:
        return f"the spreads of its {count} earlier campaigns differ so much that they say little of the next one's"
    squares, inverse = _between(logs)
    return Memory(count, rejected, run_variance, run_freedom, known, squares / freedom, freedom, inverse)


def memory_of_few(versions: Sequence[Sequence[Sequence[float]]]) -> Memory | None:
    """What campaigns that are too few for :func:`memory_of` say of what campaigns differ by.

    Args:
        versions: for each version its campaigns, and for each campaign the positive values of its runs.

    Returns:
        None where no version has two campaigns, or all campaigns have one mean: then nothing is known.
    """
    logs = [[np.log(np.asarray(runs, dtype=float)) for runs in campaigns if len(runs)] for campaigns in versions]
    logs = [campaigns for campaigns in logs if len(campaigns) > 1]
    count = sum(map(len, logs))
    freedom = count - len(logs)
    squares, inverse = _between(logs) if logs else (0.0, 0.0)
    if not squares:
        return None
    known = sum(len(runs) - 1 for campaigns in logs for runs in campaigns)
    within = math.fsum(float(((runs - runs.mean()) ** 2).sum()) for campaigns in logs for runs in campaigns)
    run_variance = within / known if known else 0.0
    return Memory(count, 0, run_variance, 0.0, known, squares / freedom, freedom, inverse)


def _between(groups: Sequence[Sequence[Floats]]) -> tuple[float, float]:
    """(the squares of the campaigns' means about those of their groups, the mean of 1/n over the campaigns)."""
    means = [np.array([runs.mean() for runs in campaigns]) for campaigns in groups]
    squares = math.fsum(float(((of_group - of_group.mean()) ** 2).sum()) for of_group in means)
    counts = [len(runs) for campaigns in groups for runs in campaigns]
    return squares, math.fsum(1 / n for n in counts) / len(counts)


def _pooled(variances: Floats, freedoms: Floats) -> tuple[float, float, int, int] | str:
    """(the variance, its degrees of freedom for the next campaign and for itself, how many campaigns were rejected)."""
    from scipy.special import chdtri

    # the median of variances whose true one is 1, and what they exceed with a small chance
    start = float(np.median(variances / (chdtri(freedoms, 0.5) / freedoms)))
    if not start > 0:
        return "most of its earlier campaigns have runs without any spread: copies of one log, or too coarse a print"
    usual = variances <= start * chdtri(freedoms, _REJECTED) / freedoms
    rejected = int((~usual).sum())
    if rejected > _MOST_REJECTED * len(variances):
        return f"{rejected} of its {len(variances)} earlier campaigns spread far more than the others"
    own, freedom = variances[usual], freedoms[usual]
    total = float(freedom.sum())
    variance = float((own * freedom).sum() / total)
    # E (s²/σ² − 1)² is 2/d for equal true variances, and c² (1 + 2/d) more where c is their coefficient of variation
    excess = float((freedom * ((own / variance - 1) ** 2 - 2 / freedom)).sum() / (freedom + 2).sum())
    of_next = min(MOST_FREEDOM, total, 2 / excess if excess > 0 else MOST_FREEDOM)
    return variance, of_next, int(total), rejected


# ----------------------------------------------------------------------------------------------------
# A row that is judged with its memory.


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a row is judged with.

    Attributes:
        memory: of its case.
        apart: whether its sides are two campaigns, so that what campaigns differ by is in the difference; False where
            they were measured in turn.
    """

    memory: Memory
    apart: bool


class Doubt(Enum):
    """Why a memory says nothing of the runs of a row."""

    NONE = "it does"
    FEW = "it has too few campaigns to know them"
    ROW = "its own runs are improbably noisier"
    TABLE = "the runs of most rows of its table are noisier than their memories have it"


@dataclass(frozen=True, slots=True)
class Applied:
    """How a memory applies to a row.

    Attributes:
        doubt: why its variance of runs does not.
        error: the standard error of the difference of log means; None with a doubt.
        freedom: its degrees of freedom.
    """

    doubt: Doubt
    error: float | None = None
    freedom: float = 0.0


def applied(rows: Sequence[RowSamples], memories: Sequence[Remembered | None]) -> list[Applied | None]:
    """The errors of the rows' differences with their memories, which do not apply to runs that are too noisy for them.

    Args:
        rows: all rows of a table; those with a memory are of no derived metric.
        memories: of each row; None for one without.
    """
    own = [_own(row) if known is not None else [] for row, known in zip(rows, memories, strict=True)]
    chances = [
        chance_of_noise(known.memory, of_row) if known is not None and known.memory.knows_runs else None
        for of_row, known in zip(own, memories, strict=True)
    ]
    by_table = _are_noisier([float(of_row[1]) for of_row in chances if of_row is not None])
    return [
        None if known is None else _applied(known, of_row, None if chance is None else float(chance[0]), by_table)
        for known, of_row, chance in zip(memories, own, chances, strict=True)
    ]


def _own(row: RowSamples) -> list[tuple[Floats, int]]:
    """The variance of the logarithms of each side's runs, with its degrees of freedom."""
    logs = [np.log(np.asarray(values)) for values in (row.old, row.new)]
    return [(np.asarray(side.var(ddof=1)), len(side) - 1) for side in logs]


def chance_of_noise(memory: Memory, own: Sequence[tuple[Floats, int]]) -> tuple[Floats, Floats]:
    """The chances that runs of the memory's kind spread as much: (of any side or all, of all sides together).

    Below :data:`IMPROBABLE` the first says that the memory does not apply.

    Args:
        own: for each side the variances of the logarithms of its runs, an array of any shape, and their degrees of
            freedom: runs less one.
    """
    from scipy.special import fdtrc

    freedom = sum(d for _, d in own)
    pooled = np.sum([d * variance for variance, d in own], axis=0) / freedom
    samples = [*own, (pooled, freedom)] if len(own) > 1 else own
    chances = [fdtrc(d, memory.run_freedom, variance / memory.run_variance) for variance, d in samples]
    return np.minimum(1.0, len(samples) * np.minimum.reduce(chances)), np.asarray(chances[-1])


def _are_noisier(chances: Sequence[float]) -> bool:
    """Whether so many rows spread more than usual that it is no chance; counted, as one row far away says nothing."""
    from scipy.special import bdtrc

    above = sum(chance < _USUAL for chance in chances)
    return above > 0 and float(bdtrc(above - 1, len(chances), _USUAL)) < _TOGETHER


def _applied(known: Remembered, own: Sequence[tuple[Floats, int]], chance: float | None, by_table: bool) -> Applied:
    """How a memory applies; ``chance``: of so much noise in the row's own runs, None where it knows no runs."""
    if chance is None:
        return Applied(Doubt.FEW)
    if by_table:
        return Applied(Doubt.TABLE)
    if chance < IMPROBABLE:
        return Applied(Doubt.ROW)
    square, freedom = squared_error(known.memory, own, known.apart)
    return Applied(Doubt.NONE, math.sqrt(square), float(freedom))


def squared_error(memory: Memory, own: Sequence[tuple[Floats, int]], apart: bool) -> tuple[Floats, Floats]:
    """The squared standard errors of differences to which the memory applies, and their degrees of freedom.

    Args:
        own: for each side the variances of the logarithms of its runs, an array of any shape, and their degrees of
            freedom: runs less one.
        apart: whether the sides are two campaigns.
    """
    f0 = memory.run_freedom
    parts = [((f0 * memory.run_variance + d * variance) / (f0 + d) / (d + 1), f0 + d) for variance, d in own]
    runs: Floats = np.sum([part for part, _ in parts], axis=0)
    weighted = np.sum([part**2 / f for part, f in parts], axis=0)
    # both sides have one memory: its degrees of freedom count once
    freedom = np.minimum(runs**2 / weighted, sum(f for _, f in parts) - f0)
    if not apart:
        return runs, freedom
    campaigns = 2 * memory.variance
    further = np.maximum(0.0, runs - 2 * memory.run_variance * memory.inverse_runs)
    total = campaigns + further
    of_total = total**2 / (campaigns**2 / memory.freedom + further**2 / freedom)
    # few campaigns may by chance lie nearer together than their runs let them
    nearer = runs > total
    return np.where(nearer, runs, total), np.where(nearer, np.minimum(freedom, of_total), of_total)


def with_memory_of_campaigns(error: Floats, freedom: Floats, memory: Memory) -> tuple[Floats, Floats]:
    """(errors, degrees of freedom) of rows that were measured apart and whose own runs count alone.

    Where they are too noisy for their memory, the variance between campaigns is added whole, though it holds some of
    what runs spread by: what is unusual today is no reason to trust the campaigns more. Where the memory knows no
    runs, what its campaigns' own runs explain is counted once.

    Args:
        error: the standard errors of the differences by the rows' own runs.
        freedom: their degrees of freedom.
    """
    runs, campaigns = error**2, 2 * memory.variance
    explained = 0.0 if memory.knows_runs else 2 * memory.run_variance * memory.inverse_runs
    further = np.maximum(0.0, runs - explained)
    total = campaigns + further
    of_total = np.minimum(freedom, total**2 / (further**2 / freedom + campaigns**2 / memory.freedom))
    return np.sqrt(np.maximum(runs, total)), of_total
