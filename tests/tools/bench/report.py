"""The report as Markdown: the machine, what each tool took, and the targets."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median

from tests.tools.bench.data import Data
from tests.tools.bench.measure import Timing

PERFLOG = "perflog"


@dataclass(frozen=True, slots=True)
class Target:
    """A measured number and the bound it is to keep; ``measured`` is None where something was not run."""

    what: str
    measured: float | None
    bound: float
    at_least: bool
    unit: str

    @property
    def met(self) -> bool | None:
        """Whether the bound is kept, None when nothing was measured."""
        if self.measured is None:
            return None
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound


@dataclass(slots=True)
class Result:
    """One scenario: its name, what was read, the timings and the targets."""

    name: str
    data: Data | None = None
    timings: list[Timing] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    note: str = ""

    def timing(self, name: str) -> Timing | None:
        """The timing of the tool of that name."""
        return next((timing for timing in self.timings if timing.name == name), None)

    def median(self, name: str) -> float | None:
        """Median seconds of a tool, None when it was not run or failed."""
        timing = self.timing(name)
        return timing.median if timing else None


def facts() -> list[str]:
    """What the numbers depend on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"- Machine: {len(os.sched_getaffinity(0))} cores, {_cpu()}, {memory:.0f} GiB; load {os.getloadavg()[0]:.1f} at the start",
        f"- Python {platform.python_version()}, polars {_version('polars')}, {_ripgrep()}",
        f"- Command: `{' '.join([Path(sys.executable).name, *sys.argv])}`",
        "- Page cache warm; tools run in turn; wall time is the median of the runs; memory is the highest RssAnon",
    ]


def table(results: Iterable[Result]) -> list[str]:
    """Every tool of every scenario."""
    lines = [
        "| scenario | tool | runs | wall s | best s | CPU s | MB/s | wall / perflog's | peak RssAnon MB |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for result in results:
        lines += [_row(result, timing) for timing in result.timings]
    return lines


def targets(results: Iterable[Result]) -> list[str]:
    """Every target with what was measured."""
    lines = ["| scenario | what | measured | target | met |", "|---|---|--:|--:|---|"]
    for result in results:
        for target in result.targets:
            sign, met = "≥" if target.at_least else "≤", {True: "yes", False: "**no**", None: "not measured"}
            lines.append(
                f"| {result.name} | {target.what} | {_number(target.measured, target.unit)} | {sign} {_number(target.bound, target.unit)} | {met[target.met]} |"
            )
    return lines


def data_and_notes(results: Sequence[Result]) -> list[str]:
    """What was read in each scenario, and what could not be done."""
    lines = []
    for result in results:
        if data := result.data:
            size = f"{data.size / 1e6:,.0f} MB, {data.lines:,} lines, {data.records:,} records"
            lines.append(f"- {result.name}: {data.files:,} log{'s' * (data.files > 1)}, {size}")
        if result.note:
            lines.append(f"- {result.name}: {result.note}")
        failed = [timing for timing in result.timings if timing.failure]
        lines += [f"- {result.name}: {timing.name} failed: {timing.failure}" for timing in failed]
    return lines


def _row(result: Result, timing: Timing) -> str:
    middle = timing.median
    if middle is None:
        cells = ["failed", "", "", "", ""]
    else:
        rate = f"{result.data.size / 1e6 / middle:,.0f}" if result.data else ""
        ours = result.median(PERFLOG)
        ratio = f"{middle / ours:.2f}" if ours else ""
        cells = [f"{middle:.2f}", f"{min(timing.seconds):.2f}", f"{median(timing.cpu):.2f}", rate, ratio]
    return f"| {result.name} | {timing.name} | {len(timing.seconds)} | {' | '.join(cells)} | {timing.peak_mb:,.0f} |"


def _number(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:.2f} {unit}"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _ripgrep() -> str:
    rg = shutil.which("rg")
    if rg is None:
        return "no rg (apt-get install ripgrep), so no ratio to it"
    return subprocess.run([rg, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
