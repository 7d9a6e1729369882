"""What changed along a series.

A series falls into parts where the machine, the rule that makes its numbers, or their unit changed: values are never
compared across. Within a part: changes of level, and whether the last value is where those before it lead to expect it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from perflog.history.series import Point, Series
from perflog.runs.machine import differences
from perflog.stats.changes import Change, change_points
from perflog.stats.prediction import Prediction, predict
from perflog.stats.verdict import MARGIN


@dataclass(frozen=True, slots=True)
class Shift:
    """A change of level, first seen at ``point``."""

    point: Point
    change: Change


@dataclass(frozen=True, slots=True)
class Outlook:
    """Where the last value was expected from the ``prediction.n`` before it; ``point`` has that value."""

    point: Point
    prediction: Prediction

    @property
    def holds(self) -> bool | None:
        value = self.point.summary.value
        return self.prediction.holds(value) if value is not None else None


@dataclass(frozen=True, slots=True)
class Part:
    """Points that may be compared; ``broken``: what changed before the first, empty at the beginning of a series.

    ``unseen``: why no changes of level could be looked for. ``outlook`` is None where no point has a value.
    """

    points: list[Point]
    broken: str
    shifts: list[Shift]
    unseen: str
    outlook: Outlook | None


def parts(one: Series, margin: float = MARGIN) -> list[Part]:
    """The parts of a series, in order. Changes of level within the margin are left out."""
    return [_part(points, broken, margin) for points, broken in _split(one.points)]


def _split(points: Sequence[Point]) -> Iterator[tuple[list[Point], str]]:
    here, broken = [points[0]], ""
    machines = points[0].machines  # a campaign that does not know its machine breaks nothing, nor hides a change
    for old, new in pairwise(points):
        why = _difference(old, new, machines)
        machines = new.machines or machines
        if why:
            yield here, broken
            here, broken = [], why
        here.append(new)
    yield here, broken


def _difference(old: Point, new: Point, machines: Sequence[Mapping[str, str]]) -> str:
    changed = []
    if machines and new.machines and not all(one in machines for one in new.machines):
        other = next(one for one in new.machines if one not in machines)
        changed.append(f"the machine: {differences(machines[-1], other)}")
    if old.rule != new.rule:
        changed.append(f"the rule: {old.rule} → {new.rule}")
    if old.summary.unit and new.summary.unit and old.summary.unit != new.summary.unit:
        changed.append(f"the unit: {old.summary.unit} → {new.summary.unit}")
    return "; ".join(changed)


def _part(points: list[Point], broken: str, margin: float) -> Part:
    valued = [(point, point.summary.value) for point in points if point.summary.value is not None]
    values = [value for _, value in valued]
    found = change_points(values)
    shifts = [Shift(valued[c.index][0], c) for c in found.points if c.ratio is None or abs(c.ratio - 1) > margin]
    since = found.points[-1].index if found.points else 0
    outlook = Outlook(valued[-1][0], predict(values[since:-1])) if valued else None
    return Part(points, broken, shifts, found.reason, outlook)
