"""Whether a cache is used, and where it is: on request alone, in a folder that nobody but the user may write to."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perflog.errors import UsageError
from perflog.escaping import named
from perflog.logs.find import RUNNING, LogFile

if TYPE_CHECKING:
    from perflog.cache.cache import Cache, Tell


#: The environment variable that names the cache's folder, and asks for it.
VARIABLE = "PERFLOG_CACHE"
#: Set where no person is at work (GitHub Actions, GitLab, and most others).
_UNATTENDED = "CI"
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def is_wanted(asked: bool | None) -> bool:
    """Whether the cache is used.

    Args:
        asked: what the command says; None where it says nothing: then ``PERFLOG_CACHE`` asks for it, but not in CI.
    """
    if asked is not None:
        return asked
    return bool(os.environ.get(VARIABLE)) and os.environ.get(_UNATTENDED, "").lower() in ("", "0", "false")


def cache_if_wanted(asked: bool | None, tell: Tell) -> Cache | None:
    """The cache, where it is requested: by the option, or by ``PERFLOG_CACHE`` where the option is not given.

    Args:
        asked: what the option says; None where it is not given.
        tell: called with a line that says why the cache is not used, or is made anew.

    Raises:
        UsageError: where there is no place for it.
    """
    if not is_wanted(asked):
        return None
    from perflog.cache.cache import Cache  # most commands open no database

    return Cache(folder_of_cache(), tell)


def folder_of_cache() -> Path:
    """The folder that ``PERFLOG_CACHE`` names, else one in the user's cache folder; it need not be there.

    Raises:
        UsageError: where none is named and the user has no home.
    """
    named_folder = os.environ.get(VARIABLE, "")
    if named_folder:
        return Path(named_folder).expanduser().absolute()
    configured = os.environ.get("XDG_CACHE_HOME", "")
    try:
        caches = Path(configured) if configured.startswith("/") else Path.home() / ".cache"
    except RuntimeError:
        raise UsageError(f"--cache: there is no home to keep a cache in; name a folder, {VARIABLE}=FOLDER") from None
    return caches / "perflog" / "logs"


def require_private(path: Path, status: os.stat_result) -> None:
    """Let a cache's folder or file pass that belongs to the user, and that nobody else may write to.

    Whoever could write there could choose the numbers that later extractions give.

    Raises:
        UsageError: for any other.
    """
    if status.st_uid != os.geteuid():
        raise UsageError(
            f"the cache '{named(str(path))}' belongs to another user, who could change its numbers: name a folder of "
            f"your own, {VARIABLE}=FOLDER, or go without (--no-cache)"
        )
    if status.st_mode & _OTHERS_MAY_WRITE:
        raise UsageError(
            f"the cache '{named(str(path))}' may be written to by others (mode {stat.S_IMODE(status.st_mode):o}), who "
            f"could change its numbers: take that right away, chmod go-w '{named(str(path))}', or name another "
            f"folder, {VARIABLE}=FOLDER"
        )


# ----------------------------------------------------------------------------------------------------
# What tells whether a log has changed, without reading it, and when that can be relied on.
#
# A file is known by its device, number, size, and the times of its last write and of its last change. The last of these
# is set by the system alone: contents that were changed under the same size, whose time of writing was set back, have
# another one. A write in the same tick of the file system's clock as the write before it has not; so a file that was
# written shortly before it was read is not kept (as git treats its index). An object of a store is known by its ETag.

#: Two writes that lie further apart have different times on every file system (FAT's clock ticks every two seconds).
TICK_NS = 2_000_000_000


class FileIdentity(NamedTuple):
    """A file's device, number and size in bytes, and when it was written and changed, in nanoseconds since 1970."""

    device: int
    number: int
    size: int
    written: int
    changed: int


class ObjectIdentity(NamedTuple):
    """The size in bytes, ETag and time of an object of a store."""

    size: int
    tag: str
    modified: str


Identity = FileIdentity | ObjectIdentity


def identities_of(logs: Sequence[LogFile]) -> list[Identity | None]:
    """What each log is known by now; None for one that cannot be known.

    That are pipes, what is read from memory, logs of trainings that go on, what is no regular file or is not there,
    files of another size than when they were found, and objects of stores that have no strong ETag.
    """
    of_archives: dict[str, FileIdentity | None] = {}
    identities: list[Identity | None] = []
    for log in logs:
        if log.stored is not None or not log.member:
            identities.append(_identity_of(log))
            continue
        if log.path not in of_archives:  # one look for all members of an archive
            of_archives[log.path] = None if log.pipe is not None else _of_file(log.path)
        identities.append(of_archives[log.path])
    return identities


def has_settled(identity: Identity | None, now_ns: int) -> bool:
    """Whether a later change of the log would change its identity, for one that was known at ``now_ns`` (since 1970).

    Not where the times of a file lie within a tick of that moment, or behind it.
    """
    if identity is None:
        return False
    if isinstance(identity, ObjectIdentity):
        return True
    return max(identity.written, identity.changed) < now_ns - TICK_NS


def _identity_of(log: LogFile) -> Identity | None:
    if log.pipe is not None or log.text is not None or log.size < 0 or log.path.endswith(RUNNING):
        return None
    if log.stored is not None:
        version = log.stored.version
        if not version.tag or version.tag.startswith("W/"):
            return None
        return ObjectIdentity(version.size, version.tag, str(version.modified))
    identity = _of_file(log.path)
    return identity if identity is not None and identity.size == log.size else None


def _of_file(path: str) -> FileIdentity | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - of 20,000 files
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return FileIdentity(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
