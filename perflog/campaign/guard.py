"""Run commands and let none of their processes outlive whoever started this, however that or this ended.

A script of its own, in a session of its own, here and on the other end of ``ssh``. Its standard input is a pipe: the
first line says what to run (never the command line, which all users of the machine can read), and when the other end
closes, be it by SIGKILL, every descendant is killed. As a subreaper it also finds the processes that launchers put
into sessions of their own.

Somebody may kill the guard itself (``kill -9``, memory that runs out), so there are two: the second is the first one's
child and the trainings' parent. Each ends all processes when the other one dies. Where both are killed at once, the
kernel kills the commands (``PR_SET_PDEATHSIG``), and what these started is found by the mark that it has in its
environment, before anything else of the campaign is run (:func:`cleared`). A control group would find the processes
that drop their environment too; it is not used, since making one needs root or a delegation that few machines give.
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
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, cast

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
#: Where one of several nodes failed, the others get so many seconds to notice.
GRACE = 10.0
#: Seconds that processes have to end once they were killed: more than a full disk or a busy machine takes.
PATIENCE = 10.0
#: The variable that marks a campaign's processes: ``CAMPAIGN/RUN/NAME``, the name being that of the job.
MARK = "PERFLOG_CAMPAIGN_RUN"
#: The exit status for a guard whose other half was killed: this and the signal's number. A command's own status among
#: these becomes :data:`_UNKNOWN`, so that none reads as a lost guard.
LOST, LOST_END, _UNKNOWN = 192, 224, 191
#: A shell's exit status of a killed process is this and the signal's number.
STATUS_KILLED = 128
#: The exit status where processes of an earlier run do not end.
OCCUPIED = 126
#: What the guard of another node prints before it starts anything, so that a node that was never reached is known.
STARTED = "perflog run: this node starts its part"


def main() -> None:
    job = json.loads(_first_line())
    mark = os.environ[MARK] = job["mark"]
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    killed, left = cleared(mark)  # on this host; the campaign's own has looked at its own
    if left or killed:
        print(said(killed, left), file=sys.stderr, flush=True)
    if left:
        os._exit(OCCUPIED)
    if job.get("tells"):
        print(STARTED, flush=True)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: _end(128 + signal.SIGTERM))
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(write)
        os.dup2(read, 0)  # ends when the first guard does
        _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        _end(_run(job["commands"]))
    os.close(read)
    threading.Thread(target=_watch, daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    _end(status if status >= 0 else LOST - status)


def _first_line() -> bytes:
    """What to run: a line of JSON, after which nothing more is written into the pipe."""
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(0, 1 << 16)
        if not more:
            os._exit(128 + signal.SIGKILL)
        line += more
    return line


def _run(commands: list[dict[str, Any]]) -> int:
    """Start the commands and wait for their ends; the exit status as a shell gives it."""
    # before the thread: a child is forked of a process of one thread, and dies with the thread that made it
    children = [_started(command) for command in commands]
    threading.Thread(target=_watch, daemon=True).start()
    status = 0
    until = float("inf")
    while any(child.poll() is None for child in children) and time.monotonic() < until:
        if (failed := _first_failure(commands, children)) and until == float("inf"):
            status, until = failed, time.monotonic() + GRACE
        time.sleep(0.02)
    return status or _first_failure(commands, children)


def _first_failure(commands: list[dict[str, Any]], children: list[subprocess.Popen[bytes]]) -> int:
    """The first exit status that is no 0, as a shell gives it; 0 where there is none."""
    for command, child in zip(commands, children):  # noqa: B905  a host's Python may be old
        if code := child.poll():
            is_its_own = not command.get("remote") and LOST <= code < LOST_END
            return 128 - code if code < 0 else _UNKNOWN if is_its_own else code
    return 0


def _started(command: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start one command, its output added to its file; the guard ends where it cannot be started."""
    name, there = command.get("output"), command.get("remote")
    environment = {**os.environ, **command.get("environment", {})}
    here = os.getpid()

    def die_with_the_guard() -> None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != here:  # it died before
            os._exit(128 + signal.SIGKILL)

    try:
        child = subprocess.Popen(
            command["argv"],
            stdin=subprocess.PIPE if there else subprocess.DEVNULL,
            stdout=os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644) if name else None,
            stderr=subprocess.STDOUT if name else None,
            env=environment,
            cwd=command.get("folder") or None,
            preexec_fn=die_with_the_guard,
        )
    except OSError as error:
        print(f"cannot start {error.filename or command['argv'][0]}: {error.strerror}", file=sys.stderr, flush=True)
        _end(127)
    if there and child.stdin is not None:
        with suppress(BrokenPipeError):  # its exit status says more
            child.stdin.write(json.dumps(there).encode() + b"\n")
            child.stdin.flush()
    return child


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
        _kill(below)
        time.sleep(0.005)
    os._exit(status)


def _descendants() -> list[int]:
    """Every process below this one that has not ended; those that have may still be called the parents of others."""
    parents: dict[int, list[int]] = {}
    ended = set()
    for entry in _processes():
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


def cleared(mark: str, own: bool = False) -> tuple[dict[int, str], dict[int, str]]:
    """Kill the processes of a campaign's other runs and wait for their ends.

    Args:
        mark: the run that is to be alone, as :data:`MARK` has it.
        own: the processes of this run itself in place of the others'.

    Returns:
        (those that were killed, those that live on for :data:`PATIENCE` seconds), by process the name of the job.
    """
    killed: dict[int, str] = {}
    until = time.monotonic() + PATIENCE
    while found := marked(mark, own):
        killed |= found
        if time.monotonic() > until:
            break
        _kill(found)
        time.sleep(0.01)
    return {pid: name for pid, name in killed.items() if pid not in found}, found


def marked(mark: str, own: bool = False) -> dict[int, str]:
    """The processes of a campaign's other runs, or of the run itself, that live on this host: their jobs' names."""
    campaign, run, _ = mark.split("/", 2)
    variable = f"{MARK}={campaign}/".encode()
    found = {}
    for entry in _processes():
        with suppress(OSError):  # it has ended, or is another user's
            value = (b"\0" + (entry / "environ").read_bytes()).partition(b"\0" + variable)[2].partition(b"\0")[0]
            its, _, name = value.decode("utf-8", "replace").partition("/")
            if its and (its == run) == own and int(entry.name) != os.getpid():
                found[int(entry.name)] = name
    return found


def said(killed: dict[int, str], left: dict[int, str]) -> str:
    """In one line which processes of earlier runs were found and what became of them."""
    found = left or killed
    numbers = ", ".join(map(str, sorted(found)[:9])) + (", …" if len(found) > 9 else "")
    who = f"process{'es' * (len(found) > 1)} {numbers} of an earlier run ({', '.join(sorted(set(found.values())))})"
    if left:
        return f"{who} cannot be killed, and nothing is run beside it; end it, then run the same command again"
    return f"killed {who}, which had outlived it"


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _processes() -> list[Path]:
    """The folders of all processes; none where the system has no such folders."""
    with suppress(OSError):
        return [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return []


def _linux_prctl() -> Callable[..., int]:
    """The C library's ``prctl``, looked up before anything is forked; what does nothing where there is none."""
    try:
        found = ctypes.CDLL(None).prctl
    except (OSError, AttributeError, TypeError):
        return lambda *_: -1
    found.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    return cast("Callable[..., int]", found)


_prctl = _linux_prctl()

if __name__ == "__main__":
    main()
