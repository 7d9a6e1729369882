"""Steps or runs: where the uncertainty of a case comes from.

Kalibera & Jones (ISMM 2013; 2020): the variance of a mean over n₁ runs of n₂ steps is S₁²/n₁ + S₂²/(n₁ n₂). Where the
first term rules, more steps do not help, more runs do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Batches of a run's steps: means of many steps are nearly independent where single steps are not. Between 20 and 30
#: are recommended (Law & Kelton 2000, section 9.5.3); more make each shorter and so more dependent.
_BATCHES = 20
#: The fewest steps: two batches of two, as one batch has no variance.
_LEAST_STEPS = 4


@dataclass(frozen=True, slots=True)
class Components:
    """Standard deviations as shares of the overall mean.

    ``run_variation``: between runs, without what their steps contribute. ``step_variation``: what the steps contribute
    to the mean of one run. ``step_share``: their part of the variance between run means, 0 to 1.
    """

    runs: int
    run_variation: float
    step_variation: float
    step_share: float

    @property
    def advice(self) -> str:
        """What would make the interval shorter, in words for a note."""
        share = f"steps account for {100 * self.step_share:.0f} % of the variance between runs"
        return (
            f"{share}: more steps per run help"
            if self.step_share > 0.5
            else f"{share}: more runs help, more steps do not"
        )


def components(runs: Sequence[ArrayLike]) -> Components | None:
    """The components of variance of the step times of several runs, each of shape (steps,) and in order.

    The variance of a run's mean is estimated from the means of at most twenty batches of its steps, so that
    autocorrelation counts (Law & Kelton 2000, section 9.5.3), then averaged over the runs and compared with the
    variance of the run means (ddof 1). None for fewer than two runs with four steps, a value that is not finite, or a
    mean of 0. A share from a few runs is rough: with five, by a factor of two.
    """
    series = [np.asarray(run, dtype=float) for run in runs]
    series = [run for run in series if len(run) >= _LEAST_STEPS]
    if len(series) < 2 or not all(np.isfinite(run).all() for run in series):
        return None
    means = np.array([run.mean() for run in series])
    centre = abs(float(means.mean()))
    if not centre:
        return None
    steps = float(np.mean([_variance_of_mean(run) for run in series]))
    between = float(means.var(ddof=1))
    share = min(1.0, steps / between) if between else float(steps > 0)
    return Components(len(series), math.sqrt(max(0.0, between - steps)) / centre, math.sqrt(steps) / centre, share)


def _variance_of_mean(run: NDArray[np.float64]) -> float:
    """The variance of a run's mean by the method of batch means, for steps of shape (n,) in order."""
    batches = max(2, min(_BATCHES, len(run) // 2))
    size = len(run) // batches
    means = run[len(run) - batches * size :].reshape(batches, size).mean(axis=1)
    return float(means.var(ddof=1)) / batches
