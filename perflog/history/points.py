"""A metric of a case in every campaign, out of the database."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, func, select

from perflog.cases.build import summary_of
from perflog.cases.case import Summary
from perflog.errors import UsageError
from perflog.formats.vocabulary import CASE_KEYS, INTEGERS, Scalar, normal
from perflog.history import schema
from perflog.history.plain import options_from
from perflog.runs.machine import identity
from perflog.runs.run import Metric

#: Metrics that depend on the window; others are what the program printed.
_WINDOWED = frozenset({"throughput", "step_time"})
#: Values that a message names: more do not help a reader.
NAMED = 50


@dataclass(frozen=True, slots=True)
class Point:
    """A case in one campaign.

    Attributes:
        campaign, date: the campaign's label, and its place in the series.
        key, log, parser: the case, what its logs' labels do not share with others, and the parser that read them.
        summary: the median of the metric over its ``runs``, with its interval, or the reason why there is none.
        rule: how the value was made.
        machines: what the runs' machines are known by, as far as they are known.
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

    @property
    def version(self) -> str:
        return str(self.key.get("framework_version", ""))


def conditions_of(wanted: Mapping[str, str]) -> list[ColumnElement[bool]]:
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


def points_of(
    connection: Connection, wanted: Mapping[str, str], metric: str, ignored: Collection[str]
) -> Iterator[Point]:
    """The points of a metric of all cases that are as ``wanted``, by date and then in the order of saving.

    Args:
        ignored: machine facts that do not tell machines apart.
    """
    conditions = conditions_of(wanted)
    heads, machines = _heads(connection, conditions, ignored)
    query = _query(metric, conditions)
    for (campaign, _), group in groupby(connection.execute(query), lambda row: (row.id, row.number)):
        rows = list(group)
        if _is(rows[0].key, wanted):
            numbers = dict.fromkeys(row.machine for row in rows if row.machine is not None)
            yield _point(heads[campaign], rows, metric, [machines[campaign, number] for number in numbers])


def _query(metric: str, conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """A row for each run that has the metric, of the cases that meet the conditions."""
    campaign, of_case, of_run, of_metric = schema.campaign.c, schema.case.c, schema.run.c, schema.metric.c
    values = (of_metric[name] for name in ("value", "unit", "estimator", "used", "reason"))
    columns = (campaign.id, of_case.number, of_case.key, of_case.log, of_case.parser, of_run.machine)
    same_run = (of_metric.case_number == of_run.case_number) & (of_metric.run_number == of_run.number)
    return (
        select(*columns, of_run.window_taken, *values)
        .join_from(schema.campaign, schema.case, of_case.campaign == campaign.id)
        .join(schema.run, (of_run.campaign == of_case.campaign) & (of_run.case_number == of_case.number))
        .join(schema.metric, (of_metric.campaign == of_run.campaign) & same_run)
        .where(of_metric.name == metric, *conditions)
        .order_by(campaign.date, campaign.id, of_case.number, of_run.number)
    )


def _heads(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], ignored: Collection[str]
) -> tuple[dict[int, tuple[str, datetime, str]], dict[tuple[int, int], dict[str, str]]]:
    """The campaigns' labels, dates and rules, and what their machines are known by."""
    matching = select(schema.case.c.campaign).where(*conditions)
    heads = {}
    for row in connection.execute(select(schema.campaign).where(schema.campaign.c.id.in_(matching))):
        options = options_from(row.options)
        convention = f"; convention {options.convention}" if options.convention else ""
        heads[row.id] = (row.label, row.date, convention + (" (values as printed)" if options.as_printed else ""))
    facts = connection.execute(select(schema.machine).where(schema.machine.c.campaign.in_(matching)))
    return heads, {(row.campaign, row.number): identity(row.facts, ignored) for row in facts}


def _point(
    head: tuple[str, datetime, str], rows: Sequence[Row[Any]], metric: str, machines: Sequence[dict[str, str]]
) -> Point:
    label, date, convention = head
    metrics = [Metric(metric, row.value, row.unit, row.estimator, row.used, reason=row.reason) for row in rows]
    first = rows[0]
    rule = f"estimator {first.estimator}"
    if metric in _WINDOWED:
        rule += f"; {first.window_taken}{convention}"
    return Point(
        label,
        date,
        first.key,
        first.log,
        first.parser,
        summary_of(metric, metrics, "median"),
        len(rows),
        rule,
        tuple(machines),
    )


def missing(connection: Connection, wanted: Mapping[str, str], metric: str) -> str:
    """What to say where no case is as wanted, or none of those that are has the metric."""
    asked = ",".join(f"{k}={v}" for k, v in wanted.items())
    query = select(schema.case.c.key).where(*conditions_of(wanted))
    if any(_is(key, wanted) for (key,) in connection.execute(query)):
        names = sorted(connection.scalars(select(schema.metric.c.name).distinct()))
        return f"no case {asked} has the metric {metric!r}; metrics saved are {', '.join(names)}"
    for key, text in wanted.items():
        if key in CASE_KEYS:
            values = connection.scalars(select(schema.case.c[key]).distinct())
            there = sorted(value for value in values if value is not None)
            if str(normal(key, text)).lower() not in {str(value).lower() for value in there}:
                known = ", ".join(map(str, there[:NAMED])) or "none that say it"
                return f"no saved case has {key}={text}; there are {known}"
    return f"no saved case is {asked}; `perflog history` lists the campaigns"
