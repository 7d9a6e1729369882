"""The command ``perflog audit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perflog.cli.base import app
from perflog.cli.options import Output, ParserNames, Parsers, Quiet, Set
from perflog.cli.output import emit, to_terminal
from perflog.cli.progress import progress_bar
from perflog.settings.config import one_of, pairs, settings

LOGS_HELP = "Logs (may be repeated). [default: the files' folders]"
LogFolders = Annotated[list[str] | None, typer.Option("--logs", help=LOGS_HELP, show_default=False)]
Everything = Annotated[bool, typer.Option("--all", help="Show every cell, not only those to look at.")]


@app.command(
    epilog="Examples:  perflog audit README.md  ·  perflog audit reports/ --logs logs/ --all -f markdown -o audit.md. "
    "Exit status: 0 no cell differs or contradicts; 1 some do; 2 wrong usage."
)
def audit(
    files: Annotated[list[Path], typer.Argument(help="Markdown files, or folders of them.", show_default=False)],
    logs: LogFolders = None,
    everything: Everything = False,
    form: Annotated[str, typer.Option("--format", "-f", help="text, markdown or json.")] = "text",
    set_: Set = None,
    parser: ParserNames = None,
    parsers: Parsers = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Hold the result tables of ordinary READMEs against their logs: which cells do the logs support?"""
    from perflog.api.auditing import folders_of
    from perflog.audit import FORMATS, documents, failing, render
    from perflog.audit import audit as judge_cells
    from perflog.logs.find import find_logs
    from perflog.report.extractions import catalog_of

    one_of("format", form, FORMATS)
    pages = documents(files)
    places = logs or folders_of(pages)
    chosen = settings({"parser": parser, "parsers": parsers, "set": pairs(set_ or [], "set")}, places)
    log_files = find_logs(places)
    with progress_bar(quiet)(sum(max(log.size, 0) for log in log_files)):
        judgements = judge_cells(pages, log_files, catalog_of(chosen), chosen.options())
    emit(render(judgements, form, everything, to_terminal(output)), output, quiet)
    if failing(judgements):
        raise typer.Exit(1)
