"""An ordinary Markdown file as its tables and links, each with what stands around it.

Reports break the rules of Markdown tables (headings without a last bar, alignment rows that are too long, rows
with too many cells), so what a person would take for a table is one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from perflog.errors import UsageError
from perflog.report.regions import FENCE, row_texts

_HEADING = re.compile(r"^[ \t]{0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_ALIGNMENT = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]*(?:\([^()]*\))?[^()\s]*)\)")
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Link:
    """A link's text and target, and the line it stands on (counted from 1)."""

    line: int
    text: str
    target: str


@dataclass(frozen=True, slots=True)
class Row:
    """A table's row: its line and its cells as written, without the blanks around them."""

    line: int
    cells: tuple[str, ...]


@dataclass(slots=True)
class Table:
    """A table and its context.

    ``headings``: those it stands under, the innermost first; ``lead``: lines between it and what comes before
    (a heading or another table), the nearest first; ``section``: the lines before that of its section and of the
    sections that enclose it.
    """

    header: Row
    rows: list[Row]
    headings: list[str]
    lead: list[str]
    section: list[str]


@dataclass(slots=True)
class Document:
    """A Markdown file: its tables, and the links outside them."""

    path: Path
    title: str = ""
    tables: list[Table] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


def read_document(path: Path) -> Document:
    """Read a Markdown file.

    Raises:
        UsageError: when it cannot be read as UTF-8 text.
    """
    try:
        lines = path.read_bytes().decode("utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text (byte {error.start}): expected a Markdown file") from None
    document = Document(path)
    headings: list[tuple[int, str, list[str]]] = []  # level, text, lines of the section
    lead: list[str] = []
    section: list[str] = []
    fence = ""
    at = 0
    while at < len(lines):
        line = lines[at]
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif fence:
            pass
        elif heading := _HEADING.match(line):
            level, text = len(heading[1]), plain(heading[2])
            section += lead
            lead, section = [], []
            headings = [one for one in headings if one[0] < level] + [(level, text, section)]
            document.title = document.title or text
        elif _begins_table(lines, at):
            end = at + 2
            while end < len(lines) and "|" in lines[end] and lines[end].strip():
                end += 1
            rows = [Row(n + 1, tuple(row_texts(lines[n].lstrip(" \t>")))) for n in range(at, end) if n != at + 1]
            before = [line for *_, lines_of in reversed(headings) for line in reversed(lines_of)] if headings else section[::-1]
            document.tables.append(Table(rows[0], rows[1:], [text for _, text, _ in reversed(headings)], lead[::-1], before))
            section += lead
            lead = []
            at = end
            continue
        elif line.strip():
            document.links += [Link(at + 1, plain(found[1]), found[2]) for found in _LINK.finditer(line)]
            lead.append(plain(line))
        at += 1
    return document


def _begins_table(lines: list[str], at: int) -> bool:
    return "|" in lines[at] and at + 1 < len(lines) and "-" in lines[at + 1] and "|" in lines[at + 1] and bool(_ALIGNMENT.match(lines[at + 1]))


def plain(text: str) -> str:
    """Text without links' targets, tags, and marks of emphasis."""
    return re.sub(r"[`*]+", "", _TAG.sub(" ", _LINK.sub(lambda found: found[1], text))).replace("\\_", "_").strip()


def link_of(text: str) -> str:
    """The target of the first link in a cell; empty for none."""
    found = _LINK.search(text)
    return found[2] if found else ""
