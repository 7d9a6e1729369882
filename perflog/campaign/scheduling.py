"""A campaign file on this machine: which jobs can be run, with which commands, why others cannot; and running them."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from perflog.campaign import Observer, machine
from perflog.campaign.execute import clear, execute, places_of, python_for, report_line, shown
from perflog.campaign.machine import gpu_count, hangs, throttled_runs
from perflog.campaign.plan import Campaign, Folder, Job, jobs, load_campaign, refusals
from perflog.campaign.progress import write_plan
from perflog.campaign.runner import Runner
from perflog.campaign.runner import state as runner_state
from perflog.errors import UsageError
from perflog.formats.catalog import load_catalog
from perflog.settings.confinement import Confinement, repository_of

#: The kernel has this where it drives GPUs of AMD, which nvidia-smi does not list.
AMD = Path("/dev/kfd")


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a campaign file asks for on this machine.

    Attributes:
        campaign: what the file says, with what was given in its place.
        jobs: the trainings to run, in their order.
        refused: why configurations cannot be run here, by their names; none of ``jobs`` is of them.
        runners: the runners of the jobs' frameworks, by name.
        gpus: how many GPUs this machine has.
        asked: what was asked for beside the file, as the words of a command line (``--only``, ``precision=amp``).
    """

    campaign: Campaign
    jobs: tuple[Job, ...]
    refused: Mapping[str, str]
    runners: Mapping[str, Runner]
    gpus: int
    asked: tuple[str, ...] = ()

    @property
    def folder(self) -> Folder:
        """The folder of the logs, which need not be there yet."""
        return Folder(self.campaign.logs)


@dataclass(frozen=True, slots=True)
class Commands:
    """What a job would start: ``commands`` as a person would type them, one for each node that needs one.

    ``state``: ``finished``, ``failed``, ``running`` or ``open``, as the folder of the logs has it. ``report``: the line
    that the report prints for it which the runner wraps; empty where there is none.
    """

    job: Job
    state: str
    commands: tuple[str, ...]
    report: str = ""


def schedule(
    file: str | os.PathLike[str],
    *,
    only: Mapping[str, str] | None = None,
    repeats: int | None = None,
    logs: str | os.PathLike[str] | None = None,
    hostfile: str | os.PathLike[str] | None = None,
    remote: Sequence[str] = (),
) -> Schedule:
    """Read a campaign file and see what of it can be run here.

    Args:
        only: parts of it alone, such as ``{"precision": "amp", "devices": "1n8g"}``.
        repeats: runs of each configuration in place of the file's.
        logs: the folder of the logs in place of the file's.
        hostfile: hosts of runs on several nodes, one a line, in place of the file's.
        remote: the words that start a command on ``{host}``, in place of the file's (``ssh``).

    Raises:
        UsageError: for a file that is wrong or leads out of its repository, or when nothing is left to run by ``only``.
    """
    campaign = load_campaign(Path(file))
    _check_places(campaign, logs_given=bool(logs), hostfile_given=bool(hostfile))
    campaign = replace(
        campaign,
        logs=Path(logs) if logs else campaign.logs,
        hostfile=str(Path(hostfile).absolute()) if hostfile else campaign.hostfile,
        remote=tuple(remote) or campaign.remote,
    )
    wanted = jobs(campaign, only or {}, repeats)
    if not wanted:
        asked = " ".join(f"--only {key}={value}" for key, value in (only or {}).items())
        raise UsageError(f"{file}: nothing to run with {asked}")
    gpus = gpu_count()
    refused = refusals(campaign, wanted, gpus)
    runnable = tuple(job for job in wanted if job not in refused)
    known = campaign.known()
    runners = {job.framework: known[job.framework] for job in runnable}
    words = [("--only", f"{key}={value}") for key, value in (only or {}).items()]
    words += [("--hostfile", str(Path(hostfile).absolute()))] if hostfile else []
    words += [("--remote", word) for word in remote]
    beside = tuple(word for of_option in words for word in of_option)
    return Schedule(campaign, runnable, {job.configuration: why for job, why in refused.items()}, runners, gpus, beside)


def _check_places(campaign: Campaign, logs_given: bool, hostfile_given: bool) -> None:
    """Raise UsageError where a campaign file's logs or hosts lie outside its repository, and the user named no others.

    A campaign file is a program, and running one trusts it; but its plan is shown without running anything.
    """
    root = repository_of(campaign.file.parent)
    if not logs_given:
        Confinement((root,), "name it with --logs {path}").admit(campaign.logs, f"{campaign.file}: logs")
    if campaign.hostfile and not hostfile_given:
        hosts = campaign.file.parent / campaign.hostfile
        Confinement((root,), "name it with --hostfile {path}").admit(hosts, f"{campaign.file}: hostfile")


def commands(scheduled: Schedule) -> list[Commands]:
    """What each job would start; nothing is run.

    Raises:
        UsageError: when a runner has no command for a job, or there are fewer hosts than nodes.
    """
    return [commands_of(job, scheduled) for job in scheduled.jobs]


def commands_of(job: Job, scheduled: Schedule) -> Commands:
    """What one job would start; raises what :func:`commands` does."""
    line = report_line(job, scheduled.runners[job.framework], scheduled.campaign)
    return Commands(job, scheduled.folder.state(job), tuple(shown(job, scheduled)), line)


def missing(scheduled: Schedule) -> list[str]:
    """What the runners wrap and this machine lacks: a line for each, with what to get."""
    runners = scheduled.runners.values()
    return [line for runner in runners for line in runner.lacks(places_of(runner, scheduled.campaign)).values()]


def check_environments(scheduled: Schedule) -> None:
    """See that the jobs' device is here and their environments are ready, but for those that the campaign names.

    Raises:
        UsageError: where the machine has no GPU and the campaign does not say that it trains on the CPU; naming the
            first environment that is not ready and the command that makes it, or the first program or data that is not
            here and what to get.
    """
    for line in missing(scheduled)[:1]:
        raise UsageError(line)
    here = [job for job in scheduled.jobs if job.nodes == 1 and scheduled.runners[job.framework].takes_device]
    if here and scheduled.campaign.device == "gpu" and not (scheduled.gpus or AMD.exists()):
        if hung := hangs("nvidia-smi"):
            raise UsageError(f"{hung}, so nobody knows whether this machine's GPUs work: see what it says by itself")
        raise UsageError(
            f"{scheduled.campaign.file}: device is 'gpu' (the default), and this machine has no GPU: to train on its "
            'CPU, write device = "cpu"'
        )
    for name, runner in scheduled.runners.items():
        state = runner_state(runner)
        if state != "ready" and name not in scheduled.campaign.pythons:
            raise UsageError(f"the environment of {name} is {state}: perflog run --make-environment {name}")


# ----------------------------------------------------------------------------------------------------
# Running a schedule's jobs and keeping their logs.


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the folder has of a schedule's jobs after it was run: those whose logs count, and those that failed."""

    folder: Path
    finished: tuple[Job, ...]
    failed: tuple[Job, ...]


def run(scheduled: Schedule, *, retry_failed: bool = False, observer: Observer | None = None) -> Outcome:
    """Run what of a schedule is not in the folder of its logs yet, one job after the other; the same call goes on.

    Args:
        scheduled: made by :func:`perflog.campaign.schedule`.
        retry_failed: run again what failed before.
        observer: is told of every job.

    Raises:
        UsageError: when an environment is missing, another campaign is at work in the folder, or the folder's logs are
            of another machine.
        PerflogError: when the disk is full, the folder was deleted, or processes of an earlier run cannot be ended.
            What has ended is kept, and the same call goes on.
    """
    check_environments(scheduled)
    folder, campaign = scheduled.folder, scheduled.campaign
    observer = observer or Observer()
    states = ("open", "running", "failed") if retry_failed else ("open", "running")
    with folder.locked() as lock:
        cut = taken_up([folder], lock, observer)
        pending = [job for job in scheduled.jobs if folder.state(job) in states]
        write_plan(folder, (job.log for job in scheduled.jobs), campaign, scheduled.asked)
        if pending:
            machine.record(folder.root, machine_of(scheduled))
        catalog = load_catalog()
        try:
            observer.begin(len(scheduled.jobs), len(scheduled.jobs) - len(pending), cut)
            for index, job in enumerate(pending):
                observer.begin_job(job, folder.seconds(pending[index:]))
                observer.end_job(job, execute(job, scheduled, lock, catalog, observer))
        finally:
            observer.end()
        if pending:
            machine.close(folder.root, throttled_runs(folder.journal()))
        failed = tuple(job for job in scheduled.jobs if folder.state(job) == "failed")
    return Outcome(folder.root, tuple(job for job in scheduled.jobs if job not in failed), failed)


def taken_up(folders: Sequence[Folder], lock: int, observer: Observer) -> int:
    """Leave nothing of what a killed call left half done; how many trainings that were.

    Args:
        folders: of the logs.
        lock: the lock of the campaign's folder.
        observer: is told of processes that lived on, and of a clock that was set back.

    Raises:
        PerflogError: when such processes cannot be ended.
    """
    clear(lock, observer)
    now = datetime.now(UTC).replace(microsecond=0)
    for set_back in filter(None, (folder.clock_set_back(now) for folder in folders)):
        observer.tell(set_back)
    return sum(folder.clean() for folder in folders)


def machine_of(scheduled: Schedule) -> dict[str, Any]:
    """What is recorded of this machine beside the logs."""
    runners, campaign = scheduled.runners, scheduled.campaign
    pythons = {name: python_for(runner, campaign) or "python" for name, runner in runners.items()}
    return machine.facts(list(runners.values()), pythons, campaign.environment)


# ----------------------------------------------------------------------------------------------------
# A campaign as Slurm jobs: a script for each number of nodes and devices, which runs ``perflog run`` in its allocation.

#: Starts a command on one of the allocation's nodes, as ``ssh`` does elsewhere.
REMOTE = ("srun", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist={host}")


def slurm_scripts(scheduled: Schedule) -> str:
    """The schedule as Slurm job scripts, one after the other, each to be given to ``sbatch``."""
    campaign, gpus = scheduled.campaign, bool(scheduled.gpus)
    of_layouts: dict[str, list[Job]] = {}
    for job in scheduled.jobs:
        of_layouts.setdefault(job.layout, []).append(job)
    return "\n".join(_script(campaign, wanted, gpus) for wanted in of_layouts.values())


def _script(campaign: Campaign, wanted: Sequence[Job], gpus: bool) -> str:
    layout, nodes, per_node = wanted[0].layout, wanted[0].nodes, wanted[0].per_node
    minutes = math.ceil(len(wanted) * campaign.time_limit / 60)
    hosts = f".hosts-{layout}"
    command = [sys.executable, "-m", "perflog", "run", str(campaign.file), "--only", f"devices={layout}"]
    command += ["--logs", f"{campaign.logs}-{layout}"]
    if nodes > 1:
        command += ["--hostfile", hosts, *(word for part in REMOTE for word in ("--remote", part))]
    lines = [
        "#!/bin/bash",
        f"# {len(wanted)} runs on {layout}; the same script goes on where a job that was cut off stopped",
        f"#SBATCH --job-name=perflog-{layout}",
        f"#SBATCH --nodes={nodes}",
        "#SBATCH --ntasks-per-node=1",
        f"#SBATCH --{'gpus-per-node' if gpus else 'cpus-per-task'}={per_node}",
        "#SBATCH --exclusive",
        "#SBATCH --requeue",
        f"#SBATCH --time={minutes // 60}:{minutes % 60:02d}:00",
        f"cd {shlex.quote(str(Path.cwd()))}",
        *([f'scontrol show hostnames "$SLURM_JOB_NODELIST" > {hosts}'] if nodes > 1 else []),
        shlex.join([*command, "--quiet"]),
    ]
    return "\n".join(lines) + "\n"
