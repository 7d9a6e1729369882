"""An extraction in any of the formats of ``perflog extract``; its frames; tables as HTML, LaTeX and workbooks."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from perflog.cases.case import Summary
from perflog.errors import PerflogError
from perflog.escaping import csv_cell, decodable, decodable_data, visible
from perflog.escaping import latex as escaped
from perflog.extraction import Extraction
from perflog.extras import plain
from perflog.formats.vocabulary import INTEGERS, Scalar
from perflog.notes import Note, mark_of, texts
from perflog.runs.run import Metric
from perflog.show.case_table import Shown, case_table, case_tables
from perflog.show.document import finite, reason_code, to_json
from perflog.show.fields import require_columns
from perflog.show.text import MARK, TextTable, counted, to_markdown, to_people
from perflog.stats.quotient import QuotientInterval

if TYPE_CHECKING:
    import polars as pl

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
    if form == "openmetrics":
        from perflog.show.exchange import to_openmetrics  # with XML and what else other programs' formats need

        return to_openmetrics(extraction)
    makers: dict[str, Callable[[], str | bytes]] = {
        "table": lambda: to_people(case_tables(extraction, shown, width), width, colour),
        "markdown": lambda: to_markdown(case_table(extraction, replace(shown, wide=shown.wide or not shown.columns))),
        "json": lambda: to_json(extraction),
        "csv": lambda: to_csv(case_frame(extraction, shown.columns)),
        "parquet": lambda: to_parquet(case_frame(extraction)),
        "xlsx": lambda: to_xlsx(
            {"cases": case_frame(extraction), "runs": run_frame(extraction), "skipped": skipped_frame(extraction)}
        ),
        "latex": lambda: to_latex(case_table(extraction, shown)),
    }
    if form not in makers:
        raise ValueError(f"no format {form!r}")
    return makers[form]()


# ----------------------------------------------------------------------------------------------------
# A table of texts in, an HTML table out, for notebooks and for pages of others: no style of its own, no script.


def to_html(table: TextTable, most_rows: int | None = None) -> str:
    """A table as HTML. What comes from logs and paths is escaped.

    Args:
        most_rows: how many rows are shown; how many more there are is said below. None: all.
    """
    shown = table.rows if most_rows is None else table.rows[:most_rows]
    head = _cells("th", table.titles, table.right)
    above = [f"<p>{_text(table.heading)}</p>"] if table.heading else []
    lines = [*above, "<table>", f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    lines += [f"<tr>{_cells('td', row, table.right)}</tr>" for row in shown]
    lines += ["</tbody>", "</table>"]
    below = [table.caption, *table.footnotes]
    if len(shown) < len(table.rows):
        below.insert(0, f"{counted(len(table.rows) - len(shown), 'row')} more, not shown here.")
    lines += [f"<p>{'<br>'.join(_text(line) for line in below if line)}</p>"] if any(below) else []
    return "\n".join(lines) + "\n"


def _cells(tag: str, row: Sequence[str], right: Sequence[bool]) -> str:
    sides = ["right" if is_right else "left" for is_right in right]
    cells = zip(row, sides, strict=True)
    return "".join(f'<{tag} style="text-align: {side}">{_text(text)}</{tag}>' for text, side in cells)


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
    ]
    if table.footnotes:
        notes = [f"  {escaped(note)}\\par" for note in table.footnotes]
        lines += ["  \\par\\smallskip", "  {\\footnotesize", *notes, "  }"]
    lines.append("\\end{table}")
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


# ----------------------------------------------------------------------------------------------------
# An extraction as flat polars frames, for CSV, Parquet and Python.


def case_frame(extraction: Extraction, columns: Sequence[str] = ()) -> pl.DataFrame:
    """One row per case: its key, and for throughput value, unit, n, interval, speedup, efficiency.

    Args:
        columns: these columns alone, in this order; empty: all.

    Raises:
        UsageError: for a column that there is not, with the nearest one.
    """
    keys = list(dict.fromkeys(k for c in extraction.cases for k in c.key))
    rows = []
    for case in extraction.cases:
        summary = case.throughput
        row = {
            "label": case.label, "throughput": finite(summary.value), "unit": summary.unit, "n": summary.n,
            "runs": len(case.runs), "low": finite(summary.low), "high": finite(summary.high),
            "level": summary.level, **_mark(case.mark), "spread": finite(summary.spread),
            "speedup": finite(case.speedup), "other_speedup": finite(case.other_speedup),
            **_bounds("speedup", case.speedup_interval), "efficiency": finite(case.efficiency),
            **_bounds("efficiency", case.efficiency_interval), "aggregate": summary.aggregate,
            "estimator": case.estimator, "window": case.window, "reason": summary.reason,
            "reason_code": reason_code(summary.reason) or "", "notes": "; ".join(texts(case.notes)),
        }  # fmt: skip
        rows.append(_row_of(case.key, keys, row, case.metrics))
    frame = _frame(rows)
    require_columns(columns, frame.columns)
    return frame.select(columns) if columns else frame


def _bounds(name: str, interval: QuotientInterval | None) -> dict[str, float | None]:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return {f"{name}_low": low, f"{name}_high": high}


def _mark(mark: Note | None) -> dict[str, Any]:
    """The other number that a throughput may be, how far it is, how it is made, and whether the log leaves it open."""
    if mark is None:
        return {"other": None, "effect": None, "other_how": "", "undecided": False}
    return {"other": mark.other, "effect": mark.move, "other_how": mark.label, "undecided": mark.is_open}


def run_frame(extraction: Extraction) -> pl.DataFrame:
    """One row per run: metadata, throughput with its window and source, every other metric."""
    keys = list(dict.fromkeys(k for r in extraction.runs for k in r.values))
    rows = []
    for run in extraction.runs:
        metric = run.throughput
        row = {
            "label": run.label, "throughput": finite(metric.value), "unit": metric.unit, **_mark(mark_of(run.notes)),
            "estimator": metric.estimator, "used": metric.used, "excluded": sum(metric.excluded.values()),
            "window": run.window, "reason": metric.reason,
            "reason_code": reason_code(metric.reason) or "", "file": run.log.name, "first_line": metric.first_line,
            "last_line": metric.last_line, "parser": run.parser, "notes": "; ".join(texts(run.notes)),
        }  # fmt: skip
        rows.append(_row_of(run.values, keys, row, run.metrics))
    return _frame(rows)


def skipped_frame(extraction: Extraction) -> pl.DataFrame:
    """One row per file that is no training log: file, reason, the reason's code."""
    import polars as pl

    schema: dict[str, Any] = {"file": pl.String, "reason": pl.String, "reason_code": pl.String}
    rows = [
        {"file": s.log.name, "reason": s.reason, "reason_code": reason_code(s.reason, s.failed)}
        for s in extraction.skipped
    ]
    return pl.DataFrame(rows, schema=schema)


def to_csv(frame: pl.DataFrame) -> str:
    """A frame as CSV that a spreadsheet may open: no text in it is computed, and nothing in it acts."""
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    cells = {name: pl.Series([csv_cell(text) for text in frame[name]], dtype=pl.String) for name in texts}
    return frame.with_columns(**cells).rename({name: csv_cell(name) for name in frame.columns}).write_csv()


def to_parquet(frame: pl.DataFrame) -> bytes:
    """A frame as Parquet."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _row_of(
    facts: Mapping[str, Scalar], keys: Sequence[str], own: Mapping[str, Any], metrics: Mapping[str, Summary | Metric]
) -> dict[str, Any]:
    """A row: the facts, what is its own, and the metrics beside throughput."""
    known = {key: facts[key] if key in INTEGERS else str(facts[key]) for key in keys if key in facts}
    others = {name: finite(other.value) for name, other in metrics.items() if name != "throughput"}
    return {**dict.fromkeys(keys), **known, **own, **others}


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    names = list(dict.fromkeys(name for row in rows for name in row))
    whole = [{decodable(name): decodable_data(row.get(name)) for name in names} for row in rows]
    return pl.DataFrame(whole, infer_schema_length=None)


# ----------------------------------------------------------------------------------------------------
# Frames in, an Excel workbook out: a sheet for each, whose texts are texts whatever they begin with.

#: How many characters a cell holds, and rows a sheet (ECMA-376; Excel's specifications and limits).
MOST_CHARACTERS, MOST_ROWS = 32_767, 1_048_576
#: How wide a column is at least and at most, in characters.
_WIDTHS = (8, 48)
#: Widths are taken from so many rows.
_SAMPLE = 200


@plain
def to_xlsx(frames: Mapping[str, pl.DataFrame]) -> bytes:
    """A workbook with a sheet for each frame: headings that stay in sight, filters, numbers as numbers.

    Raises:
        PerflogError: where the package that writes it is not installed, or a frame has more rows than a sheet.
    """
    import xlsxwriter

    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as workbook:
        heading = workbook.add_format({"bold": True, "bottom": 1})
        quoted = workbook.add_format({"quote_prefix": True})
        for name, frame in frames.items():
            _fill(workbook.add_worksheet(name), name, frame, heading, quoted)
    return buffer.getvalue()


def _fill(sheet: Any, name: str, frame: pl.DataFrame, heading: Any, quoted: Any) -> None:
    """Write a frame into a sheet. Raises PerflogError for one that is too long."""
    if frame.height >= MOST_ROWS:
        raise PerflogError(
            f"the sheet {name} would have {frame.height} rows: expected fewer than {MOST_ROWS}, which is what .xlsx "
            "holds; choose .parquet or .csv, or name fewer logs"
        )
    for column, title in enumerate(frame.columns):
        sheet.write_string(0, column, visible(title)[:MOST_CHARACTERS], heading)
        values = frame[title].to_list()
        for row, value in enumerate(values, 1):
            _write(sheet, row, column, value, quoted)
        longest = max((len(str(value)) for value in values[:_SAMPLE] if value is not None), default=0)
        sheet.set_column(column, column, min(max(longest, len(title), _WIDTHS[0]) + 1, _WIDTHS[1]))
    sheet.freeze_panes(1, 0)
    if frame.width:
        sheet.autofilter(0, 0, frame.height, frame.width - 1)


def _write(sheet: Any, row: int, column: int, value: object, quoted: Any) -> None:
    """Write a cell: a number, a text, or nothing.

    A text that a spreadsheet would compute once somebody edits it has the mark that it stays a text.
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = visible(str(value))
        text = text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
        # not write(), which makes formulas, links and numbers of texts
        sheet.write_string(row, column, text, quoted if csv_cell(text) != text else None)
    elif math.isfinite(value):
        sheet.write_number(row, column, value)
