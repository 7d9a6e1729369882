"""The memory of cases (:mod:`perflog.stats.memory`) out of a history: made of its kept runs each time, never stored.

A case remembers the last of its parts that fits what is compared: the same rule, unit and machine. The campaigns that
are compared are no memory of themselves, nor are those that came later.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from perflog.cases.pairs import VERSION
from perflog.history.following import Part, Point, Series, parts, points_of, series_of
from perflog.history.place import Database, name_of
from perflog.settings.options import Options
from perflog.stats.memory import Memory, memory_of, memory_of_few

#: What a case is, whatever its version: its key in small letters.
Identity = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Compared:
    """What a memory is looked for.

    Attributes:
        key: of the case.
        rule, unit: how its values were made (:func:`rule_text`), and what in.
        machines: of each side, what its machines are known by; empty for a side of which nothing is known.
        values: of each side, the values of its runs.
    """

    key: Mapping[str, object]
    rule: str
    unit: str
    machines: tuple[Sequence[Mapping[str, str]], ...]
    values: tuple[Sequence[float], ...]


@dataclass(frozen=True, slots=True)
class Which:
    """Which campaigns are a memory.

    Attributes:
        without: the labels of those that are none, as they are compared.
        until: the last date; None for no limit.
        few: whether two campaigns of one version are enough to say what campaigns differ by.
    """

    without: Collection[str] = ()
    until: datetime | None = None
    few: bool = False


def rule_text(estimator: str, window: object, options: Options) -> str:
    """How values are made, as the points of a history say it.

    Args:
        window: that the runs were measured in; None for a metric that has none.
    """
    if window is None:
        return f"estimator {estimator}"
    convention = f"; convention {options.convention}" if options.convention else ""
    return f"estimator {estimator}; {window}{convention}" + (" (values as printed)" if options.as_printed else "")


def memories(
    database: Database,
    metric: str,
    wanted: Mapping[str, str],
    cases: Sequence[Compared],
    which: Which,
    margin: float,
) -> list[Memory | str]:
    """The memory of each case, or the reason why it has none.

    Args:
        wanted: what all of the cases have in common, so that not the whole history is read.
        which: the campaigns that are a memory.
        margin: changes of level up to this share are none, and count as what campaigns differ by.

    Raises:
        UsageError: when there is no history yet.
        PerflogError: when the database cannot be read.
    """
    return memories_among(points_of(database, wanted, metric), name_of(database), metric, cases, which, margin)


def memories_among(
    points: Sequence[Point], name: str, metric: str, cases: Sequence[Compared], which: Which, margin: float
) -> list[Memory | str]:
    """As :func:`memories`, out of points that were read already; ``name``: of their database, as messages have it."""
    of_case: dict[tuple[tuple[str, str], ...], list[Point]] = {}
    for point in points:
        if point.campaign not in which.without and (which.until is None or point.date <= which.until):
            of_case.setdefault(_identity(point.key), []).append(point)
    found = [_last_part(case, of_case.get(_identity(case.key), []), metric, name, margin) for case in cases]
    return [part if isinstance(part, str) else _of_part(part, which.few) for part in found]


def _identity(key: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value).lower()) for name, value in key.items() if name != VERSION))


def _of_part(part: Part, few: bool) -> Memory | str:
    """The memory that a part is; with ``few`` also where it knows no more than what campaigns differ by."""
    found = memory_of(_levels(part))
    if not isinstance(found, str) or not few:
        return found
    versions: dict[object, list[list[float]]] = {}
    for point, _ in part.valued:
        versions.setdefault(point.version, []).append(_runs(point))
    return memory_of_few(list(versions.values())) or f"{found}, and no two of them that differ are of one version"


def _last_part(case: Compared, points: Sequence[Point], metric: str, name: str, margin: float) -> Part | str:
    """The part of the case's series that it remembers, or why there is none."""
    earlier = [point for point in points if not any(_are_same(_runs(point), side) for side in case.values)]
    if not earlier:
        return f"{name} has no earlier campaign of it"
    if len(case.machines) > 1 and all(case.machines) and not _share_a_machine(case.machines):
        return "its sides ran on machines that differ"
    here = [machine for side in case.machines for machine in side]
    earlier = [point for point in earlier if not _is_elsewhere(point, here)]
    if not earlier:
        return f"its earlier campaigns in {name} have another machine"
    lines = series_of(earlier, metric)
    if len(lines) > 1:
        return f"{name} has {len(lines)} series of it, which only versions or folders tell apart"
    part = _last_that_fits(case, here, lines[0], margin)
    if part is None:
        return f"its earlier campaigns in {name} have another machine, rule or unit"
    return part


def _runs(point: Point) -> list[float]:
    return [value for value in point.values if value is not None and math.isfinite(value) and value > 0]


def _are_same(runs: Sequence[float], side: Sequence[float]) -> bool:
    """Whether the runs of a campaign are those of a side: the very same values, or some of them.

    A side may have lost copies of logs, and a campaign may have been saved before its last runs were made.
    """
    few, many = sorted((Counter(runs), Counter(value for value in side if math.isfinite(value))), key=Counter.total)
    return bool(few) and few <= many


def _share_a_machine(machines: Sequence[Sequence[Mapping[str, str]]]) -> bool:
    first, *others = machines
    return any(all(machine in other for other in others) for machine in first)


def _is_elsewhere(point: Point, here: Sequence[Mapping[str, str]]) -> bool:
    """Whether a campaign is known to have run on other machines than those of the case."""
    return bool(here) and bool(point.machines) and not any(machine in here for machine in point.machines)


def _last_that_fits(case: Compared, here: Sequence[Mapping[str, str]], line: Series, margin: float) -> Part | None:
    """The last part of a series with the case's rule, unit and machines; what is not known breaks nothing."""
    for part in reversed(parts(line, margin)):
        valued = part.valued
        known = [machine for point in part.points for machine in point.machines]
        if not valued or part.points[0].rule != case.rule or valued[-1][0].summary.unit != case.unit:
            continue
        if not known or all(machine in known for machine in here):
            return part
    return None


def _levels(part: Part) -> list[list[list[float]]]:
    """The runs of each campaign on each level of a part."""
    valued = [point for point, _ in part.valued]
    places = {id(point): place for place, point in enumerate(valued)}
    return [
        [_runs(point) for point in valued[places[id(first)] : places[id(last)] + 1]] for first, last, _ in part.levels
    ]
