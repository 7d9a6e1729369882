"""Which campaigns there are; taking one away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy import delete as deletion

from perflog.errors import UsageError
from perflog.history import schema
from perflog.history.checking import CampaignRow, damages, options_of, rows_of
from perflog.history.database import reading, writing
from perflog.history.place import Database, name_of
from perflog.settings.options import Options
from perflog.spelling import did_you_mean


@dataclass(frozen=True, slots=True)
class Entry:
    """A campaign as the list shows it.

    Attributes:
        date: its place in a series; ``saved_at``: when it was saved.
        cases, runs: how many it has.
        frameworks: those of its cases, each with its version.
        options: those it was extracted with.
    """

    label: str
    date: datetime
    saved_at: datetime
    cases: int
    runs: int
    frameworks: tuple[str, ...]
    options: Options


def campaigns(database: Database) -> list[Entry]:
    """All campaigns by date, then in the order they were saved in; none where there is no history yet.

    Raises:
        UsageError: for a text that names no database.
        PerflogError: when the database cannot be read.
    """
    with reading(database) as connection:
        if connection is None:
            return []
        frameworks: dict[int, list[str]] = {}
        columns = (schema.case.c.campaign, schema.case.c.framework, schema.case.c.framework_version)
        with damages(schema.case.name):
            for key, *parts in connection.execute(select(*columns).distinct().order_by(*columns)):
                frameworks.setdefault(key, []).append(" ".join(part for part in parts if part))
        table = schema.campaign
        rows = rows_of(connection, select(table).order_by(table.c.date, table.c.id), CampaignRow, table.name)
        return [_entry(row, frameworks.get(row["id"], ())) for row in rows]


def _entry(row: Mapping[Any, Any], frameworks: Sequence[str]) -> Entry:
    named = tuple(framework for framework in frameworks if framework)
    options = options_of(row["options"], f"campaign {row['label']!r}, its options")
    return Entry(row["label"], row["date"], row["saved_at"], row["cases"], row["runs"], named, options)


def delete(database: Database, label: str) -> None:
    """Take a campaign out of the history.

    Raises:
        UsageError: when there is none of that label, naming those near it.
    """
    name = name_of(database)
    with reading(database) as connection:
        if connection is None:
            raise unknown(label, [], name)
    with writing(database) as connection:
        gone = connection.execute(deletion(schema.campaign).where(schema.campaign.c.label == label))
        if not gone.rowcount:
            raise unknown(label, labels_of(connection), name)


def labels_of(connection: Connection) -> list[str]:
    """The campaigns' labels by date, then in the order they were saved in."""
    table = schema.campaign
    with damages(table.name):
        return list(connection.scalars(select(table.c.label).order_by(table.c.date, table.c.id)))


def unknown(label: str, there: Sequence[str], name: str) -> UsageError:
    """What to say of a label that no campaign has."""
    if not there:
        begin = f"`perflog save LOGS --label {label}` begins one"
        return UsageError(f"no campaign {label!r}: no history in {name} yet; {begin}")
    hint = did_you_mean(label, there, cutoff=0.4, otherwise=f"there are {', '.join(there[-10:])}")
    return UsageError(f"no campaign {label!r} in {name}{hint}")
