"""One campaign into the history: whole or not at all, and once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, or_, select
from sqlalchemy.exc import IntegrityError

from perflog._version import __version__
from perflog.errors import PerflogError, UsageError
from perflog.extraction import Extraction
from perflog.history import schema
from perflog.history.database import TRIES, writing
from perflog.history.place import Database
from perflog.history.plain import Row, Rows, rows_of


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of it; ``done``: saved, replaced or already saved."""

    label: str
    date: datetime
    cases: int
    runs: int
    done: str


def save(database: Database, extraction: Extraction, label: str, date: datetime | None = None, replace: bool = False) -> Saved:
    """Store a campaign under a label.

    The same campaign again changes nothing. ``date``: its place in a series; the time of saving when not given, and that
    of the campaign it replaces.

    Raises:
        UsageError: when the label has another campaign and ``replace`` is not set, or the campaign another label.
        PerflogError: when the database cannot be written, or there is nothing to save.
    """
    _check(label)
    rows = rows_of(extraction)
    if not rows.runs:
        raise PerflogError("no training log found, so nothing is saved; `perflog explain FILE` says why a file is none")
    for _ in range(TRIES):
        try:
            with writing(database) as connection:
                return _saved(connection, rows, label, date, replace)
        except IntegrityError:  # another one saved this label or campaign since we looked: look again
            continue
    raise PerflogError(f"{label!r} could not be saved: others save and delete it all the time")


def _check(label: str) -> None:
    if not label.strip() or label != label.strip() or not label.isprintable() or label.startswith("-") or len(label) > 200:
        raise UsageError(f"--label {label[:60]!r}: expected a name such as v2.5 or 2025-06-01")


def _saved(connection: Connection, rows: Rows, label: str, date: datetime | None, replace: bool) -> Saved:
    table = schema.campaign
    found = connection.execute(select(table).where(or_(table.c.label == label, table.c.content == rows.content)))
    there = {row["label"]: row for row in found.mappings()}
    old = there.pop(label, None)
    counts = (len(rows.cases), len(rows.runs))
    if old is not None and old["content"] == rows.content and (date is None or date == old["date"]):
        return Saved(label, old["date"], *counts, "already saved")
    if old is not None and not replace:
        what = "with other results" if old["content"] != rows.content else f"with the date {_day(old['date'])}"
        raise UsageError(f"{label!r} was saved on {_day(old['saved_at'])} {what}: --replace puts these in their place, or choose another label")
    for other in there.values():
        raise UsageError(
            f"these results are already saved as {other['label']!r}, on {_day(other['saved_at'])}: one campaign has one label "
            f"(`perflog history delete {other['label']}` takes that one away)"
        )
    now = datetime.now(UTC)
    when = date or (old["date"] if old is not None else now)
    if old is not None:
        connection.execute(delete(table).where(table.c.id == old["id"]))
    head = {
        "label": label, "content": rows.content, "date": when, "saved_at": now, "perflog": __version__,
        "options": rows.options, "skipped": rows.skipped, "cases": counts[0], "runs": counts[1],
    }  # fmt: skip
    key = connection.execute(insert(table).values(head).returning(table.c.id)).scalar_one()
    for child, members in ((schema.machine, rows.machines), (schema.case, rows.cases), (schema.run, rows.runs), (schema.metric, rows.metrics)):
        _insert(connection, child, key, members)
    return Saved(label, when, *counts, "saved" if old is None else "replaced")


def _insert(connection: Connection, table: Table, campaign: Any, members: Sequence[Row]) -> None:
    if members:
        connection.execute(insert(table), [{"campaign": campaign, **row} for row in members])


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
