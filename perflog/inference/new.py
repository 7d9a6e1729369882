"""Writes a new parser's file from a log of its format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflog.errors import UsageError
from perflog.files import write_atomically
from perflog.formats.catalog import load_catalog
from perflog.inference.infer import draft, infer, shape_of
from perflog.logs.find import find_logs
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
        corroborated: whether witnesses in the log agree with what its numbers were taken for.
        draft: whether nothing but the step was understood, so that a person must say what the numbers are.
    """

    file: Path
    corroborated: bool
    draft: bool = False


def write_parser(name: str, log: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Written:
    """Write ``NAME.toml`` into a folder.

    Raises:
        UsageError: when the log is none, has no lines that are alike and count something, or the file is there
            already.
        ParserError: when perflog's own parsers cannot be read.
    """
    file = Path(folder) / f"{name}.toml"
    _check_place(name, file)
    logs = find_logs([log])
    if len(logs) != 1:
        raise UsageError(f"{log}: expected one log, found {len(logs)}")
    title = f"{name}: inferred from {Path(log).name}"
    inferred = infer(logs[0], load_catalog(), Options())
    tables = inferred.tables if inferred is not None else shape_of(logs[0])
    if tables is not None:
        write_atomically(file, parser_text({**tables, "title": title}))
        return Written(file, inferred is not None)
    drafted = draft(logs[0])
    if drafted is None:
        raise UsageError(
            f"{log}: no three lines are alike but for their numbers, with one that rises from line to line as steps "
            "do; docs/parsers.md says how to write a parser by hand"
        )
    tables, to_fill_in = drafted
    title = f"{name}: drafted from {Path(log).name}"
    write_atomically(file, parser_text({**tables, "title": title}) + to_fill_in)
    return Written(file, False, True)


def _check_place(name: str, file: Path) -> None:
    """Raise UsageError where no parser of this name can be written."""
    if not name.replace("-", "_").isidentifier():
        raise UsageError(f"{name!r}: a parser is named with letters, digits, _ and -, such as my_trainer")
    if file.exists():
        raise UsageError(f"{file}: is there already; choose another name or folder")
    if not file.parent.is_dir():
        raise UsageError(f"{file.parent}: there is no such folder; make it first")
