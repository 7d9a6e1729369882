"""Which logs the points of a history stand on: the names of the runs' logs, with their lines and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct
from sqlalchemy import select

from perflog.history import schema
from perflog.history.checking import rows_of
from perflog.history.database import reading
from perflog.history.place import Database
from perflog.logs.find import LogFile

#: A campaign's label, and a case's number in it.
CaseOfCampaign = tuple[str, int]


class _LogRow(Struct):
    """A run's log, with the metric where the run has it."""

    label: str
    case_number: Annotated[int, Meta(ge=0)]
    path: str
    member: str
    first_line: Annotated[int, Meta(ge=0)] | None
    last_line: Annotated[int, Meta(ge=0)] | None
    value: float | None


@dataclass(frozen=True, slots=True)
class RunLog:
    """The log of one run.

    Attributes:
        path: where it lay when its campaign was saved.
        name: its name for people.
        first_line, last_line: the lines that the metric's value comes from; 0 where none are known.
        value: the run's value, in the unit of the point; None where there is none.
    """

    path: str
    name: str
    first_line: int
    last_line: int
    value: float | None


def run_logs(database: Database, metric: str) -> dict[CaseOfCampaign, list[RunLog]]:
    """The logs of every case of every campaign, in the order of the runs.

    Raises:
        PerflogError: when the database cannot be read.
    """
    campaign, run, of_metric = schema.campaign.c, schema.run.c, schema.metric.c
    same_run = (of_metric.case_number == run.case_number) & (of_metric.run_number == run.number)
    same = (of_metric.campaign == run.campaign) & same_run & (of_metric.name == metric)
    query = (
        select(
            campaign.label, run.case_number, run.path, run.member, of_metric.first_line, of_metric.last_line,
            of_metric.value,
        )
        .join_from(schema.run, schema.campaign, run.campaign == campaign.id)
        .outerjoin(schema.metric, same)
        .order_by(campaign.date, campaign.id, run.case_number, run.number)
    )  # fmt: skip
    logs: dict[CaseOfCampaign, list[RunLog]] = {}
    with reading(database) as connection:
        rows = [] if connection is None else rows_of(connection, query, _LogRow, schema.run.name)
    for row in rows:
        name = LogFile(row["path"], 0, row["member"]).name
        lines = row["first_line"] or 0, row["last_line"] or 0
        logs.setdefault((row["label"], row["case_number"]), []).append(RunLog(row["path"], name, *lines, row["value"]))
    return logs
