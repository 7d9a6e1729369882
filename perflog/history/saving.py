"""Campaigns in the history: one saved whole or not at all, and once; loaded as it was; listed; and taken away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Table, insert, or_, select
from sqlalchemy import delete as deletion
from sqlalchemy.exc import IntegrityError

from perflog._version import __version__
from perflog.cases.build import build_cases
from perflog.errors import PerflogError, UsageError
from perflog.extraction import Extraction
from perflog.history import schema
from perflog.history.commits import UNKNOWN, Code, is_name
from perflog.history.database import TRIES, DamagedError, complete, damages, options_of, reading, rows_of, writing
from perflog.history.place import Database, name_of
from perflog.history.schema import Record, Records, content_of, records_of, run_from, skipped_from
from perflog.settings.options import Options
from perflog.spelling import did_you_mean


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of a campaign.

    Attributes:
        date: its place in a series.
        cases, runs: how many it has; ``without_value``: how many of the runs have no throughput.
        done: ``saved``, ``replaced`` or ``already saved``.
    """

    label: str
    date: datetime
    cases: int
    runs: int
    without_value: int
    done: str


def save(
    database: Database, extraction: Extraction, label: str, date: datetime | None = None, replace: bool = False,
    code: Code = UNKNOWN,
) -> Saved:  # fmt: skip
    """Store a campaign under a label.

    The same campaign again changes nothing.

    Args:
        date: its place in a series; the time of saving when not given, and that of the campaign it replaces.
        replace: put it in the place of another campaign that has the label.
        code: the commit and branch that were measured, as far as they are known.

    Raises:
        UsageError: when the label has another campaign and ``replace`` is not set, or the campaign another label.
        PerflogError: when the database cannot be written, or there is nothing to save.
    """
    _check(label)
    records = records_of(extraction)
    _, cases, runs, _ = records.parts
    if not runs:
        raise PerflogError(f"nothing is saved: {extraction.why_none}")
    without = sum(run.throughput.value is None for run in extraction.runs)
    for _ in range(TRIES):
        try:
            with writing(database) as connection:
                when, done = _stored(connection, records, label, date, replace, code)
            return Saved(label, when, len(cases), len(runs), without, done)
        except IntegrityError:  # another one saved this label or campaign since we looked: look again
            continue
    raise PerflogError(f"{label!r} could not be saved: others save and delete it all the time")


def _check(label: str) -> None:
    if not is_name(label):
        raise UsageError(f"--label {label[:60]!r}: expected a name such as v2.5 or 2025-06-01")


def _stored(
    connection: Connection, records: Records, label: str, date: datetime | None, replace: bool, code: Code
) -> tuple[datetime, str]:
    """Store the records unless they are there; the campaign's date, and what was done."""
    table = schema.campaign
    query = select(table).where(or_(table.c.label == label, table.c.content == records.content))
    there = {row["label"]: row for row in connection.execute(query).mappings()}
    old = there.pop(label, None)
    told = {"date": date, "commit_hash": code.commit, "branch": code.branch}
    other = [name for name, value in told.items() if old is not None and value is not None and value != old[name]]
    if old is not None and old["content"] == records.content and not other:
        return old["date"], "already saved"
    _refuse(records, label, old, list(there.values()), replace)
    now = datetime.now(UTC)
    when = date or (old["date"] if old is not None else now)
    if old is not None:
        connection.execute(deletion(table).where(table.c.id == old["id"]))
    named = {"label": label, "date": when, "saved_at": now, "commit_hash": code.commit, "branch": code.branch}
    _insert_all(connection, records, named)
    return when, "saved" if old is None else "replaced"


#: The columns of the code that was measured, in words.
_CODE = (("commit_hash", "commit"), ("branch", "branch"))


def _refuse(records: Records, label: str, old: Mapping[Any, Any] | None, others: Sequence[Any], replace: bool) -> None:
    """Raise where the label has another campaign (``old``) that stays, or the campaign another label (``others``)."""
    if old is not None and not replace:
        differs = old["content"] != records.content
        known = [f"the date {_day(old['date'])}", *(f"the {word} {old[name] or 'unknown'}" for name, word in _CODE)]
        what = "with other results" if differs else f"with {', '.join(known)}"
        raise UsageError(
            f"{label!r} was saved on {_day(old['saved_at'])} {what}: --replace puts these in their place, "
            "or choose another label"
        )
    for other in others:
        raise UsageError(
            f"these results are already saved as {other['label']!r}, on {_day(other['saved_at'])}: "
            f"one campaign has one label (`perflog history delete {other['label']}` takes that one away)"
        )


def _insert_all(connection: Connection, records: Records, named: Record) -> None:
    """Insert a campaign, ``named`` with its label and dates, and all that belongs to it."""
    table = schema.campaign
    _, cases, runs, _ = records.parts
    counts = {"cases": len(cases), "runs": len(runs)}
    content = {"content": records.content, "options": records.options, "skipped": records.skipped}
    row = {**named, **content, **counts, "perflog": __version__}
    key = connection.execute(insert(table).values(row).returning(table.c.id)).scalar_one()
    for part, members in zip(schema.PARTS, records.parts, strict=True):
        if members:
            connection.execute(insert(part), [{"campaign": key, **member} for member in members])


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


# ----------------------------------------------------------------------------------------------------
# One campaign out of the history, as the extraction that went in: nothing that works on logs' results needs the
# logs.


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
        found = campaign_in(connection, label)
        if found is None:
            raise unknown(label, labels_of(connection), name)
        return found


def campaign_in(connection: Connection, label: str) -> Campaign | None:
    """The campaign saved under a label; None where there is none.

    Raises:
        DamagedError: where it is not as it was saved.
    """
    query = select(schema.campaign).where(schema.campaign.c.label == label)
    head = next(iter(rows_of(connection, query, f"campaign {label!r}")), None)
    return None if head is None else _campaign(connection, head)


def _campaign(connection: Connection, head: Mapping[Any, Any]) -> Campaign:
    what = f"campaign {head['label']!r}"
    parts = [_rows(connection, table, head) for table in schema.PARTS]
    machines, cases, run_rows, metric_rows = parts
    complete(len(cases), head["cases"], f"{what}, {schema.case.name}")
    complete(len(run_rows), head["runs"], f"{what}, {schema.run.name}")
    if content_of(head["options"], parts) != head["content"]:
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


def _rows(connection: Connection, table: Table, head: Mapping[Any, Any]) -> Sequence[Mapping[Any, Any]]:
    """A campaign's rows of a table, in the order of their numbers. Raises DamagedError as :func:`rows_of` does."""
    order = [column for column in table.primary_key.columns if column.name != "campaign"]
    query = select(table).where(table.c.campaign == head["id"]).order_by(*order)
    return rows_of(connection, query, f"campaign {head['label']!r}, {table.name}")


# ----------------------------------------------------------------------------------------------------
# Which campaigns there are; taking one away.


@dataclass(frozen=True, slots=True)
class Entry:
    """A campaign as the list shows it.

    Attributes:
        date: its place in a series; ``saved_at``: when it was saved.
        cases, runs: how many it has.
        frameworks: those of its cases, each with its version.
        options: those it was extracted with.
        code: the commit and branch that were measured, as far as they are known.
    """

    label: str
    date: datetime
    saved_at: datetime
    cases: int
    runs: int
    frameworks: tuple[str, ...]
    options: Options
    code: Code = UNKNOWN


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
        rows = rows_of(connection, select(table).order_by(table.c.date, table.c.id), table.name)
        return [
            Entry(
                row["label"], row["date"], row["saved_at"], row["cases"], row["runs"],
                tuple(filter(None, frameworks.get(row["id"], ()))),
                options_of(row["options"], f"campaign {row['label']!r}, its options"),
                Code(row["commit_hash"], row["branch"]),
            )
            for row in rows
        ]  # fmt: skip


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
