"""From a job to what starts it: one process, a launcher on this node, or a launcher on every node."""

from __future__ import annotations

import os
import re
import shlex
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflog.campaign.guard import MARK
from perflog.campaign.hardware import python_of
from perflog.campaign.plan import Campaign, Job, check_host
from perflog.campaign.runner import Runner, filled_fields
from perflog.errors import UsageError

GUARD = Path(__file__).with_name("guard.py")
#: What starts the guard here; it reads from its standard input what to run.
GUARD_HERE = (sys.executable, "-I", "-S", str(GUARD))
#: Names of variables whose values are never shown or written.
SECRET = re.compile(r"(?i)token|secret|passw|key|credential|auth|cookie")
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
        **_places(runner, campaign),
        "hosts": _slots(job, hosts),
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
    fields = filled_fields(runner.fields, job.facts)
    command = _expanded((*runner.commands[kind], *runner.arguments, *map(str, campaign.arguments)), fields)
    given = {**runner.environment, **campaign.environment}
    environment = dict(zip(given, _filled(_inserted(tuple(given.values()), fields), words), strict=True))
    if kind == "mpirun":
        command = (*_mpirun(job, hosts, list(environment), words), *command)
    path = str(Path(python).parent) if "/" in python else ""
    if kind == "each_node":
        own = [{**words, "node": str(node), "host_ip": _address(host)} for node, host in enumerate(hosts)]
        each = zip(hosts, own, strict=True)
        return [Start(host, _filled(command, its), environment, path, _folder(runner, its)) for host, its in each]
    host = hosts[0] if hosts and kind == "first_node" else ""
    return [Start(host, _filled(command, words), environment, path, _folder(runner, words))]


def python_for(runner: Runner, campaign: Campaign) -> str:
    """The Python that a runner's commands find first: the campaign's, else the runner's environment's.

    Empty for a runner that wraps a program: its commands use the Python of the container or shell that they run in.
    """
    return campaign.pythons.get(runner.name) or ("" if runner.prerequisites else str(python_of(runner)))


def report_line(job: Job, runner: Runner, campaign: Campaign) -> str:
    """The line that the runner's report prints for a job; empty where there is no report or it prints none."""
    report = runner.report
    if report is None or job.precision not in (report.precisions or (job.precision,)):
        return ""
    if job.layout not in (report.devices or (job.layout,)):
        return ""
    line = _inserted((report.lines.get(_kind(job, runner, campaign), ""),), filled_fields(runner.fields, job.facts))
    return _filled(line, _words(job, campaign))[0]


def _places(runner: Runner, campaign: Campaign) -> dict[str, str]:
    """Where a runner's program and data lie, by ``program`` and ``data``."""
    named = {"program": campaign.programs, "data": campaign.data}
    return {need.kind: named[need.kind].get(runner.name) or need.folder for need in runner.prerequisites}


def _folder(runner: Runner, words: Mapping[str, str]) -> str:
    return _filled((runner.directory,), words)[0]


def _expanded(command: Sequence[str], fields: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """A command in which a word that is a field alone is replaced by the field's words, however many."""
    by_word = {f"{{{name}}}": words for name, words in fields.items()}
    words = (part for word in command for part in by_word.get(word, (word,)))
    return _inserted(tuple(words), fields)


def _inserted(texts: tuple[str, ...], fields: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Texts in which fields are replaced by their words, with blanks between them."""
    return _filled(texts, {name: " ".join(words) for name, words in fields.items()})


def _slots(job: Job, hosts: Sequence[str]) -> str:
    """The hosts and their numbers of devices, as ``mpirun -H`` takes them: ``node1:8,node2:8``."""
    return ",".join(f"{host}:{job.per_node}" for host in hosts or ["localhost"])


def _words(job: Job, campaign: Campaign) -> dict[str, str]:
    """What a command's ``{fields}`` stand for, as far as job and campaign say it."""
    return {
        "nodes": str(job.nodes),
        "per_node": str(job.per_node),
        "processes": str(job.processes),
        "model": job.model,
        "precision": job.precision,
        "device": campaign.device,
        "batch_size": str(job.batch_size),
        "global_batch": str(job.batch_size * job.processes),
        "repeats": str(campaign.repeats),
        "steps": str(campaign.steps),
        "log_interval": str(campaign.log_interval),
        "warmup": str(campaign.warmup),
    }


def _mpirun(job: Job, hosts: Sequence[str], variables: Sequence[str], words: Mapping[str, str]) -> list[str]:
    """The words in front of a command that ``mpirun`` starts; ``variables``: those that it hands on."""
    handed = [word for key in variables for word in ("-x", key)]
    master = ["-x", f"MASTER_ADDR={words['master']}", "-x", f"MASTER_PORT={words['port']}"]
    return ["mpirun", "-np", words["processes"], "-H", _slots(job, hosts), "--bind-to", "none", *handed, *master]


def _kind(job: Job, runner: Runner, campaign: Campaign) -> str:
    if job.processes == 1:
        return "one"
    wanted = (
        (campaign.launcher,) if campaign.launcher else ("several",) if job.nodes == 1 else ("each_node", "first_node")
    )
    for kind in wanted:
        if kind in runner.commands:
            return kind
    raise UsageError(f"{job.name}: {runner.here / 'runner.toml'} has no command for {' or '.join(wanted)}")


def _filled(command: tuple[str, ...], words: Mapping[str, str]) -> tuple[str, ...]:
    out = []
    for word in command:
        for key, value in words.items():
            word = word.replace(f"{{{key}}}", value)
        out.append(word)
    return tuple(out)


def guarded(commands: Sequence[Start], campaign: Campaign, outputs: Sequence[Path], mark: str) -> dict[str, Any]:
    """What the guard of a job's commands is to run; remote ones stand under a guard of their own there.

    Args:
        outputs: the file of each command's output.
        mark: what the processes are known by, as :data:`perflog.campaign.guard.MARK` has it.
    """
    given: list[dict[str, Any]] = []
    for start, output in zip(commands, outputs, strict=True):
        command: dict[str, Any] = {"argv": list(start.argv), "environment": _environment(start), "output": str(output)}
        command |= {"folder": start.folder} if start.folder else {}
        if start.is_far:
            there = {"argv": start.argv, "environment": dict(start.environment), "folder": start.folder}
            remote = {"mark": mark, "commands": [there], "tells": bool(given)}  # the first one's output is the log
            command = {"argv": _remote(start, campaign), "output": str(output), "remote": remote}
        given.append(command)
    return {"mark": mark, "commands": given}


def _remote(start: Start, campaign: Campaign) -> list[str]:
    """The words that start a guard on a command's host, in this folder; it reads what to run, as the guard here does.

    ``ssh`` never asks a question, whatever the campaign's own words for it are: nobody would answer.
    """
    where = [word.replace("{host}", start.host) for word in campaign.remote]
    if Path(where[0]).name == "ssh" and not any("batchmode" in word.lower() for word in where):
        where[1:1] = ["-o", "BatchMode=yes"]
    guard = shlex.join(["python3", str(GUARD)])
    return [*where, f"cd {shlex.quote(os.getcwd())} && {_path(start)}{guard}"]  # noqa: PTH109


def _environment(start: Start) -> dict[str, str]:
    return (
        {**start.environment, "PATH": f"{start.path}:{os.environ.get('PATH', os.defpath)}"}
        if start.path
        else dict(start.environment)
    )


def _path(start: Start) -> str:
    return f"PATH={shlex.quote(start.path)}:$PATH " if start.path else ""


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
