"""The history's tables.

What is stored are the runs as extracted, in full: a case's summary follows from its runs and the options. The table of
cases is for finding them. A campaign is inserted once and never updated; all that belongs to it is keyed by it first,
so that one range of each table's key is one campaign.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

if TYPE_CHECKING:
    from sqlalchemy import Dialect

#: The newest migration that this perflog knows; the tables below are as it leaves them.
VERSION = "0001"
#: The key of ``campaign``: SQLite numbers rows of a plain INTEGER only.
Number = BigInteger().with_variant(Integer, "sqlite")
_ESCAPED = "json:"


class Words(TypeDecorator[str]):
    """Text exactly as it is. What no database holds (NUL, undecodable bytes of a file name) is kept in its JSON
    form.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        if value is None:
            return None
        plain = value.isprintable() or not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)
        return value if plain and not value.startswith(_ESCAPED) else _ESCAPED + json.dumps(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return json.loads(value.removeprefix(_ESCAPED)) if value is not None and value.startswith(_ESCAPED) else value


class Moment(TypeDecorator[datetime]):
    """A point in time, in UTC; SQLite knows no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def _required(name: str, kind: Any, *more: Any, **options: Any) -> Column[Any]:
    return Column(name, kind, *more, nullable=False, **options)


def _campaign() -> Column[Any]:
    return Column(
        "campaign", Number, ForeignKey("perflog_campaign.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )


def _number(name: str) -> Column[Any]:
    return Column(name, Integer, primary_key=True, autoincrement=False)


METADATA = MetaData()

#: ``content``: the hash of what was saved; ``date``: the campaign's place in a series; ``cases``, ``runs``: how many.
campaign = Table(
    "perflog_campaign", METADATA,
    Column("id", Number, primary_key=True),
    _required("label", Words, unique=True),
    _required("content", String(64), unique=True),
    _required("date", Moment),
    _required("saved_at", Moment),
    _required("perflog", String(40)),
    _required("options", JSON),
    _required("skipped", JSON),
    _required("cases", Integer),
    _required("runs", Integer),
)  # fmt: skip

machine = Table("perflog_machine", METADATA, _campaign(), _number("number"), _required("facts", JSON))

#: What tells cases apart, to find them by; ``key`` has it in full, ``log`` what their logs' labels do not share.
case = Table(
    "perflog_case", METADATA, _campaign(), _number("number"),
    Column("framework", Words), Column("framework_version", Words), Column("model", Words), Column("precision", Words),
    Column("batch_size", BigInteger), Column("nodes", BigInteger), Column("devices", BigInteger),
    Column("accelerator", Words),
    _required("key", JSON), _required("log", Words), _required("parser", Words),
    Index("perflog_case_model", "model", "devices"),
)  # fmt: skip

#: ``facts``, ``sources``, ``doubts``: the metadata; ``more``: what later versions of perflog know of a run.
run = Table(
    "perflog_run", METADATA, _campaign(), _number("case_number"), _number("number"),
    _required("path", Words), _required("member", Words), _required("size", BigInteger),
    _required("parser", Words), _required("framework", Words), _required("label", Words),
    _required("window_taken", Words),
    _required("first_line", BigInteger), _required("last_line", BigInteger), _required("lines", BigInteger),
    _required("facts", JSON), _required("sources", JSON), _required("doubts", JSON), _required("notes", JSON),
    _required("more", JSON),
    Column("machine", Integer),
    ForeignKeyConstraint(
        ["campaign", "case_number"], ["perflog_case.campaign", "perflog_case.number"], ondelete="CASCADE"
    ),
    ForeignKeyConstraint(
        ["campaign", "machine"], ["perflog_machine.campaign", "perflog_machine.number"], ondelete="CASCADE"
    ),
)  # fmt: skip

metric = Table(
    "perflog_metric", METADATA, _campaign(), _number("case_number"), _number("run_number"), _number("number"),
    _required("name", Words), Column("value", Double), _required("unit", Words), _required("estimator", Words),
    _required("used", BigInteger), _required("excluded", JSON), _required("first_line", BigInteger),
    _required("last_line", BigInteger),
    Column("first_step", Double), Column("last_step", Double), _required("reason", Words), _required("parser", Words),
    Column("time_per_step", Double), _required("more", JSON),
    ForeignKeyConstraint(
        ["campaign", "case_number", "run_number"],
        ["perflog_run.campaign", "perflog_run.case_number", "perflog_run.number"],
        ondelete="CASCADE",
    ),
)  # fmt: skip

version = Table("perflog_version", MetaData(), Column("version_num", String(32), primary_key=True))
