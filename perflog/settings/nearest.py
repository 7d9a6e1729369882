"""The nearest ``perflog.toml``: where it is looked for, and which of those that are found are obeyed.

A folder such as ``/tmp`` belongs to everybody, and so may the config file that somebody put there, above the logs of
others. So git's rule for repositories (``safe.directory``) holds: above a repository, or above the folder of logs that
was named, a file counts only where the user or root owns it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.border import GIT, border
from perflog.escaping import named

if TYPE_CHECKING:
    from perflog.settings.confinement import Confinement

FILE = "perflog.toml"


def find_config(paths: Sequence[str | os.PathLike[str]], confinement: Confinement | None = None) -> Path | None:
    """The config file in force; arguments as of :func:`look_for_config`."""
    return look_for_config(paths, confinement)[0]


def look_for_config(
    paths: Sequence[str | os.PathLike[str]], confinement: Confinement | None = None
) -> tuple[Path | None, list[str]]:
    """The nearest config file that counts, from the first path upwards, then from the working folder upwards; and of
    each nearer one that does not count, in a sentence, why.

    Args:
        confinement: where it is given, the search from the first path upwards ends at its roots; in a confined run
            each search ends at that run's folder.
    """
    from perflog.logs.addresses import is_address

    run = border()
    of_run = set() if run is None else {run}
    starts = [(Path(path).absolute(), of_run | set(confinement.roots if confinement else ())) for path in paths[:1]
              if not is_address(path)]  # fmt: skip
    ignored: list[str] = []
    for start, ends in [*starts, (Path.cwd(), of_run)]:
        home = _home_of(start, is_named=bool(starts) and start is starts[0][0])
        for file in _files_above(start, ends):
            reason = "" if home is not None and file.is_relative_to(home) else _why_foreign(file)
            if not reason:
                return file, ignored
            ignored = list(dict.fromkeys((*ignored, reason)))
    return None, ignored


def _files_above(start: Path, ends: set[Path]) -> Iterator[Path]:
    """The config files in a folder and above it, up to the first of the folders at which the search ends."""
    for folder in (start, *start.parents):
        with suppress(OSError):  # in a folder that the user may not look into
            if (folder / FILE).is_file():
                yield folder / FILE
        if ends and Path(os.path.realpath(folder)) in ends:
            return


def _home_of(start: Path, is_named: bool) -> Path | None:
    """The folder in which every config file counts: the repository that holds a path, else the folder that was named.

    A repository that somebody else put above the path, as anybody can in ``/tmp``, is none.
    """
    owners = _trusted()
    with suppress(OSError):
        owners |= {start.stat().st_uid}
    for folder in (start, *start.parents):
        with suppress(OSError):
            if (folder / GIT).lstat().st_uid in owners or not hasattr(os, "geteuid"):
                return folder
    return start if is_named and start.is_dir() else None


def _why_foreign(file: Path) -> str:
    """Why a config file does not count; empty where the user or root owns it, and the link that it may be."""
    if not hasattr(os, "geteuid"):  # no owners in the sense of Unix
        return ""
    try:
        owners = {file.lstat().st_uid, file.stat().st_uid}
    except OSError:
        owners = {-1}
    others = owners - _trusted()
    if not others:
        return ""
    return (
        f"{named(str(file))} is not used: it lies above the logs, and neither you nor root owns it (user "
        f"{min(others)} does); to use it, copy it into the folder of the logs, or make it yours"
    )


def _trusted() -> set[int]:
    """The users whose config files count: this one and root; under sudo, as git has it, the one who called it too."""
    if not hasattr(os, "geteuid"):
        return set()
    caller = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    return {os.geteuid(), 0, *({int(caller)} if caller.isdecimal() else ())}
