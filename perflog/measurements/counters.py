"""Steps from counters that do not print them as they are: counters of samples, and steps in whole thousands."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perflog.measurements.rows import Floats, Mask, shifted

#: A count of samples is a whole number of steps within this much of one.
EXACT = 1e-6
#: A log that prints each interval may lack up to this share of its lines: they are lost, and what is lost is said.
MOST_MISSING = 0.05
#: A record is whole when its work of a step is at least this share of the usual one.
WHOLE = 0.999


class Counter(NamedTuple):
    """Where a rounded counter stands: the step of its last row, the steps between two rows, 0 while unknown.

    ``exact``: whether the counter began with a number that was not rounded; ``rows``: how many were printed, ``lost``:
    how many between them were not.
    """

    step: float = 0.0
    interval: float = 0.0
    exact: bool = False
    rows: int = 0
    lost: int = 0


NOTHING_COUNTED = Counter()


class Works(NamedTuple):
    """The work of a step that rows printed so far: the most, on how many rows since it came up, and all rows."""

    most: float = 0.0
    at_most: int = 0
    rows: int = 0


NO_WORKS = Works()


def whole_records(work: Floats, before: Works) -> tuple[Mask, Works]:
    """(which rows are means over as many steps as the others, (n,), the works after them).

    A line of fewer steps than the interval divides by the interval all the same, so that its work of a step is too
    small. It is known where at least half of the rows so far, two or more, print the most: batches of different size
    do not.
    """
    known = np.nan_to_num(work)
    most = np.maximum(np.maximum.accumulate(known), before.most)
    usual = known >= WHOLE * most
    anew = most > shifted(most, before.most)
    so_far = np.cumsum(usual)
    begun = np.maximum.accumulate(np.where(anew, so_far - 1, -1))
    at_most = np.where(begun >= 0, so_far - begun, before.at_most + so_far)
    rows = before.rows + np.arange(1, len(work) + 1)
    whole = usual | (known == 0) | (at_most < 2) | (2 * at_most < rows)
    return whole, Works(float(most[-1]), int(at_most[-1]), int(rows[-1]))


def unrounded(printed: Floats, before: Counter, interval: float | None) -> tuple[Floats, Counter, int]:
    """(the step at each row (n,), the counter after them, the first row that the interval does not fit, -1 for none).

    From 1,000 on the counter is printed in whole thousands, from 1,000,000 on in whole millions: each row is one
    interval behind the one before it, and what is printed must be that, rounded. Where it is not, but one interval more
    is, a line is lost.

    Args:
        printed: the counter as it is printed, (n,).
        before: where it stood before the first row.
        interval: the steps between two rows as the log's settings say, None where they do not.
    """
    unit = np.where(printed < 1000, 1.0, 1000.0 ** np.floor(np.log10(np.maximum(printed, 1.0)) / 3 + EXACT))
    between = before.interval or interval or _between(printed, unit)
    whole = np.flatnonzero(unit == 1)
    if len(whole) == len(printed):
        return printed, Counter(float(printed[-1]), between, True, before.rows + len(printed), before.lost), -1
    place = np.arange(len(printed))
    last = np.maximum.accumulate(np.where(unit == 1, place, -1))
    first = before.step + between if before.step else _nearest(float(printed[0]), between)
    behind = np.where(last >= 0, printed[np.maximum(last, 0)] + between * (place - last), first + between * place)
    began_exactly = before.exact or bool(unit[0] == 1)
    slack = unit / 2 * (1 if began_exactly else 2)
    steps = np.where(unit == 1, printed, behind)
    wrong, lost = _without_lost(steps, printed, slack, before._replace(interval=between))
    after = Counter(float(steps[-1]), between, began_exactly, before.rows + len(printed), lost)
    return steps, after, int(wrong[0]) if len(wrong) else -1


def _without_lost(steps: Floats, printed: Floats, slack: Floats, before: Counter) -> tuple[NDArray[np.intp], int]:
    """(the rows that no interval fits, (k,); the lost lines so far): ``steps`` are moved on where a line is lost."""
    lost, interval = before.lost, before.interval
    while True:
        wrong = np.flatnonzero((np.abs(steps - printed) > slack) | (interval <= 0))
        many = not len(wrong) or lost + 1 > MOST_MISSING * (before.rows + int(wrong[0]))
        if many or interval <= 0 or abs(steps[wrong[0]] + interval - printed[wrong[0]]) > slack[wrong[0]]:
            return wrong, lost
        steps[wrong[0] :] += interval
        lost += 1


def _between(printed: Floats, unit: Floats) -> float:
    """The steps between the first two rows, where neither is rounded; else 0."""
    return float(printed[1] - printed[0]) if len(printed) > 1 and unit[1] == 1 else 0.0


def _nearest(step: float, between: float) -> float:
    return round(step / between) * between if between else step


def steps_from_counter(counter: Floats, epoch: Floats | None, step_work: float | None) -> tuple[Floats | None, float]:
    """(the step at each row (n,), None where none can be told; the samples in a step, 0 where unknown).

    Args:
        counter: samples of the whole job so far, since the run or each epoch began, (n,).
        epoch: the printed epoch, (n,); None where none is printed.
        step_work: what is known of a step's samples. Else the first row tells it, where it may be of one step.
    """
    for work in (step_work, _work_of_first(counter, epoch)):
        if work and bool((np.abs(counter / work - np.rint(counter / work)) < EXACT)[np.isfinite(counter)].all()):
            return np.rint(counter / work), float(work)
    return None, 0.0


def _work_of_first(counter: Floats, epoch: Floats | None) -> float:
    """The samples of one step, where the first row may be of one step: none is smaller, nor any distance; else 0."""
    same = np.ones(len(counter) - 1, dtype=bool) if epoch is None else epoch[1:] == epoch[:-1]
    distances = np.diff(counter)[same]
    first = float(counter[0]) if len(counter) else 0.0
    rising = len(distances) > 0 and bool((distances >= first).all())
    return first if rising else 0.0
