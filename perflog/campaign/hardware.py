"""What of a machine's hardware and its settings decides on speed: GPUs, their limits, NVLink, container, NUMA, quotas.

A value that cannot be read here is ``{"absent": reason}``: it is never guessed, and nobody takes it for a zero.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from perflog.campaign.runner import Runner, lack, load_runners
from perflog.errors import PerflogError, UsageError
from perflog.resources import folder

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
#: Seconds in which a program must answer: nvidia-smi wakes the driver of many GPUs in less.
PATIENCE = 30.0
#: What was asked of the programs that gave no answer, by program.
_hanging: dict[str, str] = {}
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


def absent(reason: str) -> dict[str, str]:
    """A value that cannot be read, and why."""
    return {"absent": reason}


def facts() -> dict[str, Any]:
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
    names = printed("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
    return len(names.splitlines()) if isinstance(names, str) else 0


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
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    pipe, text = subprocess.PIPE, {"encoding": "utf-8", "errors": "replace"}
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=clean, **text)  # type: ignore[call-overload]
    except OSError as error:
        return absent(f"{command[0]}: {error.strerror}")
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        with suppress(subprocess.TimeoutExpired):  # one that hangs in its driver does not end by that either
            process.wait(1)
        for stream in (process.stdout, process.stderr):
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


# ----------------------------------------------------------------------------------------------------
# Each runner's own Python environment: where it is, whether it is ready, and how it is made.

#: Written last, holding what was installed: an environment without it was not finished.
READY = "perflog-ready"
VARIABLE = "PERFLOG_ENVIRONMENTS"


def environments() -> Path:
    """The folder of all environments: ``PERFLOG_ENVIRONMENTS``, in a checkout ``runners/.environments``, else the
    user's cache.
    """
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given).absolute()
    runners = folder("runners")
    if (runners.parent / "pyproject.toml").is_file():
        return runners / ".environments"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perflog" / "environments"


def python_of(runner: Runner) -> Path:
    """The interpreter of a runner's environment, whether it is there or not; perflog's own for a runner without
    requirements.
    """
    return environments() / runner.name / "bin" / "python" if runner.needs_environment else Path(sys.executable)


def state(runner: Runner) -> str:
    """``ready``, ``missing``, ``unfinished``, or ``outdated`` (made from other requirements).

    A runner that wraps a program is ready where the program lies in its own place, and missing where it does not.
    """
    if any(lack(need, runner.name) for need in runner.prerequisites):
        return "missing"
    if not runner.needs_environment:
        return "ready"
    here = environments() / runner.name
    if not (here / "bin" / "python").exists():
        return "missing"
    if not (here / READY).is_file():
        return "unfinished"
    return "ready" if (here / READY).read_text(encoding="utf-8") == _digest(runner) else "outdated"


def states() -> dict[str, tuple[str, tuple[str, ...]]]:
    """The state of every shipped runner's environment (see :func:`state`) and the runner's models, by its name."""
    return {name: (state(runner), tuple(runner.models)) for name, runner in load_runners().items()}


def make_environment(name: str, quiet: bool = False) -> Path:
    """Make the environment of a shipped runner unless it is ready; the environment's folder.

    Raises:
        UsageError: when there is no such runner, naming those there are.
            Also for one that wraps a program, saying what to get.
        PerflogError: when venv or pip fails; pip has said why.
    """
    known = load_runners()
    if name not in known:
        raise UsageError(f"no runner '{name}' (known: {', '.join(known)})")
    for need in known[name].prerequisites:
        raise UsageError(f"{name} wraps a program that perflog does not install. Get it: {need.get}")
    return make(known[name], quiet)


def remedies() -> dict[str, str]:
    """What brings a shipped runner whose :func:`state` is not ``ready``: a command, or what to get, by its name."""
    return {
        name: next((need.get for need in runner.prerequisites), f"perflog run --make-environment {name}")
        for name, runner in load_runners().items()
    }


def make(runner: Runner, quiet: bool = False) -> Path:
    """Make a runner's environment from its requirements (:meth:`Runner.requirements`), anew unless it is ready.

    Raises:
        PerflogError: when venv or pip fails; pip has said why.
    """
    here = environments() / runner.name
    if state(runner) == "ready":
        return here
    shutil.rmtree(here, ignore_errors=True)
    here.parent.mkdir(parents=True, exist_ok=True)
    pip = [str(here / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-cache-dir"]
    pip += ["-r", str(runner.requirements(gpu_count()))]
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    base = getattr(sys, "_base_executable", sys.executable)
    for command in ([base, "-m", "venv", str(here)], pip + ["--quiet"] * quiet):
        if subprocess.run(command, env=clean, check=False).returncode:
            raise PerflogError(f"{' '.join(command)}: failed; the environment of {runner.name} is not made")
    (here / READY).write_text(_digest(runner), encoding="utf-8")
    return here


def _digest(runner: Runner) -> str:
    return hashlib.sha256(runner.requirements(gpu_count()).read_bytes()).hexdigest() + "\n"
