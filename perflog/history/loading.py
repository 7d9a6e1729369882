"""One campaign out of the history, as the extraction that went in: nothing that works on logs' results needs the
logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Table, select

from perflog.cases.build import build_cases
from perflog.extraction import Extraction
from perflog.history import schema
from perflog.history.database import reading
from perflog.history.listing import labels_of, unknown
from perflog.history.place import Database, name_of
from perflog.history.plain import options_from, run_from, skipped_from


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
        head = connection.execute(select(schema.campaign).where(schema.campaign.c.label == label)).mappings().first()
        if head is None:
            raise unknown(label, labels_of(connection), name)
        return _campaign(connection, head)


def _campaign(connection: Connection, head: Mapping[Any, Any]) -> Campaign:
    key = head["id"]
    facts = {row["number"]: row["facts"] for row in _rows(connection, schema.machine, key)}
    of_run = groupby(_rows(connection, schema.metric, key), lambda row: (row["case_number"], row["run_number"]))
    metrics = {numbers: list(rows) for numbers, rows in of_run}
    runs = [
        run_from(row, metrics[row["case_number"], row["number"]], facts.get(row["machine"]))
        for row in _rows(connection, schema.run, key)
    ]
    options = options_from(head["options"])
    extraction = Extraction(build_cases(runs, options), skipped_from(head["skipped"]), options)
    return Campaign(head["label"], head["date"], head["saved_at"], head["perflog"], extraction)


def _rows(connection: Connection, table: Table, campaign: int) -> list[Mapping[Any, Any]]:
    """A campaign's rows of a table, in the order of their numbers."""
    order = [column for column in table.primary_key.columns if column.name != "campaign"]
    return list(connection.execute(select(table).where(table.c.campaign == campaign).order_by(*order)).mappings())
