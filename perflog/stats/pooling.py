"""The noise of one side of a table: each row's own variance, moderated by the variances of all of its rows.

Five runs know their own variance badly: the estimate is half or twice the truth as often as not. The rows of one
table were measured in one way, so their variances are alike, and how much alike is itself in the data. The moderated
variance (Smyth 2004, sections 4 and 6.2) is (d₀ s₀² + d s²) / (d₀ + d): s² with d degrees of freedom is the row's own,
s₀² is that of all rows, and d₀ is large where the rows' variances differ no more than chance makes them differ, and
near 0 where every row has a noise of its own. Below :data:`LEAST_PRIOR` each row stands for itself.

The floor is a second, stricter noise: the upper quartile of the rows' variances. A row whose runs all fell into one of
two states of the machine shows hardly any variance; the other rows of its table show what the states do. It counts only
where they show them (:func:`perflog.stats.states.shows_states`): else the noisiest quarter of a table would hide every
change in its quiet rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: The fewest samples whose variances say what they have in common: the spread of three variances is unknown itself.
LEAST_SAMPLES = 4
#: With fewer degrees of freedom in common than a sample of five has of its own the rows say nothing of each other's
#: noise: what little they would add makes the tails of four or five evenly spread runs too thin
#: (``python -m tests.tools.simulate_tables --part unlike``).
LEAST_PRIOR = 4.0
#: The quantile of the rows' variances that is the floor: chosen by ``python -m tests.tools.simulate_tables``, whose
#: table of methods has what the median, the upper quartile and the mean cost and guard against.
FLOOR_QUANTILE = 0.75
#: More degrees of freedom change no interval: Student's t with 1000 of them is the normal distribution within 0.4 %.
_MOST_FREEDOM = 1000.0
#: A smaller excess of the variances' variance over that of chance means "alike", at the most degrees of freedom.
_LEAST_EXCESS = 2.0 / _MOST_FREEDOM

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SideNoise:
    """The noise of the samples of one side, each an array of shape (samples,).

    Attributes:
        variances: the moderated variances of one run's logarithm.
        freedoms: their degrees of freedom.
        floors: the variance that each sample is not trusted to be below; None with fewer than four samples.
        floor_freedom: its degrees of freedom.
    """

    variances: Floats
    freedoms: Floats
    floors: Floats | None
    floor_freedom: float


def side_noise(variances: Sequence[float], freedoms: Sequence[int]) -> SideNoise:
    """The noise of one side from the variances of its samples.

    Args:
        variances: of the logarithms of each sample's runs (ddof 1), all above 0.
        freedoms: the degrees of freedom of each, at least 1.
    """
    own, freedom = np.asarray(variances, dtype=float), np.asarray(freedoms, dtype=float)
    if len(own) < LEAST_SAMPLES:
        return SideNoise(own, freedom, None, 0.0)
    from scipy.special import chdtri

    common, prior = _prior(own, freedom)
    prior = prior if prior >= LEAST_PRIOR else 0.0
    moderated = (prior * common + freedom * own) / (prior + freedom)
    scale = chdtri(freedom, 1 - FLOOR_QUANTILE) / freedom  # the quantile of a sample's variance whose true one is 1
    floor = float(np.quantile(own / scale, FLOOR_QUANTILE))
    # all rows together know their variance no better than their runs, however alike they seem to be
    freedoms_known = np.minimum(freedom + prior, freedom.sum())
    return SideNoise(moderated, freedoms_known, np.full(len(own), floor), float(freedom.sum()) / 2)


def _prior(variances: Floats, freedoms: Floats) -> tuple[float, float]:
    """The common variance s₀² and its degrees of freedom d₀, from the moments of the log variances (Smyth 2004)."""
    from scipy.special import digamma, polygamma

    centred = np.log(variances) - digamma(freedoms / 2) + np.log(freedoms / 2)
    excess = float(centred.var(ddof=1) - polygamma(1, freedoms / 2).mean())
    prior = _MOST_FREEDOM if excess <= _LEAST_EXCESS else min(_MOST_FREEDOM, 2 * _inverse_trigamma(excess))
    return float(np.exp(centred.mean() + digamma(prior / 2) - np.log(prior / 2))), prior


def _inverse_trigamma(value: float) -> float:
    """The x with trigamma(x) = value, by Newton's method on 1 / trigamma, which is convex (Smyth 2004, appendix)."""
    from scipy.special import polygamma

    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-10 * x:
            break
    return x
