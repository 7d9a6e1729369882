"""Frames in, an Excel workbook out: a sheet for each, whose texts are texts whatever they begin with."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perflog.errors import PerflogError
from perflog.escaping import csv_cell, visible
from perflog.extras import plain

if TYPE_CHECKING:
    import polars as pl

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
