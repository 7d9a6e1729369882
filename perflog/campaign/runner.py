"""Runners are data: a folder with a ``runner.toml`` that says what can be run, with which commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, structs

from perflog.campaign.wrapped import (
    Field,
    FieldTable,
    Prerequisite,
    PrerequisiteTable,
    ReportLines,
    ReportTable,
    field_of,
    prerequisite_of,
    report_of,
)
from perflog.errors import UsageError
from perflog.formats.toml import Scalar, decode, texts
from perflog.resources import folder

FILE = "runner.toml"
#: How a job's processes are started: one, several on this node, several on each node, or all from the first node.
COMMANDS = ("one", "several", "each_node", "first_node", "mpirun")


@dataclass(frozen=True, slots=True)
class Cannot:
    """What does not work with this framework's release, and why."""

    when: Mapping[str, str]
    why: str


@dataclass(frozen=True, slots=True)
class Runner:
    """One framework's training script: commands with ``{fields}``, and the environment it needs.

    A runner that wraps a published report's program has ``prerequisites`` (the program and its data), ``fields`` whose
    texts depend on the job, the ``report``'s own lines, and the ``directory`` that its commands start in.
    """

    name: str
    title: str
    framework: str
    here: Path
    models: tuple[str, ...]
    precisions: tuple[str, ...]
    commands: Mapping[str, tuple[str, ...]]
    arguments: tuple[str, ...]
    packages: tuple[str, ...] = ()
    facts: str = ""
    needs_environment: bool = True
    rank_logs: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    cannot: tuple[Cannot, ...] = ()
    directory: str = ""
    fields: Mapping[str, Field] = field(default_factory=dict)
    prerequisites: tuple[Prerequisite, ...] = ()
    report: ReportLines | None = None

    @property
    def takes_device(self) -> bool:
        """Whether its commands say which kind of device the training is on."""
        return any("{device}" in word for words in (self.arguments, *self.commands.values()) for word in words)

    def requirements(self, gpus: int) -> Path:
        """What its environment is made from on a machine with so many GPUs."""
        for_gpus = self.here / "requirements-gpu.txt"
        return for_gpus if gpus and for_gpus.is_file() else self.here / "requirements.txt"


_Words = Annotated[
    tuple[str, ...], Meta(min_length=1, description='a list of texts, such as ["{python}", "{here}/train.py"]')
]
_Names = Annotated[tuple[str, ...], Meta(min_length=1, description='a list of names, such as ["fp32", "amp"]')]


class _Commands(Struct, frozen=True, forbid_unknown_fields=True):
    """The commands of :data:`COMMANDS`; None where there is none."""

    one: _Words | None = None
    several: _Words | None = None
    each_node: _Words | None = None
    first_node: _Words | None = None
    mpirun: _Words | None = None


class _CannotTable(Struct, frozen=True, forbid_unknown_fields=True):
    when: dict[str, Scalar]
    why: Annotated[str, Meta(min_length=1)]


class _RunnerFile(Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(min_length=1)]
    framework: Annotated[str, Meta(min_length=1)]
    models: _Names
    precisions: _Names
    commands: _Commands
    arguments: tuple[str, ...]
    packages: tuple[str, ...] = ()
    facts: str = ""
    rank_logs: str = ""
    environment: dict[str, Scalar] = {}
    cannot: tuple[_CannotTable, ...] = ()
    directory: str = ""
    fields: dict[str, FieldTable] = {}
    program: PrerequisiteTable | None = None
    data: PrerequisiteTable | None = None
    report: ReportTable | None = None


def load_runner(here: Path) -> Runner:
    """Read a runner's folder.

    Raises:
        UsageError: with the file, the key, what is expected there and what was found.
    """
    file = here / FILE
    table = decode(file, _RunnerFile, UsageError)
    here = here.resolve()
    return Runner(
        name=here.name,
        title=table.title,
        framework=table.framework,
        here=here,
        models=table.models,
        precisions=table.precisions,
        commands={key: words for key, words in structs.asdict(table.commands).items() if words is not None},
        arguments=table.arguments,
        packages=table.packages,
        facts=table.facts,
        needs_environment=(here / "requirements.txt").is_file(),
        rank_logs=table.rank_logs,
        environment=texts(table.environment),
        cannot=tuple(Cannot(texts(item.when), item.why) for item in table.cannot),
        directory=table.directory,
        fields={name: field_of(item) for name, item in table.fields.items()},
        prerequisites=(*prerequisite_of("program", table.program), *prerequisite_of("data", table.data)),
        report=report_of(table.report),
    )


def load_runners(more: Iterable[Path] = ()) -> dict[str, Runner]:
    """perflog's own runners, and those of further folders, by name."""
    shipped = sorted(file.parent for file in folder("runners").glob(f"*/{FILE}"))
    return {runner.name: runner for runner in map(load_runner, [*shipped, *more])}
