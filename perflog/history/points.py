"""A metric of a case in every campaign, out of the database."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, func, select

from perflog.cases.build import summary_of
from perflog.cases.case import Summary
from perflog.cases.pairs import metric_kind
from perflog.errors import UsageError
from perflog.formats.vocabulary import CASE_KEYS, INTEGERS, Scalar, normal
from perflog.history import schema
from perflog.history.database import CampaignRow, MachineRow, PointRow, complete, damages, options_of, reading, rows_of
from perflog.history.place import Database, name_of
from perflog.runs.machine import identity
from perflog.runs.run import Metric
from perflog.runs.sight import findings_in
from perflog.spelling import did_you_mean_or_list

#: Values that a message names: more do not help a reader.
NAMED = 50
#: A campaign's label, date and rule, and how many cases and runs were saved.
_Head = tuple[str, datetime, str, int, int]


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

    @property
    def throttling(self) -> str:
        """In a sentence that runs were throttled; empty where none is known to have been."""
        if not self.throttled:
            return ""
        return f"{self.throttled} of {self.runs} runs were throttled while they ran ({'; '.join(self.slowed_by)})"

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
    expected = _run_counts(connection, conditions, heads)
    found = rows_of(connection, _query(metric, conditions), PointRow, f"the runs with the metric {metric!r}")
    for (campaign, number), group in groupby(found, lambda row: (row["id"], row["number"])):
        rows = list(group)
        if metric == "throughput":  # every run has it
            complete(len(rows), expected[campaign, number], f"campaign {heads[campaign][0]!r}, {schema.metric.name}")
        if _is(rows[0]["key"], wanted):
            numbers = dict.fromkeys(row["machine"] for row in rows if row["machine"] is not None)
            with damages(f"campaign {heads[campaign][0]!r}, {schema.machine.name}"):
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
    for campaign, (label, _, _, cases, runs) in heads.items():
        own = [count for (of, _), count in counts.items() if of == campaign]
        complete(len(own), cases, f"campaign {label!r}, {schema.case.name}")
        complete(sum(own), runs, f"campaign {label!r}, {schema.run.name}")
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
    for row in rows_of(connection, query, CampaignRow, schema.campaign.name):
        options = options_of(row["options"], f"campaign {row['label']!r}, its options")
        convention = f"; convention {options.convention}" if options.convention else ""
        rule = convention + (" (values as printed)" if options.as_printed else "")
        heads[row["id"]] = (row["label"], row["date"], rule, row["cases"], row["runs"])
    of_machines = select(schema.machine).where(schema.machine.c.campaign.in_(matching))
    facts = rows_of(connection, of_machines, MachineRow, schema.machine.name)
    with damages(schema.machine.name):
        return heads, {(row["campaign"], row["number"]): identity(row["facts"], ignored) for row in facts}


def _point(head: _Head, rows: Sequence[RowMapping], metric: str, machines: Sequence[dict[str, str]]) -> Point:
    label, date, convention, _, _ = head
    metrics = [
        Metric(metric, row["value"], row["unit"], row["estimator"], row["used"], reason=row["reason"]) for row in rows
    ]
    first = rows[0]
    rule = f"estimator {first['estimator']}"
    if metric_kind(metric).is_windowed:
        rule += f"; {first['window_taken']}{convention}"
    throttled = [findings for row in rows if (findings := findings_in(row["notes"]))]
    return Point(
        label,
        date,
        first["key"],
        first["log"],
        first["parser"],
        summary_of(metric, metrics, "median"),
        len(rows),
        rule,
        tuple(machines),
        tuple(row["value"] for row in rows),
        first["number"],
        len(throttled),
        tuple(dict.fromkeys(finding for findings in throttled for finding in findings)),
    )


def missing(connection: Connection, wanted: Mapping[str, str], metric: str) -> str:
    """What to say where no case is as wanted, or none of those that are has the metric."""
    asked = ",".join(f"{k}={v}" for k, v in wanted.items())
    query = select(schema.case.c.key).where(*conditions_of(wanted))
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
# The campaigns that are known of cases: every point of a metric, for what campaigns of one version differ by.


def earlier_points(database: Database, wanted: Mapping[str, str], metric: str = "throughput") -> list[Point]:
    """The points of a metric of all cases that are as ``wanted``, by date; none where no case is.

    Raises:
        UsageError: when there is no history yet.
        PerflogError: when the database cannot be read.
    """
    with reading(database) as connection:
        if connection is None:
            raise UsageError(f"no history in {name_of(database)} yet; `perflog save LOGS --label v1` begins one")
        return list(points_of(connection, wanted, metric, ()))
