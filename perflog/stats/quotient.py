"""The interval of a quotient of two samples' centres: a speedup carries the noise of the case and of its baseline.

Welch's interval (1938) of the difference of log means: the two samples may differ in how many runs they have and in how
much these spread, as one device and thirty-two do. With Satterthwaite's degrees of freedom alone it covers 93.4 to 93.8
per cent where four runs stand beside twenty or more, since they are estimated from the very variances; so the critical
value has the next term of its exact series too (Welch 1947, Aspin 1948). Normal logarithms are assumed; what the
coverage is with other noise is in docs/methods.md (Speedups).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perflog.stats.centre import LEVEL
from perflog.stats.student import t_quantile

#: The fewest runs of each sample: with three the coverage is up to 1.5 points beside the level, with four within one
#: (``python -m tests.tools.simulate_tables``, Speedups).
LEAST_RUNS = 4


@dataclass(frozen=True, slots=True)
class QuotientInterval:
    """An interval of a quotient at its level, without a unit."""

    low: float
    high: float
    level: float

    def scaled(self, factor: float) -> QuotientInterval:
        """The interval of the quotient times a known factor."""
        return QuotientInterval(self.low * factor, self.high * factor, self.level)


def quotient_interval(
    numerator: Sequence[float], denominator: Sequence[float], value: float, level: float = LEVEL
) -> QuotientInterval | None:
    """The interval of the quotient of two samples' centres.

    Args:
        numerator: the positive, finite values of the runs of one sample.
        denominator: the same of the other.
        value: the quotient that is shown. The interval holds it in any case: medians are not the means of logarithms.
        level: the level that the interval is made for.

    Returns:
        None with fewer than :data:`LEAST_RUNS` runs in either sample, or where a sample does not spread at all.
    """
    samples = [[math.log(run) for run in runs] for runs in (numerator, denominator)]
    if min(map(len, samples)) < LEAST_RUNS or any(min(logs) == max(logs) for logs in samples):
        return None
    means = [math.fsum(logs) / len(logs) for logs in samples]
    parts = [
        math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1) / len(logs)
        for logs, mean in zip(samples, means, strict=True)
    ]
    half = critical_value(parts, [len(logs) - 1 for logs in samples], level) * math.sqrt(sum(parts))
    centre = means[0] - means[1]
    return QuotientInterval(min(math.exp(centre - half), value), max(math.exp(centre + half), value), level)


def critical_value(variances: Sequence[float], freedoms: Sequence[float], level: float) -> float:
    """By how many standard errors a difference of two means may miss the truth, at a two-sided level.

    Student's quantile with Satterthwaite's degrees of freedom, and what the exact solution, a series in 1/f with f the
    degrees of freedom of each variance (Welch 1947, Aspin 1948), has more of in its second order. That is nothing where
    one of the variances is 0.

    Args:
        variances: the variances of the two means, not both 0.
        freedoms: the degrees of freedom of each, at least 3.
        level: a share, at least 0.5.
    """
    from statistics import NormalDist  # it imports fractions and decimal, and most logs have no speedup

    weights = [variance / sum(variances) for variance in variances]
    first = math.fsum(w**2 / f for w, f in zip(weights, freedoms, strict=True))
    squares = math.fsum(w**2 / f**2 for w, f in zip(weights, freedoms, strict=True))
    cubes = math.fsum(w**3 / f**2 for w, f in zip(weights, freedoms, strict=True))
    z = NormalDist().inv_cdf((1 + level) / 2)
    of_students = (3 + 16 * z**2 + 5 * z**4) / 96  # what the quantile below has of the second order already
    second = (
        -(1 + z**2) / 2 * squares
        + (3 + 5 * z**2 + z**4) / 3 * cubes
        - ((15 + 32 * z**2 + 9 * z**4) / 32 + of_students) * first**2
    )
    return t_quantile((1 + level) / 2, 1 / first) + z * second
