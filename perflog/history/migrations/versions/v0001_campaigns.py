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
        sa.ForeignKeyConstraint(own, [f"{table}.{name}" for name in theirs], ondelete="CASCADE") for table, own, theirs in tables
    ]


def upgrade() -> None:
    number: Any = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    text, big, small = sa.Text(), sa.BigInteger(), sa.Integer()
    real: Any = sa.Double()
    op.create_table(
        "perflog_campaign",
        sa.Column("id", number, primary_key=True),
        _column("label", text), _column("content", sa.String(64)),
        _column("date", sa.DateTime(timezone=True)), _column("saved_at", sa.DateTime(timezone=True)),
        _column("perflog", sa.String(40)), _column("options", sa.JSON()), _column("skipped", sa.JSON()), _column("cases", small), _column("runs", small),
        sa.UniqueConstraint("label"), sa.UniqueConstraint("content"),
    )  # fmt: skip
    op.create_table(
        "perflog_machine",
        _column("campaign", number), _column("number", small), _column("facts", sa.JSON()),
        sa.PrimaryKeyConstraint("campaign", "number"), *_belongs_to(),
    )  # fmt: skip
    op.create_table(
        "perflog_case",
        _column("campaign", number), _column("number", small),
        *(_column(name, text, True) for name in ("framework", "framework_version", "model", "precision")),
        *(_column(name, big, True) for name in ("batch_size", "nodes", "devices")),
        _column("accelerator", text, True), _column("key", sa.JSON()), _column("log", text), _column("parser", text),
        sa.PrimaryKeyConstraint("campaign", "number"), *_belongs_to(),
    )  # fmt: skip
    op.create_index("perflog_case_model", "perflog_case", ["model", "devices"])
    op.create_table(
        "perflog_run",
        _column("campaign", number), _column("case_number", small), _column("number", small),
        _column("path", text), _column("member", text), _column("size", big),
        *(_column(name, text) for name in ("parser", "framework", "label", "window_taken")),
        *(_column(name, big) for name in ("first_line", "last_line", "lines")),
        *(_column(name, sa.JSON()) for name in ("facts", "sources", "doubts", "notes", "more")), _column("machine", small, True),
        sa.PrimaryKeyConstraint("campaign", "case_number", "number"),
        *_belongs_to(
            ("perflog_case", ["campaign", "case_number"], ["campaign", "number"]), ("perflog_machine", ["campaign", "machine"], ["campaign", "number"]),
        ),
    )  # fmt: skip
    op.create_table(
        "perflog_metric",
        _column("campaign", number), *(_column(name, small) for name in ("case_number", "run_number", "number")),
        _column("name", text), _column("value", real, True), _column("unit", text), _column("estimator", text), _column("used", big),
        _column("excluded", sa.JSON()), _column("first_line", big), _column("last_line", big),
        _column("first_step", real, True), _column("last_step", real, True), _column("reason", text), _column("parser", text),
        _column("time_per_step", real, True), _column("more", sa.JSON()),
        sa.PrimaryKeyConstraint("campaign", "case_number", "run_number", "number"),
        *_belongs_to(("perflog_run", ["campaign", "case_number", "run_number"], ["campaign", "case_number", "number"])),
    )  # fmt: skip


def downgrade() -> None:
    for table in ("metric", "run", "case", "machine", "campaign"):
        op.drop_table(f"perflog_{table}")
