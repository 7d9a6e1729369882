"""One campaign out of the history, as the extraction that went in: nothing that works on logs' results needs the
logs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Table, select

from perflog.cases.build import build_cases
from perflog.extraction import Extraction
from perflog.history import schema
from perflog.history.checking import (
    CampaignRow,
    CaseRow,
    DamagedError,
    MachineRow,
    MetricRow,
    RunRow,
    complete,
    damages,
    options_of,
    rows_of,
)
from perflog.history.database import reading
from perflog.history.listing import labels_of, unknown
from perflog.history.place import Database, name_of
from perflog.history.plain import content_of, run_from, skipped_from


@dataclass(frozen=True, slots=True)
class Campaign:
    """A saved campaign.

    Attributes:
        date: its place in a series; ``saved_at``: when it was saved.
        perflog: the version that saved it.
        extraction: its cases with their runs, the same that was saved; the runs have what is known of their
            machines, without the files that said it.
    """

    label: str
    date: datetime
    saved_at: datetime
    perflog: str
    extraction: Extraction


def load(database: Database, label: str) -> Campaign:
    """The campaign saved under a label: its extraction, its date and its machines.

    Raises:
        UsageError: when there is no such label, naming those near it.
        PerflogError: when the database cannot be read.
    """
    name = name_of(database)
    with reading(database) as connection:
        if connection is None:
            raise unknown(label, [], name)
        query = select(schema.campaign).where(schema.campaign.c.label == label)
        head = next(iter(rows_of(connection, query, CampaignRow, f"campaign {label!r}")), None)
        if head is None:
            raise unknown(label, labels_of(connection), name)
        return _campaign(connection, head)


def _campaign(connection: Connection, head: Mapping[Any, Any]) -> Campaign:
    what = f"campaign {head['label']!r}"
    machines = _rows(connection, schema.machine, head, MachineRow)
    cases = _rows(connection, schema.case, head, CaseRow)
    run_rows = _rows(connection, schema.run, head, RunRow)
    metric_rows = _rows(connection, schema.metric, head, MetricRow)
    complete(len(cases), head["cases"], f"{what}, {schema.case.name}")
    complete(len(run_rows), head["runs"], f"{what}, {schema.run.name}")
    if content_of(head["options"], machines, cases, run_rows, metric_rows) != head["content"]:
        raise DamagedError(f"{what}: its rows are not those that were saved; delete it, and save its logs again")
    options = options_of(head["options"], f"{what}, its options")
    facts = {row["number"]: row["facts"] for row in machines}
    of_run = groupby(metric_rows, lambda row: (row["case_number"], row["run_number"]))
    metrics = {numbers: list(rows) for numbers, rows in of_run}
    with damages(f"{what}, its runs"):
        runs = [
            run_from(row, metrics[row["case_number"], row["number"]], facts.get(row["machine"])) for row in run_rows
        ]
        skipped = skipped_from(head["skipped"])
    extraction = Extraction(build_cases(runs, options), skipped, options)
    return Campaign(head["label"], head["date"], head["saved_at"], head["perflog"], extraction)


def _rows(
    connection: Connection, table: Table, head: Mapping[Any, Any], kind: type[Struct]
) -> Sequence[Mapping[Any, Any]]:
    """A campaign's rows of a table, in the order of their numbers. Raises DamagedError as :func:`rows_of` does."""
    order = [column for column in table.primary_key.columns if column.name != "campaign"]
    query = select(table).where(table.c.campaign == head["id"]).order_by(*order)
    return rows_of(connection, query, kind, f"campaign {head['label']!r}, {table.name}")
