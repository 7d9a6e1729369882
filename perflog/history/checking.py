"""Rows of the history as perflog writes them: what a database gives is checked before anything is made of it.

Others may write to a database, and disks fail. A row of another form, a row that is missing and a value that was
changed are errors that name the campaign and the table; no number is made of what is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import Connection, Executable, RowMapping

from perflog.settings.options import AGGREGATES, ESTIMATORS, Options

Count = Annotated[int, Meta(ge=0)]
_Texts = dict[str, str]


class DamagedError(Exception):
    """Rows that are not as perflog wrote them; the text says where, and what is wrong."""


class CampaignRow(Struct):
    """A row of ``perflog_campaign``."""

    id: int
    label: str
    content: str
    date: datetime
    saved_at: datetime
    perflog: str
    options: dict[str, Any]
    skipped: list[tuple[str, int, str, str]]
    cases: Count
    runs: Count


class MachineRow(Struct):
    """A row of ``perflog_machine``."""

    campaign: int
    number: Count
    facts: dict[str, Any]


class CaseRow(Struct):
    """A row of ``perflog_case``."""

    campaign: int
    number: Count
    key: dict[str, str | int]
    log: str
    parser: str


class RunRow(Struct):
    """A row of ``perflog_run``."""

    case_number: Count
    number: Count
    path: str
    member: str
    size: Annotated[int, Meta(ge=-1)]
    parser: str
    framework: str
    label: str
    window_taken: str
    first_line: Count
    last_line: Count
    lines: Count
    facts: dict[str, str | int]
    sources: _Texts
    doubts: list[str]
    notes: list[str]
    more: dict[str, Any]
    machine: Count | None


class MetricRow(Struct):
    """A row of ``perflog_metric``."""

    case_number: Count
    run_number: Count
    number: Count
    name: str
    value: float | None
    unit: str
    estimator: str
    used: Count
    excluded: dict[str, Count]
    first_line: Count
    last_line: Count
    first_step: float | None
    last_step: float | None
    reason: str
    parser: str
    time_per_step: float | None
    more: dict[str, Any]


class PointRow(Struct):
    """What a point of a series is made of: a run of a case, with the metric that is followed."""

    id: int
    number: Count
    key: dict[str, str | int]
    log: str
    parser: str
    machine: Count | None
    run: Count
    window_taken: str
    notes: list[str]
    value: float | None
    unit: str
    estimator: str
    used: Count
    reason: str


@contextmanager
def damages(what: str) -> Iterator[None]:
    """Say of rows that cannot be read or turned into what perflog wrote where they are: ``what``.

    Raises:
        DamagedError: in place of the errors of reading them.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, msgspec.MsgspecError) as error:
        raise DamagedError(f"{what}: {' '.join(str(error).split()) or type(error).__name__}") from None


def rows_of(connection: Connection, query: Executable, kind: type[Struct], what: str) -> Sequence[RowMapping]:
    """The rows of a query, each as ``kind`` says.

    Args:
        what: which rows they are, in words.

    Raises:
        DamagedError: when one of them is not.
    """
    with damages(what):
        rows = connection.execute(query).mappings().all()
        for row in rows:
            msgspec.convert(row, kind)
            if any(isinstance(value, float) and math.isnan(value) for value in row.values()):
                raise ValueError("a value is no number")
    return rows


def options_of(plain: Mapping[str, Any], what: str) -> Options:
    """Options from their plain form, as :func:`perflog.history.plain.options_from` makes them.

    Raises:
        DamagedError: when it is another form.
    """
    from perflog.history.plain import options_from

    with damages(what):
        options = msgspec.convert(msgspec.to_builtins(options_from(plain)), Options)
        for value, known in ((options.estimator, ESTIMATORS), (options.aggregate, AGGREGATES)):
            if value not in known:
                raise ValueError(f"expected one of {', '.join(known)}, found {value!r}")
    return options


def complete(count: int, expected: int, what: str) -> None:
    """Raise DamagedError where there are not as many rows as there were saved."""
    if count != expected:
        raise DamagedError(f"{what}: {count} rows, and {expected} were saved")
