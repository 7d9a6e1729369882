"""The third level: how much whole campaigns of one version differ, beyond what their runs differ within them.

Kalibera & Jones (ISMM 2013; 2020): repetitions have levels, and an interval must hold the variance of the highest level
at which anything varies. Steps vary within runs, runs within a campaign, and campaigns among each other: another day,
another state of the machine, another build. Where two sides are two campaigns, runs within them cannot show it.

It is learned from campaigns of one version on one machine (A/A). The unit is the campaign: the mean of the logarithms
of its runs. The variance S² of these means, pooled within versions, estimates τ² + σ²/n, with τ² between campaigns, σ²
between the runs of a campaign and n runs in each; so the difference of two such campaigns has the variance 2 S², and
its interval is Student's, with as many degrees of freedom as S² has. Nothing has to be subtracted, so it is exact for
normal effects however few campaigns are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perflog.stats.contrast import Differences, RowSamples


class Spreads:
    """The spreads of a case whose campaigns are known, as standard deviations of logarithms.

    Attributes:
        variance: of the campaigns' means, τ² + σ²/n.
        run_variance: of the runs within a campaign, σ².
        inverse_runs: the mean of 1/n over the campaigns.
    """

    __slots__ = ()
    variance: float
    run_variance: float
    inverse_runs: float

    @property
    def run_spread(self) -> float:
        """That of the runs within a campaign."""
        return math.sqrt(self.run_variance)

    @property
    def campaign_spread(self) -> float:
        """That between campaigns without what their runs contribute; 0 where these explain it."""
        return math.sqrt(max(0.0, self.variance - self.run_variance * self.inverse_runs))


@dataclass(frozen=True, slots=True)
class CampaignLevel(Spreads):
    """What earlier campaigns say of one case.

    Attributes:
        campaigns: how many there are, of versions with two or more.
        freedom: the degrees of freedom of ``variance``: campaigns less versions.
        variance: of the campaigns' means of logarithms, τ² + σ²/n.
        run_variance: of the logarithms of runs within a campaign, σ².
        run_freedom: its degrees of freedom; 0 where no campaign has two runs.
        inverse_runs: the mean of 1/n over the campaigns.
    """

    campaigns: int
    freedom: int
    variance: float
    run_variance: float
    run_freedom: int
    inverse_runs: float

    def of_difference(self, runs: Sequence[int]) -> tuple[float, float]:
        """(variance, degrees of freedom) of the difference of new campaigns with so many runs each.

        A campaign with fewer runs than the earlier ones has their missing runs' variance added; one with more is
        taken to be as noisy as they are.
        """
        campaigns = len(runs) * self.variance
        further = sum(max(0.0, 1 / n - self.inverse_runs) for n in runs) * self.run_variance
        if not further:
            return campaigns, float(self.freedom)
        total = campaigns + further
        return total, total**2 / (campaigns**2 / self.freedom + further**2 / max(1, self.run_freedom))


def campaign_level(versions: Sequence[Sequence[Sequence[float]]]) -> CampaignLevel | None:
    """The level from the runs of earlier campaigns of one case.

    Args:
        versions: for each version its campaigns, and for each campaign the positive values of its runs, one or more.

    Returns:
        None where no version has two campaigns, or all campaigns have one mean: then nothing is known.
    """
    squares = run_squares = 0.0
    freedom = run_freedom = 0
    counts: list[int] = []
    for campaigns in versions:
        if len(campaigns) < 2:
            continue
        logs = [[math.log(value) for value in runs] for runs in campaigns]
        means = [math.fsum(runs) / len(runs) for runs in logs]
        centre = math.fsum(means) / len(means)
        squares += math.fsum((mean - centre) ** 2 for mean in means)
        freedom += len(means) - 1
        run_squares += math.fsum((x - mean) ** 2 for runs, mean in zip(logs, means, strict=True) for x in runs)
        run_freedom += sum(len(runs) - 1 for runs in logs)
        counts += [len(runs) for runs in logs]
    if not freedom or not squares:
        return None
    run_variance = run_squares / run_freedom if run_freedom else 0.0
    inverse = math.fsum(1 / n for n in counts) / len(counts)
    return CampaignLevel(len(counts), freedom, squares / freedom, run_variance, run_freedom, inverse)


def with_campaigns(
    rows: Sequence[RowSamples], runs_alone: Differences, levels: Sequence[CampaignLevel | None]
) -> Differences:
    """The rows' differences with the variance between campaigns, where it is known.

    Args:
        rows: the runs of the rows.
        runs_alone: the same differences as the runs within the two campaigns show them, which the other rows keep.
        levels: of each row; None where it is not known.
    """
    errors, freedoms = runs_alone.errors.copy(), runs_alone.freedoms.copy()
    for place, (row, level) in enumerate(zip(rows, levels, strict=True)):
        if level is not None:
            variance, freedom = level.of_difference([len(row.old), len(row.new)])
            errors[place], freedoms[place] = math.sqrt(variance), freedom
    return Differences(runs_alone.centres, errors, freedoms)
