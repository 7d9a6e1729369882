"""A page for each format, made of its parser's file, and the lists of formats and conventions."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from perflog.formats.catalog import load_catalog
from perflog.formats.page import gives, meaning
from perflog.formats.parser import Parser
from perflog.settings.convention import load_conventions

#: What each format's facts rest on, as its program's source says: kept by hand.
FACTS = Path(__file__).with_name("facts.csv")
#: How many kinds of lines a page shows, those that measure first.
SHOWN = 8
_HEADINGS = {
    "measured": "speed of the training",
    "summary": "`reported`, the program's own summary",
    "metrics": "metrics",
    "facts": "facts about the run",
}
_ORDER = ("step", "summary", "position", "metadata", "event", "ignore")


def pages() -> dict[str, str]:
    """The pages by their place on the site."""
    facts = list(csv.DictReader(FACTS.read_text(encoding="utf-8").splitlines()))
    return {
        f"formats/{one.name}.md": page(one, [row for row in facts if one.name in row["formats"].split(", ")])
        for one in load_catalog().parsers
    }


def page(parser: Parser, facts: Sequence[dict[str, str]] = ()) -> str:
    """One format: the lines by which it is known, what they give, its traps, and where its lines are printed."""
    return "\n".join(_lines(parser, facts)) + "\n"


def _lines(parser: Parser, facts: Sequence[dict[str, str]]) -> Iterator[str]:
    yield f"# {escaped(parser.title)}\n"
    framework = f" · {escaped(parser.framework)}" if parser.framework else ""
    yield f"Format `{parser.name}`{framework} · [all formats](../formats.md)\n"
    yield "## Lines that are read\n"
    shown = sorted((one for one in parser.patterns if one.samples), key=lambda one: _ORDER.index(one.role))[:SHOWN]
    yield from fenced([pattern.samples[0].line for pattern in shown])
    yield "\n## What they give\n\n| | |\n|---|---|"
    yield from (
        f"| {_HEADINGS[part]} | {', '.join(map(coded, names))} |" for part, names in gives(parser).items() if names
    )
    numbers = [value for pattern in shown if pattern.role in ("step", "summary") for value in pattern.values]
    if numbers:
        yield "\n| number | is |\n|---|---|"
        yield from dict.fromkeys(f"| {coded(value.group)} | {escaped(meaning(value))} |" for value in numbers)
    if parser.traps:
        yield "\n## Traps\n"
        yield from (f"- {escaped(trap)}" for trap in parser.traps)
    if facts:
        yield "\n## What stands there when a feature is off\n"
        yield "| facts | printed when off or by default | outcome |\n|---|---|---|"
        cells = ("facts", "printed when off or by default", "outcome")
        yield from (f"| {' | '.join(escaped(row[cell]) for cell in cells)} |" for row in facts)
    yield f"\n## Where the lines are printed\n\n{escaped(parser.source)}"


def index() -> str:
    """All formats and all conventions, as tables."""
    rows = [
        f"| [`{one.name}`](formats/{one.name}.md) | {escaped(one.framework or 'any')} | {escaped(one.title)} |"
        for one in sorted(load_catalog().parsers, key=lambda one: one.name)
    ]
    rules = [f"| `{name}` | {escaped(rule.title)} |" for name, rule in load_conventions().items()]
    head = ["## All formats\n\n| format | framework | programs |\n|---|---|---|", *rows]
    return "\n".join([*head, "\n## All conventions\n\n| convention | rule |\n|---|---|", *rules]) + "\n"


def escaped(text: str) -> str:
    """A text outside code, in which nothing but code is markup."""
    parts = re.split(r"(`[^`]*`)", text)
    signs = r"([\\*_{}\[\]<>#|~$])"
    return "".join(part if part.startswith("`") and len(part) > 1 else re.sub(signs, r"\\\1", part) for part in parts)


def coded(text: str) -> str:
    return f"`{text}`"


def fenced(lines: Sequence[str]) -> Iterator[str]:
    """Lines of logs between fences that are longer than any in them."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield from lines
    yield fence
