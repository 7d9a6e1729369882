"""Writes a new parser's file from a log of its format."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflog.errors import UsageError
from perflog.files import write_atomically
from perflog.formats.catalog import load_catalog
from perflog.formats.meaning import RESERVED_GROUPS
from perflog.inference.candidate import Basis
from perflog.inference.formats import parser_tables, plain_pattern
from perflog.inference.infer import frequent_tables, infer
from perflog.inference.measures import is_rising
from perflog.logs.find import LogFile, find_logs
from perflog.matching.tables import Table
from perflog.settings.options import Options

# ----------------------------------------------------------------------------------------------------
# An inferred format as a parser's file, for a person to correct and keep.

_INTRODUCTION = """\
What perflog inferred from a log, to be corrected by somebody who knows the program:
what the numbers mean (quantity, unit, span, scope), whether a sample line is a training's,
and where the program's source prints the line. docs/parsers.md says what each key means;
`perflog parsers check --parsers FOLDER` checks the file.
"""


def parser_text(tables: Mapping[str, Any]) -> str:
    """The text of a parser's file from its tables; regexes and lines are written as they are, without escapes."""
    import tomlkit

    document = tomlkit.document()
    for line in _INTRODUCTION.splitlines():
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    for key, value in _literal(tables).items():
        document.add(key, value)
    return tomlkit.dumps(document)


def _literal(value: Any) -> Any:
    """The same tables with texts that hold a backslash as literal strings."""
    import tomlkit

    if isinstance(value, Mapping):
        return {key: _literal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_literal(item) for item in value]
    if isinstance(value, str) and "\\" in value and "'" not in value:
        return tomlkit.string(value, literal=True)
    return value


@dataclass(frozen=True, slots=True)
class Written:
    """A new parser's file.

    Attributes:
        file: where it is.
        basis: what says what its numbers are; None for a draft, in which nothing but the step was understood.
    """

    file: Path
    basis: Basis | None


def write_parser(
    name: str, log: str | os.PathLike[str], folder: str | os.PathLike[str], said: tuple[str, ...] = ()
) -> Written:
    """Write ``NAME.toml`` into a folder.

    Args:
        said: what the user says of the log's lines (:mod:`perflog.formats.line`).

    Raises:
        UsageError: when the log is none, has no lines that are alike and count something, or none that fit what is
            said, or the file is there already.
        ParserError: when perflog's own parsers cannot be read.
    """
    file = Path(folder) / f"{name}.toml"
    _check_place(name, file)
    logs = find_logs([log])
    if len(logs) != 1:
        raise UsageError(f"{log}: expected one log, found {len(logs)}")
    title = f"{name}: inferred from {Path(log).name}"
    found = infer(logs[0], load_catalog(), Options(said=said))
    if found.inferred is not None:
        write_atomically(file, parser_text({**found.inferred.tables, "title": title}))
        return Written(file, found.inferred.basis)
    if said:
        raise UsageError(f"{log}: {found.why}")
    drafted = draft(logs[0])
    if drafted is None:
        raise UsageError(
            f"{log}: no three lines are alike but for their numbers, with one that rises from line to line as steps "
            f"do{f'; {found.why}' if found.why else ''}; docs/parsers.md says how to write a parser by hand"
        )
    tables, to_fill_in = drafted
    title = f"{name}: drafted from {Path(log).name}"
    write_atomically(file, parser_text({**tables, "title": title}) + to_fill_in)
    return Written(file, None)


_QUESTION = """
# Which number is the training's speed, or the time of its steps? Put it into the pattern, with its quantity (rate,
# step_time, interval_time, elapsed …), its unit and its span: docs/parsers.md says what each means.
"""


def draft(log: LogFile) -> tuple[dict[str, Any], str] | None:
    """A parser of a log's most frequent lines as a person begins one: (its tables, what is to be filled in).

    Nothing in it says what a number means but the step, a whole number that rises. None where no lines are alike, or
    none of them counts.
    """
    for table in frequent_tables(log):
        numbers = [place for place, kind in enumerate(table.kinds) if kind == "number"]
        able = (place for place in numbers if table.column(place).is_whole and is_rising(table.column(place).values))
        step = next(able, None)
        others = [place for place in numbers if place != step]
        pattern = plain_pattern(table, {step: "step"}, "step", "step") if step is not None and others else None
        if pattern is not None and step is not None:
            choices = [_choice(table, step, place) for place in others]
            return parser_tables([pattern], "draft"), "".join([_QUESTION, *choices])
    return None


def _choice(table: Table, step: int, place: int) -> str:
    """What a person puts into the pattern where the number at ``place`` is the one that counts."""
    words = re.findall("[A-Za-z][A-Za-z_]*", table.words[place])
    word = words[-1].lower() if words else ""
    group = "number" if word in ("", *RESERVED_GROUPS) else word
    pattern = plain_pattern(table, {step: "step", place: group}, "step", "step")
    if pattern is None:
        return ""
    seen = ", ".join(table.column(place).texts[:3])
    return (
        f"#\n# {seen} …: then in [[pattern]]\n#   regex = '{pattern['regex']}'\n# and at the end\n"
        "#   [[pattern.value]]\n"
        f'#   group = "{group}"\n#   quantity = "step_time"\n#   unit = "s"\n#   span = "last"\n'
    )


def _check_place(name: str, file: Path) -> None:
    """Raise UsageError where no parser of this name can be written."""
    if not name.replace("-", "_").isidentifier():
        raise UsageError(f"{name!r}: a parser is named with letters, digits, _ and -, such as my_trainer")
    if file.exists():
        raise UsageError(f"{file}: is there already; choose another name or folder")
    if not file.parent.is_dir():
        raise UsageError(f"{file.parent}: there is no such folder; make it first")
