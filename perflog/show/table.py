"""How a table looks: a style as data (``templates/NAME.toml``, ``docs/tables.md``), and a grid as texts and Markdown.

Texts of styles are a small part of Jinja2 (``texts.py``). Text from logs and paths is escaped, for Markdown unless
requested otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from perflog.border import keep_inside
from perflog.cases.case import said_of_all
from perflog.errors import UsageError
from perflog.escaping import markdown as escaped
from perflog.extraction import Extraction
from perflog.formats.printed import kind
from perflog.formats.toml import convert, read_toml
from perflog.formats.vocabulary import Scalar
from perflog.notes import merged, texts
from perflog.resources import folder
from perflog.show.case_table import remarks
from perflog.show.grid import Grid, Item, Key, Number
from perflog.show.text import TextTable, caption, counted, marked, pipe_table
from perflog.show.text import number as plain
from perflog.show.words import shown, told
from perflog.spelling import did_you_mean

#: A style's name is a file's, never a path.
_NAME = re.compile(r"[\w.-]+")
#: So many styles extend one another at most.
DEEPEST = 8
_FORM = re.compile(r"%(?:\.[0-9]{1,2})?[fge](?: (?:trim|one|nobase|comma))*")
_Words = Annotated[dict[str, str], Meta(description='a table of texts, such as { throughput = "samples/s" }')]

#: (a number's unit, the style's): the factor between them.
_SCALES = {
    ("fraction", "%"): 100.0,
    ("", "%"): 100.0,
    ("s", "ms"): 1000.0,
    ("GiB", "MiB"): 1024.0,
    ("MiB", "GiB"): 1 / 1024,
    ("MB", "MiB"): 1e6 / 2**20,
    ("MB", "GiB"): 1e6 / 2**30,
}


class StyleFile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What may stand in a style's file.

    Attributes:
        title: what the style is, in words.
        extends: the style whose data these stand over.
        layout: ``tabulate``, or a Jinja2 file in ``templates/layouts``.
        missing: what a cell without a number prints.
        row, row_title: a Jinja2 text for all row fields in one cell, and its heading; empty: a column per field.
        column: a Jinja2 text for the heading of a column from its fields, and ``value``, the value's own heading.
        cell: a Jinja2 text around ``text``, the formatted number.
        digits: per value a printf form, with ``trim`` (no trailing zeros), ``one`` (exactly 1 is printed 1),
            ``nobase`` (exactly 1, a baseline's speedup, is printed as missing) or ``comma`` (thousands).
        titles: headings of fields and values, by language.
        units: per value the unit it is converted to (``%`` for fractions, ``ms`` for seconds).
    """

    title: str = ""
    extends: Annotated[str, Meta(min_length=1, description="the name of a style")] | None = None
    layout: str = "tabulate"
    missing: str = "-"
    row: str = ""
    row_title: str = ""
    column: str = ""
    cell: str = ""
    header_end: str = " |"
    row_end: str = " |"
    digits: _Words = {}
    titles: dict[str, _Words] = {}
    units: _Words = {}


class Style(StyleFile, frozen=True, kw_only=True):
    """One table style, with those that it extends."""

    name: str


def load_style(name: str, folders: Sequence[str] = ()) -> Style:
    """Read a style by name; the user's folders come before perflog's own.

    Raises:
        UsageError: for a name or a file that is not right.
    """
    for place in folders:
        keep_inside(place, "--templates")
    data = _merged(name, [*map(Path, folders), folder("templates")])
    for form in data.get("digits", {}).values():
        digits_form(form, f"style {name}: digits {form!r}")
    return Style(**data, name=name)


def styles(folders: Sequence[str] = ()) -> list[str]:
    """The names there are."""
    return sorted({file.stem for place in [*map(Path, folders), folder("templates")] for file in place.glob("*.toml")})


def digits_form(form: str, where: str) -> str:
    """A checked printf form such as ``%.2f`` or ``%.2f trim``. Raises UsageError for others."""
    if not _FORM.fullmatch(form):
        raise UsageError(f"{where}: expected a form such as %.2f, %.6g, '%.2f trim', '%.2f one' or '%.2f nobase'")
    return form


def _merged(name: str, places: Sequence[Path], below: tuple[str, ...] = ()) -> dict[str, Any]:
    """A style's data over those of the style that it extends; ``below`` are the styles that extend this one."""
    file = next((place / f"{name}.toml" for place in places if (place / f"{name}.toml").is_file()), None)
    if file is None or not _NAME.fullmatch(name):
        known = styles([str(p) for p in places])
        raise UsageError(f"--style {name!r}: there are {', '.join(known)}{did_you_mean(name, known)}")
    if len(below) >= DEEPEST:
        raise UsageError(f"{file}: expected at most {DEEPEST} styles that extend one another, found more")
    if name in below:
        raise UsageError(
            f"{file}: extends = {below[-1]!r}: a style cannot extend itself ({' → '.join((*below, name))})"
        )
    data = read_toml(file, UsageError)
    extends = convert(data, StyleFile, str(file), UsageError).extends
    base = _merged(extends, places, (*below, name)) if extends is not None else {}
    return _over(base, data)


def _over(base: dict[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    return {**base, **{k: _over(base.get(k, {}), v) if isinstance(v, dict) else v for k, v in data.items()}}


def scale_to(unit: str, wanted: str) -> float:
    """The factor from one unit to another; 1 where there is none."""
    return _SCALES.get((unit, wanted), 1.0)


def formatted(number: Number, form: str, unit: str, missing: str = "") -> str:
    """A number as text: by ``form``, else with the digits its interval supports (two of the half-width)."""
    value = number.value
    assert value is not None
    scale = scale_to(number.unit, unit)
    value *= scale
    if not form:
        return _supported(value, number, scale)
    printf, _, flags = form.partition(" ")
    text = printf % value
    if "comma" in flags:
        whole, dot, rest = text.partition(".")
        text = f"{int(whole):,}{dot}{rest}"
    if value == 1 and "nobase" in flags:
        return missing
    if value == 1 and "one" in flags:
        return "1"
    return text.rstrip("0").rstrip(".") if "trim" in flags and "." in text and "e" not in text else text


def _supported(value: float, number: Number, scale: float) -> str:
    if number.low is None or number.high is None or number.high <= number.low:
        return plain(value)
    half = (number.high - number.low) / 2 * scale
    decimals = 1 - math.floor(math.log10(half))
    return f"{value:.{max(0, decimals)}f}"


# ----------------------------------------------------------------------------------------------------
# The texts of a table.

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

    @property
    def right(self) -> list[bool]:
        """For every column, whether its cells stand to the right."""
        return [place >= self.keys for place in range(len(self.header))]


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
        header += [words.column(named, value, len(projection.values) > 1) for value in projection.values]
    rows: list[list[str]] = []
    above: Key | None = None
    for row in grid.rows:
        named = dict(zip((f.name for f in projection.rows), row, strict=True))
        cells = [words.rendered(style.row, named)] if style.row else [words.shown(v) for v in row]
        for column in grid.columns:
            before = grid.cells.get((above, column)) if above is not None else None
            cells += [words.cell(grid.cells.get((row, column)), value, before) for value in projection.values]
        rows.append(cells)
        above = row
    keys, notes = 1 if style.row else len(projection.rows), doubts(grid, every)
    if every and "low" in style.cell and {"speedup", "efficiency"} & {*projection.values}:
        notes += dict.fromkeys(item.case.no_interval for item in grid.cells.values() if item.case.no_interval)
    made, below = told(how(grid, extraction), notes, language)
    less = [[note for note in item.notes if not note.is_needed and not note.is_mark] for item in grid.cells.values()]
    more = "" if every or not any(less) else shown(remarks(sum(map(bool, less)), "cell"), language)
    return ReportTable(header, rows, keys, made, merged(below, TO[language]), more)


def text_table(table: ReportTable, notes: bool) -> TextTable:
    """A table whose texts are not escaped, as other formats take it; ``notes``: with what stands under it."""
    doubts = [f"{mark}. {note}" for mark, note in enumerate(table.notes, 1)]
    below = [*doubts, *filter(None, [table.more])]
    return TextTable(table.header, table.rows, table.right, below if notes else [], table.made if notes else "")


def markdown(table: ReportTable, style: Style, notes: bool = True) -> str:
    """The table in its style's layout, and under it the notes."""
    if style.layout == "tabulate":
        text = pipe_table(table.header, table.rows, table.right) + "\n"
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
    numbers = (item.numbers.get(value) for item in grid.cells.values() for value in grid.projection.values)
    reasons = [number.reason for number in numbers if number is not None and number.value is None and number.reason]
    of_all = said_of_all(item.case for item in grid.cells.values()) if every else []
    return list(dict.fromkeys((*grid.notes, *notes, *reasons, *of_all)))


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
        from perflog.show.style_texts import StyleTexts  # brings Jinja2

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
        if self.style.cell:
            before = above.numbers.get(value) if above is not None else None
            change = f"{100 * (number.value / before.value - 1):+.1f}%" if before is not None and before.value else None
            made = {"text": text, "unit": converted or number.unit, "change": change}
            made |= _interval(number, digits, converted)
            headings = {name: None if part is None else Heading(part) for name, part in made.items()}
            text = self.rendered(self.style.cell, {**item.fields, "value": value, **headings})
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


def _interval(number: Number, digits: str, converted: str) -> dict[str, str | None]:
    """The ends of a number's interval, in the form of the number itself, and its level; None for no interval."""
    if number.low is None or number.high is None or number.level is None:
        return {"low": None, "high": None, "level": None}
    low, high = (formatted(replace(number, value=end), digits, converted) for end in (number.low, number.high))
    return {"low": low, "high": high, "level": f"{100 * number.level:.4g}%"}


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
