"""A campaign's folder: what is in it is all that is known, so that a killed campaign goes on.

A log grows as ``….log.running`` and is renamed when its training has ended: to ``….log``, or with a last line
that says why to ``….log.failed``. Whatever is still called ``.running`` when a campaign begins was cut off.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perflog.campaign.plan import Job
from perflog.errors import PerflogError, UsageError
from perflog.logs.find import FAILED, RUNNING, SIDE

OWN = ".perflog"
#: A killed campaign's guards hold its lock until they have killed its training.
PATIENCE = 20.0


class Folder:
    """The logs, side files and journal of a campaign."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = root / OWN

    def log(self, job: Job) -> Path:
        return self.root / job.log

    def running(self, job: Job) -> Path:
        return self._with(job, RUNNING)

    def failed(self, job: Job) -> Path:
        return self._with(job, FAILED)

    def side(self, job: Job) -> Path:
        return self.log(job).with_suffix(SIDE)

    def scratch(self, job: Job) -> Path:
        return self.own / "scratch" / job.name.replace("/", "_")

    def _with(self, job: Job, ending: str) -> Path:
        log = self.log(job)
        return log.with_name(log.name + ending)

    def state(self, job: Job) -> str:
        """``finished``, ``failed``, ``running`` or ``open``."""
        if self.log(job).exists():
            return "finished"
        if self.failed(job).exists():
            return "failed"
        return "running" if self.running(job).exists() else "open"

    def finish(self, job: Job) -> None:
        _synced(self.running(job))
        self.running(job).replace(self.log(job))
        self.failed(job).unlink(missing_ok=True)

    def fail(self, job: Job, trailer: str) -> None:
        """Keep a failed training's log; its last line says why it failed."""
        running = self.running(job)
        text = running.read_bytes() if running.exists() else b""
        with running.open("ab") as file:
            file.write((b"" if not text or text.endswith(b"\n") else b"\n") + trailer.encode() + b"\n")
        _synced(running)
        running.replace(self.failed(job))
        self.side(job).unlink(missing_ok=True)

    def clean(self) -> int:
        """Remove what a killed campaign left half done; how many trainings that were."""
        cut = list(self.root.rglob(f"*.log{RUNNING}"))
        for running in cut:
            running.unlink()
            base = running.name.removesuffix(f".log{RUNNING}")
            if not (running.parent / f"{base}.log").exists():
                (running.parent / f"{base}{SIDE}").unlink(missing_ok=True)
        for failed in self.root.rglob(f"*.log{FAILED}"):
            if failed.with_name(failed.name.removesuffix(FAILED)).exists():
                failed.unlink()
        for part in self.root.rglob(f"*{SIDE}.*"):
            part.unlink()
        shutil.rmtree(self.own / "scratch", ignore_errors=True)
        return len(cut)

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Hold the folder; the lock's file descriptor is for guards to hold it too.

        Raises:
            UsageError: when another campaign is at work in it.
            PerflogError: in place of any OSError of what is done meanwhile: a full disk, a folder that was deleted.
        """
        try:
            with self._lock() as lock:
                yield lock
        except BrokenPipeError:
            raise
        except OSError as error:
            raise PerflogError(self._why_it_ends(error)) from None

    def _why_it_ends(self, error: OSError) -> str:
        where = f" ('{error.filename}')" if error.filename else ""
        if isinstance(error, FileNotFoundError) and not self.own.is_dir():
            return f"{self.root}: the folder was deleted while the campaign was at work; the same command begins anew"
        return (
            f"{self.root}: the campaign cannot go on: {error.strerror or error}{where}; the runs that have ended are "
            "kept, and the same command goes on once that is mended"
        )

    @contextmanager
    def _lock(self) -> Iterator[int]:
        self.own.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.own / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        until = time.monotonic() + PATIENCE
        try:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    owner = os.pread(lock, 32, 0).decode().strip()
                    if _alive(owner) or time.monotonic() > until:
                        raise UsageError(
                            f"{self.root}: another `perflog run` (process {owner or 'unknown'}) "
                            "is at work in this folder"
                        ) from None
                    time.sleep(0.05)
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
            yield lock
        finally:
            os.close(lock)

    def note(self, entry: dict[str, Any]) -> None:
        """Add a line to the journal: what was run, when, how long, how it ended. The whole line, or none of it."""
        with (self.own / "journal.jsonl").open("ab", buffering=0) as file:
            before = file.tell()
            rest = json.dumps(entry).encode() + b"\n"
            try:
                while rest:  # a write may be cut short by a signal, or by a disk that is full when the rest is written
                    rest = rest[file.write(rest) :]
            except OSError as error:
                file.truncate(before)  # else the next line would be added to half a line
                raise OSError(error.errno, error.strerror, file.name) from None

    def journal(self) -> list[dict[str, Any]]:
        entries = []
        with suppress(OSError):
            for line in (self.own / "journal.jsonl").read_bytes().splitlines():
                with suppress(ValueError):  # a line that a power cut cut
                    entries.append(json.loads(line))
        return entries

    def clock_set_back(self, now: datetime) -> str:
        """In one line that the clock stands before the end of the last run; empty where it does not.

        Nothing is computed from the clock: how long runs take is measured by one that nobody sets.
        """
        ends = []
        for entry in self.journal():
            with suppress(KeyError, TypeError, ValueError):  # none, or not as we write it
                ends.append(datetime.fromisoformat(entry["ended"]).astimezone(UTC))
        if not ends or now >= max(ends):
            return ""
        return (
            f"{self.root}: the clock was set back: it is {now:%Y-%m-%d %H:%M:%S} UTC, and a run ended at "
            f"{max(ends):%Y-%m-%d %H:%M:%S}; no number depends on it, the times in the folder do"
        )

    def seconds(self, wanted: Iterable[Job]) -> dict[Job, float]:
        """How long each job may take: what its configuration took, else what any took; empty before the first."""
        took: dict[str, list[float]] = {}
        for entry in self.journal():
            took.setdefault(str(entry.get("configuration")), []).append(float(entry.get("seconds", 0.0)))
        durations = [value for values in took.values() for value in values]
        if not durations:
            return {}
        mean = sum(durations) / len(durations)
        return {job: _mean(took.get(configuration(job), []), mean) for job in wanted}


def configuration(job: Job) -> str:
    return job.name.rpartition("_")[0]


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except (ValueError, OSError):
        return False


def _synced(file: Path) -> None:
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
