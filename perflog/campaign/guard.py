"""Run commands and let none of their processes outlive whoever started this, however that ended.

A script of its own (``python guard.py JSON``), in a session of its own: its standard input is a pipe, and when
the other end closes, be it by SIGKILL, every descendant is killed. As a subreaper it also finds the processes
that launchers put into sessions of their own. The same script stands on the other end of ``ssh``.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

_PR_SET_CHILD_SUBREAPER = 36
#: Where one of several nodes failed, the others get so many seconds to notice.
GRACE = 10.0


def main() -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: _end(128 + signal.SIGTERM))
    threading.Thread(target=_watch, daemon=True).start()
    children = [_started(command) for command in json.loads(sys.argv[1])]
    status = 0
    until = float("inf")
    while any(child.poll() is None for child in children) and time.monotonic() < until:
        failed = [code for child in children if (code := child.poll())]
        if failed and until == float("inf"):
            status, until = failed[0], time.monotonic() + GRACE
        time.sleep(0.02)
    status = status or next((code for child in children if (code := child.poll())), 0)
    _end(status if status >= 0 else 128 - status)


def _started(command: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start one command, its output added to its file; the guard ends where it cannot be started."""
    name = command.get("output")
    errors = subprocess.STDOUT if name else None
    stdin = subprocess.PIPE if command.get("remote") else subprocess.DEVNULL
    environment = {**os.environ, **command.get("environment", {})}
    folder = command.get("folder") or None
    try:
        out = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644) if name else None
        return subprocess.Popen(command["argv"], stdin=stdin, stdout=out, stderr=errors, env=environment, cwd=folder)
    except OSError as error:
        print(f"cannot start {error.filename or command['argv'][0]}: {error.strerror}", file=sys.stderr, flush=True)
        _end(127)


def _watch() -> None:
    """Wait until nobody holds the other end of the pipe."""
    while os.read(0, 1):
        pass
    _end(128 + signal.SIGKILL)


def _end(status: int) -> NoReturn:
    """Kill what is left, and end. One look is not enough: while a process dies, its children change their parent."""
    quiet = 0
    for _ in range(400):
        below = _descendants()
        quiet = 0 if below else quiet + 1
        if quiet == 2:
            break
        for pid in below:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    os._exit(status)


def _descendants() -> list[int]:
    """Every process below this one that has not ended; those that have may still be called the parents of others."""
    parents: dict[int, list[int]] = {}
    ended = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                parents.setdefault(int(parent), []).append(int(entry.name))
                if state in ("Z", "X"):
                    ended.add(int(entry.name))
    descendants, pending = [], [os.getpid()]
    while pending:
        below = parents.get(pending.pop(), [])
        descendants += below
        pending += below
    return [pid for pid in descendants if pid not in ended]


if __name__ == "__main__":
    main()
