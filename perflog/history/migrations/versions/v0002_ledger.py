"""Commits and branches of campaigns; the ledger of events."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_TEXT: Any = sa.Text()


def _column(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def upgrade() -> None:
    op.add_column("perflog_campaign", sa.Column("commit_hash", _TEXT, nullable=True))
    op.add_column("perflog_campaign", sa.Column("branch", _TEXT, nullable=True))
    op.create_table(
        "perflog_event",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
        _column("made_at", sa.DateTime(timezone=True)), _column("kind", sa.String(20)),
        _column("metric", _TEXT), _column("name", _TEXT), _column("key", sa.JSON()),
        _column("campaign", _TEXT), _column("date", sa.DateTime(timezone=True)),
        _column("author", _TEXT), _column("text", _TEXT), _column("facts", sa.JSON()),
        _column("perflog", sa.String(40)), _column("content", sa.String(64)),
    )  # fmt: skip


def downgrade() -> None:
    op.drop_table("perflog_event")
    op.drop_column("perflog_campaign", "branch")
    op.drop_column("perflog_campaign", "commit_hash")
