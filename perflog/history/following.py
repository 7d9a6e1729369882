"""Cases followed over campaigns: a metric of each in every campaign, the series of these points, and what changed.

A series is one configuration, whatever version of the framework it ran on. Where campaigns hold several cases that only
the version or the logs' folders tell apart, each of these is a series of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, pairwise
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, func, select

from perflog.cases.build import summary_of
from perflog.cases.case import Summary
from perflog.cases.case import name_of as case_name
from perflog.cases.pairs import metric_kind
from perflog.errors import UsageError
from perflog.formats.vocabulary import CASE_KEYS, INTEGERS, Scalar, normal
from perflog.history import schema
from perflog.history.commits import UNKNOWN, Code
from perflog.history.database import complete, damages, options_of, reading, rows_of
from perflog.history.place import Database, name_of
from perflog.runs.machine import differences, identity
from perflog.runs.run import Metric
from perflog.runs.sight import findings_in
from perflog.spelling import did_you_mean_or_list
from perflog.stats.centre import median
from perflog.stats.changes import Change, change_points
from perflog.stats.prediction import Prediction, predict
from perflog.stats.verdict import MARGIN, Better

#: Values that a message names: more do not help a reader.
NAMED = 50


@dataclass(frozen=True, slots=True)
class _Head:
    """A campaign's label, date, code and rule, and how many cases and runs were saved."""

    label: str
    date: datetime
    code: Code
    rule: str
    cases: int
    runs: int


@dataclass(frozen=True, slots=True)
class Point:
    """A case in one campaign.

    Attributes:
        campaign, date: the campaign's label, and its place in the series.
        key, log, parser: the case, what its logs' labels do not share with others, and the parser that read them.
        summary: the median of the metric over its ``runs``, with its interval, or the reason why there is none.
        rule: how the value was made.
        machines: what the runs' machines are known by, as far as they are known.
        values: of each run; None for a run without one.
        number: the case's number in its campaign.
        throttled: how many of its runs are known to have been throttled, and ``slowed_by``: what slowed them.
        code: the commit and branch that were measured, as far as they are known.
    """

    campaign: str
    date: datetime
    key: Mapping[str, Scalar]
    log: str
    parser: str
    summary: Summary
    runs: int
    rule: str
    machines: tuple[Mapping[str, str], ...] = ()
    values: tuple[float | None, ...] = ()
    number: int = 0
    throttled: int = 0
    slowed_by: tuple[str, ...] = ()
    code: Code = UNKNOWN

    @property
    def throttling(self) -> str:
        """In a sentence that runs were throttled; empty where none is known to have been."""
        if not self.throttled:
            return ""
        return f"{self.throttled} of {self.runs} runs were throttled while they ran ({'; '.join(self.slowed_by)})"

    @property
    def version(self) -> str:
        return str(self.key.get("framework_version", ""))


def points_of(
    database: Database, wanted: Mapping[str, str], metric: str = "throughput", ignored: Collection[str] = (),
    need: bool = False, branch: str = "",
) -> list[Point]:  # fmt: skip
    """The points of a metric of all cases that are as ``wanted``, by date and then in the order of saving.

    Args:
        ignored: machine facts that do not tell machines apart.
        need: whether it is an error that there is no such point.
        branch: campaigns of this branch alone; empty: all.

    Raises:
        UsageError: when there is no history yet or no campaign of the branch, or, with ``need``, no such case or
            metric, naming what there is.
        PerflogError: when the database cannot be read.
    """
    with reading(database) as connection:
        if connection is None:
            raise UsageError(f"no history in {name_of(database)} yet; `perflog save LOGS --label v1` begins one")
        campaigns = _campaigns_of(connection, branch)
        points = list(_points_of(connection, wanted, metric, ignored, campaigns))
        if need and not points:
            raise UsageError(_missing(connection, wanted, metric))
        return points


def _campaigns_of(connection: Connection, branch: str) -> list[ColumnElement[bool]]:
    """The condition that campaigns are of a branch. Raises UsageError where none is."""
    if not branch:
        return []
    there = [name for name in connection.scalars(select(schema.campaign.c.branch).distinct()) if name]
    if branch not in there:
        known = f"there are {', '.join(sorted(there)[:NAMED])}" if there else "no campaign was saved with one"
        raise UsageError(f"--branch {branch}: no campaign is of that branch; {known}")
    return [schema.campaign.c.branch == branch]


def _conditions_of(wanted: Mapping[str, str]) -> list[ColumnElement[bool]]:
    """What the database can tell; the rest is for :func:`_is`."""
    conditions: list[ColumnElement[bool]] = []
    for key, text in wanted.items():
        value = normal(key, text)
        if value is None:
            raise UsageError(f"--case {key}={text}: expected {'a whole number' if key in INTEGERS else 'a value'}")
        if key not in CASE_KEYS:
            continue
        column = schema.case.c[key]
        if isinstance(value, int):
            conditions.append(column == value)
        elif value.isascii():
            conditions.append(func.lower(column) == value.lower())
    return conditions


def _is(key: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    return all(str(key.get(k, "")).lower() == str(normal(k, v)).lower() for k, v in wanted.items())


def _points_of(
    connection: Connection, wanted: Mapping[str, str], metric: str, ignored: Collection[str],
    campaigns: Sequence[ColumnElement[bool]],
) -> Iterator[Point]:  # fmt: skip
    conditions = _conditions_of(wanted)
    if campaigns:
        conditions.append(schema.case.c.campaign.in_(select(schema.campaign.c.id).where(*campaigns)))
    heads, machines = _heads(connection, conditions, ignored)
    expected = _run_counts(connection, conditions, heads)
    found = rows_of(connection, _query(metric, conditions), f"the runs with the metric {metric!r}")
    for (campaign, number), group in groupby(found, lambda row: (row["id"], row["number"])):
        rows = list(group)
        if metric == "throughput":  # every run has it
            complete(len(rows), expected[campaign, number], f"campaign {heads[campaign].label!r}, {schema.metric.name}")
        if _is(rows[0]["key"], wanted):
            numbers = dict.fromkeys(row["machine"] for row in rows if row["machine"] is not None)
            with damages(f"campaign {heads[campaign].label!r}, {schema.machine.name}"):
                known = [machines[campaign, number] for number in numbers]
            yield _point(heads[campaign], rows, metric, known)


def _run_counts(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], heads: Mapping[int, _Head]
) -> dict[tuple[int, int], int]:
    """How many runs each case has, by campaign and case, of the campaigns that have a case that meets the conditions.

    Raises:
        DamagedError: when a campaign has not as many cases and runs as were saved.
    """
    matching = select(schema.case.c.campaign).where(*conditions)
    case, run = schema.case.c, schema.run.c
    joined = schema.case.outerjoin(schema.run, (run.campaign == case.campaign) & (run.case_number == case.number))
    query = select(case.campaign, case.number, func.count(run.number)).select_from(joined)
    grouped = connection.execute(query.where(case.campaign.in_(matching)).group_by(case.campaign, case.number))
    counts = {(campaign, number): count for campaign, number, count in grouped}
    for campaign, head in heads.items():
        own = [count for (of, _), count in counts.items() if of == campaign]
        complete(len(own), head.cases, f"campaign {head.label!r}, {schema.case.name}")
        complete(sum(own), head.runs, f"campaign {head.label!r}, {schema.run.name}")
    return counts


def _query(metric: str, conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """A row for each run that has the metric, of the cases that meet the conditions."""
    campaign, of_case, of_run, of_metric = schema.campaign.c, schema.case.c, schema.run.c, schema.metric.c
    values = (of_metric[name] for name in ("value", "unit", "estimator", "used", "reason"))
    columns = (campaign.id, of_case.number, of_case.key, of_case.log, of_case.parser, of_run.machine)
    same_run = (of_metric.case_number == of_run.case_number) & (of_metric.run_number == of_run.number)
    return (
        select(*columns, of_run.number.label("run"), of_run.window_taken, of_run.notes, *values)
        .join_from(schema.campaign, schema.case, of_case.campaign == campaign.id)
        .join(schema.run, (of_run.campaign == of_case.campaign) & (of_run.case_number == of_case.number))
        .join(schema.metric, (of_metric.campaign == of_run.campaign) & same_run)
        .where(of_metric.name == metric, *conditions)
        .order_by(campaign.date, campaign.id, of_case.number, of_run.number)
    )


def _heads(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], ignored: Collection[str]
) -> tuple[dict[int, _Head], dict[tuple[int, int], dict[str, str]]]:
    """The campaigns' labels, dates, rules and counts, and what their machines are known by."""
    matching = select(schema.case.c.campaign).where(*conditions)
    heads = {}
    query = select(schema.campaign).where(schema.campaign.c.id.in_(matching))
    for row in rows_of(connection, query, schema.campaign.name):
        options = options_of(row["options"], f"campaign {row['label']!r}, its options")
        convention = f"; convention {options.convention}" if options.convention else ""
        rule = convention + (" (values as printed)" if options.as_printed else "")
        code = Code(row["commit_hash"], row["branch"])
        heads[row["id"]] = _Head(row["label"], row["date"], code, rule, row["cases"], row["runs"])
    of_machines = select(schema.machine).where(schema.machine.c.campaign.in_(matching))
    facts = rows_of(connection, of_machines, schema.machine.name)
    with damages(schema.machine.name):
        return heads, {(row["campaign"], row["number"]): identity(row["facts"], ignored) for row in facts}


def _point(head: _Head, rows: Sequence[RowMapping], metric: str, machines: Sequence[dict[str, str]]) -> Point:
    metrics = [
        Metric(metric, row["value"], row["unit"], row["estimator"], row["used"], reason=row["reason"]) for row in rows
    ]
    first = rows[0]
    rule = f"estimator {first['estimator']}"
    if metric_kind(metric).is_windowed:
        rule += f"; {first['window_taken']}{head.rule}"
    throttled = [findings for row in rows if (findings := findings_in(row["notes"]))]
    return Point(
        head.label, head.date, first["key"], first["log"], first["parser"], summary_of(metric, metrics, "median"),
        len(rows), rule, tuple(machines), tuple(row["value"] for row in rows), first["number"], len(throttled),
        tuple(dict.fromkeys(finding for findings in throttled for finding in findings)), head.code,
    )  # fmt: skip


def _missing(connection: Connection, wanted: Mapping[str, str], metric: str) -> str:
    """What to say where no case is as wanted, or none of those that are has the metric."""
    asked = ",".join(f"{k}={v}" for k, v in wanted.items())
    query = select(schema.case.c.key).where(*_conditions_of(wanted))
    with damages(schema.case.name):
        is_there = any(_is(key, wanted) for (key,) in connection.execute(query))
    if is_there:
        names = sorted(connection.scalars(select(schema.metric.c.name).distinct()))
        return f"no case {asked} has the metric {metric!r}; metrics saved are {', '.join(names)}"
    for key, text in wanted.items():
        if key in CASE_KEYS:
            values = connection.scalars(select(schema.case.c[key]).distinct())
            there = sorted(value for value in values if value is not None)
            if str(normal(key, text)).lower() not in {str(value).lower() for value in there}:
                known = ", ".join(map(str, there[:NAMED])) or "none that say it"
                return f"no saved case has {key}={text}; there are {known}"
    unknown = [key for key in wanted if key not in known_keys(connection)]
    if unknown:
        return f"no saved case has a key {unknown[0]!r}{did_you_mean_or_list(unknown[0], known_keys(connection))}"
    return f"no saved case is {asked}; `perflog history` lists the campaigns"


def known_keys(connection: Connection) -> list[str]:
    """The keys that saved cases have, those of every case first."""
    with damages(schema.case.name):
        keys = connection.scalars(select(schema.case.c.key)).all()
        return list(dict.fromkeys((*CASE_KEYS, *(name for key in keys for name in key))))


# ----------------------------------------------------------------------------------------------------
# Points of one configuration as series.


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
    database: Database, wanted: Mapping[str, str], metric: str = "throughput", ignored: Collection[str] = (),
    branch: str = "",
) -> list[Series]:  # fmt: skip
    """The series of a metric of all cases that are as ``wanted``: ``{"model": "rn50", "devices": "8"}``.

    Args:
        ignored: machine facts that do not tell machines apart, beside those of :mod:`perflog.runs.machine`.
        branch: campaigns of this branch alone; empty: all.

    Raises:
        UsageError: when there is no such case, metric or branch, naming what there is.
        PerflogError: when the database cannot be read.
    """
    return series_of(points_of(database, wanted, metric, ignored, need=True, branch=branch), metric)


def series_of(points: Sequence[Point], metric: str) -> list[Series]:
    """The series that points of a metric make, which are in the order of their dates."""
    unnamed: list[Series] = []
    for members in _split(points, _configuration).values():
        told_by, groups = _told_apart(members)
        for group in groups:
            extra = " ".join(filter(None, (getattr(group[-1], name) for name in told_by)))
            key = {k: v for k, v in group[-1].key.items() if k != "framework_version" or "version" in told_by}
            unnamed.append(Series(extra, key, metric, tuple(group)))
    same: dict[str, list[Series]] = {}
    for line in unnamed:
        same.setdefault(case_name(line.key), []).append(line)
    return [replace(line, name=_full_name(line, case_name(line.key), same[case_name(line.key)])) for line in unnamed]


#: What may tell the points of one configuration apart, the least first.
_TOLD_BY = ((), ("version",), ("log",), ("version", "log"), ("version", "log", "parser"))


def _told_apart(members: Sequence[Point]) -> tuple[tuple[str, ...], list[list[Point]]]:
    """The least that splits points into series with one point a campaign, and these; else by all that is known."""
    for told_by in _TOLD_BY:
        groups = list(_split(members, lambda point: tuple(getattr(point, name) for name in told_by)).values())  # noqa: B023
        if all(len({point.campaign for point in group}) == len(group) for group in groups):
            break
    return told_by, groups


def _split(points: Sequence[Point], telling: Callable[[Point], tuple[object, ...]]) -> dict[object, list[Point]]:
    groups: dict[object, list[Point]] = {}
    for point in points:
        groups.setdefault(telling(point), []).append(point)
    return groups


def _configuration(point: Point) -> tuple[object, ...]:
    return tuple(sorted((k, str(v)) for k, v in point.key.items() if k != "framework_version"))


def _full_name(line: Series, name: str, same: Sequence[Series]) -> str:
    """The configuration in short, what tells it from others of that name, and what only versions or logs tell."""
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
    """A change of level that begins at ``point``; ``seen``: the point after which it was found first."""

    point: Point
    change: Change
    seen: Point

    def is_worse(self, better: Better | None) -> bool | None:
        """Whether the level got worse; None where the change, or the direction that is better, is not known."""
        if self.change.ratio is None or better is None:
            return None
        return (self.change.ratio > 1) is not (better is Better.HIGHER)


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

    @property
    def valued(self) -> list[tuple[Point, float]]:
        """The points that have a value, with it."""
        return _valued(self.points)

    @property
    def levels(self) -> list[tuple[Point, Point, float]]:
        """The levels between changes: the first point with a value of each, the last one, and the values' median."""
        valued = self.valued
        order = {id(point): place for place, (point, _) in enumerate(valued)}
        borders = [0, *(order[id(shift.point)] for shift in self.shifts), len(valued)]
        return [
            (valued[begin][0], valued[end - 1][0], median([value for _, value in valued[begin:end]]))
            for begin, end in pairwise(borders)
            if begin < end
        ]


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
    valued = _valued(points)
    values = [value for _, value in valued]
    changes = change_points(values)
    large = [change for change in changes.points if change.ratio is None or abs(change.ratio - 1) > margin]
    shifts = tuple(Shift(valued[change.index][0], change, valued[change.found][0]) for change in large)
    since = changes.points[-1].index if changes.points else 0
    outlook = Outlook(valued[-1][0], predict(values[since:-1])) if valued else None
    return Part(tuple(points), broken, shifts, changes.reason, outlook)


def _valued(points: Sequence[Point]) -> list[tuple[Point, float]]:
    return [(point, point.summary.value) for point in points if point.summary.value is not None]


def share_words(ratio: float | None) -> str:
    """A ratio as a change: 0.959 → −4.1 %; empty for none."""
    return "" if ratio is None else f"{100 * (ratio - 1):+.1f} %".replace("-", "−")
