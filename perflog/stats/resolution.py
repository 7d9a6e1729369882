"""What rounding in print does to a mean.

A time printed as 0.12 s stands for anything from 0.115 to 0.125. Where the values spread over several printed steps
the errors cancel; where they do not, all carry the same error, and no number of steps removes it.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

#: Printed measurements have rarely more decimals than six; a number that has was computed.
_MOST_DECIMALS = 6
#: Binary fractions of decimal numbers are off by 1e-16 of their size; products of two such, by far less than this.
_ROUNDING = 1e-9
#: Where two neighbouring printed steps hold this share of the values, their deviation cannot be told from the print: a
#: normal deviation of half a step, centred on the border between the two, has 95 % of its values in them.
_TWO_STEPS = 0.95


class Resolution(Struct, frozen=True):
    """``quantum``: the printed step, in the unit of the values; ``bias``: the most that rounding can have moved their
    mean, as a share of it; ``dominates``: that is more than the half-width of the interval.
    """

    quantum: float
    bias: float
    dominates: bool


def printed_quantum(values: ArrayLike) -> float | None:
    """The step in which values were printed: the power of ten, at most 1, of which all are multiples.

    None for no values, one that is not finite, or more than six decimals (a computed number, not a printed one).
    """
    series = np.asarray(values, dtype=float)
    if not series.size or not np.isfinite(series).all():
        return None
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = series * 10.0**decimals
        if np.all(np.abs(scaled - np.rint(scaled)) <= _ROUNDING * np.maximum(np.abs(scaled), 1.0)):
            return 10.0**-decimals
    return None


def rounding_bias(quantum: float, deviation: float) -> float:
    """The largest error of a mean of rounded values with the standard ``deviation`` given, all in one unit.

    The Fourier series of the mean error (Widrow & Kollár 2008): Σ q/(πk) exp(−2π²k²s²/q²), at most q/2. So
    0.7 % of q is left where s is 0.4 q, and nothing that matters beyond.
    """
    if quantum <= 0:
        return 0.0
    wide = 2 * (math.pi * deviation / quantum) ** 2
    return min(quantum / 2, quantum / math.pi * math.fsum(math.exp(-wide * k * k) / k for k in range(1, 9)))


def resolution(values: ArrayLike, half_width: float) -> Resolution | None:
    """Whether rounding may matter more than the spread, for the printed values of a window, shape (n,).

    ``half_width``: of the interval this mean goes into, as a share. The printed step is read off the values; None where
    it cannot be, or the mean is 0.

    Where 95 % of the values are printed as one of two neighbouring steps, a share p as the upper one, the values may
    lie anywhere about the border between the two; for symmetric noise their printed mean is off by at most q |p − ½|.
    Else :func:`rounding_bias`, with the spread of the printed values less that of the rounding, q²/12 (Sheppard 1898).

    A rule that compares half the quantum with the half-width would also warn where the values spread over several
    steps of the print and nothing is lost: 0.124 s ± 5 % printed with two decimals has no bias, ± 1 % has −1.5 %.
    """
    series = np.asarray(values, dtype=float)
    quantum = printed_quantum(series)
    if quantum is None:
        return None
    centre = abs(float(series.mean()))
    if not centre:
        return None
    bias = _two_step_bias(series, quantum)
    if bias is None:
        bias = rounding_bias(quantum, math.sqrt(max(0.0, float(series.var()) - quantum * quantum / 12)))
    return Resolution(quantum, bias / centre, bias / centre > half_width)


def _two_step_bias(series: NDArray[np.float64], quantum: float) -> float | None:
    """The bound for values in two neighbouring steps; None where they spread over more."""
    steps, counts = np.unique(np.rint(series / quantum), return_counts=True)
    upper = np.where(np.diff(steps, append=np.inf) == 1, np.append(counts[1:], 0), 0)
    pairs = counts + upper
    fullest = int(pairs.argmax())
    if pairs[fullest] < _TWO_STEPS * series.size:
        return None
    return quantum * abs(float(upper[fullest] / pairs[fullest]) - 0.5)
