"""The clock of the lines: the time that passed between measured lines, by their own stamps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from perflog.evidence.survey import Marks
from perflog.evidence.witness import MOST_OUTSIDE, About, Agreement, Witness, near_factor
from perflog.formats.moments import Moment, between
from perflog.measurements.rows import Ints

NAME = "the clock of the lines"
#: The clock agrees within this much, and its own resolution.
TOLERANCE = 0.05
#: Beyond this the measurements claim more time than passed: no cause but a misreading.
IMPOSSIBLE = 0.10
#: Neighbouring stretches are put together until they are so many times as long as the stamps' resolution.
LEAST_LENGTH = 5
#: With fewer stretches than this all of them are one.
LEAST_COUNT = 4
#: With so many pauses to a record a clock may be as slow as it likes.
MOST_PAUSED = 0.9
NO_PAUSES: Ints = np.empty(0, dtype=np.int64)


class Stretch(NamedTuple):
    """Between two marks: steps, seconds by the measurements and by the clock, and the clock's resolution.

    ``records`` of the log are in it, and so many ``pauses``: lines that say that something else than training happened.
    """

    steps: float
    measured: float
    clock: float
    resolution: float
    records: float = 1.0
    pauses: int = 0

    @property
    def ratio(self) -> float:
        """How many times as long the clock says it took."""
        return self.clock / self.measured

    @property
    def tolerance(self) -> float:
        """The share by which two cut stamps may be off."""
        return 2 * self.resolution / self.clock if self.clock > 0 else float("inf")


def clock_witness(
    marks: Marks, moments: Sequence[Moment | None], scale: float | None, about: About, factors: Sequence[float],
    sampled: bool, certain: bool = True, pauses: Ints = NO_PAUSES,
) -> Witness | None:  # fmt: skip
    """Hold the measured time per step against the lines' own stamps; None where there are too few of them.

    A misreading makes all stretches longer or shorter by one factor, a pause makes some longer. So the stretches with
    the fewest pauses are looked at: the lower quartile of those in which no line tells of one. Where a line does behind
    nearly every record, a clock that is slow by no factor is no evidence of a misreading.

    Args:
        moments: the stamp at each mark, (k,).
        scale: what turns the marks' time into seconds; None where that is unknown, and nothing can be said.
        about: *throughput* where the scale holds the work of a step, else *time per step*.
        factors: ratios that a misreading of this log would give, beside the usual ones.
        sampled: whether the measurements are single steps that stand for others between them.
        certain: whether the work of a step is known; batch size times devices is it only where nothing accumulates.
        pauses: the lines that tell of an evaluation or the like, in order, (p,).
    """
    stretches = [] if scale is None else _stretches(marks, moments, scale, pauses)
    if not stretches:
        return None
    whole = _sum(stretches)
    if whole.clock <= 0 or whole.measured <= 0 or max(whole.clock, whole.measured) < 4 * whole.resolution:
        return None
    near = abs(whole.ratio - 1) <= TOLERANCE
    typical = whole if near else _with_fewest_pauses(stretches)
    agreement = _agreement(whole, typical, factors, sampled)
    if agreement == "doubts" and typical.ratio > 1 and typical.pauses >= MOST_PAUSED * typical.records:
        agreement = "slower"
    if not certain and typical.ratio > MOST_OUTSIDE and agreement in ("contradicts", "doubts"):
        agreement = "doubts" if near_factor(typical.ratio, factors) else "silent"
    collected = next(moment.collected for moment in moments if moment is not None)
    if collected and agreement == "contradicts":  # a buffer may have been emptied late, which no stamp tells
        agreement = "doubts" if typical.ratio > 1 else "silent"
    told = whole if agreement in ("agrees", "slower") and near else typical
    return Witness(
        name=NAME,
        about=about,
        unit="s",
        measured=whole.measured / whole.steps,
        told=whole.measured / whole.steps * told.ratio,
        agreement=agreement,
        lines=(int(marks.lines[0]), int(marks.lines[-1])),
        remark=_pauses(whole, marks) if agreement in ("agrees", "slower") else "",
    )


def _sum(stretches: Sequence[Stretch]) -> Stretch:
    steps = measured = clock = resolution = records = 0.0
    pauses = 0
    for stretch in stretches:  # one by one: versions of Python add the numbers of `sum` in different ways
        steps += stretch.steps
        measured += stretch.measured
        clock += stretch.clock
        resolution = max(resolution, stretch.resolution)
        records += stretch.records
        pauses += stretch.pauses
    return Stretch(steps, measured, clock, resolution, records, pauses)


def _stretches(marks: Marks, moments: Sequence[Moment | None], scale: float, pauses: Ints) -> list[Stretch]:
    """The stretches between neighbouring marks whose stamps can be compared; none where the stamps count down."""
    found, backwards = [], 0
    ends, covered, times = marks.end.tolist(), marks.covers.tolist(), marks.time.tolist()
    own, told = marks.own[0].tolist(), np.searchsorted(pauses, marks.lines, "right").tolist()
    for place, (before, after) in enumerate(pairwise(moments)):
        if before is None or after is None:
            continue
        seconds = between(before, after)
        steps, covers = ends[place + 1] - ends[place], covered[place + 1] - covered[place]
        if seconds is None or steps <= 0 or covers <= 0:
            continue
        backwards += after.seconds < before.seconds
        per_step = (times[place + 1] - times[place]) * scale / covers
        resolution = max(before.resolution, after.resolution)
        records, paused = covers / own[place + 1], told[place + 1] - told[place]
        found.append(Stretch(steps, per_step * steps, seconds, resolution, records, paused))
    return found if backwards <= max(1, len(found) // 2) else []  # else it is the time that is left


def _with_fewest_pauses(stretches: Sequence[Stretch]) -> Stretch:
    """The stretches about the lower quartile of those that are long enough to be timed, as one; all where few are.

    Those in which no line tells of a pause alone, where they are enough.
    """
    timed: list[Stretch] = []
    rest: Stretch | None = None
    for stretch in stretches:
        rest = stretch if rest is None else _sum((rest, stretch))
        if rest.clock >= LEAST_LENGTH * rest.resolution and rest.measured > 0:
            timed.append(rest)
            rest = None
    if len(timed) < LEAST_COUNT:
        return _sum(stretches)
    unpaused = [stretch for stretch in timed if not stretch.pauses]
    timed = unpaused if len(unpaused) >= LEAST_COUNT else timed
    low = sorted(timed, key=lambda stretch: stretch.ratio)[(len(timed) - 1) // 4]
    near = [stretch for stretch in timed if abs(stretch.ratio / low.ratio - 1) <= TOLERANCE + low.tolerance]
    return _sum(near)._replace(resolution=low.resolution * math.sqrt(len(near)))  # cut at random, each for itself


def _agreement(whole: Stretch, typical: Stretch, factors: Sequence[float], sampled: bool) -> Agreement:
    if abs(whole.ratio - 1) <= TOLERANCE + whole.tolerance:
        return "agrees"
    least = (1 - IMPOSSIBLE) * whole.measured - 2 * whole.resolution
    if whole.ratio < 1:
        return "contradicts" if whole.clock < least else "doubts"
    if abs(typical.ratio - 1) <= TOLERANCE + typical.tolerance:
        return "agrees"
    if typical.ratio < 1 - IMPOSSIBLE - typical.tolerance:
        return "contradicts"
    if sampled or near_factor(typical.ratio, factors):
        return "contradicts"
    return "doubts" if typical.ratio > MOST_OUTSIDE else "slower"


def _pauses(whole: Stretch, marks: Marks) -> str:
    outside = 1 - whole.measured / whole.clock
    if outside <= TOLERANCE + whole.tolerance:
        return ""
    return (
        f"{outside:.0%} of the time between lines {marks.lines[0]} and {marks.lines[-1]} lies outside the measurements "
        "(evaluation, saving, waiting for data)"
    )
