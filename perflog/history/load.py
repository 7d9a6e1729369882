"""One campaign out of the history, as the extraction that went in: nothing that works on logs' results needs the logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Table, select

from perflog.cases.build import build_cases
from perflog.extraction import Extraction
from perflog.history import schema
from perflog.history.campaigns import labels_of, unknown
from perflog.history.database import reading
from perflog.history.place import Database, shown, url_of
from perflog.history.plain import options_from, run_from, skipped_from
from perflog.runs.machine import Facts
from perflog.runs.run import Run


@dataclass(frozen=True, slots=True)
class Campaign:
    """A saved campaign: ``extraction`` has the cases, :meth:`machine` what is known of where a run was made."""

    label: str
    date: datetime
    saved_at: datetime
    perflog: str
    extraction: Extraction
    _machines: Mapping[tuple[str, int], Facts] = field(repr=False)

    def machine(self, run: Run) -> Facts | None:
        """The facts of ``machine.json`` that lay beside or above the run's log."""
        return self._machines.get(_place(run))


def load(database: Database, label: str) -> Extraction:
    """The extraction saved under a label.

    Raises:
        UsageError: when there is no such label, naming those near it.
        PerflogError: when the database cannot be read.
    """
    return load_campaign(database, label).extraction


def load_campaign(database: Database, label: str) -> Campaign:
    """The same with its date and its machines."""
    name = shown(url_of(database))
    with reading(database) as connection:
        if connection is None:
            raise unknown(label, [], name)
        head = connection.execute(select(schema.campaign).where(schema.campaign.c.label == label)).mappings().first()
        if head is None:
            raise unknown(label, labels_of(connection), name)
        return _campaign(connection, head)


def _campaign(connection: Connection, head: Mapping[Any, Any]) -> Campaign:
    key = head["id"]
    facts = {row["number"]: row["facts"] for row in _rows(connection, schema.machine, key)}
    metrics = {at: list(rows) for at, rows in groupby(_rows(connection, schema.metric, key), lambda row: (row["case_number"], row["run_number"]))}
    runs: list[Run] = []
    machines: dict[tuple[str, int], Facts] = {}
    for row in _rows(connection, schema.run, key):
        run = run_from(row, metrics[row["case_number"], row["number"]])
        runs.append(run)
        if row["machine"] is not None:
            machines[_place(run)] = facts[row["machine"]]
    options = options_from(head["options"])
    extraction = Extraction(build_cases(runs, options), skipped_from(head["skipped"]), options)
    return Campaign(head["label"], head["date"], head["saved_at"], head["perflog"], extraction, machines)


def _rows(connection: Connection, table: Table, campaign: int) -> list[Mapping[Any, Any]]:
    """A campaign's rows of a table, in the order of their numbers."""
    order = [column for column in table.primary_key.columns if column.name != "campaign"]
    return list(connection.execute(select(table).where(table.c.campaign == campaign).order_by(*order)).mappings())


def _place(run: Run) -> tuple[str, int]:
    return run.log.name, run.first_line
