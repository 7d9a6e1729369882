"""A site's folder: written whole beside its place and then put there in one step, and only where nothing else lies.

A folder is perflog's own when its list of files says so and nothing else is in it. What is in the way of a site is
never deleted: a folder that holds anything else is refused, and a file that was changed by hand is something else.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from perflog._version import __version__
from perflog.errors import PerflogError, UsageError
from perflog.escaping import named
from perflog.files import lock_new, missing_folder
from perflog.spelling import some_of

#: The list of a site's files, in its folder.
MANIFEST = "perflog-site.json"
SCHEMA = "perflog/site/1"
#: What a site is called while it is written, and the old one until it is gone.
_TEMPORARY = re.compile(r"\.perflog-site-[0-9a-f]{16}")
#: The files, and the empty folder, of a site that was not finished and has no list yet.
_UNFINISHED = re.compile(r"(?:[a-z]+/)?[a-z0-9-]+\.html|feed\.xml|cases")
#: renameat2(2): exchange two names in one step.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def publish(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put a site into a folder: whoever looks sees the old site or the new one, never a mixture.

    Args:
        folder: where the site is to lie; links are followed.
        files: what each file is to hold, by its path in the folder.

    Raises:
        UsageError: when the folder holds anything that is not of a site that perflog wrote.
        PerflogError: when it cannot be written; what was there is there still.
    """
    place = Path(os.path.realpath(folder))
    refused = refusal(folder)
    if refused:
        raise UsageError(refused)
    try:
        _remove_left_over(place.parent)
        new, lock = _new_folder(place.parent)
        unfinished = dict.fromkeys(files, "")
        try:
            _write(new, files)
            _put(new, place)
            unfinished = {}
        finally:  # under its name is the old site now, or the new one where it could not be put in its place
            _remove(new, _listed(new) or unfinished)
            os.close(lock)
    except OSError as error:
        raise PerflogError(f"cannot write '{named(str(folder))}': {error.strerror or error}") from None


def refusal(folder: Path) -> str:
    """Why no site may be written to a folder; empty when one may be."""
    place, name = Path(os.path.realpath(folder)), named(str(folder))
    if not os.path.lexists(place):
        reason = missing_folder(place)
        return f"cannot write '{name}': {reason}" if reason else ""
    if not place.is_dir():
        return f"'{name}' is no folder: a site needs a folder of its own"
    foreign = _foreign(place)
    if not foreign:
        return ""
    listed = some_of([f"'{named(path)}'" for path in foreign])
    return (
        f"'{name}' holds what is not of a site that perflog wrote, or was changed since: {listed}; a site is "
        "written anew as a whole, so it needs a folder of its own: name an empty or a new one"
    )


def _foreign(place: Path) -> list[str]:
    """The paths in a folder that are not of a site that perflog wrote, or are not as it wrote them; sorted."""
    there = _paths_in(place)
    if not there:
        return []
    listed = _listed(place)
    return sorted(
        path for path in there if path != MANIFEST and (path not in listed or _hash(place / path) != listed[path])
    ) or ([] if MANIFEST in there and listed else sorted(there))


def _paths_in(place: Path) -> set[str]:
    """Every file in a folder, by its path there; folders that are links, and empty ones, count as files."""
    paths = set()
    for folder, names, files in os.walk(place):
        linked = [name for name in names if (Path(folder) / name).is_symlink()]
        members = [*files, *linked, *([] if names or files or Path(folder) == place else ["."])]
        paths |= {os.path.normpath(os.path.relpath(f"{folder}/{name}", place)) for name in members}
    return paths


def _listed(place: Path) -> dict[str, str]:
    """The files that a site's list names, with their hashes; none where there is no such list."""
    try:
        listed = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        if listed["schema"] != SCHEMA:
            return {}
        return {str(path): str(mark) for path, mark in listed["files"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _hash(file: Path) -> str:
    """The hash of a regular file; empty for what is none."""
    if file.is_symlink() or not file.is_file():
        return ""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _new_folder(parent: Path) -> tuple[Path, int]:
    """A new folder beside the site's place, and the descriptor by which it is locked while its writer lives."""
    while True:
        new = parent / f".perflog-site-{secrets.token_hex(8)}"
        new.mkdir()
        lock = os.open(new, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if lock_new(new, lock):
            return new, lock


def _write(new: Path, files: Mapping[str, bytes]) -> None:
    """Write a site into a new folder; its list comes last, so that a folder with a list is a whole site."""
    for path, data in files.items():
        (new / path).parent.mkdir(parents=True, exist_ok=True)
        (new / path).write_bytes(data)
    marks = {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())}
    document = {"schema": SCHEMA, "perflog": __version__, "files": marks}
    (new / MANIFEST).write_bytes(json.dumps(document, indent=1).encode() + b"\n")


def _put(new: Path, place: Path) -> None:
    """Put the new folder in its place; the old one, if there was one, then has the new one's name."""
    if not os.path.lexists(place):
        new.rename(place)
        return
    new.chmod(stat.S_IMODE(place.stat().st_mode))
    if not _exchanged(new, place):
        old = new.with_name(f".perflog-site-{secrets.token_hex(8)}")
        place.rename(old)
        try:
            new.rename(place)
        except OSError:
            old.rename(place)
            raise
        old.rename(new)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether the system could exchange the names of two folders in one step (Linux's renameat2)."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    if ctypes.get_errno() in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):
        return False
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _remove(folder: Path, marks: Mapping[str, str]) -> None:
    """Remove a folder with the files of a site; what is not of it stays, and the folder with it.

    Args:
        marks: the paths of the site's files with their hashes, as the site's list has them; an empty hash for a file of
            a site that was not finished, which may hold anything.
    """
    for path, mark in marks.items():
        file = Path(os.path.normpath(folder / path))
        if folder in file.parents and (not mark or _hash(file) == mark):
            with suppress(OSError):
                file.unlink()
    folders = {parent for path in marks for parent in Path(path).parents if str(parent) != "."}
    folders |= {Path(path) for path in marks if (folder / path).is_dir()}  # of a site that was not finished
    if _paths_in(folder) <= {MANIFEST, *map(str, folders)}:
        with suppress(OSError):
            (folder / MANIFEST).unlink()
    for path in sorted(map(str, folders), key=len, reverse=True):
        with suppress(OSError):
            (folder / path).rmdir()
    with suppress(OSError):
        folder.rmdir()


def _remove_left_over(parent: Path) -> None:
    """Remove what writers that were killed left beside the site's place. What cannot be removed stays."""
    with suppress(OSError), os.scandir(parent) as entries:
        for name in [entry.name for entry in entries if _TEMPORARY.fullmatch(entry.name)]:
            with suppress(OSError):
                _remove_if_dead(parent / name)


def _remove_if_dead(folder: Path) -> None:
    """Remove a folder whose writer is dead: its lock can be had. Raises OSError where it cannot."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(lock).st_uid != os.geteuid():
            return
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unfinished = {path: "" for path in _paths_in(folder) if _UNFINISHED.fullmatch(path)}
        _remove(folder, _listed(folder) or unfinished)
    finally:
        os.close(lock)
