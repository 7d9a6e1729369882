"""Run one job: its processes under a guard, its output into a growing log, its end judged and kept."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perflog.campaign import guard
from perflog.campaign.command import GUARD_HERE, Start, free_port, guarded, hosts_of, inherited, starts
from perflog.campaign.completion import Completion, completion_of, ended, last_words
from perflog.campaign.machine import Sampler, clocks
from perflog.campaign.observer import Observer
from perflog.campaign.plan import Campaign, Folder, Job, configuration
from perflog.campaign.runner import Runner
from perflog.errors import PerflogError
from perflog.formats.catalog import Catalog

#: Seconds that a guard has to end once it was told to: it waits for the processes that it kills.
_PATIENCE = 15.0
#: Seconds that the other half of a guard that was killed has for that.
_HALF = 3.0
#: Seconds between two looks whether the growing log is still there.
_LOOK = 1.0
#: Lines of other ranks' output that a failed training's log keeps, of each.
TAIL = 40


def execute(
    job: Job,
    runner: Runner,
    campaign: Campaign,
    folder: Folder,
    lock: int,
    catalog: Catalog,
    observer: Observer,
) -> Completion:
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
        "configuration": configuration(job),
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
    lost = -status if status and status < 0 else status - guard.LOST if status and _is_lost(status) else 0
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


def _is_lost(status: int) -> bool:
    return guard.LOST <= status < guard.LOST_END


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


def shown(job: Job, runner: Runner, campaign: Campaign, folder: Folder) -> list[str]:
    """A job's commands as ``--dry-run`` prints them."""
    side, scratch = (Path(os.path.relpath(path)) for path in (folder.side(job), folder.scratch(job)))
    return [start.text for start in starts(job, runner, campaign, side, scratch)]
