"""A table of texts in, an HTML table out, for notebooks and for pages of others: no style of its own, no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from perflog.escaping import visible
from perflog.export.columns import TextTable, counted


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
