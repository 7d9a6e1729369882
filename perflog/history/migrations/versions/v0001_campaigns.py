"""Campaigns, their machines, cases, runs and metrics."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _column(name: str, kind: Any, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=null)


def _belongs_to(*tables: tuple[str, list[str], list[str]]) -> list[sa.ForeignKeyConstraint]:
    return [sa.ForeignKeyConstraint(["campaign"], ["perflog_campaign.id"], ondelete="CASCADE")] + [
        sa.ForeignKeyConstraint(own, [f"{table}.{name}" for name in theirs], ondelete="CASCADE")
        for table, own, theirs in tables
    ]


_NUMBER: Any = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TEXT, _BIG, _SMALL = sa.Text(), sa.BigInteger(), sa.Integer()
_REAL: Any = sa.Double()


def upgrade() -> None:
    _campaigns()
    _cases()
    _runs()
    _metrics()


def _campaigns() -> None:
    op.create_table(
        "perflog_campaign",
        sa.Column("id", _NUMBER, primary_key=True),
        _column("label", _TEXT), _column("content", sa.String(64)),
        _column("date", sa.DateTime(timezone=True)), _column("saved_at", sa.DateTime(timezone=True)),
        _column("perflog", sa.String(40)), _column("options", sa.JSON()), _column("skipped", sa.JSON()),
        _column("cases", _SMALL), _column("runs", _SMALL),
        sa.UniqueConstraint("label"), sa.UniqueConstraint("content"),
    )  # fmt: skip
    op.create_table(
        "perflog_machine",
        _column("campaign", _NUMBER), _column("number", _SMALL), _column("facts", sa.JSON()),
        sa.PrimaryKeyConstraint("campaign", "number"), *_belongs_to(),
    )  # fmt: skip


def _cases() -> None:
    op.create_table(
        "perflog_case",
        _column("campaign", _NUMBER), _column("number", _SMALL),
        *(_column(name, _TEXT, True) for name in ("framework", "framework_version", "model", "precision")),
        *(_column(name, _BIG, True) for name in ("batch_size", "nodes", "devices")),
        _column("accelerator", _TEXT, True), _column("key", sa.JSON()), _column("log", _TEXT), _column("parser", _TEXT),
        sa.PrimaryKeyConstraint("campaign", "number"), *_belongs_to(),
    )  # fmt: skip
    op.create_index("perflog_case_model", "perflog_case", ["model", "devices"])


def _runs() -> None:
    op.create_table(
        "perflog_run",
        _column("campaign", _NUMBER), _column("case_number", _SMALL), _column("number", _SMALL),
        _column("path", _TEXT), _column("member", _TEXT), _column("size", _BIG),
        *(_column(name, _TEXT) for name in ("parser", "framework", "label", "window_taken")),
        *(_column(name, _BIG) for name in ("first_line", "last_line", "lines")),
        *(_column(name, sa.JSON()) for name in ("facts", "sources", "doubts", "notes", "more")),
        _column("machine", _SMALL, True),
        sa.PrimaryKeyConstraint("campaign", "case_number", "number"),
        *_belongs_to(
            ("perflog_case", ["campaign", "case_number"], ["campaign", "number"]),
            ("perflog_machine", ["campaign", "machine"], ["campaign", "number"]),
        ),
    )  # fmt: skip


def _metrics() -> None:
    op.create_table(
        "perflog_metric",
        _column("campaign", _NUMBER), *(_column(name, _SMALL) for name in ("case_number", "run_number", "number")),
        _column("name", _TEXT), _column("value", _REAL, True), _column("unit", _TEXT), _column("estimator", _TEXT),
        _column("used", _BIG), _column("excluded", sa.JSON()), _column("first_line", _BIG), _column("last_line", _BIG),
        _column("first_step", _REAL, True), _column("last_step", _REAL, True), _column("reason", _TEXT),
        _column("parser", _TEXT), _column("time_per_step", _REAL, True), _column("more", sa.JSON()),
        sa.PrimaryKeyConstraint("campaign", "case_number", "run_number", "number"),
        *_belongs_to(
            ("perflog_run", ["campaign", "case_number", "run_number"], ["campaign", "case_number", "number"]),
        ),
    )  # fmt: skip


def downgrade() -> None:
    for table in ("metric", "run", "case", "machine", "campaign"):
        op.drop_table(f"perflog_{table}")
