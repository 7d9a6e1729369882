"""What a campaign's folder shows at this moment: each configuration's runs, and how far the growing one is."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from perflog.campaign.completion import glance
from perflog.campaign.folder import OWN, Folder
from perflog.campaign.plan import Job
from perflog.errors import UsageError
from perflog.files import write_atomically
from perflog.formats.catalog import Catalog, load_catalog
from perflog.logs.find import FAILED, RUNNING, natural
from perflog.stats.centre import median

#: The list of a campaign's runs, in the folder of its own files.
PLAN = "plan.json"
#: Steps left out where no plan says how many: as many as `perflog extract` leaves out.
DEFAULT_WARMUP = 20
#: After so many seconds without a byte a growing log is called silent: frameworks print at least every few seconds.
SILENT = 20.0
_KNOWN = (".log", f".log{RUNNING}", f".log{FAILED}")


@dataclass(frozen=True, slots=True)
class Progress:
    """One configuration's runs.

    Attributes:
        name: its path below the folder, without the number of the run.
        wanted: how many runs there will be; 0 where no plan says it.
        throughput: the median of the finished runs, in ``unit``; None where none has a value.
        now: how far the growing run is, in words; empty for none.
        reason: why the last failed run failed.
    """

    name: str
    wanted: int = 0
    finished: int = 0
    failed: int = 0
    throughput: float | None = None
    unit: str = ""
    now: str = ""
    reason: str = ""

    @property
    def ended(self) -> bool:
        """Whether all runs that are wanted have ended, well or not."""
        return 0 < self.wanted <= self.finished + self.failed


@dataclass(frozen=True, slots=True)
class _Glance:
    """A log's throughput and its unit, the last step it has, and why it has no throughput."""

    value: float | None = None
    unit: str = ""
    reached: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Plan:
    steps: int
    warmup: int
    logs: tuple[str, ...]


def write_plan(folder: Folder, jobs: Sequence[Job], steps: int, warmup: int) -> None:
    """Leave the list of runs for whoever watches."""
    data = {"steps": steps, "warmup": warmup, "logs": [str(job.log) for job in jobs]}
    write_atomically(folder.own / PLAN, json.dumps(data) + "\n", parents=True)


def watch(logs: str | os.PathLike[str], catalog: Catalog | None = None) -> list[Progress]:
    """The runs of a campaign's folder as they are now, one entry per configuration, in natural order.

    Raises:
        UsageError: when there is no such folder.
    """
    return Watcher(logs, catalog).look()


class Watcher:
    """Looks at a folder again and again; a log that has ended is read once."""

    def __init__(self, logs: str | os.PathLike[str], catalog: Catalog | None = None) -> None:
        self.root = Path(logs)
        if not self.root.is_dir():
            raise UsageError(f"no such folder: {str(logs)!r}")
        self.catalog = catalog or load_catalog()
        self._seen: dict[tuple[str, int], _Glance] = {}

    def look(self) -> list[Progress]:
        """The folder's configurations as they are now, in natural order."""
        plan = _plan(self.root)
        entries: dict[str, Progress] = {}
        for log in plan.logs:
            entry = entries.get(_configuration(log), Progress(_configuration(log)))
            entries[entry.name] = replace(entry, wanted=entry.wanted + 1)
        values: dict[str, list[float]] = {}
        for path in sorted(self.root.rglob("*.log*"), key=lambda p: natural(str(p))):
            kind = next((k for k in reversed(_KNOWN) if path.name.endswith(k)), "")
            name = _configuration(str(path.relative_to(self.root)))
            with suppress(OSError):  # renamed while it was looked at
                if kind:
                    seen = self._glance(path, plan.warmup)
                    entries[name] = _with_log(entries.get(name, Progress(name)), path, kind, seen, plan.steps)
                    if kind == ".log" and seen.value is not None:
                        values.setdefault(name, []).append(seen.value)
        measured = [replace(e, throughput=median(values[e.name])) if e.name in values else e for e in entries.values()]
        return sorted(measured, key=lambda entry: natural(entry.name))

    def _glance(self, path: Path, warmup: int) -> _Glance:
        key = (str(path), path.stat().st_size)
        if key not in self._seen:
            metric = glance(path, self.catalog, 0 if path.name.endswith(RUNNING) else warmup)[1]
            if metric is None:
                self._seen[key] = _Glance()
            else:
                self._seen[key] = _Glance(metric.value, metric.unit, metric.last_step or 0.0, metric.reason)
        return self._seen[key]


def _with_log(entry: Progress, path: Path, kind: str, seen: _Glance, steps: int) -> Progress:
    """A configuration's progress with one more of its logs."""
    if kind == ".log":
        return replace(entry, finished=entry.finished + 1, unit=seen.unit or entry.unit)
    if kind.endswith(FAILED):
        return replace(entry, failed=entry.failed + 1, reason=seen.reason)
    age = time.time() - path.stat().st_mtime
    now = f"step {seen.reached:g}" + (f" of {steps}" if steps else "")
    now += f", {seen.value:.1f} {seen.unit}" if seen.value is not None else ""
    return replace(entry, now=now + (f", silent for {age:.0f} s" if age > SILENT else ""))


def _plan(root: Path) -> _Plan:
    """The plan that a campaign left in its folder; none for a folder of other logs."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        data = json.loads((root / OWN / PLAN).read_text(encoding="utf-8"))
        return _Plan(int(data["steps"]), int(data["warmup"]), tuple(map(str, data["logs"])))
    return _Plan(0, DEFAULT_WARMUP, ())


def _configuration(log: str) -> str:
    return log.partition(".log")[0].rpartition("_")[0]
