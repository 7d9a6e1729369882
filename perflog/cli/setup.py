"""Commands that set perflog up: init, doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perflog.cli.base import app, examples
from perflog.cli.options import Configured, Given, Logs, Output, Quiet, TextOrJson, extraction_options
from perflog.cli.output import emit, prose
from perflog.export.options import format_for
from perflog.settings.config import FILE, settings

Place = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FOLDER",
        help="The folder that the perflog.toml is written into. [default: the folder of the logs]",
        show_default=False,
    ),
]  # fmt: skip


@app.command(
    epilog=examples(
        "perflog init logs/",
        "perflog init logs/ --warmup 100 -o .",
        more="Exit status: 0 written; 2 there is a perflog.toml, which is never overwritten, or no training log.",
    )
)
@extraction_options()
def init(logs: Logs, given: Given, output: Place = None, quiet: Quiet = False) -> None:
    """Look at a folder of logs and write its perflog.toml: what was found, and which facts are missing, and why."""
    from perflog.cli.progress import extractions
    from perflog.errors import UsageError
    from perflog.files import write_atomically
    from perflog.report.reports import config_text

    first = Path(logs[0])
    folder = output or (first if first.is_dir() else first.parent)
    file = folder / FILE
    if file.exists() or file.is_symlink():
        raise UsageError(f"{file}: is there already, and is never overwritten; `perflog config {logs[0]}` shows it")
    extraction = extractions(quiet).of(logs, settings(given, logs))
    if not extraction.runs:
        raise UsageError(f"{first}: no training log was found; `perflog explain FILE` says why a file is none")
    write_atomically(file, config_text(extraction, given, ", ".join(logs)))
    if not quiet:
        print(f"{file}: written; `perflog config {logs[0]}` shows what is in force")


@app.command(epilog=examples("perflog doctor", "perflog doctor logs/ --format json"))
def doctor(
    logs: Configured = None,
    format_: TextOrJson = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Say what is installed, which engine reads the logs, what is missing, and which files are in force."""
    from perflog.cli.examination import examined, text_of
    from perflog.escaping import json_text

    form = format_for(output, format_, ("text", "json"), "text")
    found = examined(logs or [])
    emit(json_text(found) + "\n" if form == "json" else prose(text_of(found), output), output, quiet)
