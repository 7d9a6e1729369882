"""An extraction in any of the formats of ``perflog extract``, as text or bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape

from perflog.escaping import latex as escaped
from perflog.escaping import visible
from perflog.export.case_table import Shown, case_table
from perflog.export.columns import MARK, TextTable, counted
from perflog.extraction import Extraction

#: Formats that are no text: they are written to files alone.
BINARY = frozenset({"parquet", "xlsx"})
#: The columns and notes that a format has by itself.
_DEFAULT = Shown()


def encoded(
    extraction: Extraction, form: str, width: int | None = None, colour: bool = False, shown: Shown = _DEFAULT
) -> str | bytes:
    """The extraction in one of the formats of ``perflog extract``, but for ``dlperf``.

    Args:
        width: how wide a table may be; None: as wide as its content.
        colour: whether a table has the colours of a terminal.
        shown: which columns and notes a table, Markdown and CSV have.

    Raises:
        PerflogError: for ``xlsx`` where the package that writes it is not installed.
        ValueError: for another format.
    """
    from perflog.export import document, frames, text

    if form == "table":
        return text.to_terminal(case_table(extraction, shown), width, colour)
    if form == "markdown":
        return text.to_markdown(case_table(extraction, replace(shown, wide=shown.wide or not shown.columns)))
    if form == "json":
        return document.to_json(extraction)
    if form == "csv":
        return frames.to_csv(frames.case_frame(extraction, shown.columns))
    if form in BINARY:
        return _binary(extraction, form)
    if form == "latex":
        return to_latex(case_table(extraction, shown))
    if form == "openmetrics":
        from perflog.export.openmetrics import to_openmetrics

        return to_openmetrics(extraction)
    raise ValueError(f"no format {form!r}")


def _binary(extraction: Extraction, form: str) -> bytes:
    """The extraction in one of :data:`BINARY`."""
    from perflog.export import frames

    if form == "xlsx":
        from perflog.export.xlsx import to_xlsx

        sheets = {
            "cases": frames.case_frame(extraction),
            "runs": frames.run_frame(extraction),
            "skipped": frames.skipped_frame(extraction),
        }
        return to_xlsx(sheets)
    import io

    buffer = io.BytesIO()
    frames.case_frame(extraction).write_parquet(buffer)
    return buffer.getvalue()


# ----------------------------------------------------------------------------------------------------
# A table of texts in, an HTML table out, for notebooks and for pages of others: no style of its own, no script.


def to_html(table: TextTable, most_rows: int | None = None) -> str:
    """A table as HTML. What comes from logs and paths is escaped.

    Args:
        most_rows: how many rows are shown; how many more there are is said below. None: all.
    """
    shown = table.rows if most_rows is None else table.rows[:most_rows]
    head = "".join(_cell("th", title, right) for title, right in zip(table.titles, table.right, strict=True))
    above = [f"<p>{_text(table.heading)}</p>"] if table.heading else []
    lines = [*above, "<table>", f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    lines += [f"<tr>{_cells(row, table.right)}</tr>" for row in shown]
    lines += ["</tbody>", "</table>"]
    below = [table.caption, *table.footnotes]
    if len(shown) < len(table.rows):
        below.insert(0, f"{counted(len(table.rows) - len(shown), 'row')} more, not shown here.")
    lines += [f"<p>{'<br>'.join(_text(line) for line in below if line)}</p>"] if any(below) else []
    return "\n".join(lines) + "\n"


def _cells(row: Sequence[str], right: Sequence[bool]) -> str:
    return "".join(_cell("td", text, is_right) for text, is_right in zip(row, right, strict=True))


def _cell(tag: str, text: str, right: bool) -> str:
    return f'<{tag} style="text-align: {"right" if right else "left"}">{_text(text)}</{tag}>'


def _text(text: str) -> str:
    return escape(visible(text))


# ----------------------------------------------------------------------------------------------------
# A table of texts in, LaTeX out: rules by booktabs, columns of numbers aligned at their decimal points by siunitx.
#
# What it gives is a ``table`` environment for a document with ``\usepackage{booktabs,siunitx}``.

#: A number as siunitx reads it in a column. A comma would be a decimal point to it, so that one with commas is a text.
_NUMBER = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]+))?")


def to_latex(table: TextTable) -> str:
    """A table as LaTeX. What comes from logs and paths is escaped."""
    columns = list(zip(*table.rows, strict=True)) or [() for _ in table.titles]
    numeric = [
        right and 2 * sum(_NUMBER.fullmatch(cell) is not None for cell in cells) > sum(map(bool, cells))
        for right, cells in zip(table.right, columns, strict=True)
    ]
    kinds = [
        _number_column(cells) if is_numeric else "r" if right else "l"
        for is_numeric, right, cells in zip(numeric, table.right, columns, strict=True)
    ]
    caption = "; ".join(filter(None, (table.heading, table.caption)))
    lines = [
        "% in the preamble: \\usepackage{booktabs,siunitx}",
        "\\begin{table}",
        "  \\centering",
        *([f"  \\caption{{{escaped(caption)}}}"] if caption else []),
        f"  \\begin{{tabular}}{{{''.join(kinds)}}}",
        "    \\toprule",
        f"    {_row(['{' + escaped(title) + '}' for title in table.titles])}",
        "    \\midrule",
        *(f"    {_row([_latex_cell(*pair) for pair in zip(row, numeric, strict=True)])}" for row in table.rows),
        "    \\bottomrule",
        "  \\end{tabular}",
        *_notes(table.footnotes),
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _number_column(cells: Sequence[str]) -> str:
    """The kind of a column of numbers, with as many digits before and after the point as they need."""
    numbers = [match for cell in cells if (match := _NUMBER.fullmatch(cell))]
    sign = "+" if any(number[1] for number in numbers) else ""
    whole = max(len(number[2]) for number in numbers)
    decimals = max(len(number[3] or "") for number in numbers)
    return f"S[table-format={sign}{whole}.{decimals}]" if decimals else f"S[table-format={sign}{whole}]"


def _latex_cell(text: str, numeric: bool) -> str:
    """A cell; in a column of numbers a text stands in braces."""
    safe = escaped(text).replace(MARK, r"\textbf{!}")  # which fonts of LaTeX lack
    if not numeric or not text:
        return safe
    return text if _NUMBER.fullmatch(text) else f"{{{safe}}}"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + " \\\\"


def _notes(footnotes: Sequence[str]) -> list[str]:
    """The lines under the table, each a paragraph."""
    if not footnotes:
        return []
    return ["  \\par\\smallskip", "  {\\footnotesize", *(f"  {escaped(note)}\\par" for note in footnotes), "  }"]
