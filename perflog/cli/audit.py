"""The command ``perflog audit``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perflog.cli.base import app
from perflog.cli.extracting import Progress, catalog_of
from perflog.cli.options import Output, ParserNames, Parsers, Quiet, Set
from perflog.settings.config import one_of, pairs, settings


@app.command(
    epilog="Examples:  perflog audit README.md  ·  perflog audit reports/ --logs logs/ --all -f markdown -o audit.md. "
    "Exit status: 0 no cell differs or contradicts; 1 some do; 2 wrong usage."
)
def audit(
    files: Annotated[list[Path], typer.Argument(help="Markdown files, or folders of them.", show_default=False)],
    logs: Annotated[list[str] | None, typer.Option("--logs", help="Logs (may be repeated). [default: the files' folders]", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every cell, not only those to look at.")] = False,
    form: Annotated[str, typer.Option("--format", "-f", help="text, markdown or json.")] = "text",
    set_: Set = None,
    parser: ParserNames = None,
    parsers: Parsers = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Hold the result tables of ordinary READMEs against their logs: which cells do the logs support?"""
    from perflog.audit import audit as audited
    from perflog.audit import documents
    from perflog.audit.report import FORMATS, failing, markdown, text, to_json
    from perflog.files import write_atomically
    from perflog.logs.find import find_logs

    one_of("format", form, FORMATS)
    found = documents(files)
    places = logs or sorted({str(file.parent) for file in found})
    places = [place for place in places if logs or not any(Path(other) in Path(place).parents for other in places)]
    chosen = settings({"parser": parser, "parsers": parsers, "set": pairs(set_ or [], "set")}, places)
    there = find_logs(places)
    with Progress(sum(max(log.size, 0) for log in there), quiet):
        made = audited(found, there, catalog_of(chosen), chosen.options())
    if form == "json":
        told = to_json(made)
    else:
        told = markdown(made, everything) if form == "markdown" else text(made, everything, output is None and sys.stdout.isatty())
    if output is not None:
        write_atomically(output, told)
        if not quiet:
            print(f"wrote {output}", file=sys.stderr)
    else:
        sys.stdout.write(told)
    if failing(made):
        raise typer.Exit(1)
