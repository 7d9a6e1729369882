"""Find logs: files, folders, and what archives hold. Decides nothing about their content."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from perflog.errors import UsageError
from perflog.logs.archives import is_archive, members_of
from perflog.logs.streams import UnreadableError

#: Folders that hold no logs of trainings (version control, caches).
_SKIPPED_FOLDERS = frozenset({
    ".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".mypy_cache", ".pytest_cache", ".perflog",
})  # fmt: skip
#: What `perflog run` writes beside its logs: the machine's facts, and each training's own measurement.
MACHINE, SIDE = "machine.json", ".side.json"
#: The options of a folder's logs.
_CONFIG = "perflog.toml"


#: How `perflog run` names the log of a training that goes on, or has failed.
RUNNING, FAILED = ".running", ".failed"
UNFINISHED = (RUNNING, FAILED)
#: What names of compressed files and of archives end with. Only names are made of these: content tells what a file is.
_COMPRESSED = (".gz", ".zst", ".xz", ".bz2", ".lz4")
_ARCHIVES = (".zip", ".tar", *(f".tar{end}" for end in _COMPRESSED), ".tgz", ".tzst", ".txz", ".tbz2")
#: Formats of other programs that are zip archives inside: checkpoints, arrays, documents, packages. They hold no logs.
_NO_LOGS_INSIDE = (
    ".pt", ".pth", ".ckpt", ".npz", ".keras", ".mar", ".nemo", ".whl", ".egg", ".jar", ".apk",
    ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log: a file, or a member of an archive.

    ``size``: its bytes, packed as they are; of a zip's or tar's member those that it unpacks to; -1 for what is no
    regular file. ``given``: the path that the user gave and at or below which it was found; empty where none is known.
    """

    path: str
    size: int
    member: str = ""
    given: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """How the log is named in every output: the path as found, and the member of an archive.

        Bytes that are no UTF-8 stand as ``\\xe9`` in it, so that it can be printed.
        """
        name = f"{self.path}!{self.member}" if self.member else self.path
        return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")

    @property
    def place(self) -> str:
        """The path that metadata is read from (an archive's own name is a folder of its members)."""
        if self.member:
            return f"{_without(self.path, _ARCHIVES)}/{_without(_without(self.member, _COMPRESSED), UNFINISHED)}"
        return _without(_without(self.path, _COMPRESSED), UNFINISHED)


def _without(name: str, endings: tuple[str, ...]) -> str:
    """A name without the longest of these endings that it has."""
    if not name.endswith(endings):
        return name
    return name[: -max(len(ending) for ending in endings if name.endswith(ending))]


def find_logs(paths: Iterable[str | os.PathLike[str]]) -> list[LogFile]:
    """All files at and below ``paths``, sorted by name in their natural order, without doubles.

    Links to folders are not followed below ``paths``. What is no regular file, a folder that must not be read and an
    archive that is damaged or holds no logs are logs too, so that reading tells why they are none.

    Raises:
        UsageError: when a path does not exist.
    """
    logs: dict[tuple[str, str], LogFile] = {}
    for given in paths:
        path = os.fspath(given)
        if path == "-":
            raise UsageError("reading from standard input is not supported: name a file or a folder")
        try:
            status = Path(path).stat()
        except OSError as error:
            raise UsageError(_missing(path, error)) from None
        for log in _walk(path) if stat.S_ISDIR(status.st_mode) else _logs_in(path, status):
            logs.setdefault((log.path, log.member), replace(log, given=path))
    return sorted(logs.values(), key=lambda log: (natural(log.name), log.name))


#: Files of these names are not opened when they are found; an archive under such a name is told when it is read.
_TEXT_ENDINGS = (".log", ".txt", ".out", ".err")
_NUMBER = re.compile(r"([0-9]+)")


def natural(text: str) -> list[str | int]:
    """A sort key under which ``2n8g`` precedes ``10n8g``: texts and numbers in turn."""
    pieces: list[str] = _NUMBER.split(text)
    parts: list[str | int] = [*pieces]
    # read as base 16, digits have the same order, and Python has no limit on how many there may be (4,300 in base 10)
    parts[1::2] = [int(digits, 16) for digits in pieces[1::2]]
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
            with os.scandir(here) as listing:
                entries = list(listing)
        except OSError:
            yield LogFile(here, -1)  # reported as unreadable by the reading stage
            continue
        for entry in entries:
            try:
                status = entry.stat()
            except OSError:  # a link to nothing or to itself; a file that has gone
                yield LogFile(entry.path, -1)
                continue
            if stat.S_ISDIR(status.st_mode):
                if entry.name not in _SKIPPED_FOLDERS and not entry.is_symlink():
                    pending.append(entry.path)
            elif not _is_ours(entry.name):
                yield from _logs_in(entry.path, status)


def _is_ours(name: str) -> bool:
    """Whether a file of this name is perflog's own, beside logs."""
    return name in (MACHINE, _CONFIG) or name.endswith(SIDE)


def _logs_in(path: str, status: os.stat_result) -> Iterator[LogFile]:
    """The file itself, or an archive's members; the archive too where it is damaged or holds no log."""
    if not stat.S_ISREG(status.st_mode):
        yield LogFile(path, -1)
        return
    if path.endswith(_TEXT_ENDINGS) or not is_archive(path) or path.lower().endswith(_NO_LOGS_INSIDE):
        yield LogFile(path, status.st_size)
        return
    complete = False
    try:
        for member in members_of(path):
            *folders, name = member.name.split("/")
            if not _is_ours(name) and _SKIPPED_FOLDERS.isdisjoint(folders):
                yield LogFile(path, member.size, member.name)
                complete = True
    except UnreadableError:
        complete = False
    if not complete:
        yield LogFile(path, status.st_size)
