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
from perflog.stats.memory import Memory, memory_of

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
class Without:
    """The campaigns that are no memory.

    Attributes:
        labels: those that are compared.
        after: those of a later date; None for no limit.
    """

    labels: Collection[str] = ()
    after: datetime | None = None


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
    without: Without,
    margin: float,
) -> list[Memory | str]:
    """The memory of each case, or the reason why it has none.

    Args:
        wanted: what all of the cases have in common, so that not the whole history is read.
        without: the campaigns that are no memory.
        margin: changes of level up to this share are none, and count as what campaigns differ by.

    Raises:
        UsageError: when there is no history yet.
        PerflogError: when the database cannot be read.
    """
    of_case: dict[tuple[tuple[str, str], ...], list[Point]] = {}
    for point in points_of(database, wanted, metric):
        if point.campaign not in without.labels and (without.after is None or point.date <= without.after):
            of_case.setdefault(_identity(point.key), []).append(point)
    return [_memory(case, of_case.get(_identity(case.key), []), metric, name_of(database), margin) for case in cases]


def _identity(key: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value).lower()) for name, value in key.items() if name != VERSION))


def _memory(case: Compared, points: Sequence[Point], metric: str, name: str, margin: float) -> Memory | str:
    earlier = [point for point in points if not any(_are_same(_runs(point), side) for side in case.values)]
    if not earlier:
        return f"{name} has no earlier campaign of it"
    if len(case.machines) > 1 and all(case.machines) and not _share_a_machine(case.machines):
        return "its sides ran on machines that differ"
    lines = series_of(earlier, metric)
    if len(lines) > 1:
        return f"{name} has {len(lines)} series of it, which only versions or folders tell apart"
    part = _last_that_fits(case, lines[0], margin)
    if part is None:
        return f"its earlier campaigns in {name} have another machine, rule or unit"
    return memory_of(_levels(part))


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


def _last_that_fits(case: Compared, line: Series, margin: float) -> Part | None:
    """The last part of a series with the case's rule, unit and machines; what is not known breaks nothing."""
    here = [machine for side in case.machines for machine in side]
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
