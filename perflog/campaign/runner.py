"""Runners are data: a folder with a ``runner.toml`` that says what can be run, with which commands, and in which
environment.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import asdict, force_setattr

from perflog.campaign.machine import environment_of_others, gpu_count
from perflog.errors import PerflogError, UsageError
from perflog.formats.toml import Scalar, Text, decode, texts
from perflog.resources import folder

FILE = "runner.toml"
_Words = Annotated[
    tuple[str, ...], Meta(min_length=1, description='a list of texts, such as ["{python}", "{here}/train.py"]')
]
_Names = Annotated[tuple[str, ...], Meta(min_length=1, description='a list of names, such as ["fp32", "amp"]')]


def _lists(table: Mapping[str, str | tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """A table of lists of words, of which one word may stand without its list."""
    return {key: (words,) if isinstance(words, str) else words for key, words in table.items()}


class Field(Struct, frozen=True, forbid_unknown_fields=True):
    """``[fields.NAME]``: a word of commands whose text depends on the job.

    Attributes:
        by: the property of the job that decides.
        values: the words for each of its values; none, one or several.
    """

    by: Annotated[
        Literal["precision", "processes", "per_node", "nodes", "batch_size"],
        Meta(description="one of precision, processes, per_node, nodes and batch_size"),
    ]
    values: Annotated[
        Mapping[str, str | tuple[str, ...]],
        Meta(description='a text or a list of words for each value, such as { fp32 = [], amp = ["--amp"] }'),
    ]

    def __post_init__(self) -> None:
        force_setattr(self, "values", _lists(self.values))


# A runner of a published report starts the report's own program. perflog neither contains nor downloads it: the runner
# says which version is meant, which files must be there, and what a job's commands look like in the report.


class Prerequisite(Struct, frozen=True, forbid_unknown_fields=True):
    """``[program]`` or ``[data]``: files that must lie in a folder before a runner can start.

    Attributes:
        folder: where they are looked for, unless a campaign names another place.
        files: paths below the folder.
        get: what to get, in one line.
        contains: texts that must stand in a file, by the file's path below the folder.
    """

    folder: Text
    files: Annotated[tuple[str, ...], Meta(min_length=1, description='a list of paths, such as ["train.py"]')]
    get: Text
    contains: Mapping[str, str | tuple[str, ...]] = {}

    def __post_init__(self) -> None:
        force_setattr(self, "contains", _lists(self.contains))


class Report(Struct, frozen=True, forbid_unknown_fields=True):
    """``[report]``: a report's address and its own command lines, with ``{fields}``, by the kind of start.

    ``precisions`` and ``devices``: those that the report prints a command for; empty for all.
    """

    url: Text
    one: str = ""
    several: str = ""
    each_node: str = ""
    first_node: str = ""
    precisions: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


class Commands(Struct, frozen=True, forbid_unknown_fields=True):
    """``[commands]``: how a job's processes are started, by their number; None where that is not possible.

    ``one``, ``several`` on this node, several on ``each_node``, or all from the ``first_node``.
    """

    one: _Words | None = None
    several: _Words | None = None
    each_node: _Words | None = None
    first_node: _Words | None = None
    mpirun: _Words | None = None


class Cannot(Struct, frozen=True, forbid_unknown_fields=True):
    """``[[cannot]]``: what does not work with this framework's release, and why."""

    when: Mapping[str, Scalar]
    why: Text

    def __post_init__(self) -> None:
        force_setattr(self, "when", texts(self.when))


class _RunnerFile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    title: Text
    framework: Text
    models: _Names
    precisions: _Names
    starts: Commands = field(name="commands")
    arguments: tuple[str, ...]
    packages: tuple[str, ...] = ()
    facts: str = ""
    rank_logs: str = ""
    environment: Mapping[str, Scalar] = {}
    cannot: tuple[Cannot, ...] = ()
    directory: str = ""
    fields: dict[str, Field] = {}
    program: Prerequisite | None = None
    data: Prerequisite | None = None
    report: Report | None = None


class Runner(_RunnerFile, frozen=True, kw_only=True):
    """One framework's training script: commands with ``{fields}``, and the environment it needs.

    A runner that wraps a published report's program has ``prerequisites`` (the program and its data), ``fields`` whose
    texts depend on the job, the ``report``'s own lines, and the ``directory`` that its commands start in.
    """

    name: str
    here: Path
    needs_environment: bool
    environment: Mapping[str, str]

    @property
    def commands(self) -> dict[str, tuple[str, ...]]:
        """Its commands by the kind of start."""
        return {kind: words for kind, words in asdict(self.starts).items() if words is not None}

    @property
    def prerequisites(self) -> dict[str, Prerequisite]:
        """What it wraps and does not hold, by its kind: ``program`` and ``data``."""
        return {kind: need for kind, need in (("program", self.program), ("data", self.data)) if need is not None}

    @property
    def takes_device(self) -> bool:
        """Whether its commands say which kind of device the training is on."""
        return any("{device}" in word for words in (self.arguments, *self.commands.values()) for word in words)

    def requirements(self, gpus: int) -> Path:
        """What its environment is made from on a machine with so many GPUs."""
        for_gpus = self.here / "requirements-gpu.txt"
        return for_gpus if gpus and for_gpus.is_file() else self.here / "requirements.txt"

    def filled_fields(self, facts: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """The words of all fields for a job, by its properties; a field without a value for it is left out."""
        return {
            name: tuple(given.values[facts[given.by]])
            for name, given in self.fields.items()
            if facts[given.by] in given.values
        }

    def missing_value(self, facts: Mapping[str, str]) -> str:
        """Why a job cannot be started: a field has no value for it. Empty where every field has one."""
        for name, given in self.fields.items():
            if facts[given.by] not in given.values:
                known = ", ".join(given.values)
                return f"its report has no {name} for {given.by} {facts[given.by]} (it has one for {known})"
        return ""

    def lacks(self, folders: Mapping[str, str]) -> dict[str, str]:
        """In one line what is missing of each prerequisite and what to get, by its kind; none where nothing is.

        Args:
            folders: the folders that a campaign names in place of the runner's own, by kind.
        """
        found = {kind: self._lack(kind, need, folders.get(kind, "")) for kind, need in self.prerequisites.items()}
        return {kind: line for kind, line in found.items() if line}

    def _lack(self, kind: str, need: Prerequisite, folder: str) -> str:
        place = Path(folder or need.folder)
        named = f'{"programs" if kind == "program" else "data"} = {{ {self.name} = "FOLDER" }}'
        for file in need.files:
            if not (place / file).exists():
                return (
                    f"{self.name}: its {kind} is not here: expected {place / file}, which does not exist. "
                    f"Get it: {need.get}. If it lies elsewhere, write into the campaign file: {named}"
                )
        for file, wanted in need.contains.items():
            try:
                content = (place / file).read_text(encoding="utf-8", errors="replace")
            except OSError as error:
                return f"{self.name}: {place / file} cannot be read: {error.strerror}"
            for text in wanted:
                if text not in content:
                    return (
                        f"{self.name}: {place / file} is not the report's: expected the text {text!r} in it, which is "
                        f"not there. Get it: {need.get}"
                    )
        return ""


def load_runner(here: Path) -> Runner:
    """Read a runner's folder.

    Raises:
        UsageError: with the file, the key, what is expected there and what was found.
    """
    table = decode(here / FILE, _RunnerFile, UsageError)
    here = here.resolve()
    return Runner(
        **asdict(table) | {"environment": texts(table.environment)},
        name=here.name,
        here=here,
        needs_environment=(here / "requirements.txt").is_file(),
    )


def load_runners(more: Iterable[Path] = ()) -> dict[str, Runner]:
    """perflog's own runners, and those of further folders, by name."""
    shipped = sorted(file.parent for file in folder("runners").glob(f"*/{FILE}"))
    return {runner.name: runner for runner in map(load_runner, [*shipped, *more])}


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
    if runner.lacks({}):
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
    for need in known[name].prerequisites.values():
        raise UsageError(f"{name} wraps a program that perflog does not install. Get it: {need.get}")
    return make(known[name], quiet)


def remedies() -> dict[str, str]:
    """What brings a shipped runner whose :func:`state` is not ``ready``: a command, or what to get, by its name."""
    return {
        name: next((need.get for need in runner.prerequisites.values()), f"perflog run --make-environment {name}")
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
    pip += ["-r", str(_requirements(runner))]
    base = getattr(sys, "_base_executable", sys.executable)
    for command in ([base, "-m", "venv", str(here)], pip + ["--quiet"] * quiet):
        if subprocess.run(command, env=environment_of_others(), check=False).returncode:
            raise PerflogError(f"{' '.join(command)}: failed; the environment of {runner.name} is not made")
    (here / READY).write_text(_digest(runner), encoding="utf-8")
    return here


def _digest(runner: Runner) -> str:
    return hashlib.sha256(_requirements(runner).read_bytes()).hexdigest() + "\n"


def _requirements(runner: Runner) -> Path:
    """What its environment is made from on this machine."""
    return runner.requirements(gpu_count())
