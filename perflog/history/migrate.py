"""The schema's version in a database, and bringing it up to date with Alembic."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, select

from perflog.errors import PerflogError
from perflog.history.checking import DamagedError
from perflog.history.schema import VERSION, version


def version_in(connection: Connection) -> str | None:
    """The version of the schema there is; None for a database without a history.

    Raises:
        DamagedError: when the table of the version is there and holds none.
    """
    if not inspect(connection).has_table(version.name):
        return None
    number = connection.execute(select(version.c.version_num)).scalar()
    if number is None:
        raise DamagedError(f"{version.name} has no row; it held the version of the tables")
    return str(number)


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
    """Take the steps that are missing, in the connection's transaction: all of them or none.

    Raises:
        DamagedError: for a version that no perflog ever wrote.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise DamagedError(f"{version.name}: {error}") from None
