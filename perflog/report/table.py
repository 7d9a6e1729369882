"""From a grid and a style to the texts of a table, and to Markdown.

Templates run in Jinja2's sandbox; text from logs and paths is escaped, for Markdown unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from perflog.errors import UsageError
from perflog.export.columns import caption, escaped
from perflog.extraction import Extraction
from perflog.formats.units import kind
from perflog.formats.vocabulary import Scalar
from perflog.report.grid import Grid, Item
from perflog.report.style import Style, formatted
from perflog.resources import folder

LANGUAGES = ("en", "zh")
#: What a cell prints for runs that all ran out of memory, as published tables do.
OOM = "OOM"


@dataclass(slots=True)
class Table:
    """Texts of a table.

    ``keys`` is how many of a row's first cells name the row; ``made``: how the numbers were made and n;
    ``notes``: every doubt, as plain text.
    """

    header: list[str]
    rows: list[list[str]]
    keys: int
    made: str = ""
    notes: list[str] = field(default_factory=list)


def table(grid: Grid, style: Style, language: str, extraction: Extraction, names: Mapping[str, str]) -> Table:
    """The texts of all cells, escaped for Markdown, and the notes.

    ``names``: texts (Markdown, the user's own) to show instead of fields' values.
    """
    projection = grid.projection
    words = TableWords(style, language, grid, names)
    header = [style.row_title] if style.row else [words.title(f.name) for f in projection.rows]
    for column in grid.columns:
        named = dict(zip((f.name for f in projection.columns), column, strict=True))
        for value in projection.values:
            header.append(words.column(named, value, len(projection.values) > 1))
    rows: list[list[str]] = []
    for row in grid.rows:
        named = dict(zip((f.name for f in projection.rows), row, strict=True))
        first = [words.rendered(style.row, named)] if style.row else [words.shown(v) for v in row]
        above = grid.rows[len(rows) - 1] if rows else None
        cells = ((grid.cells.get((row, c)), v, grid.cells.get((above, c)) if above is not None else None) for c in grid.columns for v in projection.values)
        rows.append(first + [words.cell(*cell) for cell in cells])
    return Table(header, rows, 1 if style.row else len(projection.rows), how(grid, extraction), doubts(grid))


def markdown(made: Table, style: Style, notes: bool = True) -> str:
    """The table in its style's layout, and under it the notes."""
    if style.layout == "tabulate":
        from tabulate import tabulate

        align = ["left"] * made.keys + ["right"] * (len(made.header) - made.keys)
        text = tabulate(made.rows, headers=made.header, tablefmt="pipe", colalign=align, disable_numparse=True) + "\n"
    else:
        widths = [max(len(row[at]) for row in (made.header, *made.rows)) for at in range(len(made.header))]
        text = _environment().get_template(style.layout).render(header=made.header, rows=made.rows, widths=widths, style=style)
    lines = [escaped(made.made), *(f"{at}. {escaped(note)}" for at, note in enumerate(made.notes, 1))]
    return text + ("\n" + "\n".join(f"{line}  " for line in lines).rstrip() + "\n" if notes else "")


def how(grid: Grid, extraction: Extraction) -> str:
    """How a table's numbers were made, from how many runs, and their unit."""
    items = list(grid.cells.values())
    counts = sorted({item.numbers[v].n for item in items for v in grid.projection.values if v in item.numbers and item.numbers[v].n})
    n = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}" if counts else "n = 0"
    units = sorted({item.numbers[v].unit for item in items for v in grid.projection.values if v == "throughput" and v in item.numbers} - {""})
    return f"{caption(extraction).rpartition(';')[0]}; {n}" + (f"; {', '.join(units)}" if units else "") + "."


def doubts(grid: Grid) -> list[str]:
    """Everything to be known about a table's numbers, each once: what varies unshown, notes, reasons."""
    return list(dict.fromkeys((*grid.notes, *(note for item in grid.cells.values() for note in item.notes), *_reasons(grid))))


def _reasons(grid: Grid) -> list[str]:
    numbers = (item.numbers.get(v) for item in grid.cells.values() for v in grid.projection.values)
    return [number.reason for number in numbers if number is not None and number.value is None and number.reason]


class Heading(str):
    """Text of a style or of the user, not of a log: it is not escaped."""

    __slots__ = ()


class TableWords:
    """Headings and cells of one table; ``escape`` makes text of logs and paths safe where the texts go."""

    def __init__(self, style: Style, language: str, grid: Grid, names: Mapping[str, str], escape: Callable[[object], str] = escaped) -> None:
        self.style = style
        self.names = names
        self.escape = escape
        self.titles = style.titles.get(language) or style.titles.get("en") or {}
        self.units: dict[str, str] = {}
        for name in grid.projection.values:
            found = sorted({n.unit for i in grid.cells.values() if (n := i.numbers.get(name)) and n.unit and n.value is not None})
            if len({kind(unit) for unit in found}) > 1:
                raise UsageError(f"{name} is in {' and in '.join(found)}: one table cannot hold both; name fewer logs, or choose with --where")
            self.units[name] = style.units.get(name) or (found[0] if len(found) == 1 else "samples/s" if found else "")

    def title(self, name: str) -> str:
        unit = self.units.get(name, "")
        text = self.titles.get(name)
        if text is None:
            return f"{name} ({self.escape(unit)})" if unit else name
        return self.rendered(text, {"unit": Heading(unit)})

    def column(self, named: Mapping[str, Scalar | None], value: str, several: bool) -> str:
        if not named:
            return self.title(value)
        if "value" in self.style.column:
            return self.rendered(self.style.column, {**named, "value": Heading(self.title(value))})
        text = self.rendered(self.style.column, named) if self.style.column else " ".join(self.worded(k, v) for k, v in named.items())
        return f"{text} {self.title(value)}" if several else text

    def cell(self, item: Item | None, value: str, above: Item | None = None) -> str:
        if item is not None and value in item.fields and value not in item.numbers:
            return self.shown(item.fields[value])
        number = item.numbers.get(value) if item is not None else None
        if item is None or number is None or number.value is None:
            return OOM if number is not None and number.reason.startswith(OOM) else self.style.missing
        text = formatted(number, self.style.digits.get(value, ""), self.style.units.get(value, ""), self.style.missing)
        if not self.style.cell:
            return text
        before = above.numbers.get(value) if above is not None else None
        change = Heading(f"{100 * (number.value / before.value - 1):+.1f}%") if before is not None and before.value else None
        unit = Heading(self.style.units.get(value) or number.unit)
        return self.rendered(self.style.cell, {**item.fields, "text": Heading(text), "value": value, "unit": unit, "change": change})

    def worded(self, name: str, value: Scalar | None) -> str:
        """A value that says what it is without a heading of its own."""
        if not isinstance(value, int) or str(value) in self.names:
            return self.shown(value)
        return f"bs{value}" if name == "batch_size" else f"{value} {name.removesuffix('s') if value == 1 else name}"

    def shown(self, value: Scalar | None) -> str:
        return self.style.missing if value is None else self.names.get(str(value)) or self.escape(value)

    def rendered(self, template: str, named: Mapping[str, Scalar | None]) -> str:
        from jinja2 import TemplateError

        try:
            return str(_template(template).render({k: self._value(v) for k, v in named.items() if v is not None}))
        except TemplateError as error:
            raise UsageError(f"style {self.style.name}: {template!r}: {error}") from None

    def _value(self, value: Scalar) -> Scalar:
        if isinstance(value, Heading):
            return value
        return self.names.get(str(value)) or (self.escape(value) if isinstance(value, str) else value)


@cache
def _template(text: str) -> Any:
    return _environment().from_string(text)


@cache
def _environment() -> Any:
    from jinja2 import FileSystemLoader
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(
        loader=FileSystemLoader(folder("templates") / "layouts"), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False
    )
