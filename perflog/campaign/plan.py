"""A campaign's plan: ``campaign.toml`` → jobs, every configuration's first run before any second one."""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import asdict

from perflog.campaign.runner import Runner, load_runners
from perflog.errors import PerflogError, UsageError
from perflog.formats.toml import Scalar, decode, near, texts
from perflog.logs.find import FAILED, RUNNING, SIDE

_LAYOUT = re.compile(r"(\d{1,6})n(\d{1,6})g")
#: More trainings than anybody makes, and no more than a moment's work to list.
MOST_JOBS = 100_000
_NAME = re.compile(r"[a-z][a-z0-9.]*")
#: A host as ssh and launchers take it. Nothing that a shell would read, as some put it into ``ProxyCommand``.
_HOST = re.compile(r"(?:[\w.][\w.+-]*@)?[\w:\[][\w.:%\]-]*")


@dataclass(frozen=True, slots=True)
class Job:
    """One training: a configuration and the number of its repeat."""

    framework: str
    model: str
    precision: str
    batch_size: int
    nodes: int
    per_node: int
    repeat: int

    @property
    def processes(self) -> int:
        return self.nodes * self.per_node

    @property
    def facts(self) -> dict[str, str]:
        """The properties that a runner's fields may depend on, as text."""
        names = ("precision", "processes", "per_node", "nodes", "batch_size")
        return {name: str(getattr(self, name)) for name in names}

    @property
    def layout(self) -> str:
        return f"{self.nodes}n{self.per_node}g"

    @property
    def log(self) -> Path:
        """Its log below the campaign's folder, in the layout of DLPerf's reports."""
        name = f"{self.model}_b{self.batch_size}_{self.precision}_{self.repeat}.log"
        return Path(self.framework, self.model, f"bz{self.batch_size}", self.layout, name)

    @property
    def name(self) -> str:
        return str(self.log.with_suffix(""))

    @property
    def configuration(self) -> str:
        """Its name without the number of the repeat."""
        return self.name.rpartition("_")[0]


_Names = Annotated[tuple[str, ...], Meta(min_length=1)]
_PositiveInt = Annotated[int, Meta(ge=1)]


class _CampaignFile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What may stand in a campaign's file (``docs/campaigns.md``)."""

    frameworks: Annotated[_Names, Meta(description='a list of runners, such as ["pytorch"]')]
    models: Annotated[_Names, Meta(description='a list of models, such as ["resnet50"]')]
    precisions: Annotated[_Names, Meta(description='a list of precisions, such as ["fp32", "amp"]')]
    batch_sizes: Annotated[
        tuple[_PositiveInt, ...],
        Meta(min_length=1, description="a list of whole numbers of samples per device, such as [64, 128]"),
    ]
    devices: Annotated[_Names, Meta(description='a list of nodes and devices per node, such as ["1n1g", "2n8g"]')]
    device: Literal["gpu", "npu", "cpu"] = "gpu"
    folder: str = field(default="logs", name="logs")
    repeats: _PositiveInt = 5
    steps: _PositiveInt = 200
    log_interval: _PositiveInt = 10
    warmup: Annotated[int, Meta(ge=0)] = 20
    time_limit: Annotated[float, Meta(gt=0)] = 3600.0
    arguments: tuple[Scalar, ...] = ()
    environment: Mapping[str, Scalar] = {}
    runners: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    hostfile: str = ""
    launcher: str = ""
    remote: tuple[str, ...] = ("ssh", "-o", "BatchMode=yes", "{host}")
    pythons: dict[str, str] = {}
    programs: dict[str, str] = {}
    data: dict[str, str] = {}


class Campaign(_CampaignFile, frozen=True, kw_only=True):
    """Everything a campaign file says; ``logs`` is the folder that its ``logs`` names."""

    file: Path
    logs: Path = field(name="folder")
    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    def known(self) -> dict[str, Runner]:
        """The runners that it may name."""
        return load_runners(self.file.parent / name for name in self.runners)


def load_campaign(file: Path) -> Campaign:
    """Read a campaign file.

    Raises:
        UsageError: with the file, the key, what is expected there and what was found.
    """
    table = decode(file, _CampaignFile, UsageError)
    given = asdict(table) | {
        "arguments": tuple(map(str, table.arguments)),
        "environment": texts(table.environment),
    }
    campaign = Campaign(file=file, logs=Path(os.path.normpath(file.parent / table.folder)), **given)
    _check(campaign)
    return campaign


def check_host(host: str, place: str) -> None:
    """Raise UsageError for a host's name that is none: ``ssh`` would take ``-oProxyCommand=…`` for an option."""
    if not _HOST.fullmatch(host):
        raise UsageError(
            f"{place}: {host!r}: expected the name or the address of a host, such as 'node1' or 'user@10.0.0.1', "
            "that begins with no dash and has no blanks or control characters"
        )


def _check(campaign: Campaign) -> None:
    known = campaign.known()
    for host in campaign.hosts:
        check_host(host, f"{campaign.file}: hosts")
    for name in campaign.frameworks:
        if name not in known:
            raise UsageError(
                f"{campaign.file}: frameworks: no runner '{name}'{near(name, known)} (known: {', '.join(known)})"
            )
    for layout in campaign.devices:
        if not _LAYOUT.fullmatch(layout):
            raise UsageError(
                f"{campaign.file}: devices: {layout!r}: expected nodes and devices per node, such as '2n8g'"
            )
    for model in campaign.models:
        if not _NAME.fullmatch(model):
            raise UsageError(
                f"{campaign.file}: models: {model!r}: expected a name of small letters and digits, such as 'resnet50'"
            )
    if campaign.steps <= campaign.warmup:
        raise UsageError(f"{campaign.file}: steps = {campaign.steps} must be more than warmup = {campaign.warmup}")
    if campaign.launcher not in ("", "mpirun"):
        raise UsageError(
            f"{campaign.file}: launcher = {campaign.launcher!r}: expected 'mpirun', or none for the framework's own"
        )


def jobs(campaign: Campaign, only: Mapping[str, str] | None = None, repeats: int | None = None) -> list[Job]:
    """All jobs, interleaved: a machine's drift over hours falls on all configurations alike.

    Raises:
        UsageError: for more than :data:`MOST_JOBS`, and for an ``only`` that no job can be chosen by.
    """
    times = repeats or campaign.repeats
    lists: list[Collection[object]] = [
        campaign.frameworks, campaign.models, campaign.precisions, campaign.batch_sizes, campaign.devices
    ]  # fmt: skip
    count = times * math.prod(map(len, lists))
    if count > MOST_JOBS:
        raise UsageError(f"{campaign.file}: the campaign has {count:,} trainings: expected at most {MOST_JOBS:,}")
    layouts = [tuple(map(int, _LAYOUT.fullmatch(text).groups())) for text in campaign.devices]  # type: ignore[union-attr]
    every = [
        Job(framework, model, precision, size, nodes, per_node, repeat)
        for repeat in range(1, times + 1)
        for framework, model, precision, size, (nodes, per_node) in product(
            campaign.frameworks, campaign.models, campaign.precisions, campaign.batch_sizes, layouts
        )
    ]
    return [job for job in every if all(_is(job, key, value) for key, value in (only or {}).items())]


ONLY = ("framework", "model", "precision", "batch_size", "nodes", "devices", "repeat")


def _is(job: Job, key: str, value: str) -> bool:
    if key not in ONLY:
        raise UsageError(f"--only {key}={value}: expected one of {', '.join(ONLY)}")
    if key == "devices":
        return value in (job.layout, str(job.processes))
    return str(getattr(job, key)) == value


def refusals(campaign: Campaign, wanted: Sequence[Job], gpus: int) -> dict[Job, str]:
    """The jobs that cannot work, and why."""
    known = campaign.known()
    out = {}
    for job in wanted:
        runner = known[job.framework]
        said: dict[str, Any] = {
            "model": job.model, "precision": job.precision,
            "device": campaign.device if runner.takes_device else "gpu" if gpus else "cpu",
            "nodes": "several" if job.nodes > 1 else "one", "processes": "several" if job.processes > 1 else "one",
        }  # fmt: skip
        why = next((c.why for c in runner.cannot if all(said.get(k) == v for k, v in c.when.items())), "")
        if job.model not in runner.models:
            why = f"{runner.title}'s runner has no model '{job.model}' (it has {', '.join(runner.models)})"
        elif job.precision not in runner.precisions and not why:
            why = f"{runner.title}'s runner has no precision '{job.precision}' (it has {', '.join(runner.precisions)})"
        why = why or runner.missing_value(job.facts)
        if why:
            out[job] = why
    return out


# ----------------------------------------------------------------------------------------------------
# A campaign's folder: what is in it is all that is known, so that a killed campaign goes on.
#
# A log grows as ``….log.running`` and is renamed when its training has ended: to ``….log``, or with a last line
# that says why to ``….log.failed``. Whatever is still called ``.running`` when a campaign begins was cut off.

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
        return {job: _mean(took.get(job.configuration, []), mean) for job in wanted}


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
