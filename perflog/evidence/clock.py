"""The clock of the lines: the time that passed between measured lines, by their own stamps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from perflog.evidence.survey import Marks
from perflog.evidence.witness import MOST_OUTSIDE, About, Agreement, Witness, near_factor
from perflog.formats.moments import Moment, between

NAME = "the clock of the lines"
#: The clock agrees within this much, and its own resolution.
TOLERANCE = 0.05
#: Beyond this the measurements claim more time than passed: no cause but a misreading.
IMPOSSIBLE = 0.10
#: Neighbouring stretches are put together until they are so many times as long as the stamps' resolution.
LEAST_LENGTH = 5
#: With fewer stretches than this all of them are one.
LEAST_COUNT = 4


class Stretch(NamedTuple):
    """Between two marks: steps, seconds by the measurements and by the clock, and the clock's resolution."""

    steps: float
    measured: float
    clock: float
    resolution: float

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
    sampled: bool, certain: bool = True,
) -> Witness | None:  # fmt: skip
    """Hold the measured time per step against the lines' own stamps; None where there are too few of them.

    A misreading makes all stretches longer or shorter by one factor, a pause makes some longer. So the stretches with
    the fewest pauses are looked at: the lower quartile.

    Args:
        moments: the stamp at each mark, (k,).
        scale: what turns the marks' time into seconds; None where that is unknown, and nothing can be said.
        about: *throughput* where the scale holds the work of a step, else *time per step*.
        factors: ratios that a misreading of this log would give, beside the usual ones.
        sampled: whether the measurements are single steps that stand for others between them.
        certain: whether the work of a step is known; batch size times devices is it only where nothing accumulates.
    """
    stretches = [] if scale is None else _stretches(marks, moments, scale)
    if not stretches:
        return None
    whole = _sum(stretches)
    if whole.clock <= 0 or whole.measured <= 0 or max(whole.clock, whole.measured) < 4 * whole.resolution:
        return None
    near = abs(whole.ratio - 1) <= TOLERANCE
    typical = whole if near else _with_fewest_pauses(stretches)
    agreement = _agreement(whole, typical, factors, sampled)
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
    steps = measured = clock = resolution = 0.0
    for stretch in stretches:  # one by one: versions of Python add the numbers of `sum` in different ways
        steps += stretch.steps
        measured += stretch.measured
        clock += stretch.clock
        resolution = max(resolution, stretch.resolution)
    return Stretch(steps, measured, clock, resolution)


def _stretches(marks: Marks, moments: Sequence[Moment | None], scale: float) -> list[Stretch]:
    """The stretches between neighbouring marks whose stamps can be compared; none where the stamps count down."""
    found, backwards = [], 0
    ends, covered, times = marks.end.tolist(), marks.covers.tolist(), marks.time.tolist()
    for place, (before, after) in enumerate(pairwise(moments)):
        if before is None or after is None:
            continue
        seconds = between(before, after)
        steps, covers = ends[place + 1] - ends[place], covered[place + 1] - covered[place]
        if seconds is None or steps <= 0 or covers <= 0:
            continue
        backwards += after.seconds < before.seconds
        per_step = (times[place + 1] - times[place]) * scale / covers
        found.append(Stretch(steps, per_step * steps, seconds, max(before.resolution, after.resolution)))
    return found if backwards <= max(1, len(found) // 2) else []  # else it is the time that is left


def _with_fewest_pauses(stretches: Sequence[Stretch]) -> Stretch:
    """The stretches about the lower quartile of those that are long enough to be timed, as one; all where few are."""
    timed: list[Stretch] = []
    rest: Stretch | None = None
    for stretch in stretches:
        rest = stretch if rest is None else _sum((rest, stretch))
        if rest.clock >= LEAST_LENGTH * rest.resolution and rest.measured > 0:
            timed.append(rest)
            rest = None
    if len(timed) < LEAST_COUNT:
        return _sum(stretches)
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
