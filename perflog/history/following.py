"""Cases followed over campaigns.

A series is one configuration, whatever version of the framework it ran on. Where campaigns hold several cases that only
the version or the logs' folders tell apart, each of these is a series of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from perflog.cases.case import name_of as case_name
from perflog.errors import UsageError
from perflog.formats.vocabulary import Scalar
from perflog.history.database import reading
from perflog.history.place import Database, name_of
from perflog.history.points import Point, missing, points_of
from perflog.runs.machine import differences
from perflog.stats.changes import Change, change_points
from perflog.stats.prediction import Prediction, predict
from perflog.stats.verdict import MARGIN


@dataclass(frozen=True, slots=True)
class Series:
    """A case over campaigns.

    Attributes:
        name: what tells the series from those beside it.
        key: the configuration; with the version of the framework only where that tells series apart.
        metric: what is followed.
        points: in the order of their dates.
    """

    name: str
    key: Mapping[str, Scalar]
    metric: str
    points: tuple[Point, ...]

    @property
    def unit(self) -> str:
        """The unit of the last point that has one."""
        return next((p.summary.unit for p in reversed(self.points) if p.summary.unit), "")


def series(
    database: Database, wanted: Mapping[str, str], metric: str = "throughput", ignored: Collection[str] = ()
) -> list[Series]:
    """The series of a metric of all cases that are as ``wanted``: ``{"model": "rn50", "devices": "8"}``.

    Args:
        ignored: machine facts that do not tell machines apart, beside those of :mod:`perflog.runs.machine`.

    Raises:
        UsageError: when there is no such case or metric, naming what there is.
        PerflogError: when the database cannot be read.
    """
    with reading(database) as connection:
        if connection is None:
            raise UsageError(f"no history in {name_of(database)} yet; `perflog save LOGS --label v1` begins one")
        points = list(points_of(connection, wanted, metric, ignored))
        if not points:
            raise UsageError(missing(connection, wanted, metric))
    return _grouped(points, metric)


# ---------------------------------------------------------------- grouping

_Identity = tuple[object, ...]
#: What tells the points of one configuration apart.
_Telling = Callable[[Point], _Identity]


def _grouped(points: Sequence[Point], metric: str) -> list[Series]:
    unnamed: list[Series] = []
    for members in _split(points, _configuration).values():
        telling, parts = _told_apart(members)
        unnamed += [Series(_extra(part[-1], telling), _shared(part, telling), metric, tuple(part)) for part in parts]
    return _named(unnamed)


def _told_apart(members: Sequence[Point]) -> tuple[_Telling, list[list[Point]]]:
    """The least that splits points into series with one point a campaign, and these; else all that can be told."""
    for telling in (_nothing, _version, _log, _version_and_log, _everything):
        parts = list(_split(members, telling).values())
        if all(len({p.campaign for p in part}) == len(part) for part in parts):
            break
    return telling, parts


def _split(points: Sequence[Point], telling: _Telling) -> dict[_Identity, list[Point]]:
    groups: dict[_Identity, list[Point]] = {}
    for point in points:
        groups.setdefault(telling(point), []).append(point)
    return groups


def _configuration(point: Point) -> _Identity:
    return tuple(sorted((k, str(v)) for k, v in point.key.items() if k != "framework_version"))


def _nothing(_: Point) -> _Identity:
    return ()


def _version(point: Point) -> _Identity:
    return (point.version,)


def _log(point: Point) -> _Identity:
    return (point.log,)


def _version_and_log(point: Point) -> _Identity:
    return (point.version, point.log)


def _everything(point: Point) -> _Identity:
    return (point.version, point.log, point.parser)


def _extra(point: Point, telling: _Telling) -> str:
    return " ".join(str(part) for part in telling(point) if part)


def _shared(points: Sequence[Point], telling: _Telling) -> dict[str, Scalar]:
    with_version = telling in (_version, _version_and_log, _everything)
    return {k: v for k, v in points[-1].key.items() if k != "framework_version" or with_version}


def _named(unnamed: Sequence[Series]) -> list[Series]:
    """The series with their names.

    A name is the configuration in short, what tells it from others of that name, and what only versions or logs tell.
    """
    names = [case_name(line.key) for line in unnamed]
    return [
        replace(line, name=_full_name(line, name, _of_name(unnamed, names, name)))
        for line, name in zip(unnamed, names, strict=True)
    ]


def _of_name(unnamed: Sequence[Series], names: Sequence[str], name: str) -> list[Series]:
    return [other for other, theirs in zip(unnamed, names, strict=True) if theirs == name]


def _full_name(line: Series, name: str, same: Sequence[Series]) -> str:
    keys = dict.fromkeys(key for other in same for key in other.key if key != "framework_version")
    values = {key: {str(other.key.get(key)) for other in same} for key in keys}
    differing = [f"{key}={line.key.get(key, '?')}" for key in keys if len(values[key]) > 1]
    return " ".join(filter(None, (name, *differing, line.name))) or line.points[-1].log or "unnamed"


# ----------------------------------------------------------------------------------------------------
# What changed along a series.
#
# A series falls into parts where the machine, the rule that makes its numbers, or their unit changed: values are never
# compared across. Within a part: changes of level, and whether the last value is where those before it lead to expect
# it.


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
    return [_part(points, broken, margin) for points, broken in _split_at(series.points)]


def _split_at(points: Sequence[Point]) -> Iterator[tuple[list[Point], str]]:
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
