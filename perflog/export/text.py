"""Tables of texts for terminals, by rich, and for Markdown, by tabulate."""

from __future__ import annotations

from typing import Any

from perflog.escaping import markdown as escaped
from perflog.escaping import visible
from perflog.export.columns import TextTable

#: Cells that stand out on a terminal.
_STYLES = {
    "no value": "bold red", "slower": "bold red", "faster": "bold green", "same": "green",
    "not enough data": "yellow", "inconclusive": "yellow",
}  # fmt: skip


def to_markdown(table: TextTable) -> str:
    """A table as Markdown. What comes from logs and paths is escaped."""
    from tabulate import tabulate

    rows = [[escaped(cell) for cell in row] for row in table.rows]
    align = ["right" if right else "left" for right in table.right]
    headers = [escaped(title) for title in table.titles]
    colalign = align if rows else None
    text = tabulate(rows, headers=headers, tablefmt="pipe", colalign=colalign, disable_numparse=True)
    footnotes = [escaped(note) for note in table.footnotes]
    return "\n".join([text, "", escaped(table.caption), *([""] if footnotes else []), *footnotes]) + "\n"


def to_terminal(table: TextTable, width: int | None, colour: bool) -> str:
    """A table for people; ``width`` None means as wide as its content."""
    import io

    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(file=out, width=width or 4000, force_terminal=colour, no_color=not colour, highlight=False)
    if table.rows:
        console.print(_rich_table(table))
    console.print(Text(visible(table.caption)), soft_wrap=True)
    for note in table.footnotes:
        console.print(Text(visible(note)), soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _rich_table(table: TextTable) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title, right in zip(table.titles, table.right, strict=True):
        drawn.add_column(Text(visible(title)), justify="right" if right else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(visible(cell), style=_STYLES.get(cell, "")) for cell in row))
    return drawn
