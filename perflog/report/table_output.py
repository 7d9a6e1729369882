"""A report's table in any of the formats of ``perflog table``, as text or bytes."""

from __future__ import annotations

import csv
import io
from typing import Any

from perflog.escaping import csv_cell
from perflog.export.columns import TextTable
from perflog.report.making import MadeTable

#: ``markdown`` is the table in its style's layout; the others hold the same texts.
FORMATS = ("markdown", "html", "latex", "csv", "xlsx")
#: Formats that are no text.
BINARY = frozenset({"xlsx"})


def encoded_table(made: MadeTable, form: str) -> str | bytes:
    """A table in one of :data:`FORMATS`; all but ``markdown`` need its plain texts (``plain`` of ``make_table``).

    Raises:
        PerflogError: for ``xlsx`` where the package that writes it is not installed.
        ValueError: for another format, and for a table without its plain texts.
    """
    if form == "markdown":
        return made.text
    if made.plain is None or form not in FORMATS:
        raise ValueError(f"no format {form!r}")
    if form == "html":
        from perflog.export.html_table import to_html

        return to_html(made.plain)
    if form == "latex":
        from perflog.export.latex import to_latex

        return to_latex(made.plain)
    return _csv(made.plain) if form == "csv" else _xlsx(made.plain)


def _csv(table: TextTable) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([csv_cell(cell) for cell in row] for row in [table.titles, *table.rows])
    return out.getvalue()


def _xlsx(table: TextTable) -> bytes:
    import polars as pl

    from perflog.export.xlsx import to_xlsx

    notes = pl.DataFrame({"note": [table.caption, *table.footnotes]})
    return to_xlsx({"table": table_frame(table), "notes": notes})


def table_frame(table: TextTable) -> Any:
    """The cells as a polars frame: columns whose cells are all numbers, or empty, hold numbers."""
    import polars as pl

    columns: dict[str, Any] = {}
    for place, title in enumerate(table.titles):
        name = title if title and title not in columns else f"{title or 'column'} {place + 1}"
        columns[name] = _numbers([row[place] for row in table.rows])
    return pl.DataFrame(columns, strict=False)


def _numbers(cells: list[str]) -> list[Any]:
    """The numbers that a column's cells are; the texts themselves where one is no number."""
    try:
        return [(float(cell) if "." in cell else int(cell)) if cell.strip("-") else None for cell in cells]
    except ValueError:
        return list(cells)
