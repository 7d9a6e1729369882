"""What a runner wraps and does not hold: a program and its data, where they are got from, and whether they are here.

A runner of a published report starts the report's own program. perflog neither contains nor downloads it: the runner
says which version is meant, which files must be there, and what a job's commands look like in the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

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
    for name, field in fields.items():
        if facts[field.by] not in field.values:
            known = ", ".join(field.values)
            return f"its report has no {name} for {field.by} {facts[field.by]} (it has one for {known})"
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
    for file, texts in prerequisite.contains.items():
        try:
            content = (place / file).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return f"{runner}: {place / file} cannot be read: {error.strerror}"
        for text in texts:
            if text in content:
                continue
            return (
                f"{runner}: {place / file} is not the report's: expected the text {text!r} in it, which is not there. "
                f"Get it: {prerequisite.get}"
            )
    return ""
