"""A database checked whole: its file, its schema, every campaign as it was saved, and the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, inspect, select, text

from perflog.errors import PerflogError
from perflog.history import schema
from perflog.history.database import DamagedError, reading
from perflog.history.ledger import events_in
from perflog.history.place import Database, name_of
from perflog.history.saving import campaign_in, labels_of


@dataclass(frozen=True, slots=True)
class Check:
    """What a check of a database found.

    Attributes:
        campaigns, events: how many there are; 0 where they could not be read.
        faults: what is not as it was written, each in a sentence; empty where all is.
    """

    campaigns: int
    events: int
    faults: tuple[str, ...]


def check(database: Database) -> Check:
    """Read all that a history holds, and hold it against what was saved. Nothing is changed.

    Raises:
        PerflogError: when there is no history, or the database cannot be read at all.
    """
    with reading(database) as connection:
        if connection is None:
            raise PerflogError(f"no history in {name_of(database)} yet; `perflog save LOGS --label v1` begins one")
        faults = [*_of_the_file(connection), *_of_tables(connection)]
        labels = labels_of(connection)
        for label in labels:
            try:
                campaign_in(connection, label)
            except DamagedError as error:
                faults.append(str(error))
        ledger = []
        try:
            ledger = events_in(connection)
        except DamagedError as error:
            faults.append(str(error))
        return Check(len(labels), len(ledger), tuple(faults))


def _of_the_file(connection: Connection) -> Iterator[str]:
    """What SQLite says of its file; PostgreSQL checks its pages itself as it reads them."""
    if connection.dialect.name != "sqlite":
        return
    for (line,) in connection.execute(text("PRAGMA integrity_check")):
        if line != "ok":
            yield f"SQLite's integrity check: {line}"
    for table, row, other, _ in connection.execute(text("PRAGMA foreign_key_check")):
        yield f"{table}, row {row} names a row of {other} that is not there"


def _of_tables(connection: Connection) -> Iterator[str]:
    """Rows of campaigns that are not there: whoever switched the database's own check off may have left some."""
    there = set(inspect(connection).get_table_names())
    known = select(schema.campaign.c.id)
    for table in schema.PARTS:
        if table.name not in there:
            yield f"the table {table.name} is missing"
            continue
        lost = connection.execute(
            select(table.c.campaign).where(table.c.campaign.not_in(known)).distinct()
        ).scalars().all()  # fmt: skip
        if lost:
            yield f"{table.name} has rows of {len(lost)} campaigns that are not there"
