"""The interval of a quotient of two samples' centres: a speedup carries the noise of the case and of its baseline.

Welch's interval (1938) of the difference of log means, with Satterthwaite's degrees of freedom: the two samples may
differ in how many runs they have and in how much these spread, as one device and thirty-two do. Normal logarithms are
assumed; what its coverage is with other noise is in docs/statistics.md (Speedups).
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
    freedom = sum(parts) ** 2 / sum(part**2 / (len(logs) - 1) for part, logs in zip(parts, samples, strict=True))
    half = t_quantile((1 + level) / 2, freedom) * math.sqrt(sum(parts))
    centre = means[0] - means[1]
    return QuotientInterval(min(math.exp(centre - half), value), max(math.exp(centre + half), value), level)
