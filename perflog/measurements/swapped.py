"""A running mean and the last step's time on one line, printed the other way round than a format prints them."""

from __future__ import annotations

import numpy as np

from perflog.formats.parser import Pattern, Value
from perflog.measurements.basis import FINER, Basis
from perflog.measurements.rows import Columns, Floats, Ints
from perflog.stats.arrays import middle
from perflog.stats.resolution import printed_quantum

#: With fewer intervals nothing is known of how they scatter.
LEAST = 8
#: The intervals between means scatter so many times as much where they are differences of single steps.
SCATTER = 4.0
#: A mean and single steps differ by less than this factor.
ALIKE = 2.0
#: With fewer epochs nothing is known of how their first intervals differ from the others.
LEAST_EPOCHS = 3
#: An effect of less than this share of an interval is no evidence: no number would be wrong by as much.
LEAST_EFFECT = 0.02


def twin(pattern: Pattern, basis: Basis, columns: Columns) -> Value | None:
    """The last step's time beside the running mean that is measured; None where there is none."""
    mean = basis.value
    if mean.span != "cumulative" or mean.quantity != "step_time":
        return None
    return next(
        (v for v in pattern.values if v.span == "last" and v.quantity == mean.quantity and v.group in columns), None
    )


def are_swapped(mean: Floats, last: Floats, counted: Floats, epoch: Ints) -> bool:
    """Whether what is to be a running mean moves like single steps, and what is to be these like a running mean.

    The time since the line before follows from two means; taken from two single steps it scatters the more the more
    steps were counted. Digits that were rounded off scatter so too, and are allowed for. Where neither scatters clearly
    more than the other, the first step of an epoch decides: it is slow, so that the first interval between single steps
    seems short in each epoch.

    Args:
        mean, last: as printed, (n,).
        counted: the steps in each mean, (n,); ``epoch``: how many epochs began before, (n,).
    """
    inner = np.flatnonzero((np.diff(epoch) == 0) & (np.diff(counted) > 0) & (counted[:-1] > 0))
    if len(inner) < LEAST:
        return False
    between = counted[inner + 1] - counted[inner]
    of_means, of_steps = (
        (column[inner + 1] * counted[inner + 1] - column[inner] * counted[inner]) / between for column in (mean, last)
    )
    if not np.isfinite(of_means).all() or not np.isfinite(of_steps).all():
        return False
    if not middle(last) / ALIKE < middle(mean) < ALIKE * middle(last):  # a sum, say
        return False
    rounding = (printed_quantum(mean) or FINER) * counted[inner] / between
    hidden, least = float(middle(rounding)), LEAST_EFFECT * float(middle(mean))
    by_means, by_steps = _scatter(of_means), _scatter(of_steps)
    if by_means > max(SCATTER * (by_steps + hidden), least):
        return True
    if by_steps > SCATTER * (by_means + hidden):
        return False
    first = np.append(True, np.diff(epoch[inner]) > 0)
    if first.sum() < LEAST_EPOCHS:
        return False
    low, other = (float(middle(times[first])) - float(middle(times)) for times in (of_means, of_steps))
    return -low > max(SCATTER * (abs(other) + float(middle(rounding[first]))), least)


def _scatter(values: Floats) -> float:
    return float(middle(np.abs(values - middle(values))))
