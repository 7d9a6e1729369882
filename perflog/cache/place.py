"""Whether a cache is used, and where it is: on request alone, in a folder that nobody but the user may write to."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.errors import UsageError
from perflog.escaping import named

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
# The cache as users ask for it: by an option, or by the environment.


def cache_if_wanted(asked: bool | None, tell: Tell) -> Cache | None:
    """The cache, where it is asked for: by the option, or by ``PERFLOG_CACHE`` where the option is not given.

    Args:
        asked: what the option says; None where it is not given.
        tell: told in a line why the cache is not used, or is made anew.

    Raises:
        UsageError: where there is no place for it.
    """
    if not is_wanted(asked):
        return None
    from perflog.cache.cache import Cache

    return Cache(folder_of_cache(), tell)
