"""Runners are data: a folder with a ``runner.toml`` that says what can be run, with which commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from perflog.errors import UsageError
from perflog.formats.toml import Scalar, decode, texts
from perflog.resources import folder

# ----------------------------------------------------------------------------------------------------
# What a runner wraps and does not hold: a program and its data, where they are got from, and whether they are here.
#
# A runner of a published report starts the report's own program. perflog neither contains nor downloads it: the runner
# says which version is meant, which files must be there, and what a job's commands look like in the report.

#: What a field's values may depend on, as a job has it.
Basis = Literal["precision", "processes", "per_node", "nodes", "batch_size"]


@dataclass(frozen=True, slots=True)
class Field:
    """A word of commands whose text depends on the job.

    Attributes:
        by: the property of the job that decides.
        values: the words for each of its values; none, one or several.
    """

    by: Basis
    values: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """Files that must lie in a folder before a runner can start.

    Attributes:
        kind: ``program`` or ``data``; the campaign file's key that names another folder is ``programs`` or ``data``.
        folder: where they are looked for, unless a campaign names another place.
        files: paths below the folder.
        contains: texts that must stand in a file, by the file's path below the folder.
        get: what to get, in one line.
    """

    kind: Literal["program", "data"]
    folder: str
    files: tuple[str, ...]
    contains: Mapping[str, tuple[str, ...]]
    get: str


@dataclass(frozen=True, slots=True)
class ReportLines:
    """The report's own command lines, with ``{fields}``, by the kind of start that they stand for.

    ``precisions`` and ``devices``: those that the report prints a command for; empty for all.
    """

    url: str
    lines: Mapping[str, str]
    precisions: tuple[str, ...]
    devices: tuple[str, ...]


_Text = Annotated[str, Meta(min_length=1)]


class FieldTable(Struct, frozen=True, forbid_unknown_fields=True):
    """``[fields.NAME]`` of a runner's file."""

    by: Annotated[Basis, Meta(description="one of precision, processes, per_node, nodes and batch_size")]
    values: Annotated[
        dict[str, str | tuple[str, ...]],
        Meta(description='a text or a list of words for each value, such as { fp32 = [], amp = ["--amp"] }'),
    ]


class PrerequisiteTable(Struct, frozen=True, forbid_unknown_fields=True):
    """``[program]`` or ``[data]`` of a runner's file."""

    folder: _Text
    files: Annotated[tuple[str, ...], Meta(min_length=1, description='a list of paths, such as ["train.py"]')]
    get: _Text
    contains: dict[str, str | tuple[str, ...]] = {}


class ReportTable(Struct, frozen=True, forbid_unknown_fields=True):
    """``[report]`` of a runner's file: its address, and its lines where it has them."""

    url: _Text
    one: str | None = None
    several: str | None = None
    each_node: str | None = None
    first_node: str | None = None
    precisions: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


def field_of(table: FieldTable) -> Field:
    """A field from its table; a value that is a text is one word."""
    return Field(table.by, {key: (value,) if isinstance(value, str) else value for key, value in table.values.items()})


def prerequisite_of(kind: Literal["program", "data"], table: PrerequisiteTable | None) -> tuple[Prerequisite, ...]:
    """A prerequisite from its table; none where there is no table."""
    if table is None:
        return ()
    contains = {file: (text,) if isinstance(text, str) else text for file, text in table.contains.items()}
    return (Prerequisite(kind, table.folder, table.files, contains, table.get),)


def report_of(table: ReportTable | None) -> ReportLines | None:
    """The report's lines from their table; None where there is none."""
    if table is None:
        return None
    lines = {"one": table.one, "several": table.several, "each_node": table.each_node, "first_node": table.first_node}
    printed = {kind: line for kind, line in lines.items() if line}
    return ReportLines(table.url, printed, table.precisions, table.devices)


def filled_fields(fields: Mapping[str, Field], facts: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The words of all fields for a job; a field without a value for it is left out (see :func:`missing_value`).

    Args:
        facts: the job's properties by name.
    """
    return {name: field.values[facts[field.by]] for name, field in fields.items() if facts[field.by] in field.values}


def missing_value(fields: Mapping[str, Field], facts: Mapping[str, str]) -> str:
    """Why a job cannot be started: a field has no value for it. Empty where every field has one."""
    for name, given in fields.items():
        if facts[given.by] not in given.values:
            known = ", ".join(given.values)
            return f"its report has no {name} for {given.by} {facts[given.by]} (it has one for {known})"
    return ""


def lack(prerequisite: Prerequisite, runner: str, folder: str = "") -> str:
    """In one line what is missing of a prerequisite and what to get; empty where nothing is.

    Args:
        runner: the runner's name.
        folder: the folder that the campaign names; empty for the runner's own.
    """
    place = Path(folder or prerequisite.folder)
    key = "programs" if prerequisite.kind == "program" else "data"
    named = f'{key} = {{ {runner} = "FOLDER" }}'
    for file in prerequisite.files:
        if not (place / file).exists():
            return (
                f"{runner}: its {prerequisite.kind} is not here: expected {place / file}, which does not exist. "
                f"Get it: {prerequisite.get}. If it lies elsewhere, write into the campaign file: {named}"
            )
    for file, wanted in prerequisite.contains.items():
        try:
            content = (place / file).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return f"{runner}: {place / file} cannot be read: {error.strerror}"
        for text in wanted:
            if text in content:
                continue
            return (
                f"{runner}: {place / file} is not the report's: expected the text {text!r} in it, which is not there. "
                f"Get it: {prerequisite.get}"
            )
    return ""


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
