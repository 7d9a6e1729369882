"""The command ``perflog audit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perflog.cli.base import app, examples
from perflog.cli.options import Output, ParserNames, Parsers, Quiet, Set
from perflog.cli.output import emit, emit_commands, prose, to_terminal
from perflog.cli.progress import progress_bar
from perflog.logs.addresses import as_addresses
from perflog.settings.config import pairs, settings

LOGS_HELP = "Logs (may be repeated). [default: those below the files' folders, or that the tables' recipes name]"
_LOGS = typer.Option("--logs", help=LOGS_HELP, show_default=False, callback=as_addresses)
LogFolders = Annotated[list[str] | None, _LOGS]
Everything = Annotated[bool, typer.Option("--all", help="Show every cell, not only those to look at.")]
_FORM = "text, markdown, json, junit (XML) or github (annotations of GitHub Actions). [default: text]"
Form = Annotated[str | None, typer.Option("--format", "-f", help=_FORM, show_default=False)]
_TOLERANCE = "Differences of up to this share fail no cell: 0.1%."
Tolerance = Annotated[str, typer.Option("--tolerance", help=_TOLERANCE)]


@app.command(
    epilog=examples(
        "perflog audit README.md",
        "perflog audit reports/ --logs logs/ --tolerance 0.1%",
        "perflog audit reports/ --logs logs/ --all -o audit.md",
        more="Exit status: 0 cells were checked, none differs or contradicts; 1 some do, or nothing could be checked; "
        "2 wrong usage.",
    )
)
def audit(
    files: Annotated[list[Path], typer.Argument(help="Markdown files, or folders of them.", show_default=False)],
    logs: LogFolders = None,
    tolerance: Tolerance = "0.1%",
    everything: Everything = False,
    form: Form = None,
    set_: Set = None,
    parser: ParserNames = None,
    parsers: Parsers = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Hold the result tables of ordinary READMEs against their logs: which cells do the logs support?"""
    from perflog.audit import FORMATS, documents, failing, render
    from perflog.audit import audit as judge_cells
    from perflog.audit.auditing import folders_of
    from perflog.compare.rule import share as share_of
    from perflog.export.options import format_for
    from perflog.logs.find import find_logs

    chosen_form = format_for(output, form, FORMATS, "text")
    share = share_of(tolerance, "--tolerance")
    pages = documents(files)
    given = {"parser": parser, "parsers": parsers, "set": pairs(set_ or [], "set")}
    chosen = settings(given, logs or folders_of(pages))
    found = find_logs(logs) if logs else None
    judgements = judge_cells(pages, found, chosen.catalog(), chosen.options(), share, progress_bar(quiet))
    text = render(judgements, chosen_form, everything, to_terminal(output))
    if chosen_form == "github" and output is None:
        emit_commands(text)
    else:
        emit(prose(text, output) if chosen_form == "text" else text, output, quiet)
    if failing(judgements):
        raise typer.Exit(1)
