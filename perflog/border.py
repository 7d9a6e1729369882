"""The folder that a run is confined to: what a pull request may have made of a path there leads nowhere else.

A workflow names paths of its checkout, and whoever wrote the checkout decides what they are: a file, or a link to any
file that the runner may read. So in a confined run a path that lies in the checkout, or whose way leads through a link
there, must really lie in it. What the workflow names elsewhere is its own.

The run is confined to the folder in ``PERFLOG_CONFINED``, which the GitHub Action sets. Where that is not set, GitHub's
and GitLab's own variables name the checkout; where it is set to nothing, nothing is confined.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from perflog.errors import UsageError

#: The environment variable, and for services the one that says which it is and the one that names the checkout.
CONFINED = "PERFLOG_CONFINED"
_SERVICES = (("GITHUB_ACTIONS", "GITHUB_WORKSPACE"), ("GITLAB_CI", "CI_PROJECT_DIR"))
#: git's own folder, which may hold the credentials that the work tree was fetched with.
GIT = ".git"
#: So many links may lead from one to the next (Linux's own limit).
_MOST_LINKS = 40
_WAY_OUT = "this run reads and writes nothing else through it (PERFLOG_CONFINED); name the place itself"
#: A file may have so many bytes of holes.
_HOLES = 100 << 20
Name = str | os.PathLike[str]


def border() -> Path | None:
    """The folder that this run is confined to, with all links resolved; None where it is not.

    Raises:
        UsageError: where the variable names no folder: a run that was to be confined must not go on without.
    """
    name, folder = CONFINED, os.environ.get(CONFINED)
    if folder is None:
        name, folder = next(
            ((at, os.environ.get(at, "")) for on, at in _SERVICES if os.environ.get(on) == "true"), ("", "")
        )
    if not folder:
        return None
    place = Path(os.path.realpath(folder))
    if not place.is_dir():
        raise UsageError(f"{name}={folder!r}: expected the folder that this run is confined to; there is none")
    return place


def keep_inside(path: Name, what: str) -> None:
    """Let a path pass in a confined run; do nothing in any other.

    Args:
        what: what the path is, such as ``the log``, for the message.

    Raises:
        UsageError: as :func:`keep_within` does.
    """
    root = border()
    if root is not None:
        keep_within(root, path, what, _WAY_OUT)


def keep_within(root: Path, path: Name, what: str, way_out: str) -> None:
    """Let a path pass that has nothing to do with a folder, or lies in it once all links are followed.

    Args:
        root: the folder, with all links resolved.
        way_out: what a user can do who means a path outside.

    Raises:
        UsageError: for a path in the folder that leads out of it, into git's own folder, or to what is neither a
            regular file nor a folder.
    """
    links, place = _way(path, what)
    if not _enters(root, links, place):
        return
    if not place.is_relative_to(root):
        raise UsageError(
            f"{what} {os.fspath(path)!r}: expected a path inside {str(root)!r}, found a link out; {way_out}"
        )
    if any(part.casefold() == GIT for part in place.relative_to(root).parts):
        raise UsageError(
            f"{what} {os.fspath(path)!r}: expected a path outside git's own folder {GIT}, "
            "which may hold credentials; name a file of the work tree"
        )
    try:
        mode = place.stat().st_mode
    except OSError:
        return  # what is not there, or must not be read, is told by whoever opens it
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise UsageError(
            f"{what} {os.fspath(path)!r}: expected a regular file or a folder, found a device, a pipe or a socket; "
            "name a file that holds the data"
        )


def keep_whole(path: Name, status: os.stat_result) -> None:
    """Let a regular file pass; in a confined run none that is nearly all holes, which takes hours to read.

    Raises:
        UsageError: for a file of which less than a thousandth is on the disk.
    """
    if status.st_size > _HOLES + 1000 * 512 * getattr(status, "st_blocks", status.st_size) and border() is not None:
        raise UsageError(
            f"the log {os.fspath(path)!r}: expected a file that holds what its size says, found a sparse one of "
            f"{status.st_size / 1e9:,.1f} GB; {_WAY_OUT}"
        )


def enters(root: Path, path: Name, what: str) -> bool:
    """Whether a path lies in a folder, or its way leads through a link there.

    Raises:
        UsageError: for a text that is no path, and for a link that leads to itself.
    """
    return _enters(root, *_way(path, what))


def _enters(root: Path, links: list[Path], place: Path) -> bool:
    return place.is_relative_to(root) or any(link.is_relative_to(root) for link in links)


def _way(path: Name, what: str) -> tuple[list[Path], Path]:
    """(every link that is followed on the way to a path, where it lies; the place at its end).

    ``os.path.realpath`` gives the end alone; but a link in the checkout may lead out of it by another outside.
    """
    pending = f"{Path.cwd()}/{os.fspath(path)}" if not os.fspath(path).startswith("/") else os.fspath(path)
    parts, here, links = pending.split("/")[::-1], "/", list[Path]()
    while parts:
        part = parts.pop()
        if part in ("", "."):
            continue
        if part == "..":
            here = here.rpartition("/")[0] or "/"
            continue
        step = f"{here.rstrip('/')}/{part}"
        try:
            target = os.readlink(step)  # noqa: PTH115 - a text, whose `..` must not be taken back unread
        except OSError:  # no link, or nothing there
            here = step
            continue
        except ValueError:
            raise UsageError(f"{what} {os.fspath(path)!r}: expected a path, which holds no zero byte") from None
        links.append(Path(step))
        if len(links) > _MOST_LINKS:
            raise UsageError(
                f"{what} {os.fspath(path)!r}: expected a file or a folder, found a link that leads to itself"
            )
        here = "/" if target.startswith("/") else here
        parts += target.split("/")[::-1]
    return links, Path(here)
