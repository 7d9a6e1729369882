"""From a grid and a style to the texts of a table, and to Markdown.

Texts of styles are a small part of Jinja2 (``texts.py``). Text from logs and paths is escaped, for Markdown unless told
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from perflog.cases.case import said_of_all
from perflog.errors import UsageError
from perflog.escaping import markdown as escaped
from perflog.export.case_table import remarks
from perflog.export.columns import TextTable, caption, counted, marked
from perflog.export.translation import shown, told
from perflog.extraction import Extraction
from perflog.formats.printed import kind
from perflog.formats.vocabulary import Scalar
from perflog.notes import merged, texts
from perflog.report.grid import Grid, Item, Key, Number
from perflog.report.style import Style, formatted
from perflog.resources import folder

LANGUAGES = ("en", "zh")
#: What a cell prints for runs that all ran out of memory, as published tables do.
OOM = "OOM"
#: The heading of a column whose cases say none of its fields.
UNKNOWN = {"en": "unknown", "zh": "未知"}
#: Words between two numbers: of a range, and of which either may be meant.
TO, _OR = {"en": " to ", "zh": " 至 "}, {"en": "or", "zh": "或"}
#: Counts in headings, in the languages other than English.
_COUNTED: Mapping[str, Mapping[str, str]] = {
    "zh": {"devices": "{}卡", "nodes": "{}节点", "threads": "{}线程", "devices_per_node": "单节点{}卡"},
}


@dataclass(slots=True)
class ReportTable:
    """Texts of a table.

    ``keys`` is how many of a row's first cells name the row; ``made``: how the numbers were made and n;
    ``notes``: what is said of them, as plain text; ``more``: how many cells bear notes that are not given.
    """

    header: list[str]
    rows: list[list[str]]
    keys: int
    made: str = ""
    notes: list[str] = field(default_factory=list)
    more: str = ""


def report_table(
    grid: Grid,
    style: Style,
    language: str,
    extraction: Extraction,
    names: Mapping[str, str],
    escape: Callable[[object], str] = escaped,
    every: bool | None = None,
) -> ReportTable:
    """The texts of all cells, and the notes.

    Args:
        every: give every note, not those alone without which the table would mislead.
        names: texts (Markdown, the user's own) to show instead of fields' values.
        escape: makes texts of logs and paths safe where the table goes; Markdown, if not told.
    """
    projection = grid.projection
    words = TableWords(style, language, grid, names, escape)
    header = [style.row_title] if style.row else [words.title(f.name) for f in projection.rows]
    for column in grid.columns:
        named = dict(zip((f.name for f in projection.columns), column, strict=True))
        for value in projection.values:
            header.append(words.column(named, value, len(projection.values) > 1))
    rows: list[list[str]] = []
    above: Key | None = None
    for row in grid.rows:
        named = dict(zip((f.name for f in projection.rows), row, strict=True))
        first = [words.rendered(style.row, named)] if style.row else [words.shown(v) for v in row]
        rows.append(first + _row_cells(grid, row, above, words))
        above = row
    keys, notes = 1 if style.row else len(projection.rows), doubts(grid, every)
    notes += _missing_intervals(grid, style) if every else []
    made, below = told(how(grid, extraction), notes, language)
    return ReportTable(header, rows, keys, made, merged(below, TO[language]), more_remarks(grid, every, language))


def _row_cells(grid: Grid, row: Key, above: Key | None, words: TableWords) -> list[str]:
    """The texts of a row's cells; a style may show the change from the row above."""
    texts = []
    for column in grid.columns:
        item = grid.cells.get((row, column))
        before = grid.cells.get((above, column)) if above is not None else None
        texts += [words.cell(item, value, before) for value in grid.projection.values]
    return texts


def text_table(table: ReportTable, notes: bool) -> TextTable:
    """A table whose texts are not escaped, as other formats take it; ``notes``: with what stands under it."""
    right = [False] * table.keys + [True] * (len(table.header) - table.keys)
    doubts = [f"{mark}. {note}" for mark, note in enumerate(table.notes, 1)]
    below = [*doubts, *filter(None, [table.more])]
    return TextTable(table.header, table.rows, right, below if notes else [], table.made if notes else "")


def markdown(table: ReportTable, style: Style, notes: bool = True) -> str:
    """The table in its style's layout, and under it the notes."""
    if style.layout == "tabulate":
        from tabulate import tabulate

        align = ["left"] * table.keys + ["right"] * (len(table.header) - table.keys)
        text = tabulate(table.rows, headers=table.header, tablefmt="pipe", colalign=align, disable_numparse=True) + "\n"
    else:
        widths = [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]
        text = _layout(style.layout).render(header=table.header, rows=table.rows, widths=widths, style=style)
    lines = [escaped(table.made), *filter(None, [escaped(table.more)])]
    lines += [f"{mark}. {escaped(note)}" for mark, note in enumerate(table.notes, 1)]
    return text + ("\n" + "\n".join(f"{line}  " for line in lines).rstrip() + "\n" if notes else "")


def how(grid: Grid, extraction: Extraction) -> str:
    """How a table's numbers were made, from how many runs, and their unit."""
    items = list(grid.cells.values())
    made = caption(extraction, (item.case for item in items)).rpartition(";")[0]
    if extraction.parts:
        made += f"; from {counted(extraction.parts, 'part')}, whose logs were not read here"
    shown = [(v, item.numbers[v]) for item in items for v in grid.projection.values if v in item.numbers]
    counts = sorted({number.n for _, number in shown if number.n})
    n = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}" if counts else "n = 0"
    units = sorted({number.unit for v, number in shown if v == "throughput"} - {""})
    return f"{made}; {n}" + (f"; {', '.join(units)}" if units else "") + "."


def doubts(grid: Grid, every: bool | None = True) -> list[str]:
    """What is to be known about a table's numbers, each once: what varies unshown, notes, reasons.

    Args:
        every: give every note, not those alone without which the table would mislead.
    """
    notes = texts(note for item in grid.cells.values() for note in item.notes if every or note.is_needed)
    of_all = said_of_all(item.case for item in grid.cells.values()) if every else []
    return list(dict.fromkeys((*grid.notes, *notes, *_reasons(grid), *of_all)))


def more_remarks(grid: Grid, every: bool | None, language: str) -> str:
    """The line that says how many cells bear notes that are not given; empty where all are."""
    more = sum(any(not note.is_needed and not note.is_mark for note in item.notes) for item in grid.cells.values())
    return "" if every or not more else shown(remarks(more, "cell"), language)


def _missing_intervals(grid: Grid, style: Style) -> list[str]:
    """Why speedups have no interval, for a style that shows intervals."""
    if "low" not in style.cell or not {"speedup", "efficiency"} & {*grid.projection.values}:
        return []
    return list(dict.fromkeys(item.case.no_interval for item in grid.cells.values() if item.case.no_interval))


def _reasons(grid: Grid) -> list[str]:
    numbers = (item.numbers.get(v) for item in grid.cells.values() for v in grid.projection.values)
    return [number.reason for number in numbers if number is not None and number.value is None and number.reason]


class Heading(str):
    """Text of a style or of the user, not of a log: it is not escaped."""

    __slots__ = ()


class TableWords:
    """Headings and cells of one table; ``escape`` makes text of logs and paths safe where the texts go."""

    def __init__(
        self,
        style: Style,
        language: str,
        grid: Grid,
        names: Mapping[str, str],
        escape: Callable[[object], str] = escaped,
    ) -> None:
        self.style, self.language = style, language
        self.names = names
        self.escape = escape
        self.unknown, self.counted = UNKNOWN[language], _COUNTED.get(language, {})
        self.titles = style.titles.get(language) or style.titles.get("en") or {}
        self.units = {name: _unit(name, grid, style) for name in grid.projection.values}
        from perflog.report.texts import StyleTexts  # brings Jinja2

        self._texts = StyleTexts(style.name)

    def title(self, name: str) -> str:
        """The heading of a field or value, with its unit."""
        unit = self.units.get(name, "")
        text = self.titles.get(name)
        if text is None:
            return f"{name} ({self.escape(unit)})" if unit else name
        return self.rendered(text, {"unit": Heading(unit)})

    def column(self, named: Mapping[str, Scalar | None], value: str, several: bool) -> str:
        """The heading of a column: its fields' values, and the value where a column holds ``several``."""
        if not named:
            return self.title(value)
        if "value" in self.style.column:
            return self.rendered(self.style.column, {**named, "value": Heading(self.title(value))})
        words = " ".join(self.worded(k, v) for k, v in named.items() if v is not None) or self.unknown
        text = self.rendered(self.style.column, named) if self.style.column else words
        return f"{text} {self.title(value)}" if several else text

    def cell(self, item: Item | None, value: str, above: Item | None = None) -> str:
        """The text of a cell; ``above``: the item in the row above it."""
        if item is not None and value in item.fields and value not in item.numbers:
            return self.shown(item.fields[value])
        number = item.numbers.get(value) if item is not None else None
        if item is None or number is None or number.value is None:
            return OOM if number is not None and number.reason.startswith(OOM) else self.style.missing
        digits, converted = self.style.digits.get(value, ""), self.converted(value, number)
        text = formatted(number, digits, converted, self.style.missing)
        other = ""
        if number.mark is not None and number.mark.other is not None:
            other = formatted(replace(number, value=number.mark.other), digits, converted)
        if not self.style.cell:
            return self.marked(text, number, other)
        before = above.numbers.get(value) if above is not None else None
        change = None
        if before is not None and before.value:
            change = Heading(f"{100 * (number.value / before.value - 1):+.1f}%")
        named = {"text": Heading(text), "value": value, "unit": Heading(converted or number.unit), "change": change}
        text = self.rendered(self.style.cell, {**item.fields, **named, **_interval(number, digits, converted)})
        return self.marked(text, number, other)

    def marked(self, text: str, number: Number, other: str) -> str:
        """A cell's text with the warning that its number bears."""
        if number.mark is None:
            return text
        mark = structs.replace(number.mark, label=self.escape(shown(number.mark.label, self.language)))
        return marked(text, mark, other, _OR[self.language])

    def converted(self, value: str, number: Number) -> str:
        """The unit that a number is converted to; empty where it keeps its own."""
        in_percent = number.unit == "fraction" and self.units.get(value) == "%"
        return self.style.units.get(value) or ("%" if in_percent else "")

    def worded(self, name: str, value: Scalar | None) -> str:
        """A value that says what it is without a heading of its own."""
        if not isinstance(value, int) or str(value) in self.names:
            return self.shown(value)
        if name in self.counted:
            return self.counted[name].format(value)
        return f"bs{value}" if name == "batch_size" else f"{value} {name.removesuffix('s') if value == 1 else name}"

    def shown(self, value: Scalar | None) -> str:
        """A field's value as the cell of a row's name."""
        return self.style.missing if value is None else self.names.get(str(value)) or self.escape(value)

    def rendered(self, template: str, named: Mapping[str, Scalar | None]) -> str:
        """A style's text with its fields. Raises UsageError for a text that is not right."""
        return self._texts.rendered(template, {k: self._value(v) for k, v in named.items() if v is not None})

    def _value(self, value: Scalar) -> Scalar:
        if isinstance(value, Heading):
            return value
        return self.names.get(str(value)) or (self.escape(value) if isinstance(value, str) else value)


def _interval(number: Number, digits: str, converted: str) -> dict[str, Heading | None]:
    """The ends of a number's interval, in the form of the number itself, and its level; None for no interval."""
    if number.low is None or number.high is None or number.level is None:
        return {"low": None, "high": None, "level": None}
    low, high = (formatted(replace(number, value=end), digits, converted) for end in (number.low, number.high))
    return {"low": Heading(low), "high": Heading(high), "level": Heading(f"{100 * number.level:.4g}%")}


def _unit(name: str, grid: Grid, style: Style) -> str:
    """The unit of a value's heading; fractions beside per cents are per cents.

    Raises:
        UsageError: where cells count different things.
    """
    numbers = [number for item in grid.cells.values() if (number := item.numbers.get(name)) is not None]
    units = sorted({number.unit for number in numbers if number.unit and number.value is not None})
    if units == ["%", "fraction"]:
        return "%"
    if len({kind(unit) for unit in units}) > 1:
        both = " and in ".join(units)
        raise UsageError(f"{name} is in {both}: one table cannot hold both; name fewer logs, or choose with --where")
    return style.units.get(name) or (units[0] if len(units) == 1 else "samples/s" if units else "")


def _layout(name: str) -> Any:
    """A layout's template. Raises UsageError for one that there is not."""
    from jinja2 import FileSystemLoader, TemplateNotFound
    from jinja2.sandbox import SandboxedEnvironment

    loader = FileSystemLoader(folder("templates") / "layouts")
    environment = SandboxedEnvironment(
        loader=loader, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False
    )
    try:
        return environment.get_template(name)
    except TemplateNotFound:
        known = ", ".join(["tabulate", *environment.list_templates()])
        raise UsageError(f"layout = {name!r}: expected one of {known}") from None
