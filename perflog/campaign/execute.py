"""Run one job: the commands that start it, its processes under a guard, its output into a log, its end judged and kept.

A job is one process, a launcher on this node, or a launcher on every node.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perflog.campaign import Observer, guard
from perflog.campaign.guard import MARK
from perflog.campaign.machine import SECRET, Sampler, clocks
from perflog.campaign.plan import Campaign, Folder, Job, check_host
from perflog.campaign.progress import Completion, completion_of, ended, last_words
from perflog.campaign.runner import Runner, python_of
from perflog.errors import PerflogError, UsageError
from perflog.formats.catalog import Catalog

if TYPE_CHECKING:
    from perflog.campaign.scheduling import Schedule

GUARD = Path(__file__).with_name("guard.py")
#: What starts the guard here; it reads from its standard input what to run.
GUARD_HERE = (sys.executable, "-I", "-S", str(GUARD))
#: Never handed on: the first splits every print into two writes, the others belong to perflog's own Python.
_LEFT_OUT = ("PYTHONUNBUFFERED", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Start:
    """One command on one node: the first node's output is the log, the others' are kept apart."""

    host: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    path: str = ""
    folder: str = ""

    @property
    def is_far(self) -> bool:
        """Whether its host is another one than this."""
        return bool(self.host) and not _here(self.host)

    @property
    def text(self) -> str:
        """The command as a person would type it, without the values of what may be secrets."""
        shown = {key: "***" if SECRET.search(key) else shlex.quote(value) for key, value in self.environment.items()}
        assignments = [f"{key}={value}" for key, value in shown.items()]
        words = " ".join([*assignments, shlex.join(self.argv)])
        words = f"cd {shlex.quote(self.folder)} && {words}" if self.folder else words
        return f"[{self.host}] {words}" if self.host else words


def hosts_of(campaign: Campaign) -> list[str]:
    """The campaign's hosts: a list, or a file with one a line (what follows the name, as ``slots=8``, is not read)."""
    if not campaign.hostfile:
        return list(campaign.hosts)
    file = campaign.file.parent / campaign.hostfile
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror} (hostfile of {campaign.file})") from None
    hosts = [line.split()[0] for line in lines if line.strip() and not line.lstrip().startswith("#")]
    for host in hosts:
        check_host(host, f"{file} (hostfile of {campaign.file})")
    return hosts


def starts(job: Job, runner: Runner, campaign: Campaign, side: Path, scratch: Path, port: int = 0) -> list[Start]:
    """The commands of a job, one for each node that needs one.

    Raises:
        UsageError: when the runner has no command for it, or there are fewer hosts than nodes.
    """
    python = python_for(runner, campaign)
    hosts = hosts_of(campaign)[: job.nodes] if job.nodes > 1 else []
    if job.nodes > 1 and len(hosts) < job.nodes:
        raise UsageError(
            f"{job.name} needs {job.nodes} hosts, and {campaign.file} names {len(hosts)}: "
            'hosts = ["node1", "node2"] or hostfile'
        )
    master = hosts[0] if hosts else "127.0.0.1"
    words = {
        **_words(job, campaign),
        **{kind: places_of(runner, campaign).get(kind) or need.folder for kind, need in runner.prerequisites.items()},
        # the hosts and their numbers of devices, as `mpirun -H` takes them
        "hosts": ",".join(f"{host}:{job.per_node}" for host in hosts or ["localhost"]),
        "addresses": ",".join(hosts or ["127.0.0.1"]),
        "python": python or sys.executable,
        "here": str(runner.here),
        "scratch": str(scratch),
        "hostfile": str(scratch / "hosts"),
        "side": str(side),
        "port": str(port or "PORT"),
        "master": master,
        "master_ip": _address(master),
    }
    kind = _kind(job, runner, campaign)
    fields = runner.filled_fields(job.facts)
    command = _expanded((*runner.commands[kind], *runner.arguments, *campaign.arguments), fields)
    texts = {key: _joined(text, fields) for key, text in {**runner.environment, **campaign.environment}.items()}
    environment = {key: _filled(text, words) for key, text in texts.items()}
    if kind == "mpirun":
        handed = [word for key in environment for word in ("-x", key)]
        handed += ["-x", f"MASTER_ADDR={master}", "-x", f"MASTER_PORT={words['port']}"]
        mpirun = ["mpirun", "-np", words["processes"], "-H", words["hosts"], "--bind-to", "none", *handed]
        command = [*mpirun, *command]
    path = str(Path(python).parent) if "/" in python else ""

    def start(host: str, its: Mapping[str, str]) -> Start:
        argv = tuple(_filled(word, its) for word in command)
        return Start(host, argv, environment, path, _filled(runner.directory, its))

    if kind == "each_node":
        return [start(host, {**words, "node": str(node), "host_ip": _address(host)}) for node, host in enumerate(hosts)]
    return [start(hosts[0] if hosts and kind == "first_node" else "", words)]


def python_for(runner: Runner, campaign: Campaign) -> str:
    """The Python that a runner's commands find first: the campaign's, else the runner's environment's.

    Empty for a runner that wraps a program: its commands use the Python of the container or shell that they run in.
    """
    return campaign.pythons.get(runner.name) or ("" if runner.prerequisites else str(python_of(runner)))


def places_of(runner: Runner, campaign: Campaign) -> dict[str, str]:
    """The folders that a campaign names for a runner's program and data, by kind; empty where it names none."""
    return {"program": campaign.programs.get(runner.name, ""), "data": campaign.data.get(runner.name, "")}


def report_line(job: Job, runner: Runner, campaign: Campaign) -> str:
    """The line that the runner's report prints for a job; empty where there is no report or it prints none."""
    report = runner.report
    if report is None or job.precision not in (report.precisions or (job.precision,)):
        return ""
    if job.layout not in (report.devices or (job.layout,)):
        return ""
    line = getattr(report, _kind(job, runner, campaign), "")
    return _filled(_joined(line, runner.filled_fields(job.facts)), _words(job, campaign))


def _expanded(command: Sequence[str], fields: Mapping[str, Sequence[str]]) -> list[str]:
    """A command in which a word that is a field alone is replaced by the field's words, however many."""
    by_word = {f"{{{name}}}": words for name, words in fields.items()}
    return [_joined(part, fields) for word in command for part in by_word.get(word, (word,))]


def _joined(text: str, fields: Mapping[str, Sequence[str]]) -> str:
    """A text in which fields are replaced by their words, with blanks between them."""
    return _filled(text, {name: " ".join(words) for name, words in fields.items()})


def _filled(text: str, words: Mapping[str, str]) -> str:
    for key, value in words.items():
        text = text.replace(f"{{{key}}}", value)
    return text


def _words(job: Job, campaign: Campaign) -> dict[str, str]:
    """What a command's ``{fields}`` stand for, as far as job and campaign say it."""
    of_job = {name: str(getattr(job, name)) for name in ("nodes", "per_node", "processes", "batch_size")}
    of_campaign = {
        name: str(getattr(campaign, name)) for name in ("device", "repeats", "steps", "log_interval", "warmup")
    }
    named = {"model": job.model, "precision": job.precision, "global_batch": str(job.batch_size * job.processes)}
    return {**of_job, **named, **of_campaign}


def _kind(job: Job, runner: Runner, campaign: Campaign) -> str:
    if job.processes == 1:
        return "one"
    several = ("several",) if job.nodes == 1 else ("each_node", "first_node")
    wanted = (campaign.launcher,) if campaign.launcher else several
    for kind in wanted:
        if kind in runner.commands:
            return kind
    raise UsageError(f"{job.name}: {runner.here / 'runner.toml'} has no command for {' or '.join(wanted)}")


def guarded(commands: Sequence[Start], campaign: Campaign, outputs: Sequence[Path], mark: str) -> dict[str, Any]:
    """What the guard of a job's commands is to run; remote ones stand under a guard of their own there.

    Args:
        outputs: the file of each command's output.
        mark: what the processes are known by, as :data:`perflog.campaign.guard.MARK` has it.
    """
    given: list[dict[str, Any]] = []
    for start, output in zip(commands, outputs, strict=True):
        environment = dict(start.environment)
        if start.is_far:
            there = {"argv": start.argv, "environment": environment, "folder": start.folder}
            remote = {"mark": mark, "commands": [there], "tells": bool(given)}  # the first one's output is the log
            given.append({"argv": _remote(start, campaign), "output": str(output), "remote": remote})
            continue
        if start.path:
            environment["PATH"] = f"{start.path}:{os.environ.get('PATH', os.defpath)}"
        command = {"argv": list(start.argv), "environment": environment, "output": str(output)}
        given.append(command | ({"folder": start.folder} if start.folder else {}))
    return {"mark": mark, "commands": given}


def _remote(start: Start, campaign: Campaign) -> list[str]:
    """The words that start a guard on a command's host, in this folder; it reads what to run, as the guard here does.

    ``ssh`` never asks a question, whatever the campaign's own words for it are: nobody would answer.
    """
    where = [word.replace("{host}", start.host) for word in campaign.remote]
    if Path(where[0]).name == "ssh" and not any("batchmode" in word.lower() for word in where):
        where[1:1] = ["-o", "BatchMode=yes"]
    path = f"PATH={shlex.quote(start.path)}:$PATH " if start.path else ""
    return [*where, f"cd {shlex.quote(os.getcwd())} && {path}{shlex.join(['python3', str(GUARD)])}"]  # noqa: PTH109


def _here(host: str) -> bool:
    return host in _LOCAL or host.split(".")[0] == socket.gethostname().split(".")[0]


def _address(host: str) -> str:
    """A host's address in numbers, as some launchers want it; the name itself where it cannot be looked up here."""
    try:
        return socket.gethostbyname(host)
    except OSError:
        return host


def inherited(mark: str) -> dict[str, str]:
    """What a training inherits of perflog's own environment variables, and what it is known by.

    ``SSH_ASKPASS_REQUIRE``: the ``ssh`` of a launcher such as ``mpirun`` asks nobody either.
    """
    kept = {key: value for key, value in os.environ.items() if key not in _LEFT_OUT}
    return {**kept, "SSH_ASKPASS_REQUIRE": "never", MARK: mark}


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


# ----------------------------------------------------------------------------------------------------
# Running a job.

#: Seconds that a guard has to end once it was told to: it waits for the processes that it kills.
_PATIENCE = 15.0
#: Seconds that the other half of a guard that was killed has for that.
_HALF = 3.0
#: Seconds between two looks whether the growing log is still there.
_LOOK = 1.0
#: Lines of other ranks' output that a failed training's log keeps, of each.
TAIL = 40


def execute(job: Job, scheduled: Schedule, lock: int, catalog: Catalog, observer: Observer) -> Completion:
    """Run a job to its end and keep its log.

    A run is alone and whole: processes of earlier ones that live on are killed first, and it fails where others of the
    campaign lived beside it, where its guard was killed or where one of its nodes started nothing, whatever its log
    says.

    Args:
        lock: the lock of the campaign's folder, which the guard holds too.
        observer: is told several times a second that the training goes on, and of processes that were left over.

    Raises:
        UsageError: when the runner has no command for the job, or there are fewer hosts than nodes.
        PerflogError: when processes of an earlier run cannot be ended, or the growing log was deleted.
    """
    runner, campaign, folder = scheduled.runners[job.framework], scheduled.campaign, scheduled.folder
    running, scratch = folder.running(job), folder.scratch(job)
    mark = f"{_campaign(lock)}/{secrets.token_hex(8)}/{job.name}"
    clear(lock, observer)
    _prepare(job, folder)
    commands = starts(job, runner, campaign, folder.side(job).absolute(), scratch.absolute(), free_port())
    hosts = "".join(f"{host}\n" for host in hosts_of(campaign)[: job.nodes])
    (scratch / "hosts").write_text(hosts, encoding="utf-8")
    outputs = [running, *(scratch / f"node{node}.out" for node in range(1, len(commands)))]
    before, began = clocks(), time.monotonic()
    running.touch()
    with Sampler(scratch / "gpus.csv") as sampler:
        given = guarded(commands, campaign, outputs, mark)
        status = _wait(given, lock, campaign.time_limit, _watched(running, observer.tick))
    seconds = time.monotonic() - began
    disturbed = _disturbed(mark, status) or _absent(commands, outputs)
    others = [*outputs[1:], *(sorted(scratch.glob(runner.rank_logs)) if runner.rank_logs else ())]
    at_end = folder.side(job).exists() or not any("{side}" in word for word in runner.arguments)
    completion = completion_of(running, others, status, at_end, campaign, catalog, disturbed)
    folder.note(_entry(job, seconds, status, completion) | {"before": before, "after": clocks()} | sampler.entry())
    if completion.reason:
        _append(running, others)
        folder.fail(job, f"perflog run: {completion.reason} [{runner.framework}]")
    else:
        folder.finish(job)
    shutil.rmtree(scratch, ignore_errors=True)  # launchers leave the whole environment there
    return completion


def _prepare(job: Job, folder: Folder) -> None:
    """An empty log, an empty scratch folder, and no side file of an earlier training."""
    folder.running(job).parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder.scratch(job), ignore_errors=True)
    folder.scratch(job).mkdir(parents=True)
    folder.side(job).unlink(missing_ok=True)


def _entry(job: Job, seconds: float, status: int | None, completion: Completion) -> dict[str, Any]:
    """A line of the folder's journal."""
    return {
        "job": job.name,
        "configuration": job.configuration,
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "status": status,
        "reason": completion.reason,
        "remark": completion.remark,
    }


def clear(lock: int, observer: Observer) -> None:
    """Kill what lives on of the campaign's earlier runs, and tell.

    Args:
        lock: the lock of the campaign's folder.

    Raises:
        PerflogError: where some of it does not end.
    """
    killed, left = guard.cleared(f"{_campaign(lock)}//")
    if left:
        raise PerflogError(guard.said(killed, left))
    if killed:
        observer.tell(guard.said(killed, left))


def _campaign(lock: int) -> str:
    """What a campaign's processes are known by, however its folder is called: the lock that it holds."""
    status = os.fstat(lock)
    return f"{status.st_dev:x}-{status.st_ino:x}"


def _disturbed(mark: str, status: int | None) -> str:
    """Why a run that has ended cannot count: its guard was killed, or others lived beside it; empty where it can."""
    lost = (
        -status
        if status and status < 0
        else status - guard.LOST
        if status and guard.LOST <= status < guard.LOST_END
        else 0
    )
    until = time.monotonic() + _HALF
    while lost and guard.marked(mark, own=True) and time.monotonic() < until:
        time.sleep(0.02)  # the other half of the guard sees to them, and sees more of them than we do
    guard.cleared(mark, own=True)
    beside = guard.marked(mark)
    if beside:
        numbers = ", ".join(map(str, sorted(beside)))
        return f"other processes of the campaign lived beside it: {numbers} ({', '.join(sorted(set(beside.values())))})"
    return f"the guard of its processes was {ended(guard.STATUS_KILLED + lost)}" if lost else ""


def _absent(commands: Sequence[Start], outputs: Sequence[Path]) -> str:
    """Why a run cannot count in which a node had no part; empty where all of the others say that they started.

    The first node's output is the log, which tells by itself.
    """
    for node, (start, output) in enumerate(zip(commands[1:], outputs[1:], strict=True), start=1):
        if start.is_far and guard.STARTED.encode() not in (said := output.read_bytes() if output.exists() else b""):
            return f"node {node} ({start.host}) started nothing: {last_words([said])}"
    return ""


def _watched(running: Path, tick: Callable[[], None]) -> Callable[[], None]:
    """A ``tick`` that also sees that the growing log is there: nothing could be kept of a training without it."""
    next_look = time.monotonic() + _LOOK

    def watch() -> None:
        nonlocal next_look
        tick()
        if time.monotonic() > next_look:
            next_look = time.monotonic() + _LOOK
            running.stat()

    return watch


def _wait(given: dict[str, Any], lock: int, limit: float, tick: Callable[[], None]) -> int | None:
    """The exit status of guarded commands; None when they were killed at the time limit.

    It is below 0, or that of :data:`perflog.campaign.guard.LOST`, where the guard itself was killed.
    """
    process = subprocess.Popen(
        GUARD_HERE, stdin=subprocess.PIPE, start_new_session=True, pass_fds=(lock,), env=inherited(given["mark"])
    )
    assert process.stdin is not None
    until = time.monotonic() + limit
    try:
        with suppress(BrokenPipeError):  # its status says more
            process.stdin.write(json.dumps(given).encode() + b"\n")
            process.stdin.flush()
        while time.monotonic() < until:
            try:
                return process.wait(0.1)
            except subprocess.TimeoutExpired:
                tick()
        return None
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()  # the guard then kills whatever is left
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # as one that was stopped: its other half does it
            process.kill()
            process.wait()


def _append(running: Path, others: Iterable[Path]) -> None:
    """Keep the last lines that other ranks printed: the cause of a failure is often there."""
    with running.open("ab") as file:
        for other in others:
            lines = other.read_bytes().splitlines()[-TAIL:] if other.is_file() else []
            if lines:
                file.write(f"--- {other.name}, its last lines\n".encode() + b"\n".join(lines) + b"\n")


def shown(job: Job, scheduled: Schedule) -> list[str]:
    """A job's commands as ``--dry-run`` prints them."""
    folder = scheduled.folder
    side, scratch = (Path(os.path.relpath(path)) for path in (folder.side(job), folder.scratch(job)))
    commands = starts(job, scheduled.runners[job.framework], scheduled.campaign, side, scratch)
    return [start.text for start in commands]
