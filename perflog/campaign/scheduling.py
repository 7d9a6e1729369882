"""A campaign file on this machine: which jobs are run, which cannot be and why, and with which commands."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perflog.campaign import hardware
from perflog.campaign.command import report_line
from perflog.campaign.execute import shown
from perflog.campaign.hardware import gpu_count, hangs
from perflog.campaign.plan import Campaign, Folder, Job, configuration, jobs, load_campaign, refusals
from perflog.campaign.runner import Runner, lack
from perflog.campaign.slurm import scripts
from perflog.errors import UsageError
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
    """

    campaign: Campaign
    jobs: tuple[Job, ...]
    refused: Mapping[str, str]
    runners: Mapping[str, Runner]
    gpus: int

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
        remote=list(remote) or campaign.remote,
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
    return Schedule(campaign, runnable, {configuration(job): why for job, why in refused.items()}, runners, gpus)


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
    folder, campaign = scheduled.folder, scheduled.campaign
    entries = []
    for job in scheduled.jobs:
        runner = scheduled.runners[job.framework]
        texts = tuple(shown(job, runner, campaign, folder))
        entries.append(Commands(job, folder.state(job), texts, report_line(job, runner, campaign)))
    return entries


def missing(scheduled: Schedule) -> list[str]:
    """What the runners wrap and this machine lacks: a line for each, with what to get."""
    campaign = scheduled.campaign
    lines = (
        lack(need, name, (campaign.programs if need.kind == "program" else campaign.data).get(name, ""))
        for name, runner in scheduled.runners.items()
        for need in runner.prerequisites
    )
    return [line for line in lines if line]


def slurm_scripts(scheduled: Schedule) -> str:
    """The schedule as Slurm job scripts, one after the other, each to be given to ``sbatch``."""
    return scripts(scheduled.campaign, scheduled.jobs, bool(scheduled.gpus))


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
        state = hardware.state(runner)
        if state != "ready" and name not in scheduled.campaign.pythons:
            raise UsageError(f"the environment of {name} is {state}: perflog run --make-environment {name}")
