"""An audit told: as text, Markdown and JSON, each verdict with the logs, lines and cells it stands on."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from perflog._version import __version__
from perflog.audit.judge import FAILING, VERDICTS, Judgement
from perflog.export.columns import escaped

SCHEMA = "perflog/audit/1"
FORMATS = ("text", "markdown", "json")
#: How many logs of one cell are named to people.
MOST_SOURCES = 2
_COLOURS = {"differs": "31", "contradicts": "31", "slip": "33", "within rounding": "36", "reproduced": "32"}
MEANINGS = {
    "reproduced": "a known rule gives the number from its log, or the table's own cells do",
    "within rounding": "as far as its digits say (fewer than four, or one off in the last)",
    "differs": "no known rule gives it from its log",
    "contradicts": "another cell gives another number for the same configuration",
    "slip": "one of the two above, with a suspicion what happened",
    "no log": "its log is not there",
    "not understood": "what it claims could not be read",
}


def failing(judgements: Iterable[Judgement]) -> bool:
    """Whether a cell differs or contradicts."""
    return any(one.verdict in FAILING for one in judgements)


def counts(judgements: Iterable[Judgement]) -> Counter[str]:
    return Counter(one.verdict for one in judgements)


def pairs(judgements: Sequence[Judgement]) -> list[tuple[str, str]]:
    """Every pair of cells that contradict each other, once, as ``file:line text``."""
    found = {}
    for one in judgements:
        for other in one.contradicts:
            ends = sorted([(str(c.path), c.line, c.column, f"{near(c.path)}:{c.line} {c.text}") for c in (one.claim, other)])
            found[tuple(end[:3] for end in ends)] = (ends[0][3], ends[1][3])
    return [found[key] for key in sorted(found)]


def near(path: str | Path) -> str:
    """A path as seen from the working folder, where that is shorter."""
    text = os.path.relpath(path)
    return text if len(text) < len(str(path)) else str(path)


def shortened(text: str) -> str:
    """Words without the working folder in front of every path."""
    here = str(Path.cwd())
    return text.replace(f"{here}/", "") if here != "/" else text


def _shown(judgements: Iterable[Judgement], everything: bool) -> list[Judgement]:
    quiet = () if everything else ("reproduced", "within rounding", "no log")
    return [one for one in judgements if one.verdict not in quiet or (one.suspicions and not everything)]


def text(judgements: Sequence[Judgement], everything: bool, colour: bool) -> str:
    """For people: what needs looking at (or every cell), then how many cells of each verdict."""
    lines = []
    for one in _shown(judgements, everything):
        verdict = f"\033[{_COLOURS[one.verdict]}m{one.verdict}\033[0m" if colour and one.verdict in _COLOURS else one.verdict
        lines.append(f"{near(one.claim.path)}:{one.claim.line}: {one.claim.heading}: {one.claim.text}: {verdict}")
        lines += [f"    {shortened(line)}" for line in told(one)]
    if not judgements:
        return "no table with a number in it found\n"
    total = counts(judgements)
    lines.append(f"{len(judgements)} cells: " + ", ".join(f"{total[name]} {name}" for name in VERDICTS[::-1] if total[name]))
    contradicting = pairs(judgements)
    if contradicting:
        lines.append(f"{len(contradicting)} pairs of cells contradict each other")
    return "\n".join(lines) + "\n"


def told(one: Judgement) -> list[str]:
    """Everything behind a verdict, a line each."""
    lines = [one.detail] if one.detail else []
    lines += [f"from {near(source)}" for source in one.sources[:MOST_SOURCES]]
    if len(one.sources) > MOST_SOURCES:
        lines.append(f"from {len(one.sources) - MOST_SOURCES} more (--format json names them)")
    lines += [f"note: {note}" for note in one.notes]
    lines += [f"contradicts {near(cell.path)}:{cell.line}: {cell.text}" for cell in one.contradicts]
    return lines + [f"suspicion: {suspicion}" for suspicion in one.suspicions]


def markdown(judgements: Sequence[Judgement], everything: bool) -> str:
    """For a page: counts, contradictions, cells."""
    total = counts(judgements)
    out = _table(["verdict", "cells", "meaning"], [[name, str(total[name]), MEANINGS[name]] for name in VERDICTS if total[name]])
    contradicting = pairs(judgements)
    if contradicting:
        out += ["", f"Cells that contradict each other ({len(contradicting)} pairs):", "", *_table(["cell", "cell"], contradicting)]
    rows = [
        [f"{near(one.claim.path)}:{one.claim.line}", one.claim.heading, one.claim.text, one.verdict, shortened("; ".join(told(one)))]
        for one in _shown(judgements, everything)
    ]
    if rows:
        out += ["", "Cells:" if everything else "Cells to look at:", "", *_table(["place", "column", "cell", "verdict", "why"], rows)]
    return "\n".join(out) + "\n"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table that is not padded: its cells are sentences."""
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    return lines + ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in rows]


def document(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Everything as plain data, in the schema of docs/audit.md."""
    return {
        "schema": SCHEMA,
        "perflog": __version__,
        "counts": {name: counts(judgements)[name] for name in VERDICTS},
        "contradictions": [list(pair) for pair in pairs(judgements)],
        "cells": [_cell(one) for one in judgements],
    }


def _cell(one: Judgement) -> dict[str, Any]:
    claim, value = one.claim, one.value
    return {
        "file": str(claim.path),
        "line": claim.line,
        "column": claim.column,
        "heading": claim.heading,
        "text": claim.text,
        "published": claim.number.value if claim.number is not None else None,
        "quantity": claim.quantity or None,
        "unit": claim.unit or None,
        "configuration": claim.facts,
        "verdict": one.verdict,
        "detail": one.detail,
        "rule": value.rule if value is not None else None,
        "value": value.value if value is not None else None,
        "value_unit": value.unit if value is not None else None,
        "sources": one.sources,
        "notes": one.notes,
        "contradicts": [{"file": str(cell.path), "line": cell.line, "column": cell.column, "text": cell.text} for cell in one.contradicts],
        "suspicions": one.suspicions,
    }


def to_json(judgements: Sequence[Judgement]) -> str:
    return json.dumps(document(judgements), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
