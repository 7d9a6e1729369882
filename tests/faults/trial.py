"""One command in one folder, undisturbed or with the n-th call of a kind failing."""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import NoReturn

import perflog
from perflog.formats.catalog import load_catalog
from perflog.matching.engine import engine_for
from perflog.processes import settle
from tests import kept
from tests.forks.server import MODULES, end_with

SOURCE = Path(__file__).with_name("shim.c")
#: As in shim.c.
KINDS = ("none", "open", "read", "write", "fsync", "rename", "mmap", "fork", "thread", "malloc")
SHORT = -1
_STATE = struct.Struct("=iiqqqq1024s1024s")
#: Seconds after which a command counts as one that hangs.
PATIENCE = 15.0
#: What these commands import where they need it; that an import fails for want of memory tells nothing of them.
MORE = ("sqlite3", "sqlalchemy.dialects.sqlite", "tarfile", "lzma", "zlib", "bz2")


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status (None where it hung), what it said, and what the shim did.

    Attributes:
        calls: how many calls of the kind there were; where: of the one that failed.
    """

    status: int | None
    out: str
    error: str
    calls: int = 0
    struck: bool = False
    where: str = ""


def built(folder: Path) -> Path:
    """The shim, compiled into a folder."""
    library = folder / "shim.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


#: Modules that need polars, and those that are no modules of the program: scripts, and what is built.
_LEFT_OUT = (".polars_engine", ".polars_lines", ".layouts", ".__main__", ".guard", ".build_hook", "._scan", ".env")


def import_all() -> None:
    """Import what commands need, before any is forked; not polars, whose threads a fork would lack."""
    own = [module.name for module in walk_packages(perflog.__path__, "perflog.") if not module.name.endswith(_LEFT_OUT)]
    for name in (*MODULES, *own, *MORE):
        import_module(name)
    kept.keep()
    engine_for(load_catalog())
    gc.collect()
    gc.freeze()  # no page is copied because a count of references in it is looked at
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a forked process would lack the other threads"


def undisturbed(folder: Path, words: Sequence[str]) -> Ended:
    """Run a command with nothing failing."""
    return trial(folder, words, "none", 0, 0)


def trial(
    folder: Path, words: Sequence[str], kind: str, nth: int, error: int, lasting: bool = False, polars: bool = False
) -> Ended:
    """Run a command in its folder, where the n-th call of a kind fails.

    Args:
        error: an errno, or SHORT.
        lasting: all calls after it fail too.
        polars: import it before calls are counted.
    """
    beside = folder.parent
    state, said = beside / "state", beside / "stderr"
    place = os.fsencode(folder)
    state.write_bytes(_STATE.pack(KINDS.index(kind), error, nth, lasting, 0, 0, place, b""))
    status = _waited(started(folder, words, polars))
    _, _, _, _, calls, struck, _, name = _STATE.unpack(state.read_bytes())
    where = name.rstrip(b"\0").decode(errors="replace").removeprefix(f"{folder}/")
    out = (folder / "stdout").read_text(encoding="utf-8", errors="replace")
    (folder / "stdout").unlink()
    return Ended(status, out, said.read_text(encoding="utf-8", errors="replace"), calls, bool(struck), where)


def started(folder: Path, words: Sequence[str], polars: bool = False) -> int:
    """A command as a process, a copy of this one: what it imports is there. What it says is beside its folder."""
    process = os.fork()
    if not process:
        _become(folder, words, folder.parent / "state", folder.parent / "stderr", polars)
    return process


def _waited(process: int) -> int | None:
    """The exit status of a process, as a shell gives it; None for one that had to be ended, and said where it stood."""
    until = time.monotonic() + PATIENCE
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if time.monotonic() > until:
            os.kill(process, signal.SIGABRT)
            time.sleep(0.5)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return None
        time.sleep(0.002)


def _become(folder: Path, words: Sequence[str], state: Path, said: Path, polars: bool) -> NoReturn:
    """Be the command."""
    status = 99
    begin, end = (getattr(ctypes.CDLL(None), name, lambda *_: None) for name in ("fault_begin", "fault_end"))
    place = os.fsencode(state)
    try:
        os.chdir(folder)
        sink = os.open(os.devnull, os.O_RDONLY)
        os.dup2(sink, 0)
        for number, file in ((1, folder / "stdout"), (2, said)):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        os.environ |= {"FAULT_STATE": str(state), "XDG_CACHE_HOME": str(folder / "cache"), "NO_COLOR": "1"}
        os.environ.pop("PERFLOG_DEBUG", None)  # the tests set it, and it lets tracebacks through
        sys.argv = ["perflog", *words]
        from perflog.__main__ import main as command

        if polars:
            import_module("polars")
        faulthandler.enable()
        settle()
        begin(place)  # without the shim nothing fails
        command()
    except SystemExit as ended:
        end()
        status = int(ended.code or 0)
    except BaseException:
        end()
        traceback.print_exc()
        status = 1
    try:
        end_with(status)
    finally:
        os._exit(99)


def emptied(folder: Path) -> None:
    """Remove a folder and all in it."""
    shutil.rmtree(folder, ignore_errors=True)
