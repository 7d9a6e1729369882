"""What slowed the hardware while a training ran: GPUs sampled beside it, the kernel's counters before and after it."""

from __future__ import annotations

import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from perflog.campaign.hardware import absent, hangs

#: The bits of NVML's reasons for a lower clock (nvml.h, nvmlClocksEventReason*) that slow a GPU under load. Not here:
#: idle, clocks that an administrator has set, boost held with other GPUs, display.
REASONS = {
    0x04: "power cap", 0x08: "hardware slowdown", 0x20: "temperature (software)", 0x40: "temperature (hardware)",
    0x80: "power brake",
}  # fmt: skip
_QUERY = "index,clocks_throttle_reasons.active"
#: Seconds between two samples: a slowdown lasts seconds, and one nvidia-smi process prints them all.
INTERVAL = 1
_SAMPLE = re.compile(r"(\d+)\s*,\s*(0x[0-9a-fA-F]+)")


@dataclass(frozen=True, slots=True)
class Counters:
    """The kernel's counters of slowed CPUs at one moment.

    Attributes:
        thermal: events of cores and packages that ran too hot; None where the kernel has no such counters.
        stopped: how often the group's CPU quota stopped its processes; None where there is none.
        stopped_seconds: for how long, of all processes together.
    """

    thermal: int | None
    stopped: int | None
    stopped_seconds: float


def read_counters(
    cpus: Path = Path("/sys/devices/system/cpu"), group: Path = Path("/sys/fs/cgroup/cpu.stat")
) -> Counters:
    """The counters now."""
    thermal = None
    for file in cpus.glob("cpu[0-9]*/thermal_throttle/*_throttle_count"):
        with suppress(OSError, ValueError):
            thermal = (thermal or 0) + int(file.read_text())
    text = ""
    with suppress(OSError):
        text = group.read_text(encoding="utf-8")
    values = {name: int(value) for name, value in re.findall(r"^(nr_throttled|throttled_usec) (\d+)$", text, re.M)}
    return Counters(thermal, values.get("nr_throttled"), values.get("throttled_usec", 0) / 1e6)


def cpu_findings(before: Counters, after: Counters) -> list[str]:
    """In words what slowed the CPUs between two readings of the counters."""
    findings = []
    if before.thermal is not None and after.thermal is not None and after.thermal > before.thermal:
        findings.append(f"CPUs: {after.thermal - before.thermal} events of too high temperature")
    if before.stopped is not None and after.stopped is not None and after.stopped > before.stopped:
        seconds = after.stopped_seconds - before.stopped_seconds
        times = after.stopped - before.stopped
        findings.append(f"CPUs: the quota of the control group stopped processes {times} times, {seconds:.2f} s in all")
    return findings


def gpu_findings(lines: Iterable[str]) -> list[str]:
    """In words what slowed each GPU, and in how many samples.

    Args:
        lines: ``INDEX, 0xREASONS`` as nvidia-smi prints them, one for each GPU and sample; others are no samples.
    """
    samples: Counter[str] = Counter()
    slowed: Counter[tuple[str, int]] = Counter()
    for match in filter(None, map(_SAMPLE.match, lines)):
        samples[match[1]] += 1
        slowed.update((match[1], bit) for bit in REASONS if int(match[2], 16) & bit)
    return [f"GPU {gpu}: {REASONS[bit]} in {count} of {samples[gpu]} samples" for (gpu, bit), count in slowed.items()]


class Sampler:
    """Looks at GPUs and CPUs while a training runs; use it as a context around the training.

    ``findings``: what slowed them, in words. ``absent``: what could not be looked at, and why.
    """

    def __init__(self, file: Path) -> None:
        """Samples are written to ``file`` by nvidia-smi itself: no thread of ours takes time from the training."""
        self.file = file
        self.findings: list[str] = []
        self.absent: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._before = Counters(None, None, 0.0)

    def __enter__(self) -> Sampler:
        self._before = read_counters()
        if why := hangs("nvidia-smi"):
            self.absent["gpus"] = absent(why)
            return self
        command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader", "-l", str(INTERVAL)]
        try:
            with self.file.open("wb") as output:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL
                )
        except OSError as error:
            self.absent["gpus"] = absent(f"nvidia-smi: {error.strerror}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        after = read_counters()
        self.findings = [*self._gpu_findings(), *cpu_findings(self._before, after)]
        if after.thermal is None:
            self.absent["temperature"] = absent(
                "the kernel has no thermal_throttle counters in /sys/devices/system/cpu"
            )
        if after.stopped is None:
            self.absent["quota"] = absent("/sys/fs/cgroup/cpu.stat does not count processes that were stopped")

    def _gpu_findings(self) -> list[str]:
        if self._process is None:
            return []
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1)  # one that hangs in its driver does not end by that either
        lines = self.file.read_text(encoding="utf-8", errors="replace").splitlines()
        if not any(map(_SAMPLE.match, lines)):
            self.absent["gpus"] = absent("nvidia-smi printed no sample: " + (lines[0] if lines else "nothing"))
        return gpu_findings(lines)

    def entry(self) -> dict[str, Any]:
        """For the journal: what slowed the training, and what could not be looked at."""
        return {"throttled": self.findings, **({"not_sampled": self.absent} if self.absent else {})}


def throttled_runs(journal: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The runs that something slowed, by their names, from a campaign's journal; of a run's entries the last counts."""
    last = {str(entry.get("job")): entry.get("throttled") or [] for entry in journal}
    return {name: findings for name, findings in last.items() if findings}
