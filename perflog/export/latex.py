r"""A table of texts in, LaTeX out: rules by booktabs, columns of numbers aligned at their decimal points by siunitx.

What it gives is a ``table`` environment for a document with ``\usepackage{booktabs,siunitx}``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from perflog.escaping import latex as escaped
from perflog.export.columns import MARK, TextTable

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
        *(f"    {_row([_cell(*pair) for pair in zip(row, numeric, strict=True)])}" for row in table.rows),
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


def _cell(text: str, numeric: bool) -> str:
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
