"""Each runner's own Python environment: where it is, whether it is ready, and how it is made."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from perflog.campaign.hardware import gpu_count
from perflog.campaign.runner import Runner, load_runners
from perflog.campaign.wrapped import lack
from perflog.errors import PerflogError, UsageError
from perflog.resources import folder

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
