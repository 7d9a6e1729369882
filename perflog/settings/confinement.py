"""What a file that others may have written may name: files and folders of its own repository, and no others.

A README's recipes and a ``perflog.toml`` may come from a pull request. What they name is followed through all links
and must then lie in the work tree of git that holds the file, or else in the file's folder. What the command line or
the environment names is the user's own and is not confined (``docs/security.md``).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from perflog.border import GIT, border
from perflog.errors import UsageError
from perflog.logs.addresses import as_address, is_address, is_below
from perflog.logs.find import SKIPPED_FOLDERS, is_kernels

Name = str | os.PathLike[str]
#: Files that are read beside logs and in the folders above them, when they are there.
_BESIDE_LOGS = ("machine.json", "scaling.json")


@dataclass(frozen=True, slots=True)
class Confinement:
    """The folders that a file's words may lead to.

    Attributes:
        roots: the folders, with all links resolved; the first is the file's repository or folder.
        addresses: those on servers that the user named; a file's words lead to no others, and ask no other server.
        way_out: what a user can do who means a path outside; ``{path}`` stands for the path.
        parts: the places that the user allowed, whose parts of logs are read; those of others are not.
    """

    roots: tuple[Path, ...]
    way_out: str
    addresses: tuple[str, ...] = ()
    parts: tuple[Path, ...] = ()

    def admit(self, path: Name, what: str) -> None:
        """Let a path pass that may be read or written.

        Args:
            what: what the path is in the file's words, such as ``parsers``, for the message.

        Raises:
            UsageError: for a path that leads elsewhere once links are resolved, or to what is no file or folder.
        """
        if is_address(path):
            self._admit_address(str(path), what)
            return
        place = resolved(path, what)
        # `link/../x` is another file to the system than to what takes the path for a text: both must be inside
        for meant in (place, resolved(_as_text(path), what)):
            root = next((root for root in self.roots if meant.is_relative_to(root)), None)
            if root is None:
                hint = self.way_out.replace("{path}", os.fspath(path))
                raise UsageError(f"{what} {os.fspath(path)!r}: expected a path inside {str(self.roots[0])!r}; {hint}")
            if any(part.casefold() == GIT for part in meant.relative_to(root).parts):
                raise UsageError(
                    f"{what} {os.fspath(path)!r}: expected a path outside git's own folder {GIT}, "
                    "which may hold credentials; name a file of the work tree"
                )
        refuse_special(place, path, what)

    def _admit_address(self, address: str, what: str) -> None:
        """Let an address pass that the user named, or that lies below one; raises UsageError for any other."""
        if not any(is_below(address, named) for named in self.addresses) or "/../" in f"{address}/":
            hint = self.way_out.replace("{path}", as_address(address))
            raise UsageError(
                f"{what} {as_address(address)!r}: expected a path inside {str(self.roots[0])!r}, found an address on a "
                f"server that only the user may name; {hint}"
            )

    def holds(self, path: Name) -> bool:
        """Whether a path passes."""
        try:
            self.admit(path, "")
        except UsageError:
            return False
        return True

    def admit_files(self, folder: Name, pattern: str, what: str) -> None:
        """Let a folder pass and the files in it whose names match; raises what :meth:`admit` does."""
        self.admit(folder, what)
        for file in sorted(Path(folder).glob(pattern)):
            self.admit(file, what)

    def admit_logs(self, paths: Iterable[Name]) -> None:
        """Let logs pass: files, and folders with every link below them; raises what :meth:`admit` does.

        The facts that are looked for beside logs and in the folders above them must be inside too.
        """
        for path in paths:
            self.admit(path, "the log")
            if is_address(path):
                continue
            for link in _links_below(path):
                self.admit(link, "the log")
            for file in self._beside(path):
                self.admit(file, "the file beside the logs")

    def _beside(self, path: Name) -> Iterator[Path]:
        """The links of :data:`_BESIDE_LOGS` in a path's folder and in those above it, up to the root that holds it."""
        for place in dict.fromkeys((Path(_as_text(path)), resolved(path, "the log"))):
            for folder in (place, *place.parents):
                yield from (folder / name for name in _BESIDE_LOGS if (folder / name).is_symlink())
                if Path(os.path.realpath(folder)) in self.roots:
                    break


def repository_of(folder: Path) -> Path:
    """The root of git's work tree that holds a folder, else the folder itself; with all links resolved.

    It never reaches above the folder that a run is confined to.
    """
    place, root = Path(os.path.realpath(folder)), border()
    tree = next((above for above in (place, *place.parents) if os.path.lexists(above / GIT)), place)
    return root if root is not None and place.is_relative_to(root) and not tree.is_relative_to(root) else tree


def leads_out(path: Path) -> bool:
    """Whether a link on the way to a path lies in a work tree of git and leads out of it."""
    steps = [*reversed(path.parents), path]
    for step in (step for step in steps if step.is_symlink()):
        holder = Path(os.path.realpath(step.parent))
        tree = repository_of(holder)
        if os.path.lexists(tree / GIT) and not Path(os.path.realpath(step)).is_relative_to(tree):
            return True
    return False


def resolved(path: Name, what: str) -> Path:
    """A path with all links resolved; it need not be there.

    Raises:
        UsageError: for a text that is no path.
    """
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        raise UsageError(f"{what} {os.fspath(path)!r}: expected a path, which holds no zero byte") from None


def _as_text(path: Name) -> str:
    """A path in which ``..`` takes back the part before it, whatever that leads to."""
    return os.path.abspath(path)  # noqa: PTH100 - `resolve` follows links


def refuse_special(place: Path, path: Name, what: str) -> None:
    """Refuse what is neither a regular file nor a folder, and whatever lies in a file system of the kernel.

    Args:
        place: the path with all links resolved.
        path: the path as it was named, for the message.

    Raises:
        UsageError: for such a path.
    """
    try:
        status = place.stat()
    except OSError:
        return  # what is not there, or must not be read, is told by whoever opens it
    is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    if not is_plain or is_kernels(os.fspath(place)):
        raise UsageError(
            f"{what} {os.fspath(path)!r}: expected a regular file or a folder, found a device, a pipe, a socket "
            "or a file of the kernel's; name a file that holds the data"
        )


def _links_below(path: Name) -> Iterator[str]:
    """The links to files in a folder and in those below it that are searched for logs; links to folders are not."""
    pending = [os.fspath(path)]
    while pending:
        try:
            with os.scandir(pending.pop()) as listing:
                entries = list(listing)
        except OSError:
            continue  # no folder, or one that must not be read: the reading stage says so
        for entry in entries:
            if entry.is_symlink():
                if not _is_folder(entry):
                    yield entry.path
            elif entry.is_dir(follow_symlinks=False) and entry.name not in SKIPPED_FOLDERS:
                pending.append(entry.path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False
