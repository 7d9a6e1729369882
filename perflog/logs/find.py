"""Find logs: files, folders, and what compressed files hold. Decides nothing about their content."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from perflog.errors import UsageError

#: Folders that hold no logs of trainings (version control, caches).
_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".mypy_cache", ".pytest_cache", ".perflog"})
#: What `perflog run` writes beside its logs: the machine's facts, and each training's own measurement.
MACHINE, SIDE = "machine.json", ".side.json"


#: How `perflog run` names the log of a training that goes on, or has failed.
RUNNING, FAILED = ".running", ".failed"
UNFINISHED = (RUNNING, FAILED)


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log: a file, or a member of a zip archive."""

    path: str
    size: int
    member: str = ""

    @property
    def name(self) -> str:
        """How the log is named in every output: the path as found, and the member of an archive."""
        return f"{self.path}!{self.member}" if self.member else self.path

    @property
    def place(self) -> str:
        """The path that metadata is read from (an archive's own name is a folder of its members)."""
        if self.member:
            return f"{self.path.removesuffix('.zip')}/{self.member}"
        for ending in (".gz", ".zst", *UNFINISHED):
            if self.path.endswith(ending):
                return self.path.removesuffix(ending)
        return self.path


def find_logs(paths: Iterable[str | os.PathLike[str]]) -> list[LogFile]:
    """All files at and below ``paths``, sorted by name in their natural order, without doubles.

    Raises:
        UsageError: when a path does not exist.
    """
    found: dict[str, LogFile] = {}
    for given in paths:
        path = os.fspath(given)
        if path == "-":
            raise UsageError("reading from standard input is not supported: name a file or a folder")
        try:
            status = Path(path).stat()
        except OSError as error:
            raise UsageError(_missing(path, error)) from None
        folder = Path(path).is_dir()
        for log in _walk(path) if folder else _members(path, status.st_size):
            found.setdefault(log.name, log)
    return sorted(found.values(), key=lambda log: natural(log.name))


_NUMBER = re.compile(r"([0-9]+)")


def natural(text: str) -> list[str | int]:
    """A sort key under which ``2n8g`` precedes ``10n8g``: texts and numbers in turn."""
    parts: list[str | int] = list(_NUMBER.split(text))
    parts[1::2] = [int(part) for part in parts[1::2]]
    return parts


def _missing(path: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        parent = Path(path).parent
        hint = ""
        if parent.is_dir():
            import difflib

            near = difflib.get_close_matches(Path(path).name, [entry.name for entry in parent.iterdir()], n=1)
            hint = f"; did you mean {str(parent / near[0])!r}?" if near else ""
        return f"no such file or folder: {path!r}{hint}"
    return f"cannot read {path!r}: {error.strerror}"


def _walk(folder: str) -> Iterator[LogFile]:
    pending = [folder]
    while pending:
        here = pending.pop()
        try:
            entries = list(os.scandir(here))
        except OSError:
            yield LogFile(here, -1)  # reported as unreadable by the reading stage
            continue
        for entry in entries:
            if entry.is_dir():
                if entry.name not in _SKIPPED_FOLDERS and not entry.is_symlink():
                    pending.append(entry.path)
            elif entry.is_file():
                if entry.name == MACHINE or entry.name.endswith(SIDE):
                    continue
                yield from _members(entry.path, entry.stat().st_size)
            else:
                yield LogFile(entry.path, -1)


def _members(path: str, size: int) -> Iterator[LogFile]:
    if not path.endswith(".zip"):
        yield LogFile(path, size)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not member.is_dir():
                    yield LogFile(path, member.file_size, member.filename)
    except (OSError, zipfile.BadZipFile):
        yield LogFile(path, size)
