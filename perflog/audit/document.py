"""An ordinary Markdown file, or an HTML page, as its tables and links, each with what stands around it.

Reports break the rules of Markdown tables (headings without a last bar, alignment rows that are too long, rows
with too many cells), so what a person would take for a table is one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from perflog.audit.html_tables import HtmlTable, html_parts
from perflog.border import keep_inside
from perflog.errors import UsageError
from perflog.files import LONGEST_DOCUMENT, read_limited
from perflog.report.regions import FENCE, row_texts

# Each of these takes linear time on any text: a report may be a stranger's.
_HEADING = re.compile(r"^[ \t]{0,3}(#{1,6})[ \t]")
_DASHES = re.compile(r":?-+:?")
_BRACKET = re.compile(r"[\[\]]")
_TARGET = re.compile(r"\(([^()\s]*(?:\([^()]*\)[^()\s]*)?)\)")
_TAG = re.compile(r"<[^<>]*>")
_HTML_TABLE = re.compile(r"<table(?![a-z])", re.IGNORECASE)
_END_OF_HTML_TABLE = re.compile(r"</table\s*>", re.IGNORECASE)
#: So many lines before a table, the nearest, may say what holds for it.
MOST_AROUND = 100
#: Suffixes of documents that are read as HTML pages; all others are read as Markdown.
PAGES = (".html", ".htm")


@dataclass(frozen=True, slots=True)
class Link:
    """A link's text and target, and the line it stands on (counted from 1)."""

    line: int
    text: str
    target: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """A table's row: its line and its cells as written, without the blanks around them."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table and its context.

    Attributes:
        headings: those it stands under, the innermost first.
        lead: lines between it and what comes before (a heading or another table), the nearest first.
        section: the lines before that of its section and of the sections that enclose it.
    """

    header: TableRow
    rows: list[TableRow]
    headings: list[str]
    lead: list[str]
    section: list[str]


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file or a page: its first heading, its tables, and the lines and links outside them."""

    path: Path
    title: str
    tables: list[Table]
    links: list[Link]
    lines: list[str]


def read_document(path: Path) -> Document:
    """Read a Markdown file, or an HTML page.

    Raises:
        UsageError: when it cannot be read as UTF-8 text.
    """
    keep_inside(path, "the file")
    try:
        text = read_limited(path, LONGEST_DOCUMENT).decode("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text (byte {error.start}): expected a Markdown file") from None
    reader = _Reader(text.splitlines())
    if path.suffix.lower() in PAGES:
        reader.read_page(text)
    else:
        number = 0
        while number < len(reader.lines):
            number = reader.read(number)
    return Document(path, reader.title, reader.tables, reader.links, reader.outside)


class _Reader:
    """Reads a document's lines in order, and knows at each where it stands."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.title = ""
        self.tables: list[Table] = []
        self.links: list[Link] = []
        self.outside: list[str] = []
        self._headings: list[tuple[int, str, list[str]]] = []  # level, text, lines of the section
        self._lead: list[str] = []
        self._section: list[str] = []
        self._fence = ""

    def read(self, number: int) -> int:
        """Read what begins on a line; the number of the line behind it. Both are counted from 0."""
        line = self.lines[number]
        mark = FENCE.match(line)
        if mark and (not self._fence or mark[1].startswith(self._fence)):
            self._fence = "" if self._fence else mark[1]
        elif self._fence:
            pass
        elif heading := _HEADING.match(line):
            self._heading(len(heading[1]), plain(line[heading.end() :].strip(" \t").rstrip(" \t#")))
        elif self._begins_table(number):
            return self._table(number)
        elif _HTML_TABLE.search(line):
            return self._html_tables(number)
        elif line.strip():
            self.links += [Link(number + 1, plain(link.text), link.target) for link in _links(line)]
            self._add_line(plain(line))
        return number + 1

    def _add_line(self, text: str) -> None:
        self._lead.append(text)
        self.outside.append(text)

    def _heading(self, level: int, text: str) -> None:
        self._section += self._lead
        self._lead, self._section = [], []
        self.outside.append(text)
        above = [heading for heading in self._headings if heading[0] < level]
        self._headings = [*above, (level, text, self._section)]
        self.title = self.title or text

    def _begins_table(self, number: int) -> bool:
        if "|" not in self.lines[number] or number + 1 == len(self.lines):
            return False
        below = self.lines[number + 1]
        return "-" in below and "|" in below and _is_alignment(below)

    def _table(self, number: int) -> int:
        end = number + 2
        while end < len(self.lines) and "|" in self.lines[end] and self.lines[end].strip():
            end += 1
        texts = [(n, self.lines[n].lstrip(" \t>")) for n in range(number, end) if n != number + 1]
        self._add_table([TableRow(n + 1, tuple(row_texts(text))) for n, text in texts])
        return end

    def _html_tables(self, number: int) -> int:
        """Read the HTML tables that begin on a line; the number of the line behind them."""
        end = number
        while end + 1 < len(self.lines) and not _END_OF_HTML_TABLE.search(self.lines[end]):
            end += 1
        for part in html_parts("\n".join(self.lines[number : end + 1]), number + 1):
            if isinstance(part, HtmlTable):
                self._add_html_table(part)
        return end + 1

    def read_page(self, text: str) -> None:
        """Read an HTML page."""
        for part in html_parts(text):
            if isinstance(part, HtmlTable):
                self._add_html_table(part)
            elif part.level:
                self._heading(part.level, plain(part.text))
            else:
                self.links += [Link(part.line, words, target) for words, target in part.links]
                self._add_line(plain(part.text))

    def _add_html_table(self, table: HtmlTable) -> None:
        if table.caption:
            self._add_line(plain(table.caption))
        self._add_table([TableRow(line, texts) for line, texts in table.texts()])

    def _add_table(self, lines: list[TableRow]) -> None:
        """Add a table with what stands around it; the lines behind it begin anew."""
        header, *rows = lines
        headings = [text for _, text, _ in reversed(self._headings)]
        sections = [section for *_, section in reversed(self._headings)] or [self._section]
        before = list(islice((line for section in sections for line in reversed(section)), MOST_AROUND))
        self.tables.append(Table(header, rows, headings, self._lead[: -MOST_AROUND - 1 : -1], before))
        self._section += self._lead
        self._lead = []


def _is_alignment(line: str) -> bool:
    """Whether a line is the row of dashes below a table's heading."""
    cells = line.lstrip(" \t>").rstrip(" \t").removeprefix("|").removesuffix("|").split("|")
    return all(_DASHES.fullmatch(cell.strip(" \t")) for cell in cells)


@dataclass(frozen=True, slots=True)
class _Written:
    """A link as it is written: where it begins and ends in its text, its words and its target."""

    begin: int
    end: int
    text: str
    target: str


def _links(text: str) -> list[_Written]:
    """The links in a text, in order; of links inside one another the outermost."""
    opened: list[int] = []
    found: list[_Written] = []
    if "](" not in text:
        return found
    for bracket in _BRACKET.finditer(text):
        place = bracket.start()
        if bracket[0] == "[":
            opened.append(place)
            continue
        begin = opened.pop() if opened else -1
        target = _TARGET.match(text, place + 1) if begin >= 0 else None
        if target is not None:
            while found and found[-1].begin > begin:
                found.pop()
            found.append(_Written(begin, target.end(), text[begin + 1 : place], target[1]))
    return found


def plain(text: str) -> str:
    """Text without links' targets, tags, and marks of emphasis."""
    parts, end = [], 0
    for link in _links(text):
        if link.begin >= end:  # else its brackets stand in the target of the one before
            parts += [text[end : link.begin], link.text]
            end = link.end
    words = _TAG.sub(" ", "".join([*parts, text[end:]]))
    return re.sub(r"[`*]+", "", words).replace("\\_", "_").strip()


def link_of(text: str) -> str:
    """The target of the first link in a cell; empty for none."""
    return next((link.target for link in _links(text)), "")
