"""The HTML report: one page that holds everything, and behind each number the runs and log lines it stands on.

The page's text comes from templates (``templates/reports/page.*``) with escaping always on: what logs and
paths say is text there and never markup. It loads nothing, and says so to the browser (its CSP).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from perflog._version import __version__
from perflog.cases.case import Case
from perflog.escaping import visible
from perflog.extraction import Extraction
from perflog.notes import alike, merged
from perflog.notes import texts as texts_of
from perflog.show.contents import Contents, SectionContents, environment, method
from perflog.show.drawing import INK, POINTS
from perflog.show.grid import Field, Grid, Item, Key, Number, Projection, fields
from perflog.show.grid import grid as placed
from perflog.show.headline import headline, marked_of
from perflog.show.picture import picture
from perflog.show.provenance import Named, ReadLogs, case_details, named
from perflog.show.steps import Trace
from perflog.show.table import TO, TableWords, doubts, how, load_style, scale_to
from perflog.show.text import MARK, counted, two_digits
from perflog.show.words import BEGINNING, LANGUAGES, page_templates, told, words
from perflog.show.words import shown as said

# ----------------------------------------------------------------------------------------------------
# A picture as a part of an HTML page: its elements only, with names that no other picture on the page has.

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]*)\)")


#: A case of a picture's point, and the value that it draws, as what the page calls them: an address and a text.
PointNames = Callable[[int, str], tuple[str, str]]


def inline(svg: bytes, name: str, described: str, points: PointNames | None = None) -> Any:
    """The ``svg`` element of a picture that matplotlib made, as markup that Jinja2 does not escape again.

    Metadata goes (it holds addresses), and so does the picture's style sheet, which would apply to the whole page; the
    page has its rule. Text and axes take the colour of the page's text.

    Args:
        name: what every id begins with.
        described: what those hear who do not see it.
        points: the address and the text of a point, from the ``id`` of its case and the value; None: points have none.
    """
    from markupsafe import Markup

    ET.register_namespace("", _SVG)
    root = ET.fromstring(svg)
    if points is not None:
        _name_points(root, points)
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


def _name_points(root: ET.Element, points: PointNames) -> None:
    """Give each point its address, and its text as a title, which browsers show where a pointer rests on it."""
    for group in root.iter(f"{{{_SVG}}}g"):
        if not group.get("id", "").startswith(POINTS):
            continue
        value, *cases = group.attrib.pop("id").removeprefix(POINTS).split()
        marks = [*group.iter(f"{{{_SVG}}}use")] or [*group.iter(f"{{{_SVG}}}path")]
        if len(marks) != len(cases):  # a point that matplotlib left out: then no point is given another one's text
            continue
        for mark, case in zip(marks, cases, strict=True):
            address, text = points(int(case), value)
            mark.set("data-point", address)
            ET.SubElement(mark, f"{{{_SVG}}}title").text = visible(text)


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


def page(read: ReadLogs, shown: Contents, commands: Sequence[str], base: Path, language: str, view: str = "") -> bytes:
    """The whole page, its links to logs relative to ``base``.

    Args:
        read: the cases that the page shows, with the lines that they stand on.
        shown: the page's sections.
        commands: the commands that make it.
        view: the address of the page of runs over time; empty for none.

    Raises:
        UsageError: when the cases of a section do not fit one table, or a picture cannot be made.
    """
    texts, extraction = words("reports", language), read.extraction
    cases = named(extraction.cases)
    several, steps = len(shown.sections) > 1, None
    if shown.steps and read.traces:
        steps = _picture(extraction, "steps", "steps", language, read.traces)
    text = (
        page_templates()
        .get_template("page.html.j2")
        .render(
            beginning=BEGINNING,
            version=__version__,
            language=LANGUAGES[language],
            title=shown.title(language),
            words=texts["page"],
            counts={"cases": len(extraction.cases), "runs": len(extraction.runs), "skipped": len(extraction.skipped)},
            marked=len(marked_of(extraction.cases)),
            environment=environment(extraction, language),
            method=method(extraction, language),
            commands=commands,
            sections=[
                _section(extraction, section, place if several else None, cases, language)
                for place, section in enumerate(shown.sections)
            ],
            several=several,
            undrawn=shown.undrawn,
            steps=steps,
            cases=[case_details(case, cases, read, base, language, view) for case in extraction.cases],
            without=[
                (
                    cases.id_of(case),
                    cases.names[id(case)],
                    said(case.throughput.reason, language) or "; ".join(said(n.text, language) for n in case.notes),
                )
                for case in extraction.cases
                if case.throughput.value is None
            ],
            skipped=[(left_out.log.name, left_out.reason) for left_out in extraction.skipped],
        )
    )
    return str(text).encode("utf-8", "backslashreplace")  # a path may hold bytes that are no text


def _picture(
    extraction: Extraction, kind: str, name: str, language: str, traces: Sequence[Trace] = (),
    points: PointNames | None = None,
) -> tuple[Any, str]:  # fmt: skip
    """A picture as markup whose ids begin with ``name``, and what it shows in words."""
    made = picture(extraction, kind, "svg", traces, language=language, keep_points=points is not None)
    return inline(made.data, name, made.described, points), made.described


# ---------------------------------------------------------------- the tables


def _section(
    extraction: Extraction, section: SectionContents, place: int | None, cases: Named, language: str
) -> dict[str, Any]:
    """A section for the template; ``place``: where it stands among several, None for the only one."""
    own = replace(extraction, cases=list(section.part.cases))
    name = "" if place is None else f"-{place}-{section.slug}"
    table = _table(own, section, cases, language)
    of_cases = [cell for row in table["rows"] for cell in row["cells"] if cell["case"]]
    cells = {(cell["case"], cell["value"]): cell for cell in of_cases}
    #: not so where the user's rows are single runs, or leave cases out
    whole = len(of_cases) == len(cells) == len(own.cases) * len(section.values)
    by_place = {id(case): case for case in own.cases}

    def shown(case: Case, value: str) -> str:
        """A value as its cell in the table has it: a page says no number in two ways."""
        cell = cells[cases.id_of(case), value]
        return f"{cell['text']} {cell['warning']}".strip()

    def point(place: int, value: str) -> tuple[str, str]:
        case = by_place[place]
        half_width = cells[cases.id_of(case), value]["half_width"]
        unit = case.throughput.unit if value == "throughput" else ""
        text = " ".join(filter(None, (shown(case, value), unit, half_width)))
        return f"{cases.id_of(case)}/{value}", f"{cases.names[place]}: {table['names'][value]} {text}"

    def address(case: Case | None, value: str) -> str:
        return f"{cases.id_of(case)}/{value}".strip("/")

    texts, points = words("reports", language)["headline"], point if whole else None
    sentences = headline(section.part, lambda case: cases.names[id(case)], shown, texts) if whole else []
    return {
        "name": name,
        "title": section.title(language),
        "count": counted(len(own.cases), "case"),
        "table": table,
        "headline": [[(text, address(case, value)) for text, case, value in parts] for parts in sentences],
        "picture": _picture(own, "scaling", f"scaling{name}", language, points=points) if section.scaling else None,
    }


def _table(extraction: Extraction, section: SectionContents, cases: Named, language: str) -> dict[str, Any]:
    """A section's table: the same cells as in Markdown, each with its case."""
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
        "groups": [_group(columns, key, texts.unknown) for key in grid.columns] if columns else [],
        "titles": [texts.title(value) for value in section.values],
        "key_names": [row.name for row in rows],
        "values": section.values,
        "names": {value: words("reports", language)["metrics"].get(value, value) for value in section.values},
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


def _group(columns: Sequence[Field], key: Key, unknown: str) -> str:
    """A heading over the columns of one key, of what is known of it."""
    known = [(column.name, value) for column, value in zip(columns, key, strict=True) if value is not None]
    return " · ".join(f"bs{value}" if name == "batch_size" else str(value) for name, value in known) or unknown


def _cells(grid: Grid, row: Key, texts: TableWords, cases: Named, notes: Mapping[str, int]) -> list[dict[str, Any]]:
    """A row's cells for the template: the number, its interval and warning, its place in order, its case, its notes."""
    cells = []
    values = grid.projection.values
    for column in grid.columns:
        item = grid.cells.get((row, column))
        for value in values:
            number = item.numbers.get(value, Number(None)) if item is not None else Number(None)
            sort = ""
            if number.value is not None and math.isfinite(number.value):
                sort = repr(number.value * scale_to(number.unit, texts.converted(value, number)))
            text, mark, warning = (texts.cell(item, value) if sort else "–").partition(f" {MARK}")
            cells.append({
                "text": text,
                "half_width": _half_width(number) if sort and value == "throughput" else "",
                "warning": (mark + warning).strip(),
                "is_open": number.mark is not None and number.mark.is_open,
                "value": value,
                "sort": sort,
                "case": "" if item is None else cases.id_of(item.case),
                "marks": _marks(item, values, notes) if item is not None and value == values[0] else (),
            })  # fmt: skip
    return cells


def _half_width(number: Number) -> str:
    """How far the interval of a number reaches from it, in per cent: the farther end."""
    if not number.value or number.low is None or number.high is None:
        return ""
    return f"±{two_digits(100 * max(number.high - number.value, number.value - number.low) / abs(number.value))} %"


def _marks(item: Item, values: Sequence[str], notes: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers of the notes that an item bears: its own, and the reasons for values that it lacks."""
    missing = (item.numbers[v].reason for v in values if v in item.numbers and item.numbers[v].value is None)
    own = {*texts_of(item.notes), *missing}
    return tuple(sorted({notes[note] for note in own if note in notes}))
