"""The HTML report: one page that holds everything, and behind each number the runs and log lines it stands on.

The page's text comes from templates (``templates/reports/page.*``) with escaping always on: what logs and
paths say is text there and never markup. It loads nothing, and says so to the browser (its CSP).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from perflog._version import __version__
from perflog.export.columns import MARK, counted, two_digits
from perflog.export.translation import shown as said
from perflog.export.translation import told
from perflog.extraction import Extraction
from perflog.formats.vocabulary import Scalar
from perflog.notes import alike, merged
from perflog.notes import texts as texts_of
from perflog.plot.drawing import INK
from perflog.plot.picture import picture
from perflog.report.contents import Contents, SectionContents
from perflog.report.grid import Field, Grid, Item, Key, Number, Projection, fields
from perflog.report.grid import grid as placed
from perflog.report.markdown import environment, method, report_title, section_title, slug, words
from perflog.report.pages import BEGINNING, LANGUAGES
from perflog.report.pages import environment as page_environment
from perflog.report.provenance import Named, ReadLogs, case_details, named
from perflog.report.style import load_style, scale_to

if TYPE_CHECKING:
    from perflog.report.table import TableWords


# ----------------------------------------------------------------------------------------------------
# A picture as a part of an HTML page: its elements only, with names that no other picture on the page has.

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]*)\)")


def inline(svg: bytes, name: str, described: str) -> Any:
    """The ``svg`` element of a picture that matplotlib made, as markup that Jinja2 does not escape again.

    ``name`` begins every id; ``described`` is what those hear who do not see it. Metadata goes (it holds
    addresses), and so does the picture's style sheet, which would apply to the whole page; the page has its rule. Text
    and axes take the colour of the page's text.
    """
    from markupsafe import Markup

    ET.register_namespace("", _SVG)
    root = ET.fromstring(svg)
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    used = {reference[1:] for element in root.iter() if (reference := element.get(_LINK, "")).startswith("#")}
    values = [value for element in root.iter() for value in element.attrib.values()]
    used |= {name for value in values for name in _REFERENCE.findall(value)}
    for element in root.iter():
        if element.tail:
            element.tail = element.tail.strip() or None
        if element.text and element.tag != f"{{{_SVG}}}text":
            element.text = element.text.strip() or None
        _rename(element, name, used)
    width, height = (float(part) for part in root.attrib["viewBox"].split()[2:])
    root.attrib.pop("version", None)
    root.set("width", f"{width:g}")
    root.set("height", f"{height:g}")
    root.set("role", "img")
    root.set("aria-label", described)
    markup = ET.tostring(root, encoding="unicode").replace(" \n", " ").replace("\n", " ")
    return Markup(markup.replace(INK, "currentColor"))


def _rename(element: ET.Element, name: str, used: set[str]) -> None:
    own = element.attrib.pop("id", None)
    if own in used:
        element.set("id", f"{name}-{own}")
    for key, value in list(element.attrib.items()):
        if key == _LINK:
            del element.attrib[key]
            element.set("href", f"#{name}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, _REFERENCE.sub(rf"url(#{name}-\1)", value))


def page(read: ReadLogs, shown: Contents, commands: Sequence[str], base: Path, language: str) -> bytes:
    """The whole page, its links to logs relative to ``base``.

    Args:
        read: the cases that the page shows, with the lines that they stand on.
        shown: the page's sections.
        commands: the commands that make it.

    Raises:
        UsageError: when the cases of a section do not fit one table, or a picture cannot be made.
    """
    texts, extraction = words(language), read.extraction
    cases = named(extraction.cases)
    details = [case_details(place, cases, read, base, language) for place in range(len(cases.cases))]
    several = len(shown.sections) > 1
    text = (
        page_environment()
        .get_template("page.html.j2")
        .render(
            beginning=BEGINNING,
            version=__version__,
            language=LANGUAGES[language],
            title=report_title(shown, language),
            words=texts["page"],
            counts=_counts(extraction),
            environment=environment(extraction, language),
            method=method(extraction, language),
            commands=commands,
            sections=[
                _section(extraction, section, place if several else None, cases, language)
                for place, section in enumerate(shown.sections)
            ],
            several=several,
            undrawn=shown.undrawn,
            steps=_picture(extraction, "steps", "steps", language, read) if shown.steps and read.traces else None,
            cases=details,
            without=_without_value(cases, language),
            skipped=[(left_out.log.name, left_out.reason) for left_out in extraction.skipped],
        )
    )
    return str(text).encode("utf-8", "backslashreplace")  # a path may hold bytes that are no text


def _counts(extraction: Extraction) -> dict[str, int]:
    return {"cases": len(extraction.cases), "runs": len(extraction.runs), "skipped": len(extraction.skipped)}


def _without_value(cases: Named, language: str) -> list[tuple[str, str, str]]:
    """The cases without a value: address, name, and the reason."""
    return [
        (
            cases.id_of(case),
            name,
            said(case.throughput.reason, language) or "; ".join(said(note.text, language) for note in case.notes),
        )
        for case, name in zip(cases.cases, cases.names, strict=True)
        if case.throughput.value is None
    ]


def _picture(
    extraction: Extraction, kind: str, name: str, language: str, read: ReadLogs | None = None
) -> tuple[Any, str]:
    """A picture as markup whose ids begin with ``name``, and what it shows in words."""
    made = picture(extraction, kind, "svg", read.traces if read is not None else (), language=language)
    return inline(made.data, name, made.described), made.described


# ---------------------------------------------------------------- the tables


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a table.

    Attributes:
        text: the number; ``half_width``: that of its interval, in per cent of it; empty where there is none.
        warning: the number that it may be; ``is_open``: whether the logs do not say which of the two is meant.
        value: the name of the value, and ``sort`` what it is sorted by.
        case: its case's address; empty for a cell that holds none.
        marks: the notes it bears.
    """

    text: str
    half_width: str
    warning: str
    is_open: bool
    value: str
    sort: str
    case: str
    marks: tuple[int, ...]


def _section(
    extraction: Extraction, section: SectionContents, place: int | None, cases: Named, language: str
) -> dict[str, Any]:
    """A section for the template; ``place``: where it stands among several, None for the only one."""
    own = replace(extraction, cases=list(section.part.cases))
    name = "" if place is None else f"-{place}-{slug(' '.join([section.part.model, section.unit]))}"
    return {
        "name": name,
        "title": section_title(section, words(language)),
        "count": counted(len(own.cases), "case"),
        "table": _table(own, section, cases, language),
        "picture": _picture(own, "scaling", f"scaling{name}", language) if section.scaling else None,
    }


def _table(extraction: Extraction, section: SectionContents, cases: Named, language: str) -> dict[str, Any]:
    """A section's table: the same cells as in Markdown, each with its case."""
    from perflog.report.table import TO, TableWords, doubts, how

    rows, columns = fields(section.rows, "--rows"), fields(section.columns, "--columns")
    grid = placed(extraction, Projection(rows, columns, section.values))
    texts = TableWords(load_style("plain"), language, grid, {}, escape=str)
    groups = alike(doubts(grid))
    notes = {note: mark for mark, (members, _) in enumerate(groups, 1) for note in members}
    made, below = told(how(grid, extraction), list(notes), language)
    in_words = [merged([said(note, language) for note in members], TO[language])[0] for members, _ in groups]
    return {
        "key_columns": [
            (texts.title(row.name), all(isinstance(key[place], int | None) for key in grid.rows))
            for place, row in enumerate(rows)
        ],
        "groups": [_group(columns, key, texts) for key in grid.columns] if columns else [],
        "titles": [texts.title(value) for value in section.values],
        "columns": len(grid.columns),
        "rows": [
            {
                "key_cells": [("–" if v is None else texts.shown(v), "" if v is None else str(v)) for v in key],
                "cells": _cells(grid, key, texts, cases, notes),
            }
            for key in grid.rows
        ],
        "made": made,
        "notes": [*in_words, *below[len(notes) :]],
        "open": bool(notes) and notes.keys() <= {*doubts(grid, every=False)},
    }


def _group(columns: Sequence[Field], key: Key, texts: TableWords) -> str:
    """A heading over the columns of one key, of what is known of it."""
    known = [(column.name, value) for column, value in zip(columns, key, strict=True) if value is not None]
    return " · ".join(_named(name, value) for name, value in known) or texts.unknown


def _named(name: str, value: Scalar) -> str:
    return f"bs{value}" if name == "batch_size" else str(value)


def _cells(grid: Grid, row: Key, texts: TableWords, cases: Named, notes: Mapping[str, int]) -> list[Cell]:
    cells = []
    values = grid.projection.values
    for column in grid.columns:
        item = grid.cells.get((row, column))
        for value in values:
            number = item.numbers.get(value) if item is not None else None
            finite = number is not None and number.value is not None and math.isfinite(number.value)
            sort = _sorted_by(number, texts.converted(value, number)) if number is not None and finite else ""
            marks = _marks(item, values, notes) if item is not None and value == values[0] else ()
            text, mark, warning = (texts.cell(item, value) if sort else "–").partition(f" {MARK}")
            is_open = number is not None and number.mark is not None and number.mark.is_open
            half_width = _half_width(item, value) if sort and item is not None and value == "throughput" else ""
            cells.append(
                Cell(
                    text,
                    half_width,
                    (mark + warning).strip(),
                    is_open,
                    value,
                    sort,
                    "" if item is None else cases.id_of(item.case),
                    marks,
                )
            )
    return cells


def _sorted_by(number: Number, converted: str) -> str:
    """What a finite number is sorted by: its value in the unit of its column."""
    assert number.value is not None
    return repr(number.value * scale_to(number.unit, converted))


def _half_width(item: Item, value: str) -> str:
    """How far the interval of a number reaches from it, in per cent: the farther end."""
    number = item.numbers[value]
    if not number.value or number.low is None or number.high is None:
        return ""
    return f"±{two_digits(100 * max(number.high - number.value, number.value - number.low) / abs(number.value))} %"


def _marks(item: Item, values: Sequence[str], notes: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers of the notes that an item bears: its own, and the reasons for values that it lacks."""
    missing = (item.numbers[v].reason for v in values if v in item.numbers and item.numbers[v].value is None)
    own = {*texts_of(item.notes), *missing}
    return tuple(sorted({notes[note] for note in own if note in notes}))
