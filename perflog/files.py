"""Writing files: a regular file is the old one or the new one, never a mixture; links are followed, and what is no
regular file (a device, a FIFO, a descriptor such as ``/dev/stdout``) is written into.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from perflog.border import keep_inside
from perflog.errors import NoReaderError, PerflogError
from perflog.escaping import named

#: What a temporary file of perflog's is called, and nothing else is.
_TEMPORARY = re.compile(r"\.perflog-[0-9a-f]{16}\.tmp")
#: Seconds after which a temporary file is left over on a file system without locks. Elsewhere it is locked by its
#: writer for as long as that lives: a lock that can be had says that the writer is dead.
_LEFT_OVER = 600.0
#: The links of descriptors, as ``/dev/stdout``, ``/dev/fd/3`` and ``/proc/self/fd/3`` lead to them.
_DESCRIPTORS = re.compile(r"/proc/(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?/fd")
#: So many links may lead from one to the next (Linux's own limit).
_MOST_LINKS = 40
#: So long a document may be, and so long what tells of the machine beside logs.
LONGEST_DOCUMENT, LONGEST_FACTS = 64 << 20, 8 << 20
#: What is neither replaced nor written into, in words.
_REFUSED = {stat.S_IFDIR: "it is a folder", stat.S_IFBLK: "it is a block device", stat.S_IFSOCK: "it is a socket"}


def is_temporary(name: str) -> bool:
    """Whether a file of this name is a temporary file of perflog's."""
    return name.startswith(".perflog-") and _TEMPORARY.fullmatch(name) is not None


def write_atomically(path: Path, data: str | bytes | Iterable[bytes], parents: bool = False) -> None:
    """Write ``data`` to ``path``.

    A regular file is replaced through a temporary file beside it, and keeps its mode; its owner and group too, where
    the user may give files to them. Links are followed: the file that they lead to is replaced. Into a device, a FIFO
    and a descriptor of this process is written. The temporary files of writers that were killed are removed.

    Args:
        data: the whole, or its pieces, each made when those before it are written.
        parents: make the folders that are missing, as the caller was asked to.

    Raises:
        PerflogError: when it cannot be written, in plain words; what was there is there still.
        NoReaderError: when nobody reads any more what is written into a FIFO or a descriptor.
        UsageError: in a confined run, for a path that leads out of its folder (perflog.border).
    """
    keep_inside(path, "the output")
    whole = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    pieces = (whole,) if isinstance(whole, bytes) else whole
    try:
        target = _final(path)
        if isinstance(target, int):
            _write_all(os.dup(target), pieces)
        elif (status := _status(target)) is not None and not stat.S_ISREG(status.st_mode):
            _write_into(target, status, pieces)
        else:
            _require_folder(target.parent, parents)
            _replace(target, status, pieces)
    except BrokenPipeError:
        raise NoReaderError(f"nobody reads {named(str(path))}") from None
    except OSError as error:
        raise PerflogError(f"cannot write '{named(str(path))}': {error.strerror or error}") from None


def read_limited(path: Path, most: int) -> bytes:
    """A file that is kept in memory whole: a sparse one of a stranger's may be of any length.

    Args:
        most: of how many bytes it may be.

    Raises:
        OSError: when it cannot be read, or is longer.
    """
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is longer than {most >> 20} MiB, as no such file is")
    return content


def is_written_into(path: Path) -> bool:
    """Whether a path leads to a device, a FIFO or a descriptor, into which is written, rather than to a file."""
    try:
        target = _final(path)
        status = None if isinstance(target, int) else _status(target)
    except OSError:
        return False
    if isinstance(target, int):
        return True
    return status is not None and (stat.S_ISCHR(status.st_mode) or stat.S_ISFIFO(status.st_mode))


def missing_folder(path: Path) -> str:
    """Why nothing can be written beside ``path``: which folder is missing, or is none; empty when all are there."""
    folder = path.parent
    for place in reversed([folder, *folder.parents]):
        try:
            if not stat.S_ISDIR(place.stat().st_mode):
                return f"'{named(str(place))}' is no folder"
        except FileNotFoundError:
            return f"there is no folder '{named(str(place))}'; make it first, with mkdir -p"
        except OSError as error:
            return f"'{named(str(place))}': {error.strerror}"
    return ""


def _final(path: Path) -> Path | int:
    """Where the links of a path lead to: a path, or the number of a descriptor of this process."""
    place = path
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(place.parent)
        if _DESCRIPTORS.fullmatch(folder) and place.name.isdecimal():
            own = os.path.realpath("/proc/self/fd")
            return int(place.name) if folder in (own, os.path.realpath("/proc/thread-self/fd")) else place
        if not place.is_symlink():
            return place
        place = Path(folder) / place.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _status(target: Path) -> os.stat_result | None:
    """What is at a path; None where nothing is."""
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _write_into(target: Path, status: os.stat_result, pieces: Iterable[bytes]) -> None:
    """Write into a device or a FIFO. Raises OSError for what must not be written into."""
    refused = _REFUSED.get(stat.S_IFMT(status.st_mode))
    if refused is not None:
        raise OSError(f"{refused}, and no regular file")
    _write_all(os.open(target, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC), pieces)


def _write_all(descriptor: int, pieces: Iterable[bytes]) -> None:
    """Write everything to a descriptor, and close it."""
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        for piece in pieces:
            left = memoryview(piece)
            while left:
                left = left[file.write(left) or 0 :]


def _require_folder(folder: Path, parents: bool) -> None:
    """Raise OSError where a folder is missing and is not to be made."""
    if parents:
        folder.mkdir(parents=True, exist_ok=True)
    reason = missing_folder(folder / "_")
    if reason:
        raise OSError(reason)


def _replace(target: Path, status: os.stat_result | None, pieces: Iterable[bytes]) -> None:
    """Put a new file in the place of a regular one, or where nothing is; ``status`` is that of what is there."""
    _remove_left_over(target.parent)
    temporary, descriptor = _new_temporary(target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            _give_mode(file.fileno(), status)
            os.fsync(file.fileno())
            temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _new_temporary(folder: Path) -> tuple[Path, int]:
    """A new temporary file that is locked, and its descriptor."""
    while True:
        temporary = folder / f".perflog-{os.urandom(8).hex()}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        if lock_new(temporary, descriptor):
            return temporary, descriptor


def lock_new(path: Path, descriptor: int) -> bool:
    """Lock a temporary file or folder that was just made, while its writer lives.

    False where another writer took it for left over before it was locked: the descriptor is closed then.
    """
    with suppress(OSError):  # there may be no locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    with suppress(FileNotFoundError):
        if path.stat().st_ino == os.fstat(descriptor).st_ino:
            return True
    os.close(descriptor)
    return False


def _give_mode(descriptor: int, status: os.stat_result | None) -> None:
    """Give a file the owner, group and mode of the one that it replaces, or a new file's mode."""
    if status is None:
        os.fchmod(descriptor, 0o666 & ~_umask())
        return
    mode = stat.S_IMODE(status.st_mode)
    try:
        os.fchown(descriptor, -1, status.st_gid)
    except OSError:  # another group gets what all others get
        mode = mode & ~0o070 | (mode & 0o007) << 3
    with suppress(OSError):
        os.fchown(descriptor, status.st_uid, -1)
    os.fchmod(descriptor, mode)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _remove_left_over(folder: Path) -> None:
    """Remove the temporary files of writers that are dead. What cannot be looked at or removed stays."""
    with suppress(OSError), os.scandir(folder) as entries:
        names = [entry.name for entry in entries if is_temporary(entry.name)]
        for name in names:
            with suppress(OSError):
                _remove_if_dead(folder / name)


def _remove_if_dead(temporary: Path) -> None:
    """Remove a temporary file of this user's whose writer is dead. Raises OSError where it cannot."""
    descriptor = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        except OSError:
            if time.time() - status.st_mtime < _LEFT_OVER:
                return
        temporary.unlink()
    finally:
        os.close(descriptor)
