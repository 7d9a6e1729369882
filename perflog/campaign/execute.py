"""Run one job: its processes under a guard, its output into a growing log, its end judged and kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perflog.campaign.command import free_port, guarded, hosts_of, inherited, starts
from perflog.campaign.completion import Completion, completion_of
from perflog.campaign.folder import Folder, configuration
from perflog.campaign.machine import clocks
from perflog.campaign.plan import Campaign, Job
from perflog.campaign.runner import Runner
from perflog.campaign.throttling import Sampler
from perflog.formats.catalog import Catalog

#: Lines of other ranks' output that a failed training's log keeps, of each.
TAIL = 40


def execute(
    job: Job,
    runner: Runner,
    campaign: Campaign,
    folder: Folder,
    lock: int,
    catalog: Catalog,
    tick: Callable[[], None],
) -> Completion:
    """Run a job to its end and keep its log.

    Args:
        lock: the folder's lock, which the guard holds too.
        tick: called several times a second while the training runs.

    Raises:
        UsageError: when the runner has no command for the job, or there are fewer hosts than nodes.
    """
    running, scratch = folder.running(job), folder.scratch(job)
    _prepare(job, folder)
    commands = starts(job, runner, campaign, folder.side(job).absolute(), scratch.absolute(), free_port())
    hosts = "".join(f"{host}\n" for host in hosts_of(campaign)[: job.nodes])
    (scratch / "hosts").write_text(hosts, encoding="utf-8")
    outputs = [running, *(scratch / f"node{node}.out" for node in range(1, len(commands)))]
    before, began = clocks(), time.monotonic()
    running.touch()
    with Sampler(scratch / "gpus.csv") as sampler:
        status = _wait(guarded(commands, campaign, outputs), lock, campaign.time_limit, tick)
    seconds = time.monotonic() - began
    others = [*outputs[1:], *(sorted(scratch.glob(runner.rank_logs)) if runner.rank_logs else ())]
    at_end = folder.side(job).exists() or not any("{side}" in word for word in runner.arguments)
    completion = completion_of(running, others, status, at_end, campaign, catalog)
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
        "configuration": configuration(job),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "status": status,
        "reason": completion.reason,
        "remark": completion.remark,
    }


def _wait(command: list[str], lock: int, limit: float, tick: Callable[[], None]) -> int | None:
    """The exit status of a guarded command; None when it was killed at the time limit."""
    guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, pass_fds=(lock,), env=inherited())
    assert guard.stdin is not None
    until = time.monotonic() + limit
    try:
        while time.monotonic() < until:
            try:
                return guard.wait(0.1)
            except subprocess.TimeoutExpired:
                tick()
        return None
    finally:
        guard.stdin.close()  # the guard then kills whatever is left
        guard.wait()


def _append(running: Path, others: Iterable[Path]) -> None:
    """Keep the last lines that other ranks printed: the cause of a failure is often there."""
    with running.open("ab") as file:
        for other in others:
            lines = other.read_bytes().splitlines()[-TAIL:] if other.is_file() else []
            if lines:
                file.write(f"--- {other.name}, its last lines\n".encode() + b"\n".join(lines) + b"\n")


def shown(job: Job, runner: Runner, campaign: Campaign, folder: Folder) -> list[str]:
    """A job's commands as ``--dry-run`` prints them."""
    side, scratch = (Path(os.path.relpath(path)) for path in (folder.side(job), folder.scratch(job)))
    return [start.text for start in starts(job, runner, campaign, side, scratch)]
