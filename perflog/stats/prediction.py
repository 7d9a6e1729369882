"""Where the next value of a short history is expected, before there are enough points for change points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: The chance that the next value lies in the interval when nothing has changed.
LEVEL = 0.95
#: The fewest values: at eight the interval is 2.5 standard deviations to either side, 28 % more than with any
#: number of them; at three it would be 5, and no value would ever be unexpected.
LEAST = 8


@dataclass(frozen=True, slots=True)
class Prediction:
    """``low``, ``high``: where the next value falls with a probability of ``level``; None with a ``reason``."""

    low: float | None
    high: float | None
    n: int
    level: float
    reason: str = ""

    def holds(self, value: float) -> bool | None:
        """Whether a value is as expected; None where nothing is expected or it is no number."""
        if self.low is None or self.high is None or not math.isfinite(value):
            return None
        return self.low <= value <= self.high


def predict(values: Sequence[float]) -> Prediction:
    """mean ± t s √(1 + 1/n), s with ddof 1 and t with n − 1 degrees of freedom (Hahn & Meeker 1991, chapter 4).

    In the unit of the values; for normal values the level of 95 % is exact. Needs eight finite values that are not all
    the
    same: a percentile of three points, or an interval without width, would call every new value a change.
    """
    n = len(values)
    if n < LEAST:
        return Prediction(None, None, n, LEVEL, f"{n} point{'s' * (n != 1)}, a prediction needs {LEAST}")
    if not all(math.isfinite(v) for v in values):
        return Prediction(None, None, n, LEVEL, "a point is not a finite number")
    if min(values) == max(values):
        return Prediction(None, None, n, LEVEL, f"all {n} points have the value {values[0]:g}")
    from scipy.stats import t

    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    half = float(t.ppf((1 + LEVEL) / 2, n - 1)) * deviation * math.sqrt(1 + 1 / n)
    return Prediction(mean - half, mean + half, n, LEVEL)
