"""The cache: nothing that happens to its file ever ends an extraction or changes a number."""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from perflog.cache.place import require_private
from perflog.errors import PerflogError
from perflog.escaping import named

# ----------------------------------------------------------------------------------------------------
# Entries by key in one SQLite file, each with a checksum: what is damaged is not there.
#
# The file has a rollback journal, as SQLite has by default: its other one (WAL) does not work on file systems of
# several machines, where homes of clusters lie.

#: The file's name: another form of it has another number.
NAME = "perflog-cache-1.sqlite"
#: What SQLite files have in their headers: whose they are, and in which form.
APPLICATION, FORM = 0x70666C67, 1
#: So many bytes the entries may take; the ones that were not used for the longest time go first.
LIMIT = 1 << 30
#: Seconds that a writer waits for another.
PATIENCE = 10.0
#: So many keys are asked for at once.
_AT_ONCE = 500
_CHECKSUM = 16
_DAY = 86_400
_SCHEMA = "CREATE TABLE entry (key BLOB PRIMARY KEY, used INTEGER NOT NULL, content BLOB NOT NULL)"
#: What the driver raises of a file that it opened, but for OSError.
FAULTS = (sqlite3.Error, ValueError, TypeError, IndexError, OverflowError)
#: SQLite's codes of a file that is damaged, or is none; "error" is what it says of one whose table is missing.
_DAMAGE = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG})


class ForeignFileError(Exception):
    """A file of the cache's name that is another program's, or a later perflog's; the text says which."""


class EntryFile:
    """A file of entries; each call opens it anew, so that threads and processes may share it.

    Every method raises OSError, sqlite3.Error and other errors that :func:`is_damage` knows, :class:`ForeignFileError`,
    and UsageError where others may write to the file.
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.path = folder / NAME
        self._limit = limit

    def entries(self, keys: Sequence[bytes]) -> tuple[dict[bytes, bytes], int]:
        """(the contents of those keys that there are, how many entries are damaged)."""
        contents: dict[bytes, bytes] = {}
        old: list[bytes] = []
        damaged, today = 0, _today()
        if not self._is_there():
            return contents, damaged
        with self._opened() as connection:
            for start in range(0, len(keys), _AT_ONCE):
                wanted = keys[start : start + _AT_ONCE]
                places = ",".join("?" * len(wanted))
                rows = connection.execute(f"SELECT key, used, content FROM entry WHERE key IN ({places})", wanted)
                for key, used, stored in rows:
                    content = _checked(key, stored)
                    if content is None:
                        damaged += 1
                        continue
                    contents[key] = content
                    if used != today:
                        old.append(key)
            with suppress(sqlite3.OperationalError):  # it may be read, but not written to
                _mark_used(connection, old, today)
        return contents, damaged

    def add(self, entries: Mapping[bytes, bytes]) -> None:
        """Add entries, or put them in the place of those with the same keys; remove what is over the limit."""
        today = _today()
        rows = [(key, today, _checksum(key, content) + content) for key, content in entries.items()]
        self._make()
        with self._opened() as connection:
            with _transaction(connection):
                connection.executemany("INSERT OR REPLACE INTO entry (key, used, content) VALUES (?, ?, ?)", rows)
            self._shrink(connection)

    def measured(self) -> tuple[int, int]:
        """(how many entries there are, the bytes of the file)."""
        if not self._is_there():
            return 0, 0
        with self._opened() as connection:
            count = connection.execute("SELECT count(*) FROM entry").fetchone()[0]
        return count, self.path.stat().st_size

    def remove(self) -> None:
        """Remove the file, and what SQLite may have beside it."""
        for ending in ("-journal", "-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                self.path.with_name(self.path.name + ending).unlink()

    def _is_there(self) -> bool:
        """Whether there is a file, which must be the user's alone."""
        try:
            status = self.path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        require_private(self.path.parent, self.path.parent.stat())
        require_private(self.path, status)
        return True

    def _make(self) -> None:
        """Make the folder and an empty file where they are missing: nobody but the user may look into them."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        require_private(self.path.parent, self.path.parent.stat())
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        self._is_there()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The file, with its table."""
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        connection.text_factory = bytes  # a damaged entry may be a text that is none
        with closing(connection):
            connection.execute("BEGIN")  # one state of the file: another writer may be making its table
            application, form = _header(connection)
            is_empty = (application, form) == (0, 0) and not _has_tables(connection)
            connection.execute("COMMIT")
            if is_empty:
                _make_table(connection)
            elif application != APPLICATION:
                raise ForeignFileError("it is not perflog's")
            elif form != FORM:
                raise ForeignFileError(f"it has the form {form}, which another perflog wrote")
            yield connection

    def _shrink(self, connection: sqlite3.Connection) -> None:
        """Remove the entries that were not used for the longest time until a tenth below the limit is taken."""
        taken = _bytes_taken(connection)
        if taken <= self._limit:
            return
        with _transaction(connection):
            while taken > self._limit * 0.9:
                count: int = connection.execute("SELECT count(*) FROM entry").fetchone()[0]
                if not count:
                    break
                share = (taken - self._limit * 0.9) / taken  # entries differ in size: it may take several turns
                connection.execute(
                    "DELETE FROM entry WHERE rowid IN (SELECT rowid FROM entry ORDER BY used, rowid LIMIT ?)",
                    (math.ceil(count * share),),
                )
                taken = _bytes_taken(connection)


def is_damage(error: Exception) -> bool:
    """Whether an error says that the file is damaged, and not that it cannot be reached or written to.

    The driver raises plain errors too, such as UnicodeDecodeError, where what SQLite answers is of no sense.
    """
    if not isinstance(error, sqlite3.Error):
        return isinstance(error, FAULTS)
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGE


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; another writer is waited for at the beginning."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _make_table(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA auto_vacuum = FULL")
    with _transaction(connection):
        if _header(connection) == (0, 0):  # no other writer has made it meanwhile
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORM}")


def _header(connection: sqlite3.Connection) -> tuple[int, int]:
    """(whose file it is, its form), as its header says."""
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    form: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return application, form


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is not None


def _mark_used(connection: sqlite3.Connection, keys: Sequence[bytes], today: int) -> None:
    if keys:
        with _transaction(connection):
            connection.executemany("UPDATE entry SET used = ? WHERE key = ?", [(today, key) for key in keys])


def _bytes_taken(connection: sqlite3.Connection) -> int:
    """The bytes of the file's pages that hold something."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = (int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in names)
    return (pages - free) * size


def _today() -> int:
    """The number of the day since 1970: entries are marked once a day, since each mark is a write."""
    return int(time.time() // _DAY)


def _checksum(key: bytes, content: bytes) -> bytes:
    return blake2b(content, key=key, digest_size=_CHECKSUM).digest()


def _checked(key: object, stored: object) -> bytes | None:
    """An entry's content; None where it is not what was written under that key."""
    if not isinstance(stored, bytes) or not isinstance(key, bytes):
        return None
    content = stored[_CHECKSUM:]
    return content if stored[:_CHECKSUM] == _checksum(key, content) else None


T = TypeVar("T")
#: Told a remark about the cache, in one line.
Tell = Callable[[str], None]


class Cache:
    """What was read of logs, by keys that say which logs in which state, and how they were read.

    Attributes:
        clock: gives the time, in nanoseconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        tell: Tell = lambda _: None,
        clock: Callable[[], int] = time.time_ns,
        limit: int = LIMIT,
    ) -> None:
        """Use the cache in a folder, which is made when something is first kept.

        Args:
            tell: told in a line why the cache is not used, or is made anew.
            limit: so many bytes the file may take.
        """
        self.clock = clock
        self._file = EntryFile(folder, limit)
        self._tell = tell
        self._is_given_up = False

    def entries(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """The contents of those keys that are kept.

        Raises:
            UsageError: where others may write to the cache.
        """
        found = self._guarded("read", lambda: self._file.entries(keys))
        if found is None:
            return {}
        contents, damaged = found
        if damaged:
            self._remark(f"{damaged} of its entries are damaged and count as none", "their logs are read again")
        return contents

    def add(self, entries: Mapping[bytes, bytes]) -> None:
        """Keep contents by their keys.

        Raises:
            UsageError: where others may write to the cache.
        """
        if entries:
            self._guarded("written", lambda: self._file.add(entries))

    def pass_over(self, reason: str) -> None:
        """Go without the cache from now on, and say why."""
        self._is_given_up = True
        self._remark(reason, "the logs are read without it")

    def _guarded(self, verb: str, work: Callable[[], T]) -> T | None:
        """What some work on the file gives; None where it fails. A damaged file is removed, and made anew."""
        if self._is_given_up:
            return None
        try:
            return work()
        except ForeignFileError as error:
            self.pass_over(f"{error}; `perflog cache --clear` removes it")
        except OSError as error:
            self.pass_over(f"it cannot be {verb} ({error.strerror or error})")
        except FAULTS as error:
            if is_damage(error):
                return self._anew(error, work)
            self.pass_over(f"it cannot be {verb} ({error})")
        return None

    def _anew(self, damage: Exception, work: Callable[[], T]) -> T | None:
        """Remove the damaged file, and work on a new one."""
        try:
            self._file.remove()
            result = work()
        except (*FAULTS, OSError, ForeignFileError) as error:
            self.pass_over(f"it is damaged ({damage}), and cannot be made anew ({error})")
            return None
        self._remark(f"it was damaged ({damage})", "it is made anew")
        return result

    def _remark(self, what: str, consequence: str) -> None:
        self._tell(f"cache '{named(str(self._file.path))}': {' '.join(what.split())}: {consequence}")


def sizes_of(file: EntryFile) -> tuple[int | None, int]:
    """(how many entries a cache's file holds, its bytes); None for the first where it cannot be read as one.

    Raises:
        UsageError: where others may write to it.
        PerflogError: when it cannot be looked at.
    """
    try:
        return file.measured()
    except (*FAULTS, ForeignFileError):
        return None, file.path.stat().st_size
    except OSError as error:
        raise PerflogError(f"cannot read '{named(str(file.path))}': {error.strerror or error}") from None
