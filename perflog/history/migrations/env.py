"""Runs the migrations on the connection that ``perflog.history.database`` gives, in the transaction that it began."""

from __future__ import annotations

from alembic import context

from perflog.history.schema import METADATA, version

context.configure(
    connection=context.config.attributes["connection"], target_metadata=METADATA, version_table=version.name
)
context.run_migrations()
