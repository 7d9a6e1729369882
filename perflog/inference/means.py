"""Whether a number of lines that tell no moment is one of single steps or a mean since the beginning, by how it moves.

Where both are possible they must give the same number; where it can be only one of them, that is what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from perflog.inference.measures import Meaning
from perflog.inference.series import SAME, Series, counted_steps
from perflog.measurements.rows import Floats
from perflog.stats.arrays import middle
from perflog.stats.resolution import printed_quantum

#: Readings that are all possible must give numbers that are as near.
AGREE = 0.01
#: A sum that is so much more than its usual terms say is ruled by a few of them.
RULED = 0.05
#: A step takes at most so many times as long as usual, or holds something else; more moves than that share of the lines
#: make are those of single steps.
FARTHEST, MOST_MOVES = 2.0, 0.2
#: Where digits may hide so much of the time between two lines, no line can be told from a mean by it.
ROUGH = 0.3
#: The intervals between means scatter so many times as much where they are differences of single steps.
SCATTER, LEAST_SCATTER = 3.0, 0.03
#: Of fewer lines a mean is what the lines are.
LEAST_OF_MEAN = 4
#: On such a share of the lines a step follows from two means; of steps of which few are printed the middle is as near.
MOST_AS_MEAN, FAR_MEAN = 0.95, 0.3
#: Numbers that move by so much in all, on a way that is hardly longer, are smoothed.
LEAST_NET, STRAIGHT = 0.03, 1.2
#: Of so many short epochs, and more than half, the numbers are no means.
LEAST_EPOCHS = 3
#: A mean since the beginning is known by so many lines that move by this share in all, each within this much of its way
#: and its digits, and within this share of how far they move; and by so many times the digits. One that moves by
#: ``LEAST_MOVE`` is none of the numbers beside it.
LEAST_MOVING, LEAST_BEND, MOST_OFF, MOST_OF_BEND, FAR_BEYOND, LEAST_MOVE = 10, 0.05, 0.02, 0.1, 3, 0.2


#: The steps that are done, the numbers, the seconds of a step: of each line of an epoch, (n,).
_Part = tuple[Floats, Floats, Floats]


def is_one_number(series: Series, meaning: Meaning) -> bool:
    """Whether a number gives the same under every reading that its line allows: of single steps, or a running mean."""
    values = series.table.column(meaning.place).values
    if is_smoothed(values) and not series.falls:
        return False
    of_training = np.append(True, np.isfinite(series.between) | series.fallen)
    if series.every > 1 and _is_ruled(_seconds(values, meaning)[of_training]):
        return False
    return is_as_of_no_mean(series, meaning)


def is_as_of_no_mean(series: Series, meaning: Meaning) -> bool:
    """Whether a number gives the same where it is a running mean, or is none; what it is in one epoch it is in all."""
    values = series.table.column(meaning.place).values
    parts = [part for part in map(_known, _parts(series, values, meaning)) if len(part[0]) >= LEAST_OF_MEAN]
    no_means = [_is_no_mean(part) for part in parts]
    if any(
        _is_impossible(part) or (no and len(part[0]) >= LEAST_MOVING) for part, no in zip(parts, no_means, strict=True)
    ):
        return True
    if sum(no_means) >= LEAST_EPOCHS and 2 * sum(no_means) > len(parts):
        return True
    return all(no or _is_same_as_mean(part) for part, no in zip(parts, no_means, strict=True))


def _is_ruled(seconds: Floats) -> bool:
    """Whether a few of the times rule their sum: of single steps they would stand for many that took no such time."""
    known = seconds[np.isfinite(seconds)]
    late = known[len(known) // 4 :]
    return len(late) > 0 and abs(float(np.mean(late)) / float(middle(late)) - 1) > RULED


def _seconds(values: Floats, meaning: Meaning) -> Floats:
    return np.asarray(1.0 / values if meaning.kind == "rate" else values)


def _parts(series: Series, values: Floats, meaning: Meaning) -> Iterator[_Part]:
    """The parts of a table: of each epoch, or of all where none begins."""
    counted = counted_steps(series)
    for part in _epochs(series):
        yield counted[part], values[part], _seconds(values[part], meaning)


def _epochs(series: Series) -> list[slice]:
    """The rows of each epoch, or all where none begins."""
    edges = [0, *(np.flatnonzero(series.fallen) + 1).tolist(), len(series.step)]
    return [slice(begin, end) for begin, end in pairwise(edges)]


def _known(part: _Part) -> _Part:
    counted, values, seconds = part
    known = np.isfinite(seconds) & (seconds > 0)
    return counted[known], values[known], seconds[known]


def _is_no_mean(part: _Part) -> bool:
    """Whether times can be no mean since the beginning.

    Of a running mean the times between two lines follow; taken from single steps these scatter far more than the lines
    themselves, or fall below nothing.
    """
    if _is_impossible(part):
        return True
    counted, values, seconds = part
    between = np.diff(counted * seconds) / np.diff(counted)
    digit = _digit_of(values)
    moved, usual = np.abs(np.diff(seconds)), float(middle(seconds))
    able = FARTHEST * np.diff(counted) / counted[1:] + digit  # a mean moves by no more than the share of the new steps
    late = slice(len(moved) // 2, None)
    if float((moved[late] > usual * able[late]).mean()) > MOST_MOVES:
        return True
    rough = digit * counted[-1] / float(np.diff(counted).max())
    late = slice(len(between) // 4, None)
    spread = _spread(between[late])
    scatters = spread > LEAST_SCATTER and spread > SCATTER * max(_spread(seconds[late]), 1e-4)
    return rough < ROUGH and bool((between[late] <= 0).any() or scatters)


def _is_same_as_mean(part: _Part) -> bool:
    """Whether times give the same number where they are a mean since the beginning, and where they are single steps."""
    counted, values, seconds = part
    same = max(AGREE, min(_digit_of(values), SAME))
    for first in {min(2, len(counted) // 4), len(counted) // 4}:  # behind a short warm-up, and behind a long one
        by_means = float((counted[-1] * seconds[-1] - counted[first] * seconds[first]) / (counted[-1] - counted[first]))
        if abs(by_means / float(np.mean(seconds[first:])) - 1) > same:
            return False
    return True


def _digit_of(values: Floats) -> float:
    """What the last digit of numbers may hide, as a share of the usual one."""
    return (printed_quantum(values) or 0.0) / float(middle(values))


def _is_impossible(part: _Part) -> bool:
    """Whether something of less than nothing would stand between two lines, were they means of times or of rates."""
    counted, values, seconds = part
    hidden = (printed_quantum(values) or 0.0) / values
    return _falls_below(counted, seconds, hidden) and _falls_below(counted, values, hidden)


def _falls_below(counted: Floats, means: Floats, hidden: Floats) -> bool:
    """Whether something of less than nothing would stand between two means, if they began with the first of them.

    Args:
        hidden: what the digits may hide of each, as a share, (n,).
    """
    totals = (counted - counted[0] + (counted[1] - counted[0])) * means
    slack = totals * hidden
    return bool((np.diff(totals) < -(slack[1:] + slack[:-1])).any())


def moves_as_mean(series: Series, meaning: Meaning) -> bool:
    """Whether numbers can be nothing but a mean since the beginning: they fall, or rise, along ``a + b / steps``.

    So does the mean of steps that are alike behind a slow first one; numbers of single steps or of single intervals
    scatter around one, and smoothed ones go there exponentially.
    """
    values = series.table.column(meaning.place).values
    moves = [_mean_moves(*part) for part in _parts(series, values, meaning) if len(part[0]) >= LEAST_MOVING]
    return any(moves) and all(moved is not None for moved in moves)


def _mean_moves(counted: Floats, values: Floats, seconds: Floats) -> bool | None:
    """Whether the times of a step move along ``a + b / steps`` behind the first tenth; None where they go elsewhere."""
    late = slice(len(seconds) // 10, None)
    known = np.isfinite(seconds[late]) & (seconds[late] > 0) & (counted[late] > 0)
    counted, values, seconds = counted[late][known], values[late][known], seconds[late][known]
    if len(seconds) < LEAST_MOVING - 1:
        return None
    slope, level = _line_through(1 / counted, seconds, 1 / seconds**2)
    off = np.abs((level + slope / counted) / seconds - 1)
    digit = (printed_quantum(values) or 0.0) / values
    if not level > 0 or not bool((off <= digit + MOST_OFF).all()):
        return None
    moved = float(seconds.max() / seconds.min()) - 1
    off_by = float((off - digit).max())
    return moved >= LEAST_BEND and off_by <= MOST_OF_BEND * moved and moved > FAR_BEYOND * float(digit.max())


def _line_through(places: Floats, values: Floats, weights: Floats) -> tuple[float, float]:
    """(slope, level) of the straight line of least weighted squares; NaN where all places are one, so that there is
    none.
    """
    centre, middle_value = (float((weights * one).sum() / weights.sum()) for one in (places, values))
    off = places - centre
    spread = float((weights * off**2).sum())
    slope = float((weights * off * (values - middle_value)).sum()) / spread if spread > 0 else float("nan")
    return slope, middle_value - slope * centre


def is_mean_of(series: Series, mean: Floats, own: Floats) -> bool:
    """Whether numbers are the mean, since the beginning of the epoch or the run, of others that stand beside them.

    Where every line is printed each step follows from two means; where one in several is, the two are one number at the
    first step, and what lies between two means is as the steps are that are printed.
    """
    counted = counted_steps(series)
    checks = [_check_mean(counted[part], mean[part], own[part]) for part in _epochs(series)]
    known = [check for check in checks if check is not None]
    return bool(known) and all(known)


def _check_mean(counted: Floats, mean: Floats, own: Floats) -> bool | None:
    """Whether the means of an epoch are those of single steps beside them; None where too few lines tell it."""
    if len(mean) < LEAST_OF_MEAN or not (np.isfinite(mean).all() and np.isfinite(own).all() and (own > 0).all()):
        return None
    between = np.diff(counted * mean) / np.diff(counted)
    hidden = (printed_quantum(mean) or 0.0) * counted[1:] / np.diff(counted) + (printed_quantum(own) or 0.0)
    if (between < -hidden).any():
        return False
    if (np.diff(counted) == 1).all():
        return bool((np.abs(between - own[1:]) <= hidden).mean() >= MOST_AS_MEAN)
    is_begun = counted[0] == 1 and abs(mean[0] - own[0]) <= (printed_quantum(mean) or 0.0) * 1.01
    usual = float(middle(own[1:]))
    if is_begun:
        return abs(float(middle(between)) / usual - 1) <= FAR_MEAN
    # the first step is not printed: what lies between two means is as the steps are, where the mean itself is not yet;
    # where it is the number on the line, the mean is one of the lines, and whether that is a step's alone is not known
    if (np.abs(between - own[1:]) <= hidden).mean() >= MOST_AS_MEAN:
        return False
    moved = float(mean.max() / mean.min()) - 1
    alike = abs(float(middle(between)) / usual - 1) <= SAME and bool(
        (np.abs(between / usual - 1) <= FAR_MEAN + hidden / usual).mean() >= MOST_AS_MEAN
    )
    return alike and moved >= LEAST_MOVE


def is_smoothed(values: Floats) -> bool:
    """Whether numbers go on without turning back behind the first quarter: single steps or intervals would scatter."""
    known = values[np.isfinite(values)]
    known = known[len(known) // 4 :]
    net, way = abs(known[-1] - known[0]) if len(known) else 0.0, float(np.abs(np.diff(known)).sum())
    return len(known) >= LEAST_MOVING and net >= LEAST_NET * float(middle(known)) and way <= STRAIGHT * net


def _spread(numbers: Floats) -> float:
    centre = float(middle(numbers))
    return float(middle(np.abs(numbers - centre))) / abs(centre) if centre else float("inf")
