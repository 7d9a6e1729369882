"""What machine the logs are of: ``machine.json``. Environment variables by an allow-list, so that no secret gets
there.
"""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from perflog._version import __version__
from perflog.campaign import hardware
from perflog.campaign.command import SECRET
from perflog.campaign.hardware import absent, hangs, python_of
from perflog.campaign.runner import Runner
from perflog.compare.rule import KEY
from perflog.errors import UsageError
from perflog.files import write_atomically
from perflog.logs.find import MACHINE
from perflog.runs.machine import known_facts, machine_in

#: Variables that decide on speed, by name or beginning; whatever looks like a secret is left out all the same.
_ALLOWED = re.compile(
    r"(?:OMP|KMP|MKL|NCCL|GLOO|CUDA|CUDNN|CUBLAS|NVIDIA|TORCH|PYTORCH|FLAGS|MXNET|ONEDNN|DNNL|HCCL|ASCEND|UCX|OMPI"
    r"|XLA|OPENBLAS|NUMEXPR|GOMP)_[A-Z0-9_]+"
    r"|MS_(?:ENABLE|DEV|ALLOC|INTERNAL)_[A-Z0-9_]+|TF_(?:XLA|ENABLE|NUM|FORCE|GPU|CUDNN)_[A-Z0-9_]+|GLOG_v"
    r"|OMPI_MCA_[a-z0-9_]+|FLAGS_[a-z0-9_]+|CUDA_VISIBLE_DEVICES|MALLOC_[A-Z_]+|LD_PRELOAD"
    r"|SLURM_(?:JOB_ID|JOB_NUM_NODES|CPUS_ON_NODE|GPUS_ON_NODE)"
)
#: Seconds in which a framework must say its version: it is imported for that, from a shared file system perhaps.
_SECONDS = 120.0
#: What must not differ between the runs of one folder.
_SAME = ("cpu", "cpus", "gpus")
#: What stays where a later campaign in the folder does not say it: the rule that stopped the runs.
_KEPT = (KEY,)


def facts(runners: Sequence[Runner], environment: Mapping[str, str], pythons: Mapping[str, str]) -> dict[str, Any]:
    """Everything about this machine and its frameworks that a benchmark's reader wants to know."""
    return {
        "perflog": __version__,
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": _system_name(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "cpu": _cpu_name(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "gpus": _gpus("name,memory.total,pci.bus_id"),
        "driver": next(iter(_gpus("driver_version")), ""),
        "topology": _output_of("nvidia-smi", "topo", "-m"),
        "hardware": hardware.facts(),
        "git": _output_of(
            "git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"
        ),
        "frameworks": {runner.name: framework(runner, pythons.get(runner.name)) for runner in runners},
        "environment": allowed({**os.environ, **environment}),
    }


def framework(runner: Runner, python: str | None = None) -> dict[str, Any]:
    """Versions in a runner's environment: its packages, Python, and what its libraries were built with."""
    interpreter = python or ("python" if runner.prerequisites else str(python_of(runner)))
    script = (
        "import json, sys\nfrom importlib import metadata\nout = {}\nfor name in sys.argv[1:]:\n    try:\n"
        "        out[name] = metadata.version(name)\n    except metadata.PackageNotFoundError:\n        pass\n"
        "print(json.dumps({'python': sys.version.split()[0], 'packages': out}))"
    )
    versions: dict[str, Any] = {"framework": runner.framework}
    with suppress(ValueError):
        versions |= json.loads(_output_of(interpreter, "-c", script, *runner.packages) or "{}")
    printed = _output_of(interpreter, "-W", "ignore", "-c", runner.facts).splitlines() if runner.facts else []
    built = printed[-1].split("|") if printed else []
    return versions | {name: value for name, value in zip(("cuda", "cudnn", "nccl"), built, strict=False) if value}


def allowed(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that matter, without any that could hold a secret."""
    return {
        key: value for key, value in sorted(environment.items()) if _ALLOWED.fullmatch(key) and not SECRET.search(key)
    }


def clocks() -> dict[str, Any]:
    """The clocks of CPUs and GPUs at this moment."""
    text = ""
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    mhz = [float(value) for value in re.findall(r"cpu MHz\s*: ([0-9.]+)", text)]
    now: dict[str, Any] = {"cpu_mhz": round(sum(mhz) / len(mhz))} if mhz else {}
    gpus = _gpus("clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_throttle_reasons.active")
    return now | ({"gpus": gpus} if gpus else {}) | {"load": round(os.getloadavg()[0], 2)}


def record(root: Path, now: Mapping[str, Any]) -> None:
    """Write ``machine.json`` into a campaign's folder; frameworks, and a rule of stopping, recorded before are kept.

    Raises:
        UsageError: when the folder's logs are of another machine, or its ``machine.json`` cannot be read.
    """
    file = root / MACHINE
    before = known_facts(machine_in(str(root))) or {}
    for key in _SAME:
        if key in before and before[key] != now[key]:
            hung = hardware.hangs("nvidia-smi") if key == "gpus" else ""
            raise UsageError(
                f"{root}: its logs are of another machine ({key}: {before[key]}, here {hung or now[key]}); "
                + ("mend that first" if hung else "use another folder (--logs)")
            )
    merged = {
        **{key: before[key] for key in _KEPT if key in before},
        **now,
        "frameworks": {**before.get("frameworks", {}), **now["frameworks"]},
        "clocks": {"before": clocks(), **before.get("clocks", {})},
    }
    write_atomically(file, json.dumps(merged, indent=1, ensure_ascii=False) + "\n", parents=True)


def close(root: Path, throttled: Mapping[str, Sequence[str]] | None = None) -> None:
    """Add the clocks after a campaign, and which of its runs something slowed (see :mod:`perflog.campaign.machine`).

    ``throttled``: None where nobody looked.
    """
    file = root / MACHINE
    data = json.loads(file.read_text(encoding="utf-8"))
    if throttled is not None:
        data["throttled"] = {name: list(findings) for name, findings in throttled.items()}
    data.setdefault("clocks", {})["after"] = clocks()
    write_atomically(file, json.dumps(data, indent=1, ensure_ascii=False) + "\n", parents=True)


def _system_name() -> str:
    with suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return platform.system()


def _cpu_name() -> str:
    with suppress(OSError):
        name = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        if name:
            return name[1]
    return platform.processor() or platform.machine()


def _gpus(query: str) -> list[str]:
    return _output_of("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader").splitlines()


def _output_of(*command: str) -> str:
    """What a command prints; nothing where it is not there, fails or hangs."""
    answer = hardware.printed(*command, seconds=0.0 if command[0] == "nvidia-smi" else _SECONDS)
    return answer if isinstance(answer, str) else ""


# ----------------------------------------------------------------------------------------------------
# What slowed the hardware while a training ran: GPUs sampled beside it, the kernel's counters before and after it.

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
