"""The clock of the lines: the time that passed between measured lines, by their own stamps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perflog.evidence.survey import Marks
from perflog.evidence.witness import About, Agreement, Witness, near_factor
from perflog.formats.moments import Moment, between
from perflog.stats.centre import median

NAME = "the clock of the lines"
#: The clock agrees within this much, and its own resolution.
TOLERANCE = 0.05
#: Beyond this the measurements claim more time than passed: no cause but a misreading.
IMPOSSIBLE = 0.10
#: A stretch is timed well enough when it is so many times as long as the stamps' resolution.
LEAST_LENGTH = 20


@dataclass(frozen=True, slots=True)
class _Stretch:
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
        return TOLERANCE + 2 * self.resolution / self.clock


def clock_witness(
    marks: Marks, moments: Sequence[Moment | None], scale: float | None, about: About, factors: Sequence[float],
    sampled: bool,
) -> Witness | None:  # fmt: skip
    """Hold the measured time per step against the lines' own stamps; None where there are too few of them.

    Args:
        moments: the stamp at each mark, (k,).
        scale: what turns the marks' time into seconds; None where that is unknown, and nothing can be said.
        about: *throughput* where the scale holds the work of a step, else *time per step*.
        factors: ratios that a misreading of this log would give, beside the usual ones.
        sampled: whether the measurements are single steps that stand for others between them.
    """
    if scale is None:
        return None
    stretches = _stretches(marks, moments, scale)
    if not stretches:
        return None
    steps, measured, clock = (
        sum(getattr(stretch, name) for stretch in stretches) for name in ("steps", "measured", "clock")
    )
    whole = _Stretch(steps, measured, clock, max(stretch.resolution for stretch in stretches))
    if clock < 4 * whole.resolution or measured <= 0:
        return None
    collected = next(moment.collected for moment in moments if moment is not None)
    typical = whole.ratio if abs(whole.ratio - 1) <= whole.tolerance else _typical(stretches, whole)
    agreement = _agreement(typical, whole, factors, sampled)
    if collected and agreement in ("contradicts", "doubts"):  # a buffer was emptied late: the stamps say when
        agreement = "silent"
    remark = _pauses(whole, marks) if agreement in ("agrees", "slower") else ""
    lines = int(marks.lines[0]), int(marks.lines[-1])
    told = measured / steps * typical
    return Witness(NAME, about, "s", measured / steps, told, agreement, lines, remark)


def _stretches(marks: Marks, moments: Sequence[Moment | None], scale: float) -> list[_Stretch]:
    """The stretches between neighbouring marks whose stamps can be compared."""
    found = []
    for place in range(1, len(marks)):
        before, after = moments[place - 1], moments[place]
        if before is None or after is None:
            continue
        seconds = between(before, after)
        steps, covers = (float(values[place] - values[place - 1]) for values in (marks.end, marks.covers))
        if seconds is None or steps <= 0 or covers <= 0:
            continue
        per_step = float(marks.time[place] - marks.time[place - 1]) * scale / covers
        found.append(_Stretch(steps, per_step * steps, seconds, max(before.resolution, after.resolution)))
    return found


def _typical(stretches: Sequence[_Stretch], whole: _Stretch) -> float:
    """The median of the ratios of stretches that are long enough to be timed; pauses between steps are in few."""
    ratios, steps, measured, clock = [], 0.0, 0.0, 0.0
    for stretch in stretches:
        steps, measured, clock = steps + stretch.steps, measured + stretch.measured, clock + stretch.clock
        if min(clock, measured) >= LEAST_LENGTH * whole.resolution:
            ratios.append(clock / measured)
            steps = measured = clock = 0.0
    return median(ratios) if len(ratios) >= 3 else whole.ratio


def _agreement(typical: float, whole: _Stretch, factors: Sequence[float], sampled: bool) -> Agreement:
    if abs(typical - 1) <= whole.tolerance:
        return "agrees"
    if typical < 1:
        return "contradicts" if typical < 1 - IMPOSSIBLE - 2 * whole.resolution / whole.clock else "doubts"
    if sampled or near_factor(typical, factors):
        return "contradicts"
    return "slower"


def _pauses(whole: _Stretch, marks: Marks) -> str:
    outside = 1 - whole.measured / whole.clock
    if outside <= TOLERANCE + 2 * whole.resolution / whole.clock:
        return ""
    return (
        f"{outside:.0%} of the time between lines {marks.lines[0]} and {marks.lines[-1]} lies outside the measurements "
        "(evaluation, saving, waiting for data)"
    )
