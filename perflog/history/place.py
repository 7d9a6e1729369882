"""Which database: a file's name (SQLite) or a URL (``postgresql://…``)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.border import keep_inside
from perflog.errors import UsageError
from perflog.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from sqlalchemy import URL

#: As users and callers name a database.
Database = str | os.PathLike[str]
_POSTGRESQL = "postgresql+psycopg"
_DRIVERS = {"sqlite": "sqlite", "postgresql": _POSTGRESQL, "postgres": _POSTGRESQL, _POSTGRESQL: _POSTGRESQL}
#: A connection string as PostgreSQL's own programs take it, which would be a strange name of a file.
_KEYWORDS = lazy_regex(r"\s*(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*=")
#: A password in the query of a URL or in such a string (password=, sslpassword=, passfile=).
_PASSWORD = lazy_regex(r"(?i)((?:^|[?&\s])[^=&\s]*pass[^=&\s]*=)(?:'[^']*'|[^&\s]*)")


def default_database() -> str:
    """Where the history is unless another place is given (XDG Base Directory Specification)."""
    data = os.environ.get("XDG_DATA_HOME", "")
    absolute = os.path.isabs(data)  # noqa: PTH117 - the text, not the path, may be empty
    base = Path(data) if absolute else Path.home() / ".local/share"
    return str(base / "perflog/history.sqlite")


def url_of(database: Database) -> URL:
    """The URL of a database.

    Raises:
        UsageError: for a text that is neither a file's name nor such a URL.
    """
    from sqlalchemy import URL, make_url
    from sqlalchemy.exc import ArgumentError

    text = os.fspath(database)
    if "://" not in text:
        if not text.strip():
            raise UsageError("--database is empty: expected a file, or postgresql://user@host/name")
        if _KEYWORDS.match(text):
            raise UsageError("--database is a list of keywords: expected a file, or postgresql://user@host/name")
        return URL.create("sqlite", database=_kept_inside(str(Path(text).expanduser())))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise UsageError(
            "--database: the URL cannot be read: expected postgresql://user:password@host:port/name"
        ) from None
    driver = _DRIVERS.get(url.drivername)
    if driver is None:
        raise UsageError(f"--database {url.drivername}://…: expected a file, or postgresql://user@host/name")
    if driver == "sqlite" and not url.database:
        raise UsageError(f"--database {text}: expected a file's name, such as sqlite:///history.sqlite")
    if driver == "sqlite":
        _kept_inside(str(url.database))
    return url.set(drivername=driver)


def _kept_inside(file: str) -> str:
    """A file of SQLite's; raises UsageError where it, or a journal beside it, leads out of a confined run's folder."""
    for ending in ("", "-journal", "-wal", "-shm"):
        keep_inside(f"{file}{ending}", "--database")
    return file


def shown(url: URL) -> str:
    """How messages name it: the file, or the URL without its password."""
    if url.drivername == "sqlite":
        return str(url.database)
    return without_password(url.set(drivername="postgresql").render_as_string(hide_password=True))


def without_password(text: str) -> str:
    """A database as the user named it, a file or a URL that may be wrong, without any password in it."""
    scheme, mark, rest = text.partition("://")
    user, at, place = rest.rpartition("@")
    if ":" in user:
        text = f"{scheme}{mark}{user.partition(':')[0]}:***{at}{place}"
    return _PASSWORD.sub(r"\1***", text)


def name_of(database: Database) -> str:
    """A database as messages name it: the file, or the URL without its password.

    Raises:
        UsageError: for a text that is neither a file's name nor such a URL.
    """
    return shown(url_of(database))
