"""A trend inside a window: clocks that fall as the chip warms, memory that fills.

The Theil–Sen slope (Sen 1968) over at most twenty batch medians with its interval: robust to checkpoints, quick for a
million steps, and batches of many steps are nearly independent where single steps are not.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from perflog.stats.arrays import middle

#: Batches whose medians the slope is of, as many as :mod:`perflog.stats.components` has: 190 pairs to look at.
BATCHES = 20
#: Without so many measurements a trend is not looked for: the normal approximation in Sen's interval
#: holds from ten values on (Kendall 1975; Gilbert 1987, section 16.4).
LEAST = 10
#: The level of the slope's interval: a case has five runs or more on each side, and at 95 % one in twenty of them
#: would have a note by chance.
LEVEL = 0.99
#: A change over the window below this share is no drift worth a note: half of the verdict's margin.
SMALLEST = 0.01


@dataclass(frozen=True, slots=True)
class Drift:
    """``change``: how much the values change over the window, as a share of their median, with its interval.

    ``drifts``: the interval leaves out 0 and the change is large enough to matter. None with a ``reason`` where it
    cannot be said.
    """

    change: float | None
    low: float | None = None
    high: float | None = None
    drifts: bool = False
    reason: str = ""


def drift(values: ArrayLike) -> Drift:
    """The trend of a series of measurements, shape (n,), in order and of equal weight, in any unit.

    The interval of the slope is Sen's, the inversion of the Mann–Kendall trend test, at
    99 %. Needs ten finite
    values with a median that is not 0.
    """
    series = np.asarray(values, dtype=float)
    if len(series) < LEAST:
        return Drift(None, reason=f"{len(series)} measurement{'' if len(series) == 1 else 's'}, a trend needs {LEAST}")
    if not np.isfinite(series).all():
        return Drift(None, reason="a measurement is not a finite number")
    centre = float(middle(series))
    if not centre:
        return Drift(None, reason="the median is 0")
    count = min(BATCHES, len(series))
    borders = np.linspace(0, len(series), count + 1).astype(int)
    medians = np.array([middle(series[a:b]) for a, b in itertools.pairwise(borders)])
    if np.ptp(medians) == 0:
        return Drift(0.0, 0.0, 0.0)
    from scipy.stats import theilslopes

    # From the middle of the first batch to that of the last is count − 1 batches; the window is count batches long.
    slope = theilslopes(medians, alpha=LEVEL)
    change, low, high = (float(v) * count / abs(centre) for v in (slope.slope, slope.low_slope, slope.high_slope))
    return Drift(change, low, high, drifts=(low > 0 or high < 0) and abs(change) >= SMALLEST)
