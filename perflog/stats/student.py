"""Quantiles of Student's t distribution, without the half second that importing SciPy takes in the main job."""

from __future__ import annotations

import math

#: Terms of the continued fraction: it converges in O(√max(a, b)) of them; beyond so many the fraction is given up.
_MOST_TERMS = 10_000
#: Where the continued fraction and Newton's method end, relative to the value.
_PRECISE = 1e-14
_TINY = 1e-300
#: Newton's steps from the normal quantile: five reach the last digit from three degrees of freedom on.
_MOST_STEPS = 60


def t_quantile(probability: float, freedom: float) -> float:
    """The t with P(T ≤ t) = ``probability``, by Newton's method on the distribution function.

    Args:
        probability: from 0.5 up to, but without, 1.
        freedom: the degrees of freedom, 1 or more, not necessarily a whole number.

    Raises:
        ValueError: for a probability or degrees of freedom outside their ranges.
    """
    if not 0.5 <= probability < 1 or not freedom >= 1:
        raise ValueError(f"no quantile of Student's t: probability {probability!r}, degrees of freedom {freedom!r}")
    from statistics import NormalDist  # it imports fractions and decimal, and most logs have no speedup

    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    t = NormalDist().inv_cdf(probability)
    for _ in range(_MOST_STEPS):
        density = math.exp(log_scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        # Above the median the distribution function is concave: from the left no step leads beyond the root.
        step = (probability - t_cdf(t, freedom)) / density
        t += step
        if abs(step) <= _PRECISE * max(t, 1.0):
            break
    return t


def t_cdf(t: float, freedom: float) -> float:
    """P(T ≤ t) for t ≥ 0, by the incomplete beta function (Abramowitz & Stegun 26.7.1)."""
    if t * t < freedom:  # the part of 1 that is small is the one that is computed
        return 0.5 + incomplete_beta(0.5, freedom / 2, t * t / (freedom + t * t)) / 2
    return 1 - incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), x from 0 to 1 (Numerical Recipes, 3rd ed., section 6.4)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )  # fmt: skip
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b), by Lentz's method."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):  # as _away_from_zero does: a call would take half of the time of very many cases
            d, c = 1 + term * d, 1 + term / c
            d, c = 1 / (d if abs(d) > _TINY else _TINY), c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1) < _PRECISE:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
