"""What machine the logs are of (``machine.json``): its hardware, its settings and frameworks, and what slowed a run.

A value that cannot be read here is ``{"absent": reason}``: it is never guessed, and nobody takes it for a zero.
Environment variables are recorded by an allow-list, so that no secret gets there.
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
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from perflog._version import __version__
from perflog.compare.rule import KEY
from perflog.errors import UsageError
from perflog.files import write_atomically
from perflog.logs.find import MACHINE
from perflog.runs.machine import known_facts, machine_in

if TYPE_CHECKING:
    from perflog.campaign.runner import Runner

# ----------------------------------------------------------------------------------------------------
# Programs that are asked, and files of the kernel.

#: Seconds in which a program must answer: nvidia-smi wakes the driver of many GPUs in less. A framework must say its
#: version in the second number: it is imported for that, from a shared file system perhaps.
PATIENCE, _OF_FRAMEWORK = 30.0, 120.0
#: What was asked of the programs that gave no answer, by program.
_hanging: dict[str, str] = {}


def absent(reason: str) -> dict[str, str]:
    """A value that cannot be read, and why."""
    return {"absent": reason}


def first_line(file: Path) -> Any:
    """The first line of one of the kernel's files; absent with the reason where it cannot be read or is empty."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        return absent(f"{file}: {error.strerror}")
    return lines[0].strip() if lines and lines[0].strip() else absent(f"{file} is empty")


def printed(*command: str, seconds: float = 0.0) -> Any:
    """What a command prints; absent with the reason where it is not there, fails, prints nothing or hangs.

    A program that gave no answer once is not asked again in this process (:func:`hangs`).

    Args:
        seconds: in which it must answer; 0 for :data:`PATIENCE`.
    """
    limit = seconds or PATIENCE
    if why := hangs(command[0]):
        return absent(why)
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment_of_others(), encoding="utf-8", errors="replace",
        )  # fmt: skip
    except OSError as error:
        return absent(f"{command[0]}: {error.strerror}")
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        with suppress(subprocess.TimeoutExpired):  # one that hangs in its driver does not end by that either
            process.wait(1)
        for stream in filter(None, (process.stdout, process.stderr)):
            stream.close()
        _hanging[command[0]] = f"{' '.join(command)}: no answer within {limit:g} s"
        return absent(_hanging[command[0]])
    if process.returncode:
        reason = (errors or output).strip().splitlines()[:1]
        return absent(f"{' '.join(command)}: exit status {process.returncode}" + "".join(f", {x}" for x in reason))
    return output.strip() or absent(f"{' '.join(command)}: printed nothing")


def hangs(program: str) -> str:
    """Why a program is not asked any more: it gave no answer; empty where it may be asked."""
    return _hanging.get(program, "")


def environment_of_others() -> dict[str, str]:
    """What programs that are not ours inherit: nothing of perflog's own Python."""
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}


def _text(*command: str) -> str:
    """What a command prints; nothing where it is not there, fails or hangs."""
    answer = printed(*command, seconds=0.0 if command[0] == "nvidia-smi" else _OF_FRAMEWORK)
    return answer if isinstance(answer, str) else ""


def _gpus(query: str) -> list[str]:
    return _text("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader").splitlines()


# ----------------------------------------------------------------------------------------------------
# The hardware and its settings: GPUs, their limits, NVLink, container, NUMA, quotas.

#: What nvidia-smi is asked of each GPU, by the name in ``machine.json``.
GPU_QUERIES = {
    "bus": "pci.bus_id", "driver": "driver_version", "vbios": "vbios_version", "persistence": "persistence_mode",
    "compute_mode": "compute_mode", "ecc": "ecc.mode.current", "mig": "mig.mode.current",
    "sm_clock_max_mhz": "clocks.max.sm", "memory_clock_max_mhz": "clocks.max.memory",
    "application_sm_clock_mhz": "clocks.applications.graphics",
    "application_memory_clock_mhz": "clocks.applications.memory",
    "power_limit_w": "power.limit", "power_limit_default_w": "power.default_limit",
    "pcie_generation": "pcie.link.gen.max", "pcie_width": "pcie.link.width.max",
}  # fmt: skip
#: Answers of nvidia-smi that say that there is no value, and one to a field that it does not know.
_NO_VALUE = re.compile(r"\[?(?:N/A|Not Supported|Unknown Error|Requested functionality has been deprecated)\]?", re.I)
#: Lines of nvidia-smi's temperatures that are limits.
_LIMIT = re.compile(r"Shutdown|Slowdown|Max Operating|Target Temp")
#: Variables in which a container's runtime names its image.
_IMAGE_VARIABLES = (
    "APPTAINER_CONTAINER",
    "SINGULARITY_CONTAINER",
    "SLURM_CONTAINER_IMAGE",
    "KUBERNETES_CONTAINER_IMAGE",
)


def hardware() -> dict[str, Any]:
    """The hardware and its settings, as far as this process can read them."""
    return {
        "gpus": gpu_settings(),
        "nvlink": printed("nvidia-smi", "nvlink", "--status"),
        "temperature_limits": temperature_limits(printed("nvidia-smi", "-q", "-d", "TEMPERATURE")),
        "container": container(os.environ),
        "numa": numa(),
        "cpu_governor": first_line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "cpu_max_khz": first_line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq")),
        "cpu_quota": first_line(Path("/sys/fs/cgroup/cpu.max")),
    }


def gpu_count() -> int:
    """How many GPUs nvidia-smi lists."""
    return len(_gpus("name"))


def gpu_settings() -> list[dict[str, Any]] | dict[str, str]:
    """The settings of each GPU, in nvidia-smi's order.

    Each query is made alone: an older driver refuses a whole line for one field that it does not know.
    """
    names = printed("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
    if not isinstance(names, str):
        return dict(names)
    gpus: list[dict[str, Any]] = [{"name": name.strip()} for name in names.splitlines()]
    for key, query in GPU_QUERIES.items():
        answer = printed("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits")
        values = answer.splitlines() if isinstance(answer, str) else []
        for index, gpu in enumerate(gpus):
            gpu[key] = _gpu_value(values[index].strip(), query) if len(values) == len(gpus) else answer
    for gpu in gpus:
        gpu["numa_node"] = _numa_node(gpu["bus"])
    return gpus


def _gpu_value(text: str, query: str) -> Any:
    return absent(f"nvidia-smi has no {query}: {text}") if _NO_VALUE.search(text) else text


def _numa_node(bus: Any) -> Any:
    """The NUMA node that a GPU hangs on, by its bus (nvidia-smi prints eight digits of the domain, the kernel four)."""
    if not isinstance(bus, str):
        return absent("nvidia-smi does not say on which bus the GPU is")
    return first_line(Path("/sys/bus/pci/devices") / re.sub(r"^0000(?=[0-9A-Fa-f]{4}:)", "", bus).lower() / "numa_node")


def temperature_limits(printed_text: Any) -> Any:
    """The limits in what ``nvidia-smi -q -d TEMPERATURE`` prints, without the temperatures of the moment.

    A list of ``LIMIT: VALUE``, for each GPU in turn; what is absent stays absent.
    """
    if not isinstance(printed_text, str):
        return printed_text
    lines = (re.split(r"\s*:\s*", line.strip(), maxsplit=1) for line in printed_text.splitlines())
    limits = [": ".join(parts) for parts in lines if len(parts) > 1 and _LIMIT.search(parts[0])]
    return limits or absent("nvidia-smi -q -d TEMPERATURE names no limit")


def container(environment: Mapping[str, str], root: Path = Path("/")) -> dict[str, Any]:
    """Which container this process runs in and its image, where the runtime tells it.

    Args:
        environment: the process's variables.
        root: the folder that the system's files are looked for in.
    """
    for name in _IMAGE_VARIABLES:
        if environment.get(name):
            return {"runtime": name.split("_")[0].lower(), "image": environment[name]}
    podman = root / "run/.containerenv"
    if podman.exists():
        image = re.search(r'^image="(.+)"$', podman.read_text(encoding="utf-8", errors="replace"), re.M)
        return {"runtime": "podman", "image": image[1] if image else absent("/run/.containerenv names no image")}
    if (root / ".dockerenv").exists():
        return {"runtime": "docker", "image": absent("docker does not tell a container its image")}
    return absent("no trace of a container (/.dockerenv, /run/.containerenv, Apptainer's or Slurm's variables)")


def numa(status: Path = Path("/proc/self/status"), nodes: Path = Path("/sys/devices/system/node")) -> dict[str, Any]:
    """The NUMA nodes with their CPUs, and the CPUs and memories that this process, and so a training, may use."""
    lists = {node.name: first_line(node / "cpulist") for node in sorted(nodes.glob("node[0-9]*"))}
    try:
        text = status.read_text(encoding="utf-8")
    except OSError as error:
        return {"nodes": lists, "cpus_allowed": absent(f"{status}: {error.strerror}")}
    allowed = dict(re.findall(r"^((?:Cpus|Mems)_allowed_list):\s*(\S+)", text, re.M))
    missing = absent(f"{status} does not say it")
    return {
        "nodes": lists or absent(f"{nodes} has no nodes"),
        "cpus_allowed": allowed.get("Cpus_allowed_list", missing),
        "memories_allowed": allowed.get("Mems_allowed_list", missing),
    }


# ----------------------------------------------------------------------------------------------------
# All that is recorded of a machine.

#: Variables that decide on speed, by name or beginning; whatever looks like a secret is left out all the same.
_ALLOWED = re.compile(
    r"(?:OMP|KMP|MKL|NCCL|GLOO|CUDA|CUDNN|CUBLAS|NVIDIA|TORCH|PYTORCH|FLAGS|MXNET|ONEDNN|DNNL|HCCL|ASCEND|UCX|OMPI"
    r"|XLA|OPENBLAS|NUMEXPR|GOMP)_[A-Z0-9_]+"
    r"|MS_(?:ENABLE|DEV|ALLOC|INTERNAL)_[A-Z0-9_]+|TF_(?:XLA|ENABLE|NUM|FORCE|GPU|CUDNN)_[A-Z0-9_]+|GLOG_v"
    r"|OMPI_MCA_[a-z0-9_]+|FLAGS_[a-z0-9_]+|CUDA_VISIBLE_DEVICES|MALLOC_[A-Z_]+|LD_PRELOAD"
    r"|SLURM_(?:JOB_ID|JOB_NUM_NODES|CPUS_ON_NODE|GPUS_ON_NODE)"
)
#: Names of variables whose values are never shown or written.
SECRET = re.compile(r"(?i)token|secret|passw|key|credential|auth|cookie")
#: Prints the versions of Python and of the packages that are its arguments.
_VERSIONS = """import json, sys
from importlib import metadata
out = {}
for name in sys.argv[1:]:
    try:
        out[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps({'python': sys.version.split()[0], 'packages': out}))
"""
#: What must not differ between the runs of one folder.
_SAME = ("cpu", "cpus", "gpus")
#: What stays where a later campaign in the folder does not say it: the rule that stopped the runs.
_KEPT = (KEY,)


def facts(runners: Sequence[Runner], pythons: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Everything about this machine and its frameworks that a benchmark's reader wants to know.

    Args:
        pythons: the interpreter of each runner, by its name.
        environment: the variables that trainings are given beside this process's own.
    """
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
        "topology": _text("nvidia-smi", "topo", "-m"),
        "hardware": hardware(),
        "git": _text(
            "git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"
        ),
        "frameworks": {runner.name: framework(runner, pythons[runner.name]) for runner in runners},
        "environment": allowed({**os.environ, **environment}),
    }


def framework(runner: Runner, python: str) -> dict[str, Any]:
    """Versions in a runner's environment, by its interpreter: packages, Python, what it was built with."""
    versions: dict[str, Any] = {"framework": runner.framework}
    with suppress(ValueError):
        versions |= json.loads(_text(python, "-c", _VERSIONS, *runner.packages) or "{}")
    printed = _text(python, "-W", "ignore", "-c", runner.facts).splitlines() if runner.facts else []
    built = printed[-1].split("|") if printed else []
    return versions | {name: value for name, value in zip(("cuda", "cudnn", "nccl"), built, strict=False) if value}


def allowed(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that matter, without any that could hold a secret."""
    return {
        key: value for key, value in sorted(environment.items()) if _ALLOWED.fullmatch(key) and not SECRET.search(key)
    }


def clocks() -> dict[str, Any]:
    """The clocks of CPUs and GPUs at this moment."""
    mhz = [float(value) for value in re.findall(r"cpu MHz\s*: ([0-9.]+)", _content(Path("/proc/cpuinfo")))]
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
            hung = hangs("nvidia-smi") if key == "gpus" else ""
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
    """Add the clocks after a campaign, and which of its runs something slowed.

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
    name = re.search(r"model name\s*: (.+)", _content(Path("/proc/cpuinfo")))
    return name[1] if name else platform.processor() or platform.machine()


def _content(file: Path) -> str:
    """What one of the kernel's files holds; nothing where it cannot be read."""
    with suppress(OSError):
        return file.read_text(encoding="utf-8")
    return ""


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


class Counters(NamedTuple):
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
    found = re.findall(r"^(nr_throttled|throttled_usec) (\d+)$", _content(group), re.M)
    values = {name: int(value) for name, value in found}
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
