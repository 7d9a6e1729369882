"""What a log says beside its measurements: facts, and how often each pattern occurred and matched."""

from __future__ import annotations

from dataclasses import dataclass

from perflog.formats.parser import Pattern


@dataclass(slots=True)
class LogFact:
    """A summary, event or metadata line: what it says and where."""

    pattern: Pattern
    line: int
    rank: int
    fields: dict[str, str]


@dataclass(slots=True)
class Account:
    """How often a pattern's literal was seen and its regex matched, and at which lines."""

    candidates: int = 0
    matches: int = 0
    first_line: int = 0
    last_line: int = 0
