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

#: Batches of a run's steps: means of many steps are nearly independent where single steps are not.
_BATCHES = 20
_LEAST_STEPS = 4


@dataclass(frozen=True, slots=True)
class Components:
    """Standard deviations as shares of the overall mean.

    ``run_spread``: between runs, without what their steps contribute. ``step_spread``: what the steps contribute to
    the mean of one run. ``step_share``: their part of the variance between run means, 0 to 1.
    ``one_step``: the spread of a single step that counts, its autocorrelation included: ``step_spread`` × √steps.
    """

    runs: int
    run_spread: float
    step_spread: float
    step_share: float
    one_step: float

    @property
    def advice(self) -> str:
        share = f"steps account for {100 * self.step_share:.0f} % of the variance between runs"
        return f"{share}: more steps per run help" if self.step_share > 0.5 else f"{share}: more runs help, more steps do not"


def components(runs: Sequence[ArrayLike]) -> Components | None:
    """The components of variance of the step times of several runs, each of shape (steps,) and in order.

    The variance of a run's mean is estimated from the means of at most twenty batches of its steps, so that
    autocorrelation counts (Law & Kelton 2000, section 9.5.3), then averaged over the runs and compared with the variance
    of the run means (ddof 1). None for fewer than two runs with four steps, a value that is not finite, or a mean of 0.
    A share from a few runs is rough: with five, by a factor of two.
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
    length = float(np.mean([len(run) for run in series]))
    spread = math.sqrt(steps) / centre
    return Components(len(series), math.sqrt(max(0.0, between - steps)) / centre, spread, share, spread * math.sqrt(length))


def steps_per_run(run_cost: float, step_cost: float, run_spread: float, one_step: float) -> int | None:
    """The number of steps per run that is cheapest for a given precision: ⌈√(c_run/c_step · S_step²/S_run²)⌉, at least 1.

    ``run_cost``: what a run costs before its first counted step, in the unit of ``step_cost`` (seconds).
    None where the runs do not differ: then one long run is cheapest. Raises ValueError for costs that are not positive.
    """
    if run_cost <= 0 or step_cost <= 0:
        raise ValueError(f"costs are positive, not {run_cost!r} and {step_cost!r}")
    if run_spread <= 0:
        return None
    return max(1, math.ceil(math.sqrt(run_cost / step_cost) * one_step / run_spread))


def _variance_of_mean(run: NDArray[np.float64]) -> float:
    batches = max(2, min(_BATCHES, len(run) // 2))
    size = len(run) // batches
    means = run[len(run) - batches * size :].reshape(batches, size).mean(axis=1)
    return float(means.var(ddof=1)) / batches
