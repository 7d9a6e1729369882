"""The ledger of a history: what was found in it, said of it and agreed on; rows are added, never changed or taken away.

A change of level that a look found is in the ledger from then on, whatever becomes of it and of its campaigns; so is
what people say of it. Each row has a hash of what it says and of the row before it: one that was changed, or taken out
of the middle, is an error and no event. Rows refer to cases and campaigns by their names, as these may be taken away.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from perflog._version import __version__
from perflog.errors import PerflogError
from perflog.formats.vocabulary import Scalar
from perflog.history import schema
from perflog.history.database import TRIES, DamagedError, complete, damages, reading, rows_of, writing
from perflog.history.place import Database


class EventKind(Enum):
    """What an event is. A look adds the first three, people the others."""

    FOUND = "found"
    BECAME = "became"
    NEW_PART = "new part"
    ACKNOWLEDGED = "acknowledged"
    NOTE = "note"


#: When an event was added that is not there yet.
NOT_YET = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Event:
    """A row of the ledger.

    Attributes:
        kind: what it is.
        metric: of which metric; empty for a note on a campaign.
        name, key: of which case; empty for all cases of the campaign.
        campaign, date: the label and date of the campaign that it lies at.
        author: who said it; empty for what a look found.
        text: what was said, or found, in words.
        facts: of a change: ``before``, ``after``, ``ratio``, ``unit``, ``margin`` and ``state``; ``found``: the number
            of the event that this one is about; ``newest``: the newest campaign of the look.
        number: its place in the ledger from 1 on; 0 before it is there.
        made_at: when it was added.
    """

    kind: EventKind
    metric: str
    name: str
    key: Mapping[str, Scalar]
    campaign: str
    date: datetime
    author: str = ""
    text: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    number: int = 0
    made_at: datetime = NOT_YET

    @property
    def about(self) -> int | None:
        """The number of the event that it is about."""
        number = self.facts.get("found")
        return number if isinstance(number, int) else None


def events(database: Database) -> list[Event]:
    """All events, in the order in which they were added; none where there is no history yet.

    Raises:
        PerflogError: when the database cannot be read, or the ledger is not as it was written.
    """
    with reading(database) as connection:
        return [] if connection is None else events_in(connection)


def events_in(connection: Connection) -> list[Event]:
    """As :func:`events`. Raises DamagedError where a row is not as it was written, or rows are missing."""
    what = f"the ledger, {schema.event.name}"
    rows = rows_of(connection, select(schema.event).order_by(schema.event.c.number), what)
    found, before = [], ""
    for place, row in enumerate(rows, 1):
        complete(row["number"], place, f"{what}, row {place}")
        with damages(f"{what}, row {place}"):
            if _content(row, before) != row["content"]:
                raise DamagedError(f"{what}, row {place}: it is not as it was written, or one before it was taken away")
            kind = EventKind(row["kind"])
        before = row["content"]
        named = {name: row[name] for name in row if name not in ("kind", "perflog", "content")}
        found.append(Event(kind, **named))
    return found


def add(database: Database, news: Callable[[Sequence[Event]], Sequence[Event]]) -> list[Event]:
    """Add events to the ledger.

    Args:
        news: from the events that are there to those that are to be added; it is asked again where another writer was
            first.

    Returns:
        the events that were added, with their numbers.

    Raises:
        PerflogError: when the database cannot be written, or the ledger is not as it was written.
    """
    for _ in range(TRIES):
        try:
            with writing(database) as connection:
                return _added(connection, news)
        except IntegrityError as error:  # another writer took the next number
            refused = error.orig
    raise PerflogError(f"the ledger could not be written, in {TRIES} tries: {refused}")


def _added(connection: Connection, news: Callable[[Sequence[Event]], Sequence[Event]]) -> list[Event]:
    there = events_in(connection)
    query = select(schema.event.c.content).order_by(schema.event.c.number.desc()).limit(1)
    before = connection.execute(query).scalar() or ""
    now = datetime.now(UTC)
    rows, added = [], []
    for number, event in enumerate(news(there), len(there) + 1):
        row: dict[str, Any] = {
            "number": number, "made_at": now, "kind": event.kind.value, "metric": event.metric, "name": event.name,
            "key": dict(event.key), "campaign": event.campaign, "date": event.date, "author": event.author,
            "text": event.text, "facts": dict(event.facts), "perflog": __version__,
        }  # fmt: skip
        row["content"] = before = _content(row, before)
        rows.append(row)
        added.append(replace(event, number=number, made_at=now))
    if rows:
        connection.execute(insert(schema.event), rows)
    return added


def _content(row: Mapping[Any, Any], before: str) -> str:
    """The hash of a row and of that of the row before it."""
    plain = {
        name: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
        if name != "content"
    }
    return hashlib.sha256(json.dumps([before, plain], sort_keys=True).encode()).hexdigest()
