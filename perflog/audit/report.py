"""An audit as text, Markdown and JSON, each verdict with the logs, lines and cells it rests on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from perflog._version import __version__
from perflog.audit.judgement import CellVerdict, Judgement, apart, difference, ordered
from perflog.escaping import exact, json_text, named, visible
from perflog.escaping import markdown as escaped
from perflog.show.exchange import Annotation, Test, commands, junit
from perflog.show.text import TextTable, counted

SCHEMA = "perflog/audit/1"
FORMATS = ("text", "markdown", "json", "junit", "github")
#: How many logs of one cell are named to people.
MOST_SOURCES = 2


def failing(judgements: Iterable[Judgement]) -> bool:
    """Whether a cell differs or contradicts, or nothing was checked."""
    verdicts = {judgement.verdict for judgement in judgements}
    return any(verdict.fails for verdict in verdicts) or all(verdict.is_unchecked for verdict in verdicts)


def unchecked(judgements: Sequence[Judgement]) -> str:
    """Why nothing was checked, in one sentence; empty where a cell was."""
    if not judgements:
        return "nothing was checked: no table with a number in it was found"
    verdicts = {judgement.verdict for judgement in judgements}
    if not all(verdict.is_unchecked for verdict in verdicts):
        return ""
    if verdicts == {CellVerdict.NOT_UNDERSTOOD}:
        return "nothing was checked: what the cells claim was not understood (the reasons are above)"
    return "nothing was checked: no cell has its log among those given (--logs names more)"


def counts(judgements: Iterable[Judgement]) -> Counter[CellVerdict]:
    """How many cells have each verdict."""
    return Counter(judgement.verdict for judgement in judgements)


def _counts_in_words(judgements: Sequence[Judgement]) -> str:
    total = counts(judgements)
    return ", ".join(f"{total[verdict]} {verdict}" for verdict in reversed(CellVerdict) if total[verdict])


def pairs(judgements: Sequence[Judgement]) -> list[tuple[str, str]]:
    """Every pair of cells that contradict each other, once, as ``file:line text``; those farthest apart first."""
    by_place = {}
    for judgement in judgements:
        for other in judgement.contradicts:
            claims = sorted((judgement.claim, other), key=lambda claim: (str(claim.path), claim.line, claim.column))
            first, second = (claim.number.value if claim.number is not None else 0.0 for claim in claims)
            places = tuple((str(claim.path), claim.line, claim.column) for claim in claims)
            texts = [f"{near(claim.path)}:{claim.line} {claim.text}" for claim in claims]
            by_place[places] = (-apart(first, second), places, (texts[0], texts[1]))
    return [texts for *_, texts in sorted(by_place.values())]


def near(path: str | Path) -> str:
    """A path as seen from the working folder, where that is shorter."""
    text = os.path.relpath(path)
    return text if len(text) < len(str(path)) else str(path)


def shortened(text: str) -> str:
    """Words without the working folder in front of every path."""
    here = str(Path.cwd())
    return text.replace(f"{here}/", "") if here != "/" else text


def render(judgements: Sequence[Judgement], form: str, everything: bool = False, colour: bool = False) -> str:
    """An audit in one of :data:`FORMATS`; ``junit`` has a test for every cell, and ``github`` are annotations.

    Args:
        everything: every cell, not only those to look at; JSON always has every cell.
        colour: whether text has the colours of a terminal.
    """
    if form == "json":
        return json_text(audit_data(judgements)) + "\n"
    if form == "junit":
        return junit("perflog audit", [_test(judgement) for judgement in ordered(judgements)])
    if form == "github":
        return commands(_annotations(judgements))
    return markdown(judgements, everything) if form == "markdown" else text(judgements, everything, colour)


def _shown(judgements: Sequence[Judgement], everything: bool) -> list[Judgement]:
    """Every cell, or those to look at: first those that fail, and of these those that would change most."""
    return [one for one in ordered(judgements) if everything or not one.verdict.is_quiet or one.suspicions]


def text(judgements: Sequence[Judgement], everything: bool, colour: bool) -> str:
    """For people: what needs looking at (or every cell), then how many cells of each verdict."""
    if not judgements:
        return f"{unchecked(judgements)}\n"
    lines = []
    for judgement in _shown(judgements, everything):
        claim, verdict = judgement.claim, str(judgement.verdict)
        if colour and judgement.verdict.colour:
            verdict = f"\033[{judgement.verdict.colour}m{verdict}\033[0m"
        place = f"{named(near(claim.path))}:{claim.line}"
        lines.append(f"{place}: {visible(claim.heading)}: {visible(claim.text)}: {verdict}")
        lines += [f"    {visible(shortened(line))}" for line in explained(judgement)]
    lines.append(f"{counted(len(judgements), 'cell')}: {_counts_in_words(judgements)}")
    contradicting = pairs(judgements)
    if contradicting:
        verb = "contradicts" if len(contradicting) == 1 else "contradict"
        lines.append(f"{counted(len(contradicting), 'pair')} of cells {verb} each other")
    if reason := unchecked(judgements):
        lines.append(reason)
    return "\n".join(lines) + "\n"


def explained(judgement: Judgement) -> list[str]:
    """Everything behind a verdict, a line each."""
    lines = [judgement.detail] if judgement.detail else []
    lines += [f"from {near(source)}" for source in judgement.sources[:MOST_SOURCES]]
    if len(judgement.sources) > MOST_SOURCES:
        lines.append(f"from {len(judgement.sources) - MOST_SOURCES} more (--format json names them)")
    lines += [f"note: {note}" for note in judgement.notes]
    lines += [f"contradicts {near(cell.path)}:{cell.line}: {cell.text}" for cell in judgement.contradicts]
    return lines + [f"suspicion: {suspicion}" for suspicion in judgement.suspicions]


def markdown(judgements: Sequence[Judgement], everything: bool) -> str:
    """For a page: counts, contradictions, cells."""
    if not judgements:
        return f"{unchecked(judgements)}\n"
    total = counts(judgements)
    verdicts = [[verdict, str(total[verdict]), verdict.meaning] for verdict in CellVerdict if total[verdict]]
    lines = _table(["verdict", "cells", "meaning"], verdicts)
    contradicting = pairs(judgements)
    if contradicting:
        title = f"Cells that contradict each other ({counted(len(contradicting), 'pair')}):"
        lines += ["", title, "", *_table(["cell", "cell"], contradicting)]
    rows = [_row(judgement) for judgement in _shown(judgements, everything)]
    if rows:
        title = "Cells:" if everything else "Cells to look at:"
        lines += ["", title, "", *_table(["place", "column", "cell", "verdict", "why"], rows)]
    if reason := unchecked(judgements):
        lines += ["", reason]
    return "\n".join(lines) + "\n"


def text_table(judgements: Sequence[Judgement]) -> TextTable:
    """Every cell as a row of texts: where it is, what it says, the verdict and why."""
    rows = [_row(judgement) for judgement in _shown(judgements, everything=True)]
    titles = ["place", "column", "cell", "verdict", "why"]
    return TextTable(titles, rows, [False] * 5, caption=_counts_in_words(judgements))


def _row(judgement: Judgement) -> list[str]:
    claim = judgement.claim
    why = shortened("; ".join(explained(judgement)))
    return [f"{near(claim.path)}:{claim.line}", claim.heading, claim.text, judgement.verdict, why]


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table that is not padded: its cells are sentences."""
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    return lines + ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in rows]


def _test(judgement: Judgement) -> Test:
    """A cell as a test: it fails where it differs or contradicts, and is skipped where it was held against nothing."""
    claim, verdict = judgement.claim, judgement.verdict
    name = f"{claim.heading}: {claim.text} (line {claim.line}, column {claim.column})"
    words = f"{verdict}: {shortened(judgement.detail)}"
    failure, skipped = (words if verdict.fails else ""), (words if verdict.is_unchecked else "")
    lines = [shortened(line) for line in explained(judgement)]
    return Test(name, near(claim.path), failure, skipped, verdict, lines, file=near(claim.path), line=claim.line)


def _annotations(judgements: Sequence[Judgement]) -> list[Annotation]:
    """One finding for every failing cell, and one where nothing was checked."""
    found = []
    for judgement in _shown(judgements, everything=False):
        if judgement.verdict.fails:
            claim = judgement.claim
            words = f"{claim.heading}: {claim.text}: {judgement.verdict}: {shortened(judgement.detail)}"
            found.append(Annotation(words, near(claim.path), claim.line, "perflog audit"))
    reason = unchecked(judgements)
    return [*found, Annotation(reason, title="perflog audit")] if reason else found


def audit_data(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Everything as plain data, in the schema of docs/audit.md."""
    total = counts(judgements)
    return {
        "schema": SCHEMA,
        "perflog": __version__,
        "counts": {verdict.value: total[verdict] for verdict in CellVerdict},
        "contradictions": [list(pair) for pair in pairs(judgements)],
        "cells": [_cell(judgement) for judgement in ordered(judgements)],
    }


def _cell(judgement: Judgement) -> dict[str, Any]:
    claim, value = judgement.claim, judgement.value
    return {
        "file": exact(str(claim.path)),
        "line": claim.line,
        "column": claim.column,
        "heading": claim.heading,
        "text": claim.text,
        "published": claim.number.value if claim.number is not None else None,
        "quantity": claim.quantity or None,
        "unit": claim.unit or None,
        "configuration": claim.facts,
        "verdict": judgement.verdict.value,
        "detail": judgement.detail,
        "rule": value.rule if value is not None else None,
        "value": value.value if value is not None else None,
        "value_unit": value.unit if value is not None else None,
        "difference": difference(judgement),
        "sources": list(judgement.sources),
        "notes": list(judgement.notes),
        "contradicts": [
            {"file": str(cell.path), "line": cell.line, "column": cell.column, "text": cell.text}
            for cell in judgement.contradicts
        ],
        "suspicions": list(judgement.suspicions),
    }
