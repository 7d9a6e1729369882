"""What a campaign's folder shows at this moment: each configuration's runs, and how far the growing one is."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from perflog.campaign.folder import Folder
from perflog.campaign.judge import glance
from perflog.campaign.plan import Job
from perflog.files import write_atomically
from perflog.formats.catalog import Catalog
from perflog.logs.find import FAILED, RUNNING, natural

PLAN = "plan.json"
#: Steps left out where no plan says how many.
DEFAULT_WARMUP = 20
_KNOWN = (".log", f".log{RUNNING}", f".log{FAILED}")


@dataclass(slots=True)
class Row:
    """One configuration's runs; ``wanted`` is 0 where no plan says how many there will be."""

    name: str
    wanted: int = 0
    finished: int = 0
    failed: int = 0
    throughput: float | None = None
    unit: str = ""
    now: str = ""
    reason: str = ""


def write_plan(folder: Folder, wanted: Sequence[Job], steps: int, warmup: int) -> None:
    """Leave the list of runs for whoever watches."""
    write_atomically(folder.own / PLAN, json.dumps({"steps": steps, "warmup": warmup, "logs": [str(job.log) for job in wanted]}) + "\n")


class Watch:
    """Looks at a folder again and again; what has ended is read once."""

    def __init__(self, root: Path, catalog: Catalog) -> None:
        self.root = root
        self.catalog = catalog
        self.warmup = 0
        self._read: dict[tuple[str, int], tuple[float | None, str, float, str]] = {}

    def rows(self) -> list[Row]:
        """One row per configuration, in natural order."""
        steps, self.warmup, planned = self._plan()
        rows: dict[str, Row] = {}
        for log in planned:
            rows.setdefault(_configuration(log), Row(_configuration(log))).wanted += 1
        values: dict[str, list[float]] = {}
        for path in sorted(self.root.rglob("*.log*"), key=lambda p: natural(str(p))):
            kind = next((k for k in reversed(_KNOWN) if path.name.endswith(k)), "")
            with suppress(OSError):  # renamed while it was looked at
                if kind:
                    self._add(rows, values, path, kind, steps)
        for name, found in values.items():
            rows[name].throughput = median(found)
        return sorted(rows.values(), key=lambda row: natural(row.name))

    def _add(self, rows: dict[str, Row], values: dict[str, list[float]], path: Path, kind: str, steps: int) -> None:
        name = _configuration(str(path.relative_to(self.root)))
        row = rows.setdefault(name, Row(name))
        value, unit, reached, reason = self._look(path)
        if kind == ".log":
            row.finished += 1
            row.unit = unit or row.unit
            if value is not None:
                values.setdefault(name, []).append(value)
        elif kind == _KNOWN[2]:
            row.failed += 1
            row.reason = reason
        else:
            age = time.time() - path.stat().st_mtime
            of = f" of {steps}" if steps else ""
            row.now = f"step {reached:g}{of}" + (f", {value:.1f} {unit}" if value is not None else "") + (f", silent for {age:.0f} s" if age > 20 else "")

    def _plan(self) -> tuple[int, int, list[str]]:
        with suppress(OSError, ValueError):
            data = json.loads((self.root / ".perflog" / PLAN).read_text(encoding="utf-8"))
            return int(data["steps"]), int(data["warmup"]), list(data["logs"])
        return 0, DEFAULT_WARMUP, []

    def _look(self, path: Path) -> tuple[float | None, str, float, str]:
        """A log's throughput, its unit, the steps it has reached, and why it has no throughput."""
        key = (str(path), path.stat().st_size)
        if key not in self._read:
            metric = glance(path, self.catalog, 0 if path.name.endswith(RUNNING) else self.warmup)[1]
            self._read[key] = (metric.value, metric.unit, metric.last_step or 0.0, metric.reason) if metric is not None else (None, "", 0.0, "")
        return self._read[key]


def _configuration(log: str) -> str:
    return log.partition(".log")[0].rpartition("_")[0]
