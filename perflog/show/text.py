"""Tables of texts for terminals and for Markdown, and the words that all tables share.

A table is never wider than the terminal, and no number and no word is cut: where the columns do not fit, what is the
same in all rows goes above the table, intervals go behind their numbers, the warnings of a row go below it, what is
spare goes, and then the columns that name a row become a line above it and what few rows have a line below it, so that
numbers stand below each other on any terminal that has room for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from perflog.cases.case import Case, data_of
from perflog.escaping import csv_cell, visible
from perflog.escaping import markdown as escaped
from perflog.extraction import Extraction
from perflog.notes import Note
from perflog.settings.options import Options
from perflog.spelling import some_of

#: So many facts of a config file stand in a caption, and so much of each.
_MOST_FACTS, _LONGEST_FACT = 8, 60

#: What stands behind a number that may be another one.
MARK = "⚠"
#: What stands between two numbers of which the log does not say which is meant.
EITHER = "or"


@dataclass(slots=True)
class TextTable:
    """A table of texts for people.

    Attributes:
        titles: the headings of the columns.
        rows: the cells, as many as there are titles in each row.
        right: for every column, whether its cells stand to the right.
        footnotes: lines under the table.
        caption: how the numbers were made; stands under the table.
        heading: what is true of all rows; stands above the table.
        keys: how many of the first columns name the row.
        spare: titles of columns that a narrow terminal may leave out.
        behind: titles of columns that say what they are, and may stand behind the number before them without a title.
        settled: whether what is the same in all rows stands above them already, and all else is to stay in the rows.
        styles: texts of cells that have a colour of their own on a terminal, each with its parameters (ECMA-48, SGR).
        words: by the title of a column, what stands before its cell where it stands above the rows: ``throughput in``;
            empty for cells that say by themselves what they are. All others have their title there.
        links: for each row, by the number in a cell, the address that it leads to on a terminal; empty for none.
    """

    titles: list[str]
    rows: list[list[str]]
    right: list[bool]
    footnotes: list[str] = field(default_factory=list)
    caption: str = ""
    heading: str = ""
    keys: int = 1
    spare: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    settled: bool = False
    styles: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    links: Sequence[Mapping[str, str]] = ()

    def said(self, cells: Sequence[str], places: Iterable[int]) -> str:
        """Cells of a row in words, as they stand above rows: ``MXNet fp16, batch/device 256``."""
        titled = [(self.words.get(self.titles[place], self.titles[place]), cells[place]) for place in places]
        plain = " ".join(cell for word, cell in titled if cell and not word)
        return ", ".join(filter(None, [plain, *(f"{word} {cell}" for word, cell in titled if cell and word)]))

    def without(self, places: Iterable[int]) -> TextTable:
        """The table without some columns."""
        gone = set(places)
        kept = [place for place in range(len(self.titles)) if place not in gone]
        return replace(
            self,
            titles=[self.titles[place] for place in kept],
            rows=[[row[place] for place in kept] for row in self.rows],
            right=[self.right[place] for place in kept],
            keys=sum(1 for place in kept if place < self.keys),
        )

    def joined(self) -> TextTable:
        """The table with the cells of the columns in ``behind`` at the end of the numbers before them."""
        before = {
            place: max((number for number in range(place) if self.right[number]), default=-1)
            for place, title in enumerate(self.titles)
            if title in self.behind
        }
        rows = [list(row) for row in self.rows]
        for row in rows:
            for place, number in before.items():
                own, warning = _warned(row[number])
                row[number] = " ".join(filter(None, (own, row[place]))) + warning
        return replace(self, rows=rows).without(before)

    def lifted(self, places: Iterable[int]) -> TextTable:
        """The table with these columns, which are the same in all rows, in its heading."""
        constant = list(places)
        heading = ", ".join(filter(None, [self.heading, self.said(self.rows[0], constant)]))
        return replace(self.without(constant), heading=heading)


def number(value: float | None) -> str:
    """A rate as shown to people: two decimals, or four digits when it is small; empty for none."""
    if value is None:
        return ""
    return f"{value:.2f}" if abs(value) >= 10 or value == 0 else f"{value:.4g}"


def marked(text: str, mark: Note | None, other: str = "", either: str = EITHER) -> str:
    """A number's cell with the warning that it bears.

    Args:
        other: the other number as the cell shows numbers; empty where it has none of its own.
        either: the word between two numbers of which the log does not say which is meant.

    >>> marked("6192.00", Note("", "number", 0.765, 10929.0, "without line 71"), "10929.00")
    '6192.00 ⚠ 10929.00 without line 71'
    >>> marked("6192.00", Note("", "number", 0.765, 10929.0, "without line 71", undecided=True), "10929.00")
    '6192.00 ⚠ or 10929.00 without line 71'
    """
    if mark is None or not text:
        return text
    behind = f"{other} {mark.label}".strip() if other and other != text else ""
    return " ".join(filter(None, (text, MARK, either if behind and mark.is_open else "", behind)))


def interval(low: float | None, high: float | None, level: float | None) -> str:
    """The ends of an interval and its level; empty for none."""
    if low is None or high is None or level is None:
        return ""
    return f"[{number(low)}, {number(high)}] {100 * level:.4g}%"


def counted(count: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def two_digits(value: float) -> str:
    """The first two digits of a number, or all that stand before its point: never with an exponent where it is large.

    >>> two_digits(3.04), two_digits(0.0123), two_digits(117.2)
    ('3', '0.012', '117')
    """
    return f"{value:.0f}" if abs(value) >= 99.5 else f"{value:.2g}"


def span(seconds: float) -> str:
    """A span of time in the unit that suits it.

    >>> span(4.2), span(720), span(9400), span(259200)
    ('4.2 s', '12 min', '2.6 h', '3 days')
    """
    amount, unit = seconds, "s"
    for size, larger, least in ((60, "min", 90), (3600, "h", 5400), (86_400, "days", 172_800)):
        if seconds >= least:
            amount, unit = seconds / size, larger
    return f"{two_digits(amount)} {unit}"


def of_config(options: Options) -> str:
    """The facts that a ``perflog.toml`` sets, as a part of a caption: a reader of the table does not see the file."""
    facts = [f"{key}={value}"[:_LONGEST_FACT] for key, value in options.config_set.items()]
    return f"; perflog.toml sets {some_of(facts, _MOST_FACTS)}" if facts else ""


def caption(extraction: Extraction, cases: Iterable[Case] | None = None) -> str:
    """How the numbers were made, and on which data where that is one: stands under every table.

    Args:
        cases: those that are shown; all, if not given.
    """
    options = extraction.options
    text = f"{options.aggregate} over n runs; estimator {options.estimator}; {options.window}"
    if options.without_slow:
        text += " without slow records"
    if options.sampled:
        text += "; single steps as a sample"
    if options.said:
        text += "; lines read as --as says"
    if options.convention:
        text += f"; convention {options.convention}"
    if options.as_printed:
        text += " (values as printed)"
    text += of_config(options)
    data = data_of(extraction.cases if cases is None else cases)
    if data:
        text += f"; data {data}"
    return f"{text}; {counted(len(extraction.runs), 'run')}, {counted(len(extraction.skipped), 'file')} skipped."


# ----------------------------------------------------------------------------------------------------
# Tables drawn.

#: Cells that stand out on a terminal, each with the parameters of its colour (ECMA-48, SGR).
_STYLES = {"no value": "1;31"}
_HEADING, _WARNING = "1", "33"
#: What may stand behind a number: its interval, its warning.
_BEHIND = re.compile(f" (?:±|{MARK})")
#: Blanks between two columns, where there is room and where there is not.
_GAPS = (3, 2)
#: A note that rows bear the number of: the number, and what it says.
NUMBERED = re.compile(r"(\d+)\. (.*)", re.DOTALL)


def to_markdown(table: TextTable) -> str:
    """A table as Markdown. What comes from logs and paths is escaped."""
    rows = [[escaped(cell) for cell in row] for row in table.rows]
    text = pipe_table([escaped(title) for title in table.titles], rows, table.right)
    above = [escaped(table.heading), ""] if table.heading else []
    return "\n".join([*above, text, "", escaped(table.caption), *_paragraphs(map(escaped, table.footnotes))]) + "\n"


def pipe_table(titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """A table in Markdown's form, of texts that are escaped where they must be."""
    from tabulate import tabulate

    align = ["right" if is_right else "left" for is_right in right] if rows else None
    return tabulate(rows, headers=titles, tablefmt="pipe", colalign=align, disable_numparse=True)


def _paragraphs(notes: Iterable[str]) -> list[str]:
    """Numbered notes as a list, each other one apart: a line right below a list would be a part of its last item."""
    lines: list[str] = []
    in_list = False
    for note in notes:
        numbered = NUMBERED.match(note) is not None
        lines += [note] if numbered and in_list else ["", note]
        in_list = numbered
    return lines


def to_csv(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows of any values as CSV: text of logs and paths is no formula of a spreadsheet."""
    import csv
    import io

    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([csv_cell(cell) for cell in row] for row in [titles, *rows])
    return out.getvalue()


def to_terminal(table: TextTable, width: int | None, colour: bool) -> str:
    """A table for people; ``width`` None means as wide as its content."""
    texts = _visible(table)
    form = _form_of(texts, width)
    if form is None:
        whole, lines = texts, _blocks(texts, width or 0, colour)
    else:
        whole, lines = form.table, form.drawn(width, colour)
    above = [_styled(line, _HEADING, colour) for line in _wrapped(whole.heading, width)] if whole.heading else []
    below = [line for text in (texts.caption, *texts.footnotes) if text for line in _wrapped(text, width)]
    return "\n".join(line.rstrip() for line in [*above, *(lines if table.rows else []), *below]) + "\n"


def to_people(tables: Iterable[TextTable], width: int | None, colour: bool) -> str:
    """Tables one after the other, a blank line between two; ``width`` None means as wide as their content."""
    return "\n".join(to_terminal(table, width, colour) for table in tables)


def size_of(table: TextTable, width: int | None) -> tuple[bool, int]:
    """What a table takes on a terminal: whether it has no room there and each row becomes a block; how many lines."""
    form = _form_of(_visible(table), width)
    return (True, 0) if form is None else (False, len(form.drawn(width, False)))


def _form_of(table: TextTable, width: int | None) -> _Form | None:
    """The first way to draw a table for which there is room; None where there is none."""
    return next((form for form in _narrower(table, width) if width is None or form.width <= width), None)


def _visible(table: TextTable) -> TextTable:
    """The table with nothing in its texts that acts on a terminal."""
    return replace(
        table,
        titles=[visible(title) for title in table.titles],
        rows=[[visible(cell) for cell in row] for row in table.rows],
        footnotes=[visible(note) for note in table.footnotes],
        caption=visible(table.caption),
        heading=visible(table.heading),
    )


@dataclass(frozen=True, slots=True)
class _Form:
    """A way to draw a table.

    Attributes:
        gap: blanks between two columns.
        below: whether the warnings of a row stand in a line below it.
        folded: the columns whose cells stand in a line above the rows that have them.
        told: the columns whose cells stand in the line below their row, for they are few.
    """

    table: TextTable
    gap: int
    below: bool = False
    folded: tuple[int, ...] = ()
    told: tuple[int, ...] = ()

    @property
    def drawn_table(self) -> TextTable:
        """The table that is drawn: without what stands in lines of its own."""
        table = self.table.without((*self.folded, *self.told))
        if not self.below:
            return table
        return replace(table, rows=[[_only_marked(cell) for cell in row] for row in table.rows])

    @property
    def width(self) -> int:
        """How many cells of a terminal the rows take."""
        widths = _widths(self.drawn_table)
        return sum(widths) + self.gap * (len(widths) - 1) + self.margin

    @property
    def margin(self) -> int:
        return 2 if self.folded else 0

    def drawn(self, width: int | None, colour: bool) -> list[str]:
        """The lines: headings, a rule, rows, and what stands above and below them."""
        table, margin = self.drawn_table, " " * self.margin
        titles, *rows = _lines(table, self.gap, colour)
        lines, before = [margin + titles, "─" * self.width], None
        for cells, row in zip(self.table.rows, rows, strict=True):
            label = self.table.said(cells, self.folded)
            if self.folded and label != before:
                unknown = " and ".join(self.table.titles[place] for place in self.folded) + " unknown"
                lines += [_styled(line, _HEADING, colour) for line in _wrapped(label or unknown, width)]
                before = label
            lines.append(margin + row)
            warned = self._warnings(cells) if self.below else ""
            if below := "; ".join(filter(None, (self.table.said(cells, self.told), warned))):
                style = _WARNING if warned else ""
                lines += [_styled(f"{margin}  {line}", style, colour) for line in _wrapped(below, (width or 0) - 4)]
        return lines

    def _warnings(self, cells: Sequence[str]) -> str:
        """The warnings of a row that say more than that there is one: ``⚠ throughput 492.45 without line 11``."""
        told, titles, of = [], self.table.titles, ""
        for place, (title, cell) in enumerate(zip(titles, cells, strict=True)):
            if place in self.told:
                continue  # with its warning
            if titles.count(title) == 1:
                of = title  # that of a number, behind which stands what is made of it, such as its speedup
            own, warning = _warned(cell)
            if rest := warning.removeprefix(f" {MARK}").strip():
                name = title if title == of else f"{of} {title}".strip()
                told.append(f"{name} {_parted(own)[0]} {rest}" if rest.startswith(f"{EITHER} ") else f"{name} {rest}")
        return f"{MARK} {', '.join(told)}" if told else ""


def _narrower(table: TextTable, width: int | None) -> Iterator[_Form]:
    """The ways to draw a table, each narrower than the one before; those with lines of their own shortest first."""
    yield from (_Form(table, gap) for gap in _GAPS)
    table = table.without(place for place in range(len(table.titles)) if not any(row[place] for row in table.rows))
    yield from (_Form(table, gap) for gap in _GAPS)
    if len(table.rows) > 1 and not table.settled:
        same = [place for place, cell in enumerate(table.rows[0]) if all(row[place] == cell for row in table.rows)]
        table = table.lifted(place for place in same if place > 0 and table.rows[0][place])
    yield from (_Form(table, gap) for gap in _GAPS)
    table = table.joined()
    yield from (_Form(table, _GAPS[-1], below) for below in (False, True))
    for title in table.spare:
        table = table.without(place for place, own in enumerate(table.titles) if own == title)
        yield from (_Form(table, _GAPS[-1], below) for below in (False, True))
    keys = range(min(table.keys, len(table.titles) - 1))
    widest = max(keys, key=_widths(table).__getitem__, default=0)
    ways = {tuple(sorted({*keys[:count], last})) for count in range(len(keys)) for last in (count, widest)}
    filled = [sum(map(bool, column)) for column in zip(*table.rows, strict=True)]
    by_fill = sorted(range(len(filled)), key=filled.__getitem__)
    sparse = [place for place in by_fill if 2 * filled[place] <= len(table.rows)]
    widths = _widths(_Form(table, _GAPS[-1], True).drawn_table)
    forms = []
    for way in ((), *sorted(ways)):
        for count in range(len(sparse) + 1):  # as few as will do: each takes lines
            told = tuple(sorted({*sparse[:count]} - {*way}))
            left = [own for place, own in enumerate(widths) if place not in way and place not in told]
            form = _Form(table, _GAPS[-1], True, way, told)
            if left and sum(left) + form.gap * (len(left) - 1) + form.margin <= (width or 0):
                forms.append(form)
                break
    yield from sorted(forms, key=lambda form: len(form.drawn(width, False)))


def _only_marked(cell: str) -> str:
    """A cell whose warning is the mark alone."""
    own, warning = _warned(cell)
    return f"{own} {MARK}" if warning else own


def _widths(table: TextTable) -> list[int]:
    """The width of each column, in cells: numbers stand below each other, intervals and warnings behind them."""
    widths = []
    for title, *column in zip(table.titles, *table.rows, strict=True):
        parts = [_parted(text) for text in column]
        own = max(map(_cells, (title, *(number for number, _ in parts))))
        widths.append(own + max((_cells(behind) for _, behind in parts), default=0))
    return widths


def _parted(text: str) -> tuple[str, str]:
    """(a cell's number, what stands behind it: its interval, its warning)."""
    found = _BEHIND.search(text)
    return (text[: found.start()], text[found.start() :]) if found else (text, "")


def _warned(text: str) -> tuple[str, str]:
    """(a cell without its warning, the warning)."""
    own, mark, rest = text.partition(f" {MARK}")
    return own, mark + rest


def _cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _lines(table: TextTable, gap: int, colour: bool) -> Iterator[str]:
    """The headings of a table, then its rows, a line each."""
    widths, styles = _widths(table), {**_STYLES, **table.styles}
    warned = [max((_cells(_parted(row[place])[1]) for row in table.rows), default=0) for place in range(len(widths))]

    def line(texts: Sequence[str], style: str = "", links: Mapping[str, str] = MappingProxyType({})) -> str:
        padded = []
        for text, width, right, behind in zip(texts, widths, table.right, warned, strict=True):
            own, rest = _parted(text)
            before, after = " " * (width - behind - _cells(own)), " " * (behind - _cells(rest))
            within, warning = _warned(rest)
            number = _linked(_styled(own, style or styles.get(text, ""), colour), links.get(own, ""), colour)
            shown = number + within + _styled(warning, _WARNING, colour)
            padded.append(f"{before}{shown}{after}" if right else f"{shown}{before}{after}")
        return (" " * gap).join(padded)

    yield line(table.titles, _HEADING)
    for row, links in zip(table.rows, table.links or [{}] * len(table.rows), strict=True):
        yield line(row, links=links)


def _blocks(table: TextTable, width: int, colour: bool) -> list[str]:
    """Each row as a block: what names it, then a line for each cell that says something."""
    lines: list[str] = []
    styles = {**_STYLES, **table.styles}
    for row in table.rows:
        named = [
            cell if place == 0 and table.keys == 1 else f"{title} {cell}"
            for place, (title, cell) in enumerate(zip(table.titles, row, strict=True))
            if place < table.keys and cell
        ]
        lines += [_styled(line, _HEADING, colour) for line in _wrapped(", ".join(named), width)]
        rest_of_row = [(title, cell) for title, cell in list(zip(table.titles, row, strict=True))[table.keys :] if cell]
        margin = max((_cells(title) for title, _ in rest_of_row), default=0) + 4
        for title, cell in rest_of_row:
            first, *rest = _wrapped(cell, max(1, width - margin))
            label = f"  {title}{' ' * (margin - 2 - _cells(title))}"
            lines.append(label + _styled(first, _WARNING if MARK in cell else styles.get(cell, ""), colour))
            lines += [" " * margin + text for text in rest]
        lines.append("")
    return lines


def _styled(text: str, style: str, colour: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if colour and style and text else text


def _linked(text: str, link: str, colour: bool) -> str:
    """A text that leads to an address on terminals that know links (OSC 8); others show it as it is."""
    return f"\x1b]8;;{link}\x1b\\{text}\x1b]8;;\x1b\\" if colour and link else text


#: What sets a colour or takes it away, and where a link begins and ends.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[!-~]*\x1b\\")
#: A word with the blanks before it; what stands in backquotes is to be copied, and is one word.
_WORD = re.compile(r"\s*(?:`[^`\n]*`[^\s`]*|\S+)")


def folded(text: str, width: int | None) -> str:
    """Text with its lines broken between words, none wider than ``width`` cells but for a longer word.

    What a line goes on with stands under its beginning, or two blanks farther where that is set in.

    >>> folded("error: at most 12.5 % of it\\n", 20)
    'error: at most 12.5\\n% of it\\n'
    """
    if width is None:
        return text
    return "\n".join(line if _seen(line) <= width else _folded(line, width) for line in text.split("\n"))


def _seen(text: str) -> int:
    """How many cells a text takes of which a part may be coloured."""
    return _cells(_COLOUR.sub("", text))


def _folded(line: str, width: int) -> str:
    margin = len(line) - len(line.lstrip())
    hang = " " * (margin + 2 if margin else 0)
    lines = [""]
    for word in _WORD.findall(line):
        if lines[-1].strip() and _seen(lines[-1] + word) > width:
            lines.append(hang + word.lstrip())
        else:
            lines[-1] += word
    return "\n".join(lines)


def _wrapped(text: str, width: int | None) -> list[str]:
    """A text in lines of at most ``width`` cells, broken between words alone; a longer word has its own line.

    What stands in backquotes is to be copied, and is one word where it is no longer than a line.
    """
    if width is None or _cells(text) <= width:
        return [text]
    lines: list[str] = []
    for word in _words(text, width):
        if lines and _cells(lines[-1]) + 1 + _cells(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]


def _words(text: str, width: int) -> list[str]:
    """The words of a text, in which what is to be copied is one where it has room in a line."""
    whole = [word.strip() for word in _WORD.findall(text)]
    return [part for word in whole for part in ([word] if _cells(word) <= width else word.split())]
