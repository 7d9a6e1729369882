"""Sections of a printed configuration: the batch size of training stands beside that of validation.

A line with a group ``section`` opens a section, which ends where the next one of the same parser begins. A pattern
with ``section`` counts inside sections of that name alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from perflog.formats.parser import SECTION
from perflog.reading.account import LogFact


def in_their_sections(facts: Sequence[LogFact]) -> list[LogFact]:
    """The facts of a log, in the order of its lines, but for those that stand outside the section they count in."""
    if not any(fact.pattern.section for fact in facts):
        return list(facts)
    openers: dict[tuple[str, int], tuple[list[int], list[str]]] = {}
    for fact in facts:
        if SECTION in fact.fields:
            lines, names = openers.setdefault((fact.pattern.parser, fact.rank), ([], []))
            lines.append(fact.line)
            names.append(fact.fields[SECTION])
    return [fact for fact in facts if not fact.pattern.section or _section_of(fact, openers) == fact.pattern.section]


def _section_of(fact: LogFact, openers: dict[tuple[str, int], tuple[list[int], list[str]]]) -> str:
    """The name of the section that a fact's line stands in; empty for one outside all."""
    lines, names = openers.get((fact.pattern.parser, fact.rank), ([], []))
    place = bisect_right(lines, fact.line) - 1
    return names[place] if place >= 0 else ""
