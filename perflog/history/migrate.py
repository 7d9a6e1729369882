"""The schema's version in a database, and bringing it up to date with Alembic."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, select

from perflog.errors import PerflogError
from perflog.history.schema import VERSION, version


def version_in(connection: Connection) -> str | None:
    """The version of the schema there is; None for a database without a history."""
    if not inspect(connection).has_table(version.name):
        return None
    return connection.execute(select(version.c.version_num)).scalar()


def current(connection: Connection, name: str) -> bool | None:
    """Whether the schema is the one that this perflog knows: True; False for an older one, None for none at all.

    Raises:
        PerflogError: for a newer one, naming the database.
    """
    saved = version_in(connection)
    if saved is not None and saved > VERSION:
        raise PerflogError(
            f"the history in {name} was made by a newer perflog (schema {saved}, this perflog knows {VERSION}): "
            "upgrade perflog"
        )
    return None if saved is None else saved == VERSION


def upgrade(connection: Connection) -> None:
    """Take the steps that are missing, in the connection's transaction: all of them or none."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
