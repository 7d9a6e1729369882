"""Records of several processes in one log without tags: the first ones of each step are a lane, the second ones too.

Ranks that train together wait for each other, so that each step's records stand near each other, one of each rank.
Which rank a record is of is not known, and no lane is a rank; but each step's slowest record is the job's. So a step
counts where it has as many records as the others, and whether these are the ranks is decided where the number of
devices is known (:mod:`perflog.runs.throughput`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from perflog.formats.parser import Pattern, once_a_pattern
from perflog.measurements.basis import Basis
from perflog.measurements.rows import Floats, Ints, Mask, Rows, Store, shifted

#: No rank prints so many records more than another one while both train together.
MOST_AHEAD = 4
#: No log has the lines of more ranks.
MOST_RANKS = 1024
#: With fewer steps one run behind another one would not be told from two ranks.
LEAST_STEPS = MOST_AHEAD + 2
#: Steps that lack a record, by lost lines or at the log's end: at most so many and this share, or this share of many.
FEW_LACKING, SHARE_LACKING, SHARE_OF_MANY = 2, 0.2, 0.02
#: Ranks that wait for each other do not differ so much, in the middle one of all steps.
UNLIKE = 1.5
#: An epoch and a step as one number: both are whole in 53 bits.
_STEPS = float(1 << 31)


class Blend(NamedTuple):
    """A segment whose steps have several records each: how many, and what is said where they are not the ranks'."""

    records: int
    reason: str


class Lane(Struct):
    """The k-th records of each step: the last one's key, and line and key of each."""

    last: float = -np.inf
    lines: list[Ints] = field(default_factory=list)
    keys: list[Floats] = field(default_factory=list)

    def takes(self, keys: Floats) -> Mask:
        """Which records come behind all before them in the lane, (n,)."""
        return np.asarray(keys > shifted(np.maximum.accumulate(np.concatenate(([self.last], keys)))[1:], self.last))

    def add(self, lines: Ints, keys: Floats) -> None:
        self.last = float(keys[-1])
        self.lines.append(lines)
        self.keys.append(keys)


@once_a_pattern
def may_blend(pattern: Pattern) -> bool:
    """Whether a pattern's records, each on a line of its own with its step, can be told apart by their steps."""
    counted = pattern.step_counts == "samples" or pattern.step_rounded or pattern.step_repeats or pattern.ends_epoch
    return not (counted or pattern.restarts or pattern.redrawn or pattern.position_once or pattern.block)


def keys_of(pattern: Pattern, rows: Rows) -> Floats | None:
    """A number for each record that is greater for a later step, (n,); None where a line does not name its step."""
    step = rows.columns.get("step")
    if step is None or not ((step >= 0) & (step < _STEPS)).all():
        return None
    if pattern.step_per != "epoch" or "epoch" not in rows.columns:
        return step
    epoch = rows.columns["epoch"]
    if not ((epoch >= 0) & (epoch < 1 << 22)).all():
        return None
    return epoch * _STEPS + step


def first_far_behind(lane: Lane, keys: Floats) -> int:
    """The place of the first record that is too far behind the first lane to be of the same job; -1 for none."""
    own = lane.takes(keys)
    recent = np.concatenate([*lane.keys[-2 * MOST_AHEAD :], keys[own]])
    came = len(recent) - int(own.sum()) + np.cumsum(own)
    far = ~own & (came - 1 - np.searchsorted(recent, keys) > MOST_AHEAD)
    return int(np.argmax(far)) if far.any() else -1


def can_be_compared(basis: Basis | None) -> bool:
    """Whether a record's number stands for itself: the difference of two ranks' means or clocks means nothing."""
    return basis is not None and not basis.value.is_clock and basis.value.span != "cumulative"


def lacking(lanes: Sequence[Lane]) -> tuple[Floats, int]:
    """(the keys of the steps that have a record in each lane, in order; how many steps have not)."""
    keys, records = np.unique(np.concatenate([key for lane in lanes for key in lane.keys]), return_counts=True)
    whole = keys[records == len(lanes)]
    return whole, len(keys) - len(whole)


def is_regular(steps: int, without: int) -> bool:
    """Whether nearly all steps have as many records as there are lanes."""
    few = min(FEW_LACKING, SHARE_LACKING * (steps + without))
    return steps >= LEAST_STEPS and without <= max(few, SHARE_OF_MANY * (steps + without))


def slowest(lanes: Sequence[Lane], stores: Sequence[Store], keys: Floats) -> Store:
    """Of each step the measurement that took longest; steps that a lane has no usable measurement of are left out.

    The place in the run is the first lane's. Nothing is left where the lanes' times are too unlike to be of one job.
    """
    first: Floats = np.empty((0, 0))
    least: Floats = np.empty(0)
    for lane, store in zip(lanes, stores, strict=True):
        lines = np.concatenate(lane.lines)
        if not store.count or (np.diff(lines) <= 0).any():  # records that share a line are not told apart by it
            return Store()
        rows = np.concatenate(list(store.blocks()), axis=1)
        at = np.searchsorted(lines, rows[5])
        its = np.concatenate(lane.keys)[at]
        among = np.isin(its, keys)
        rows, its = rows[:, among], its[among]
        if not first.size:
            first, keys, least = rows.copy(), its, rows[3] / rows[2]
            continue
        both = np.isin(keys, its)
        first, rows, keys = first[:, both], rows[:, np.isin(its, keys)], keys[both]
        least = np.minimum(least[both], rows[3] / rows[2])
        slower = rows[3] * first[2] > first[3] * rows[2]
        for place in (2, 3, 4, *range(7, len(rows))):
            first[place] = np.where(slower, rows[place], first[place])
    return Store() if len(keys) and np.median(first[3] / first[2] / least) > UNLIKE else Store(first)
