"""Run a schedule's jobs, one after the other, and keep their logs; the same call goes on where one was cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from perflog.campaign import machine
from perflog.campaign.execute import clear, execute
from perflog.campaign.machine import throttled_runs
from perflog.campaign.observer import Observer
from perflog.campaign.plan import Folder, Job
from perflog.campaign.progress import write_plan
from perflog.campaign.scheduling import Schedule, check_environments
from perflog.formats.catalog import load_catalog


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the folder has of a schedule's jobs after it was run: those whose logs count, and those that failed."""

    folder: Path
    finished: tuple[Job, ...]
    failed: tuple[Job, ...]


def run(scheduled: Schedule, *, retry_failed: bool = False, observer: Observer | None = None) -> Outcome:
    """Run what of a schedule is not in the folder of its logs yet.

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
    with folder.locked() as lock:
        clear(lock, observer)
        if set_back := folder.clock_set_back(datetime.now(UTC).replace(microsecond=0)):
            observer.tell(set_back)
        cut = folder.clean()
        pending = _pending(folder, scheduled.jobs, retry_failed)
        write_plan(folder, (job.log for job in scheduled.jobs), campaign.steps, campaign.warmup)
        if pending:
            runners = list(scheduled.runners.values())
            machine.record(folder.root, machine.facts(runners, campaign.environment, campaign.pythons))
        catalog = load_catalog()
        try:
            observer.begin(len(scheduled.jobs), len(scheduled.jobs) - len(pending), cut)
            for index, job in enumerate(pending):
                observer.begin_job(job, folder.seconds(pending[index:]))
                runner = scheduled.runners[job.framework]
                completion = execute(job, runner, campaign, folder, lock, catalog, observer)
                observer.end_job(job, completion)
        finally:
            observer.end()
        if pending:
            machine.close(folder.root, throttled_runs(folder.journal()))
        failed = tuple(job for job in scheduled.jobs if folder.state(job) == "failed")
    return Outcome(folder.root, tuple(job for job in scheduled.jobs if job not in failed), failed)


def _pending(folder: Folder, jobs: Sequence[Job], retry_failed: bool) -> list[Job]:
    """The jobs that have no log yet, and those that failed where they are run again."""
    states = ("open", "running", "failed") if retry_failed else ("open", "running")
    return [job for job in jobs if folder.state(job) in states]
