"""Tables and pictures from logs: what a command, a region of a README and a page are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from perflog.cases.choosing import chosen
from perflog.cases.pairs import metrics_named
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS
from perflog.logs.find import find_logs
from perflog.settings.config import Settings, names_in, one_of, pairs
from perflog.show.drawing import FORMATS
from perflog.show.extractions import Extractions
from perflog.show.grid import DERIVED, VALUES, Projection, fields, grid
from perflog.show.picture import KINDS, Picture, picture
from perflog.show.table import (
    ReportTable,
    Style,
    digits_form,
    load_style,
    markdown,
    report_table,
    text_table,
)
from perflog.show.text import TextTable
from perflog.show.words import require_language
from perflog.spelling import did_you_mean


@dataclass(frozen=True, slots=True)
class Look:
    """How a table looks.

    Attributes:
        style: a style's name.
        language: the language of the headings, ``en`` or ``zh``.
        templates: folders with styles of the user's own.
        notes: what the table says below it: nothing (False), how its numbers were made, with n and every note (True),
            or that with the notes without which it would mislead (None).
        digits: by value a printf form, in place of the style's.
        titles: headings in place of the style's.
        names: texts to show in place of fields' values.
        missing: what a cell without a number prints; None: the style's.
    """

    style: str = "plain"
    language: str = "en"
    templates: Sequence[str] = ()
    notes: bool | None = None
    digits: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    missing: str | None = None

    def resolved(self) -> Style:
        """The style with what this look puts in its place.

        Raises:
            UsageError: for a language, a style or a form that there is not.
        """
        require_language(self.language)
        style = load_style(self.style, self.templates)
        forms = {name: digits_form(form, f"--digits {name}={form}") for name, form in self.digits.items()}
        titles = {**style.titles.get(self.language, style.titles.get("en", {})), **self.titles}
        return structs.replace(
            style,
            digits={**style.digits, **forms},
            titles={**style.titles, self.language: titles},
            missing=style.missing if self.missing is None else self.missing,
        )


def look_of(values: Mapping[str, Any]) -> Look:
    """How a table looks, from the options of a recipe or a command; one that is not given has its default.

    Raises:
        UsageError: for a ``key=value`` text without ``=``.
    """
    return Look(
        style=values.get("style", "plain"),
        language=values.get("lang", "en"),
        templates=values.get("templates") or (),
        notes=values.get("notes"),
        digits=pairs(values.get("digits") or [], "digits"),
        titles=pairs(values.get("title") or [], "title"),
        names=pairs(values.get("name") or [], "name"),
        missing=values.get("missing"),
    )


@dataclass(frozen=True, slots=True)
class MadeTable:
    """A table.

    Attributes:
        text: the table as text in its style's layout, with its notes.
        table: its headings and cells.
        extraction: what it was made of.
        plain: the same table with texts that are escaped for nothing, where it was asked for.
    """

    text: str
    table: ReportTable
    extraction: Extraction
    plain: TextTable | None = None


def projection(
    rows: str, columns: str = "", values: str = "throughput", where: Mapping[str, str] | None = None
) -> Projection:
    """What a table shows, from texts such as ``devices=1:8:32`` and ``throughput,speedup``.

    Raises:
        UsageError: for a text that is not so.
    """
    return Projection(
        fields(rows, "--rows"), fields(columns, "--columns"), names_in(metrics_named(values)), where or {}
    )


def make_table(
    logs: Sequence[str], settings: Settings, extractions: Extractions, shown: Projection, look: Look,
    plain: bool = False,
) -> MadeTable:  # fmt: skip
    """The table of logs.

    Args:
        plain: whether its texts are wanted without Markdown's escapes too, for other formats.

    Raises:
        UsageError: when the look, a field or a value is not known, or two cases fall into one cell.
    """
    style = look.resolved()
    extraction = extractions.of(logs, settings)
    _require_names(look, extraction)
    cells = grid(extraction, shown)
    table = report_table(cells, style, look.language, extraction, look.names, every=look.notes)
    texts = None
    if plain:
        unescaped = report_table(cells, style, look.language, extraction, look.names, str, look.notes)
        texts = text_table(unescaped, look.notes is not False)
    return MadeTable(markdown(table, style, look.notes is not False), table, extraction, texts)


def _require_names(look: Look, extraction: Extraction) -> None:
    """Let names of values and fields pass that the style or the logs know.

    Raises:
        UsageError: for digits or a heading of what there is not, with the nearest name.
    """
    if not look.digits and not look.titles:
        return
    style = load_style(look.style, look.templates)
    measured = [name for run in extraction.runs for name in run.metrics]
    values = dict.fromkeys((*VALUES, *style.digits, *measured))
    for name, form in look.digits.items():
        if name not in values:
            raise UsageError(f"--digits {name}={form}: there is no value {name!r}{did_you_mean(name, values)}")
    own = [key for case in extraction.cases for key in case.key]
    headings = dict.fromkeys((*values, *CASE_KEYS, *DERIVED, "label", *own, *style.titles.get("en", {})))
    for name, title in look.titles.items():
        if name not in headings:
            hint = did_you_mean(name, headings)
            raise UsageError(f"--title {name}={title}: there is no field or value {name!r}{hint}")


def make_picture(
    logs: Sequence[str], settings: Settings, extractions: Extractions, kind: str, form: str,
    where: Mapping[str, str] | None = None, language: str = "en",
) -> Picture:  # fmt: skip
    """A picture of logs; that of the kind ``steps`` reads them once more, for the step times.

    Args:
        kind: ``scaling``, ``spread``, ``steps`` or ``versions``.
        form: ``svg``, ``png`` or ``pdf``.
        where: the values that the cases drawn have.
        language: of the picture's words, ``en`` or ``zh``.

    Raises:
        UsageError: for another kind, form or language, or a value that no case has, or when there is nothing to show.
    """
    one_of("kind", kind, KINDS)
    one_of("output", form, FORMATS)
    require_language(language)
    if kind != "steps":
        patterns = settings.catalog().path_patterns if kind == "versions" else None
        return picture(extractions.of(logs, settings, where), kind, form, patterns=patterns, language=language)
    from perflog.show.steps import sight_of_traces

    sight, steps = sight_of_traces()
    extraction = extractions.seen(find_logs(logs), settings, settings.options(), sight)
    drawn = replace(extraction, cases=chosen(extraction.cases, where or {}))
    return picture(drawn, kind, form, steps, language=language)


# ----------------------------------------------------------------------------------------------------
# A report's table in any of the formats of ``perflog table``, as text or bytes.

#: ``markdown`` is the table in its style's layout; the others hold the same texts.
TABLE_FORMATS = ("markdown", "html", "latex", "csv", "xlsx")
#: Formats that are no text.
BINARY = frozenset({"xlsx"})


def encoded_table(made: MadeTable, form: str) -> str | bytes:
    """A table in one of :data:`TABLE_FORMATS`; all but ``markdown`` need its plain texts (``plain`` of ``make_table``).

    Raises:
        PerflogError: for ``xlsx`` where the package that writes it is not installed.
        ValueError: for another format, and for a table without its plain texts.
    """
    table = made.plain
    if form == "markdown":
        return made.text
    if table is None or form not in TABLE_FORMATS:
        raise ValueError(f"no format {form!r}")
    from perflog.show.encoding import to_html, to_latex, to_xlsx

    if form in ("html", "latex"):
        return to_html(table) if form == "html" else to_latex(table)
    if form == "csv":
        from perflog.show.text import to_csv

        return to_csv(table.titles, table.rows)
    import polars as pl

    notes = pl.DataFrame({"note": [table.caption, *table.footnotes]})
    return to_xlsx({"table": table_frame(table), "notes": notes})


def table_frame(table: TextTable) -> Any:
    """The cells as a polars frame: columns whose cells are all numbers, or empty, hold numbers."""
    import polars as pl

    columns: dict[str, Any] = {}
    for place, title in enumerate(table.titles):
        name = title if title and title not in columns else f"{title or 'column'} {place + 1}"
        cells: list[Any] = [row[place] for row in table.rows]
        with suppress(ValueError):  # texts where one is no number
            cells = [(float(cell) if "." in cell else int(cell)) if cell.strip("-") else None for cell in cells]
        columns[name] = cells
    return pl.DataFrame(columns, strict=False)
