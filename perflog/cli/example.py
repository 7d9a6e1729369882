"""The command ``perflog example``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from perflog.cli.base import app, examples


@app.command(
    epilog=examples("perflog example", "perflog example /tmp/try", more="Exit status: 0; 2 the folder is not empty.")
)
def example(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="A folder that is empty or not there yet.")] = Path(
        "perflog-example"
    ),
) -> None:
    """Write 34 small real logs to try perflog with."""
    from perflog.example import write_example

    counts = write_example(folder)
    quoted = shlex.quote(str(folder))
    what = ", ".join(f"{folder / name} ({count} logs)" for name, count in counts.items())
    print(f"wrote {what}")
    print(f"next: perflog extract {quoted}/logs")
