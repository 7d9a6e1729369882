"""Cases followed over campaigns.

A series is one configuration, whatever version of the framework it ran on. Where campaigns hold several cases that only
the version or the logs' folders tell apart, each of these is a series of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select

from perflog.cases.build import summary_of
from perflog.cases.case import Summary, name_of
from perflog.errors import UsageError
from perflog.formats.vocabulary import CASE_KEYS, INTEGERS, Scalar, normal
from perflog.history import schema
from perflog.history.database import reading
from perflog.history.place import Database, shown, url_of
from perflog.history.plain import options_from
from perflog.runs.machine import identity
from perflog.runs.run import Metric

#: Metrics that depend on the window; others are what the program printed.
_WINDOWED = frozenset({"throughput", "step_time"})


@dataclass(frozen=True, slots=True)
class Point:
    """A case in one campaign: the median of its runs; ``rule``: how it was made; ``machines``: where, as far as known."""

    campaign: str
    date: datetime
    key: Mapping[str, Scalar]
    log: str
    parser: str
    summary: Summary
    runs: int
    rule: str
    machines: tuple[Mapping[str, str], ...] = ()

    @property
    def version(self) -> str:
        return str(self.key.get("framework_version", ""))


@dataclass(slots=True)
class Series:
    """Points in the order of their dates; ``name`` tells the series from those beside it."""

    name: str
    key: dict[str, Scalar]
    metric: str
    points: list[Point] = field(default_factory=list)

    @property
    def unit(self) -> str:
        return next((p.summary.unit for p in reversed(self.points) if p.summary.unit), "")


def series(database: Database, wanted: Mapping[str, str], metric: str = "throughput", ignored: Collection[str] = ()) -> list[Series]:
    """The series of a metric of all cases that are as ``wanted``: ``{"model": "rn50", "devices": "8"}``.

    Args:
        ignored: machine facts that do not tell machines apart, beside those of :data:`perflog.machine.NOT_THE_MACHINE`.

    Raises:
        UsageError: when there is no such case or metric, naming what there is.
    """
    with reading(database) as connection:
        if connection is None:
            raise UsageError(f"no history in {shown(url_of(database))} yet; `perflog save LOGS --label v1` begins one")
        points = list(_points(connection, wanted, metric, ignored))
        if not points:
            raise UsageError(_missing(connection, wanted, metric))
    return _grouped(points, metric)


# ---------------------------------------------------------------- finding


def _conditions(wanted: Mapping[str, str]) -> list[ColumnElement[bool]]:
    """What the database can tell; the rest is for :func:`_is`."""
    out: list[ColumnElement[bool]] = []
    for key, text in wanted.items():
        value = normal(key, text)
        if value is None:
            raise UsageError(f"--case {key}={text}: expected {'a whole number' if key in INTEGERS else 'a value'}")
        if key not in CASE_KEYS:
            continue
        column = schema.case.c[key]
        if isinstance(value, int):
            out.append(column == value)
        elif value.isascii():
            out.append(func.lower(column) == value.lower())
    return out


def _is(key: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    return all(str(key.get(k, "")).lower() == str(normal(k, v)).lower() for k, v in wanted.items())


def _points(connection: Connection, wanted: Mapping[str, str], metric: str, ignored: Collection[str]) -> Iterator[Point]:
    conditions = _conditions(wanted)
    heads, machines = _heads(connection, conditions, ignored)
    of_case, of_run, of_metric = schema.case.c, schema.run.c, schema.metric.c
    query = (
        select(
            schema.campaign.c.id, of_case.number, of_case.key, of_case.log, of_case.parser, of_run.machine, of_run.window_taken,
            *(of_metric[name] for name in ("value", "unit", "estimator", "used", "reason")),
        )
        .join_from(schema.campaign, schema.case, of_case.campaign == schema.campaign.c.id)
        .join(schema.run, (of_run.campaign == of_case.campaign) & (of_run.case_number == of_case.number))
        .join(schema.metric, (of_metric.campaign == of_run.campaign) & (of_metric.case_number == of_run.case_number) & (of_metric.run_number == of_run.number))
        .where(of_metric.name == metric, *conditions)
        .order_by(schema.campaign.c.date, schema.campaign.c.id, of_case.number, of_run.number)
    )  # fmt: skip
    for (campaign, _), group in groupby(connection.execute(query), lambda row: (row.id, row.number)):
        rows = list(group)
        if _is(rows[0].key, wanted):
            yield _point(heads[campaign], rows, metric, [machines[campaign, n] for n in dict.fromkeys(row.machine for row in rows) if n is not None])


def _heads(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], ignored: Collection[str]
) -> tuple[dict[int, tuple[str, datetime, str]], dict[tuple[int, int], dict[str, str]]]:
    """The campaigns' labels, dates and rules, and what their machines are known by."""
    found = select(schema.case.c.campaign).where(*conditions)
    heads = {}
    for row in connection.execute(select(schema.campaign).where(schema.campaign.c.id.in_(found))):
        options = options_from(row.options)
        convention = f"; convention {options.convention}" if options.convention else ""
        heads[row.id] = (row.label, row.date, convention + (" (values as printed)" if options.as_printed else ""))
    facts = connection.execute(select(schema.machine).where(schema.machine.c.campaign.in_(found)))
    return heads, {(row.campaign, row.number): identity(row.facts, ignored) for row in facts}


def _point(head: tuple[str, datetime, str], rows: Sequence[Row[Any]], metric: str, machines: Sequence[dict[str, str]]) -> Point:
    label, date, convention = head
    metrics = [Metric(metric, row.value, row.unit, row.estimator, row.used, reason=row.reason) for row in rows]
    first = rows[0]
    rule = f"estimator {first.estimator}"
    if metric in _WINDOWED:
        rule += f"; {first.window_taken}{convention}"
    return Point(label, date, first.key, first.log, first.parser, summary_of(metric, metrics, "median"), len(rows), rule, tuple(machines))


def _missing(connection: Connection, wanted: Mapping[str, str], metric: str) -> str:
    asked = ",".join(f"{k}={v}" for k, v in wanted.items())
    keys = [key for (key,) in connection.execute(select(schema.case.c.key).where(*_conditions(wanted)).limit(10_000)) if _is(key, wanted)]
    if keys:
        names = sorted(connection.scalars(select(schema.metric.c.name).distinct()))
        return f"no case {asked} has the metric {metric!r}; metrics saved are {', '.join(names)}"
    for key, text in wanted.items():
        if key in CASE_KEYS:
            there = [value for value in connection.scalars(select(schema.case.c[key]).distinct().limit(50)) if value is not None]
            if str(normal(key, text)).lower() not in {str(value).lower() for value in there}:
                return f"no saved case has {key}={text}; there are {', '.join(str(v) for v in sorted(there)) or 'none that say it'}"
    return f"no saved case is {asked}; `perflog history` lists the campaigns"


# ---------------------------------------------------------------- grouping

_Identity = tuple[object, ...]


def _grouped(points: Sequence[Point], metric: str) -> list[Series]:
    made: list[Series] = []
    for members in _split(points, _configuration).values():
        for told in (_nothing, _version, _log, _version_and_log, _everything):
            parts = _split(members, told)
            if all(len({p.campaign for p in part}) == len(part) for part in parts.values()):
                break
        made += [Series(_extra(part[-1], told), _shared(part, told), metric, part) for part in parts.values()]
    _name(made)
    return made


def _split(points: Sequence[Point], told: Any) -> dict[_Identity, list[Point]]:
    out: dict[_Identity, list[Point]] = {}
    for point in points:
        out.setdefault(told(point), []).append(point)
    return out


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


def _extra(point: Point, told: Any) -> str:
    return " ".join(str(part) for part in told(point) if part)


def _shared(points: Sequence[Point], told: Any) -> dict[str, Scalar]:
    with_version = told in (_version, _version_and_log, _everything)
    return {k: v for k, v in points[-1].key.items() if k != "framework_version" or with_version}


def _name(made: Sequence[Series]) -> None:
    """Name each series: its configuration in short, what tells it from others of that name, and what only versions or logs tell."""
    names = [name_of(one.key) for one in made]
    for one, name in zip(made, names, strict=True):
        same = [other for other, theirs in zip(made, names, strict=True) if theirs == name]
        keys = dict.fromkeys(k for other in same for k in other.key if k != "framework_version")
        differing = [f"{k}={one.key.get(k, '?')}" for k in keys if len({str(other.key.get(k)) for other in same}) > 1]
        one.name = " ".join(filter(None, (name, *differing, one.name))) or one.points[-1].log or "unnamed"
