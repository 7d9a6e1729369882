"""Findings at lines of files in, annotations of GitHub Actions out, which stand beside these lines in a pull request.

What may follow ``::error`` is said at https://docs.github.com/actions/reference/workflow-commands-for-github-actions;
how its values are escaped, in ``actions/toolkit`` (``packages/core/src/command.ts``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perflog.escaping import visible

LEVELS = ("error", "warning", "notice")


@dataclass(frozen=True, slots=True)
class Annotation:
    """A finding.

    Attributes:
        message: what was found, in one line.
        file: the file as seen from the repository's folder; empty for a finding of no file.
        line: the line of the file; 0 for none.
        title: what stands above the message.
        level: one of :data:`LEVELS`.
    """

    message: str
    file: str = ""
    line: int = 0
    title: str = "perflog"
    level: str = "error"


def commands(findings: Iterable[Annotation]) -> str:
    """Findings as commands to GitHub Actions, one a line. No text in them is a command itself."""
    return "".join(f"::{one.level} {_properties(one)}::{_value(one.message)}\n" for one in findings)


def _properties(finding: Annotation) -> str:
    named = {"file": finding.file, "line": str(finding.line or ""), "title": finding.title}
    return ",".join(f"{name}={_property(text)}" for name, text in named.items() if text)


def _value(text: str) -> str:
    return visible(text).replace("%", "%25")


def _property(text: str) -> str:
    return _value(text).replace(":", "%3A").replace(",", "%2C")
