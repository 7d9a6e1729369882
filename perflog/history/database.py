"""Transactions on the history: one that reads sees one state of it, one that writes is seen whole or not at all."""

from __future__ import annotations

import logging
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    NullPool,
    RowMapping,
    Select,
    Table,
    create_engine,
    event,
    inspect,
    select,
)
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from perflog.errors import PerflogError, refused_by_system
from perflog.files import missing_folder
from perflog.history.place import Database, default_database, shown, url_of
from perflog.history.schema import VERSION, value_of, version
from perflog.settings.options import AGGREGATES, ESTIMATORS, Options

# ----------------------------------------------------------------------------------------------------
# Rows of the history as perflog writes them: what a database gives is checked before anything is made of it.
#
# Others may write to a database, and disks fail. A row of another form, a row that is missing and a value that was
# changed are errors that name the campaign and the table; no number is made of what is left.


class DamagedError(Exception):
    """Rows that are not as perflog wrote them; the text says where, and what is wrong."""


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


def rows_of(
    connection: Connection, query: Select[Any], what: str, may_lack: Table | None = None
) -> Sequence[RowMapping]:
    """The rows of a query, whose values are all what perflog writes to their columns.

    Args:
        what: which rows they are, in words.
        may_lack: a table of which a row may be missing.

    Raises:
        DamagedError: when one of them is not.
    """
    columns = [(str(column.name), value_of(column, may_lack)) for column in query.selected_columns]
    kind = msgspec.defstruct("Row", columns)
    with damages(what):
        rows = connection.execute(query).mappings().all()
        for row in rows:
            msgspec.convert(row, kind)
            if any(isinstance(value, float) and math.isnan(value) for value in row.values()):
                raise ValueError("a value is no number")
    return rows


def options_of(plain: Mapping[str, Any], what: str) -> Options:
    """Options from their plain form.

    Raises:
        DamagedError: when it is another form.
    """
    with damages(what):
        options = msgspec.convert({**plain, "window": plain["window"]}, Options)
        for value, known in ((options.estimator, ESTIMATORS), (options.aggregate, AGGREGATES)):
            if value not in known:
                raise ValueError(f"expected one of {', '.join(known)}, found {value!r}")
    return options


def complete(count: int, expected: int, what: str) -> None:
    """Raise DamagedError where there are not as many rows as there were saved."""
    if count != expected:
        raise DamagedError(f"{what}: {count} rows, and {expected} were saved")


# ----------------------------------------------------------------------------------------------------
# The schema's version in a database, and bringing it up to date with Alembic.


def current(connection: Connection, name: str) -> bool | None:
    """Whether the schema is the one that this perflog knows: True; False for an older one, None for none at all.

    Raises:
        DamagedError: when the table of the version is there and holds none.
        PerflogError: for a newer one, naming the database.
    """
    if not inspect(connection).has_table(version.name):
        return None
    saved = connection.execute(select(version.c.version_num)).scalar()
    if saved is None:
        raise DamagedError(f"{version.name} has no row; it held the version of the tables")
    if str(saved) > VERSION:
        raise PerflogError(
            f"the history in {name} was made by a newer perflog (schema {saved}, this perflog knows {VERSION}): "
            "upgrade perflog"
        )
    return str(saved) == VERSION


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


#: Seconds to wait for another writer (SQLite; the largest campaign of the tests is saved in one), for a server's answer
#: (PostgreSQL).
PATIENCE, CONNECTING = 60, 10
#: Two that begin a history at once: one makes the tables, the other finds them made at its next try. More
#: tries are for more that begin at once.
TRIES = 5


@contextmanager
def reading(database: Database) -> Iterator[Connection | None]:
    """A transaction that sees one state of the history; None where there is no history yet.

    Raises:
        PerflogError: when the database cannot be read, in plain words.
    """
    url = url_of(database)
    if url.drivername == "sqlite" and not os.path.lexists(str(url.database)):
        yield None
        return
    with _plainly(url):
        engine = _engine(url, writes=False)
        try:
            there = _prepared(engine, url, begin=False)
            with engine.connect() if there else nullcontext() as connection:
                yield connection
        finally:
            engine.dispose()


@contextmanager
def writing(database: Database) -> Iterator[Connection]:
    """A transaction that changes the history, which is made where there is none. Committed at the end, if nothing was
    raised.

    Raises:
        IntegrityError: when another writer was first.
        PerflogError: when the database cannot be written, in plain words.
    """
    url = url_of(database)
    with _plainly(url):
        if url.drivername == "sqlite":
            file = Path(str(url.database))
            if str(file) == default_database():  # which is made where it is not there; another one's folder is not
                file.parent.mkdir(parents=True, exist_ok=True)
            elif reason := missing_folder(file):
                raise OSError(reason)
        engine = _engine(url, writes=True)
        try:
            _prepared(engine, url, begin=True)
            with engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()


#: Whoever calls perflog and has handlers of their own still gets the words.
_QUIET = logging.NullHandler()


@lru_cache(maxsize=8)
def _engine(url: URL, writes: bool) -> Engine:
    """A database's engine, which keeps no connection. It is kept, as it holds the statements that it has compiled: the
    second campaign that a process saves takes half the time.
    """
    if url.drivername == "sqlite":
        engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": PATIENCE})
        # Python's sqlite3 begins transactions at the first INSERT only and never for tables: SQLAlchemy begins them
        # instead, and a writer at once as a writer, so that it waits for another one here and not in the middle
        event.listen(engine, "connect", _sqlite_connected)
        event.listen(
            engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
        )
        return engine
    for name in ("psycopg", "sqlalchemy"):
        # what they warn of ends as an error in plain words; without a handler Python writes it to the terminal too
        logging.getLogger(name).addHandler(_QUIET)
    arguments: dict[str, Any] = {} if "connect_timeout" in url.query else {"connect_timeout": CONNECTING}
    return create_engine(
        url,
        poolclass=NullPool,
        connect_args=arguments,
        isolation_level="READ COMMITTED" if writes else "REPEATABLE READ",
    )


def _sqlite_connected(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")


def _prepared(engine: Engine, url: URL, begin: bool) -> bool:
    """Bring the schema up to date, making it where ``begin`` says so; whether there is one."""
    for attempt in range(TRIES):
        with engine.connect() as connection:
            up_to_date = current(connection, shown(url))
        if up_to_date or (up_to_date is None and not begin):
            break
        try:
            with _engine(url, writes=True).begin() as connection:
                if not current(connection, shown(url)):
                    upgrade(connection)
        except DBAPIError:
            if attempt + 1 == TRIES:
                raise
    return bool(up_to_date) or begin


@contextmanager
def _plainly(url: URL) -> Iterator[None]:
    """Errors of the driver in plain words."""
    name = shown(url)
    try:
        yield
    except IntegrityError as error:
        if "foreign key" not in str(error.orig).lower():
            raise  # another writer was first
        raise PerflogError(f"the history in {name} is damaged: its rows name others that are not there") from None
    except DamagedError as error:
        raise PerflogError(f"the history in {name} is damaged: {error}") from None
    except DBAPIError as error:
        raise PerflogError(f"the history in {name}: {_words(error, url)}") from None
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error  # without the statement, whose values may be long
        raise PerflogError(f"the history in {name}: {refused_by_system(cause) or cause}") from None
    except UnicodeDecodeError:  # the driver decodes SQLite's own message, which quotes the damaged schema
        raise PerflogError(f"the history in {name}: {_SQLITE[_MALFORMED]}") from None
    except OSError as error:
        raise PerflogError(f"the history in {name}: {error.strerror or error}") from None
    except ImportError as error:
        if "psycopg" not in str(error) and "pq" not in str(error):
            raise
        raise PerflogError("PostgreSQL needs its driver: pip install 'perflog[postgresql]'") from None


_MALFORMED = "database disk image is malformed"
_SQLITE = {
    "file is not a database": "the file is no SQLite database; name another with --database",
    "file is encrypted or is not a database": "the file is no SQLite database; name another with --database",
    "unable to open database file": "the file cannot be opened",
    "database is locked": f"another program has kept it locked for {PATIENCE} s",
    "attempt to write a readonly database": "the file may not be written",
    "database or disk is full": "the disk is full",
    "disk I/O error": "the disk or a limit on the size of files refuses to read or write",
    _MALFORMED: "the file is damaged",
}


def _words(error: DBAPIError, url: URL) -> str:
    message = str(error.orig).strip()
    if url.drivername == "sqlite":
        if Path(str(url.database)).is_dir():
            return "it is a folder; name a file with --database"
        if message.startswith("malformed database schema"):  # and the schema, on several lines
            message = _MALFORMED
        return _SQLITE.get(message, message)
    if url.password:
        message = message.replace(str(url.password), "***")
    return " ".join(message.split())
