"""What commands print or write."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.cli.terminal import print_coloured

if TYPE_CHECKING:
    from perflog.export.columns import TextTable


def to_terminal(output: Path | None) -> bool:
    """Whether what is printed goes to a person's terminal."""
    return output is None and sys.stdout.isatty()


def width_of(terminal: bool) -> int | None:
    """The terminal's width; None where nothing limits it."""
    import shutil

    return shutil.get_terminal_size().columns if terminal else None


def tables_text(tables: Sequence[TextTable], form: str, terminal: bool) -> str:
    """Tables one after the other, as Markdown or for people."""
    from perflog.export import text

    if form == "markdown":
        return "\n".join(text.to_markdown(table) for table in tables)
    return "\n".join(text.to_terminal(table, width_of(terminal), terminal) for table in tables)


def emit(data: str | bytes, output: Path | None, quiet: bool, described: str = "") -> None:
    """Print the result, or write it to a file and say so."""
    from perflog.files import write_atomically

    if output is None:
        _print(data if isinstance(data, str) else data.decode("utf-8", "replace"))
        return
    write_atomically(output, data)
    say_written(output, quiet, described)


def _print(text: str) -> None:
    """Print a result; on a terminal it has colours, which perflog put there, and its texts are visible already."""
    if sys.stdout.isatty():
        print_coloured(text)
    else:
        sys.stdout.write(text)


def say_written(output: Path, quiet: bool, described: str = "") -> None:
    """Say on stderr what was written."""
    if not quiet:
        print(f"wrote {output}{f': {described}' if described else ''}", file=sys.stderr)
