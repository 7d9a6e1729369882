"""Find logs: files, folders, and what archives hold. Decides nothing about their content."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.border import keep_inside, keep_whole
from perflog.errors import NoSuchPathError, UsageError
from perflog.escaping import named
from perflog.files import is_temporary
from perflog.logs.addresses import Address, as_address, as_path
from perflog.logs.archives import is_archive, members_of
from perflog.logs.streams import UnreadableError

if TYPE_CHECKING:
    from perflog.logs.stored import StoredObject


#: Folders that hold no logs of trainings (version control, caches, a notebook as it was a while ago).
SKIPPED_FOLDERS = frozenset({
    ".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".mypy_cache", ".pytest_cache", ".perflog",
    ".ipynb_checkpoints",
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


#: How standard input is named, and what names of pipes begin with that a shell made: they tell nothing of a log.
STANDARD_INPUT = "-"
_SHELLS_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/")


class Pipe:
    """What can be read once only: standard input, or a pipe that the user named. ``taken``: it was read already."""

    def __init__(self) -> None:
        self.taken = False


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log: a file, a member of an archive, or a pipe.

    ``size``: its bytes, packed as they are; of a zip's or tar's member those that it unpacks to; 0 for a pipe; -1 for
    what is no regular file. ``given``: the path that the user gave and at or below which it was found; empty where none
    is known. ``pipe``: set where it is one. ``text``: what it holds, or its first part, where that was read already.
    ``stored``: where ``path`` is the address of a store's object, the object.
    """

    path: str
    size: int
    member: str = ""
    given: str = field(default="", compare=False)
    pipe: Pipe | None = field(default=None, compare=False, repr=False)
    text: bytes | None = field(default=None, compare=False, repr=False)
    stored: StoredObject | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """How the log is named in every output: the path as found, and the member of an archive.

        It stands on one line and does nothing to a terminal: control characters and bytes that are no UTF-8 stand as
        ``\\x1b`` and ``\\xe9`` in it.
        """
        return named(f"{self.path}!{self.member}" if self.member else self.path)

    @property
    def place(self) -> str:
        """The path that metadata is read from (an archive's own name is a folder of its members)."""
        path = self.path if self.stored is None and self.pipe is None else as_path(self.path)  # a part's log is a pipe
        if self.member:
            return f"{_without(path, _ARCHIVES)}/{_without(_without(self.member, _COMPRESSED), UNFINISHED)}"
        if self.pipe is not None and self.path.startswith(_SHELLS_PIPES):
            return STANDARD_INPUT
        return _without(_without(path, _COMPRESSED), UNFINISHED)

    @property
    def folder_and_name(self) -> tuple[str, str]:
        """The folder of :attr:`place`, which is empty for the working folder and the root, and the name in it."""
        folder, _, name = self.place.replace("\\", "/").rpartition("/")
        return folder, name


def _without(name: str, endings: tuple[str, ...]) -> str:
    """A name without the longest of these endings that it has."""
    if not name.endswith(endings):
        return name
    return name[: -max(len(ending) for ending in endings if name.endswith(ending))]


def find_logs(paths: Iterable[str | os.PathLike[str]]) -> list[LogFile]:
    """All files at and below ``paths``, sorted by name in their natural order, without doubles.

    Links to folders are not followed below ``paths``. ``-`` is standard input; it and a pipe are read as streams where
    they are named, and never found below a folder. What is no regular file, a folder that must not be read and an
    archive that is damaged or holds no logs are logs too, so that reading tells why they are none.

    Raises:
        UsageError: when a path does not exist, or in a confined run leads out of its folder (perflog.border).
    """
    logs: dict[tuple[str, str], LogFile] = {}
    wholes: dict[str, str] = {}
    for given in paths:
        path = as_address(os.fspath(given))
        if isinstance(path, Address) and wholes.setdefault(path, path.whole) != path.whole:
            raise UsageError(f"two logs are named {path!r}: expected addresses that differ before their query")
        for log in _logs_at(path):
            # a third of the time of `dataclasses.replace`, for each of 20,000 logs
            given_so = LogFile(log.path, log.size, log.member, path, log.pipe, log.text, log.stored)
            logs.setdefault((log.path, log.member), given_so)
    natural_of = _NaturalPaths()
    named_logs = [(log.name, log) for log in logs.values()]  # a name costs as much as its place in the order
    named_logs.sort(key=lambda pair: (natural_of(pair[0]), pair[0]))
    return [log for _, log in named_logs]


def _logs_at(path: str) -> Iterable[LogFile]:
    """The logs at and below a path that the user named."""
    if isinstance(path, Address):
        return _on_server(path)
    if path != STANDARD_INPUT:
        keep_inside(path, "the log")
    try:
        status = _status_of_input() if path == STANDARD_INPUT else Path(path).stat()
    except (OSError, ValueError) as error:
        kind = NoSuchPathError if isinstance(error, FileNotFoundError) else UsageError
        raise kind(_missing(path, error)) from None
    if path == STANDARD_INPUT:
        is_stream = stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)
        return [LogFile(path, 0, pipe=Pipe()) if is_stream else LogFile(path, -1)]
    if stat.S_ISDIR(status.st_mode):
        return _walk(path)
    return [LogFile(path, 0, pipe=Pipe())] if stat.S_ISFIFO(status.st_mode) else _logs_in(path, status)


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


class _NaturalPaths:
    """Sort keys of paths: what :func:`natural` gives, each folder and each name of a file taken apart once."""

    def __init__(self) -> None:
        self._parts: dict[str, list[str | int]] = {}

    def __call__(self, path: str) -> list[str | int]:
        folder, slash, name = path.rpartition("/")
        if not slash:
            return natural(path)
        above, below = self._of(f"{folder}/"), self._of(name)
        return [*above[:-1], f"{above[-1]}{below[0]}", *below[1:]]

    def _of(self, text: str) -> list[str | int]:
        parts = self._parts.get(text)
        if parts is None:
            parts = self._parts[text] = natural(text)
        return parts


def _status_of_input() -> os.stat_result:
    """What standard input is; raises OSError where it was closed before Python started, which may since have opened
    something else under its number."""
    if sys.__stdin__ is None:
        raise OSError("it is closed")
    return os.fstat(0)


def _missing(path: str, error: Exception) -> str:
    if path == STANDARD_INPUT:
        return "cannot read standard input, which is closed: name a file or a folder"
    if isinstance(error, FileNotFoundError):
        return f"no such file or folder: {path!r}{nearest_path(path)}"
    return f"cannot read {path!r}: {error.strerror if isinstance(error, OSError) else error}"


def nearest_path(path: str) -> str:
    """A hint at a name like this one in the same folder; empty where there is none."""
    import difflib

    parent = Path(path).parent
    try:
        near = difflib.get_close_matches(Path(path).name, os.listdir(parent), n=1)  # noqa: PTH208 - names alone
    except OSError:
        return ""  # the folder is not there, or must not be read
    return f"; did you mean {str(parent / near[0])!r}?" if near else ""


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
            if entry.is_symlink():
                keep_inside(entry.path, "the log")
            try:
                status = entry.stat()
            except OSError:  # a link to nothing or to itself; a file that has gone
                yield LogFile(entry.path, -1)
                continue
            if stat.S_ISDIR(status.st_mode):
                if entry.name not in SKIPPED_FOLDERS and not entry.is_symlink():
                    pending.append(entry.path)
            elif entry.is_symlink() and is_kernels(entry.path):
                yield LogFile(entry.path, -1)
            elif not _is_ours(entry.name):
                yield from _logs_in(entry.path, status)


def is_kernels(path: str) -> bool:
    """Whether a path, its links followed, lies in a file system of the kernel: an environment is no log.

    Its files tell of processes and machines, and some never end.
    """
    return f"{os.path.realpath(path)}/".startswith(("/proc/", "/sys/"))


def _is_ours(name: str) -> bool:
    """Whether a file of this name is perflog's own, beside logs."""
    return name in (MACHINE, _CONFIG) or name.endswith(SIDE) or is_temporary(name)


def _on_server(address: Address) -> Iterator[LogFile]:
    """The logs at and below an address; the beginnings of objects that may be archives are asked for together."""
    from perflog.logs.stored import are_archives, in_pages, stored_logs

    for page in in_pages(stored_logs(address)):
        logs = [(path, stored) for path, stored in page if path == address or not _is_left_out(address, path)]
        maybe = [stored for path, stored in logs if _may_be_archive(path)]
        archives = dict(zip(map(id, maybe), are_archives(maybe), strict=True))
        for path, stored in logs:
            if archives.get(id(stored)):
                yield from _members(path, stored.size, stored)
            else:
                yield LogFile(path, stored.size, stored=stored)


def _is_left_out(above: str, path: str) -> bool:
    """Whether an object below an address is passed over, as the file of such a path below a folder is."""
    *folders, name = path[len(above) :].split("/")
    return _is_ours(name) or not SKIPPED_FOLDERS.isdisjoint(folders)


def _may_be_archive(path: str) -> bool:
    """Whether a file of this name is looked into for an archive."""
    return not path.endswith(_TEXT_ENDINGS) and not path.lower().endswith(_NO_LOGS_INSIDE)


def _logs_in(path: str, status: os.stat_result) -> Iterator[LogFile]:
    """The file itself, or an archive's members; the archive too where it is damaged or holds no log."""
    if not stat.S_ISREG(status.st_mode):
        yield LogFile(path, -1)
        return
    keep_whole(path, status)
    if _may_be_archive(path) and is_archive(path):
        yield from _members(path, status.st_size)
    else:
        yield LogFile(path, status.st_size)


def _members(path: str, size: int, stored: StoredObject | None = None) -> Iterator[LogFile]:
    """An archive's members; the archive too where it is damaged or holds no log."""
    complete = False
    try:
        for member in members_of(path, stored):
            *folders, name = member.name.split("/")
            if not _is_ours(name) and SKIPPED_FOLDERS.isdisjoint(folders):
                yield LogFile(path, member.size, member.name, stored=stored)
                complete = True
    except UnreadableError:
        complete = False
    if not complete:
        yield LogFile(path, size, stored=stored)
