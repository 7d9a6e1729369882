"""An inferred format as a parser's file, for a person to correct and keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
