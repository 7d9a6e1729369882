"""Train with real programs of today and keep what they print beside the figures of a clock of our own.

    python -m tests.upstream.run [NAME …] [--environments DIR]

Each program in `programs/` begins with a block that names its environment and the packages it requires. This runner
makes the environment, runs the program in it for ten minutes at most, and writes `logs/NAME.log` (both streams, as they
came) and `logs/NAME.json` (versions, command, the clock's figures).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
LOGS = HERE / "logs"
HELPERS = (  # copied beside each program
    "clock.py", "hapi_fit.py", "jax_script.py", "keras_fit.py", "torch_script.py", "torchvision_operators.py",
)  # fmt: skip
LIMIT = 600  # seconds that a program may run
LARGEST_LOG = 100_000  # bytes; a larger log does not belong into a repository
BLOCK = re.compile(r"^# /// environment\n(?P<toml>(?:#.*\n)+?)# ///$", re.MULTILINE)


class Environment(msgspec.Struct, forbid_unknown_fields=True):
    """What a program's head says: the virtual environment, its packages, variables, and arguments of the program.

    `sources`: training scripts that stand in a repository and not in a package: by the variable that names their folder,
    where they are got from. They are read from there, and never copied into this repository.
    """

    name: str
    requires: list[str]
    without_dependencies: list[str] = []
    variables: dict[str, str] = {}
    arguments: list[str] = []
    module: str | None = None
    sources: dict[str, str] = {}


@dataclass(frozen=True)
class Outcome:
    """How a program's run ended: its exit status (None where it ran too long), seconds, and the folder it ran in."""

    status: int | None
    seconds: float
    command: list[str] = field(default_factory=list)


def programs() -> list[str]:
    """The names of all programs, in alphabetical order."""
    return sorted(path.stem for path in PROGRAMS.glob("*.py"))


def read_environment(name: str) -> Environment:
    """What the head of the program says; raises ValueError where it has none or a wrong one."""
    text = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")
    block = BLOCK.search(text)
    if not block:
        raise ValueError(f"{name}.py does not begin with a block `# /// environment`")
    content = "\n".join(line.removeprefix("#").strip() for line in block["toml"].splitlines())
    return msgspec.convert(tomllib.loads(content), Environment)


def interpreter(environment: Environment, folder: Path) -> Path:
    """The environment's interpreter in a folder of environments."""
    return folder / environment.name / "bin" / "python"


def install(environment: Environment, python: Path) -> None:
    """Make the virtual environment of this interpreter where it is missing, and install what is required."""
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check"]
    subprocess.run([*pip, *environment.requires], check=True)
    if environment.without_dependencies:
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", *environment.without_dependencies], check=True)


def source_folders(environment: Environment) -> dict[str, str]:
    """The folders of the program's sources by their variables; raises RuntimeError where one is not named."""
    for variable, source in environment.sources.items():
        if not os.environ.get(variable) or not Path(os.environ[variable]).is_dir():
            raise RuntimeError(f"get {source}, and name its folder in the variable {variable}")
    return {variable: os.environ[variable] for variable in environment.sources}


def execute(name: str, environment: Environment, python: Path, work: Path) -> Outcome:
    """Run a copy of the program in an empty folder; its two streams go to `log` there, in the order they are written."""
    for helper in HELPERS:
        shutil.copy(HERE / helper, work)
    shutil.copy(PROGRAMS / f"{name}.py", work)
    program = ["-m", environment.module] if environment.module else [f"{name}.py"]
    command = ["python", "-u", *program, *environment.arguments]
    variables = {
        "PATH": f"{python.parent}:{os.environ['PATH']}", "HOME": str(work), "UPSTREAM_CLOCK": str(work / "clock.json"),
        "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "LANG": "C.UTF-8", "CUDA_VISIBLE_DEVICES": "", **environment.variables,
        **source_folders(environment),
    }  # fmt: skip
    begin = time.perf_counter()
    with (work / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=work, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        try:
            status: int | None = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
    return Outcome(status, time.perf_counter() - begin, command)


def versions(environment: Environment, python: Path) -> dict[str, str]:
    """The installed versions of the packages that the program requires, and Python's."""
    names = [re.split(r"[=<>\[]", requirement)[0] for requirement in environment.requires]
    names += [re.split(r"[=<>\[]", requirement)[0] for requirement in environment.without_dependencies]
    code = (
        "import importlib.metadata as m, platform, sys; print(platform.python_version(), *map(m.version, sys.argv[1:]))"
    )
    printed = subprocess.run([str(python), "-c", code, *names], check=True, capture_output=True, text=True).stdout
    return dict(zip(["python", *names], printed.split(), strict=True))


def keep(name: str, outcome: Outcome, installed: dict[str, str], work: Path) -> None:
    """Write log and figures beside one another; raises RuntimeError where the program failed or its log is too large."""
    log = (work / "log").read_bytes()
    if outcome.status != 0 or len(log) > LARGEST_LOG:
        tail = log[-3000:].decode(errors="replace")
        raise RuntimeError(
            f"{name} ended with {outcome.status}, its log has {len(log)} bytes, the last of them:\n{tail}"
        )
    figures = {
        "command": " ".join(outcome.command),
        "versions": installed,
        "seconds": round(outcome.seconds, 1),
        "clock": json.loads((work / "clock.json").read_text(encoding="utf-8")),
    }
    LOGS.mkdir(exist_ok=True)
    (LOGS / f"{name}.log").write_bytes(log)
    (LOGS / f"{name}.json").write_text(json.dumps(figures) + "\n", encoding="utf-8")


def main() -> int:
    """Run the named programs, or all of them, one after another; 1 where one failed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", metavar="NAME", help="programs to run; all where none is named")
    options.add_argument("--environments", type=Path, default=Path(tempfile.gettempdir()) / "upstream")
    options.add_argument("--installed", action="store_true", help="take the environments as they are")
    given = options.parse_args()
    failed = []
    for name in given.names or programs():
        environment = read_environment(name)
        try:
            python = interpreter(environment, given.environments)
            if not given.installed:
                install(environment, python)
            with tempfile.TemporaryDirectory(prefix=f"{name}-") as work:
                outcome = execute(name, environment, python, Path(work))
                keep(name, outcome, versions(environment, python), Path(work))
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed.append(name)
        else:
            print(f"{name}: {outcome.seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
