"""What changed along a series.

A series falls into parts where the machine, the rule that makes its numbers, or their unit changed: values are never
compared across. Within a part: changes of level, and whether the last value is where those before it lead to expect it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from perflog.history.following import Series
from perflog.history.points import Point
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
        """Whether the value is where it was expected; None where nothing was, or there is no value."""
        value = self.point.summary.value
        return self.prediction.holds(value) if value is not None else None


@dataclass(frozen=True, slots=True)
class Part:
    """Points that may be compared; ``broken``: what changed before the first, empty at the beginning of a series.

    ``unseen``: why no changes of level could be looked for. ``outlook`` is None where no point has a value.
    """

    points: tuple[Point, ...]
    broken: str
    shifts: tuple[Shift, ...]
    unseen: str
    outlook: Outlook | None


def parts(series: Series, margin: float = MARGIN) -> list[Part]:
    """The parts of a series, in order. Changes of level within the margin are left out."""
    return [_part(points, broken, margin) for points, broken in _split(series.points)]


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
    if machines and new.machines and not all(machine in machines for machine in new.machines):
        other = next(machine for machine in new.machines if machine not in machines)
        changed.append(f"the machine: {differences(machines[-1], other)}")
    if old.rule != new.rule:
        changed.append(f"the rule: {old.rule} → {new.rule}")
    if old.summary.unit and new.summary.unit and old.summary.unit != new.summary.unit:
        changed.append(f"the unit: {old.summary.unit} → {new.summary.unit}")
    return "; ".join(changed)


def _part(points: Sequence[Point], broken: str, margin: float) -> Part:
    valued = [(point, point.summary.value) for point in points if point.summary.value is not None]
    values = [value for _, value in valued]
    changes = change_points(values)
    large = [change for change in changes.points if change.ratio is None or abs(change.ratio - 1) > margin]
    shifts = tuple(Shift(valued[change.index][0], change) for change in large)
    since = changes.points[-1].index if changes.points else 0
    outlook = Outlook(valued[-1][0], predict(values[since:-1])) if valued else None
    return Part(tuple(points), broken, shifts, changes.reason, outlook)
