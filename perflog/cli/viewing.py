"""Commands that show a run over time: view, records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perflog.cli.base import EXIT_STATUS, app, examples
from perflog.cli.options import Given, Lang, Logs, Output, Quiet, Where, extraction_options
from perflog.cli.output import emit, say_written
from perflog.cli.progress import end_where_unread, extractions
from perflog.settings.config import pairs, settings

_SERVE = "Show the page in a browser on this machine and follow the logs as they grow, until Ctrl-C."
Serve = Annotated[bool, typer.Option("--serve", help=_SERVE)]
_PORT = "With --serve: the port. [default: any that is free]"
Port = Annotated[int, typer.Option("--port", help=_PORT, min=0, max=65535, show_default=False)]
_FORMAT = "csv, jsonl or parquet; also by the ending of --output. [default: csv]"
RecordsFormat = Annotated[str | None, typer.Option("--format", "-f", help=_FORMAT, show_default=False)]


@app.command(
    epilog=examples(
        "perflog view logs/ -o view.html",
        "perflog view old.log new.log --warmup 100 -o view.html",
        "perflog view logs/ --serve",
        more=EXIT_STATUS,
    )
)
@extraction_options()
def view(
    logs: Logs, given: Given, where: Where = None, lang: Lang = "en", output: Output = None, serve: Serve = False,
    port: Port = 0, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Look at runs over time: stalls and their log lines, runs over each other, on one page that loads nothing."""
    from perflog.view.records import read_records

    chosen, wanted = settings(given, logs), pairs(where or [], "where")
    if serve:
        if output is not None:
            raise typer.BadParameter("a page is served or written: leave out --serve or --output", param_hint="--serve")
        from perflog.view.serve import serve as serve_forever

        serve_forever(logs, given, wanted, lang, port, print)
        return
    from perflog.show.text import counted
    from perflog.view.page import view_page

    read = extractions(quiet)
    seen = read_records(logs, chosen, read, wanted)
    page = view_page(seen, lang)
    target = output or Path("view.html")
    emit(page, target, quiet=True)
    say_written(target, quiet, counted(len(seen.runs), "run"))
    end_where_unread(read, quiet)


@app.command(
    epilog=examples(
        "perflog records logs/ -o records.parquet",
        "perflog records train.log --format csv",
        more=EXIT_STATUS,
    )
)
@extraction_options()
def records(
    logs: Logs, given: Given, where: Where = None, format_: RecordsFormat = None, output: Output = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Give the measurements behind every number as data: a row a printed line, with its step, time and rate."""
    from perflog.show.options import format_for
    from perflog.view.records import RECORD_FORMATS, encoded_records, read_records

    form = format_for(output, format_, RECORD_FORMATS, "csv")
    if form == "parquet" and output is None:
        raise typer.BadParameter("parquet is not text: name a file with --output FILE", param_hint="--format")
    chosen, wanted = settings(given, logs), pairs(where or [], "where")
    read = extractions(quiet)
    seen = read_records(logs, chosen, read, wanted)
    emit(encoded_records(seen, form), output, quiet)
    end_where_unread(read, quiet)
