"""The table for terminals, by rich, and Markdown, by tabulate."""

from __future__ import annotations

from perflog.export.columns import Grid, escaped, grid
from perflog.extraction import Extraction

#: Cells that stand out on a terminal.
_STYLES = {"no value": "bold red", "slower": "bold red", "faster": "bold green", "same": "green", "not enough data": "yellow", "inconclusive": "yellow"}


def markdown(extraction: Extraction) -> str:
    """The cases as a Markdown table with caption and footnotes."""
    return marked(grid(extraction))


def marked(made: Grid) -> str:
    """Any grid as Markdown. What comes from logs and paths is escaped."""
    from tabulate import tabulate

    rows = [[escaped(cell) for cell in row] for row in made.rows]
    align = ["right" if r else "left" for r in made.right]
    table = tabulate(rows, headers=made.titles, tablefmt="pipe", colalign=align if rows else None, disable_numparse=True)
    return "\n".join([table, "", escaped(made.caption), *([""] if made.footnotes else []), *(escaped(n) for n in made.footnotes)]) + "\n"


def terminal(extraction: Extraction, width: int | None, colour: bool) -> str:
    """The cases as a table for people; ``width`` None means as wide as its content."""
    return drawn(grid(extraction), width, colour)


def drawn(made: Grid, width: int | None, colour: bool) -> str:
    """Any grid as a table for people."""
    import io

    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(file=out, width=width or 4000, force_terminal=colour, no_color=not colour, highlight=False)
    if made.rows:
        console.print(_table(made))
    console.print(Text(made.caption), soft_wrap=True)
    for note in made.footnotes:
        console.print(Text(note), soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _table(made: Grid):  # type: ignore[no-untyped-def]
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title, right in zip(made.titles, made.right, strict=True):
        table.add_column(title, justify="right" if right else "left", overflow="fold")
    for row in made.rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    return table
