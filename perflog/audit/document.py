"""An ordinary Markdown file, or an HTML page, as its tables and links, each with what stands around it.

Reports break the rules of Markdown tables (headings without a last bar, alignment rows that are too long, rows
with too many cells), so what a person would take for a table is one.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path

from perflog.border import keep_inside
from perflog.errors import UsageError
from perflog.files import LONGEST_DOCUMENT, read_limited
from perflog.show.regions import FENCE, row_texts

# ----------------------------------------------------------------------------------------------------
# HTML in, its headings, lines of text, links and tables out, in order: of a page, or of a table inside Markdown.

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LINES = frozenset({"p", "li", "div", "dt", "dd", "caption", "title", "section", "summary", *_HEADINGS})
_SILENT = frozenset({"script", "style", "template"})
#: More columns or rows than this no cell spans: the number is wrong, or made to fill the memory.
MOST_SPANNED = 1000
#: A table has at most so many places; beyond, no cell spans several.
MOST_PLACES = 1_000_000
#: A tag from its ``<`` on. What begins otherwise is text: the library's parser takes a time that grows with its square
#: for tags that are not closed.
_WHOLE_TAG = re.compile(r"""<(?:/?[A-Za-z](?:[^<>"']|"[^"]*"|'[^']*')*+|[!?][A-Za-z][^<>]*+)>""")
_COMMENT, _END_OF_COMMENT = "<!--", "-->"


@dataclass(frozen=True, slots=True)
class HtmlCell:
    """A cell: its text, with links as Markdown writes them; whether it is a heading; how far it spans."""

    text: str
    heading: bool
    columns: int = 1
    rows: int = 1


@dataclass(slots=True)
class HtmlRow:
    """A row and the line that it begins on (counted from 1); ``in_head``: whether it stands in ``<thead>``."""

    line: int
    in_head: bool
    cells: list[HtmlCell] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A table: the line it begins on, its caption, its rows as written."""

    line: int
    caption: str
    rows: tuple[HtmlRow, ...]

    def texts(self) -> list[tuple[int, tuple[str, ...]]]:
        """The rows as (line, texts): headings of several rows as one, and cells that span repeated in every place."""
        grid = _spread(self.rows)
        count = 0
        while count < len(self.rows) and _is_heading(self.rows[count]):
            count += 1
        count = max(count, 1)
        width = max((len(texts) for texts in grid[:count]), default=0)
        headings = [
            " ".join(dict.fromkeys(texts[column] for texts in grid[:count] if column < len(texts) and texts[column]))
            for column in range(width)
        ]
        body = zip(self.rows[count:], grid[count:], strict=True)
        return [(self.rows[0].line, tuple(headings)), *((row.line, tuple(texts)) for row, texts in body)]


@dataclass(frozen=True, slots=True)
class HtmlText:
    """A line of text, or a heading of a level from 1 to 6 (0: none), and the links in it: their texts and targets."""

    line: int
    text: str
    level: int = 0
    links: tuple[tuple[str, str], ...] = ()


HtmlPart = HtmlTable | HtmlText


def html_parts(text: str, first_line: int = 1) -> list[HtmlPart]:
    """The parts of HTML in order.

    Args:
        first_line: the line of its file that the text begins on, counted from 1.
    """
    reader = _TableReader(first_line)
    reader.feed("".join(_well_formed(text)))
    reader.close()
    return reader.finished()


def _well_formed(text: str) -> Iterator[str]:
    """The pieces of HTML with whole tags and comments alone; any other ``<`` is made text. In linear time."""
    end, last_comment = 0, text.rfind(_END_OF_COMMENT)
    place = text.find("<")
    while place >= 0:
        yield text[end:place]
        tag = _WHOLE_TAG.match(text, place)
        if tag is not None:
            end = tag.end()
            yield tag[0]
        elif text.startswith(_COMMENT, place) and last_comment >= place + len(_COMMENT):
            end = text.index(_END_OF_COMMENT, place + len(_COMMENT)) + len(_END_OF_COMMENT)
            yield "\n" * text.count("\n", place, end)
        else:
            end = place + 1
            yield "&lt;"
        place = text.find("<", end)
    yield text[end:]


def _is_heading(row: HtmlRow) -> bool:
    return row.in_head or (bool(row.cells) and all(cell.heading for cell in row.cells))


def _spread(rows: tuple[HtmlRow, ...]) -> list[list[str]]:
    """The texts of every place of a table, its spanning cells repeated."""
    grid: list[list[str]] = []
    below: dict[int, tuple[str, int]] = {}  # by column, what a cell above puts there, and in how many rows still
    places = 0
    for row in rows:
        if places > MOST_PLACES:
            below = {}
        grid.append(_spread_row(row, below, may_span=places <= MOST_PLACES))
        places += len(grid[-1])
    return grid


def _spread_row(row: HtmlRow, below: dict[int, tuple[str, int]], may_span: bool) -> list[str]:
    """The texts of every place of a row; ``below`` holds what cells above put there, and gets what it puts below."""
    texts: list[str] = []
    waiting = deque(row.cells)
    while waiting or len(texts) in below:
        column = len(texts)
        if column in below:
            text, left = below.pop(column)
            texts.append(text)
            if left > 1:
                below[column] = (text, left - 1)
            continue
        cell = waiting.popleft()
        for place in range(column, column + (cell.columns if may_span else 1)):
            texts.append(cell.text)
            if cell.rows > 1 and may_span:
                below[place] = (cell.text, cell.rows - 1)
    return texts


class _TableReader(HTMLParser):
    """Collects the parts. HTML of reports is often not well formed: what is not closed ends with what encloses it."""

    def __init__(self, first_line: int) -> None:
        super().__init__(convert_charrefs=True)
        self._offset = first_line - 1
        self._parts: list[HtmlPart] = []
        self._text: list[str] = []
        self._text_line = first_line
        self._links: list[tuple[str, str]] = []
        self._link: tuple[str, int] | None = None  # target, where its text begins
        self._level = 0
        self._silent = 0
        self._table: tuple[int, str, list[HtmlRow]] | None = None
        self._in_head = False
        self._cell: HtmlCell | None = None

    def finished(self) -> list[HtmlPart]:
        """All parts, those that are not closed among them."""
        self._end_line()
        self._end_table()
        return self._parts

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in _SILENT:
            self._silent += 1
        elif tag == "br":
            self._text.append(" ")
        elif tag == "a" and "href" in given:
            self._link = (given["href"], len(self._text))
        elif tag == "table":
            self._end_table()
            self._end_line()
            self._table = (self._line, "", [])
        elif self._table is not None and tag in ("tr", "td", "th", "thead", "tbody", "tfoot"):
            self._begin_in_table(tag, given)
        elif tag in _LINES and self._cell is None:
            self._end_line()
            self._level, self._text_line = _HEADINGS.get(tag, 0), self._line

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "a":
            self._end_link()
        elif tag in ("td", "th", "tr"):
            self._end_cell()
        elif tag == "thead":
            self._in_head = False
        elif tag == "table":
            self._end_table()
        elif tag == "caption" and self._table is not None:
            line, _, rows = self._table
            self._table = (line, self._taken(), rows)
        elif tag in _LINES and self._cell is None:
            self._end_line()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            if not self._text:
                self._text_line = self._line
            self._text.append(data)

    @property
    def _line(self) -> int:
        return self.getpos()[0] + self._offset

    def _begin_in_table(self, tag: str, given: dict[str, str]) -> None:
        assert self._table is not None
        self._end_cell()
        rows = self._table[2]
        if tag in ("thead", "tbody", "tfoot"):
            self._in_head = tag == "thead"
        elif tag == "tr" or not rows:
            rows.append(HtmlRow(self._line, self._in_head))
        if tag in ("td", "th"):
            self._text = []
            self._cell = HtmlCell("", tag == "th", _span(given.get("colspan", "")), _span(given.get("rowspan", "")))

    def _end_cell(self) -> None:
        if self._cell is None or self._table is None:
            return
        self._end_link()
        cell, self._cell = self._cell, None
        self._table[2][-1].cells.append(HtmlCell(self._taken(), cell.heading, cell.columns, cell.rows))

    def _end_link(self) -> None:
        if self._link is None:
            return
        (target, begin), self._link = self._link, None
        text = " ".join("".join(self._text[begin:]).split())
        if self._cell is not None:
            self._text[begin:] = [f"[{text}]({target})"]
        else:
            self._links.append((text, target))

    def _end_line(self) -> None:
        self._end_link()
        text = self._taken()
        if text and self._table is None:
            self._parts.append(HtmlText(self._text_line, text, self._level, tuple(self._links)))
        self._links, self._level = [], 0

    def _end_table(self) -> None:
        if self._table is None:
            return
        self._end_cell()
        (line, caption, rows), self._table = self._table, None
        rows = [row for row in rows if row.cells]
        if rows:
            self._parts.append(HtmlTable(line, caption, tuple(rows)))
        self._text, self._in_head = [], False

    def _taken(self) -> str:
        """The text so far with single blanks; the next begins anew."""
        text, self._text = " ".join("".join(self._text).split()), []
        return text


def _span(text: str) -> int:
    """How many columns or rows a cell spans."""
    return min(int(text), MOST_SPANNED) if text.isdecimal() and int(text) else 1


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
