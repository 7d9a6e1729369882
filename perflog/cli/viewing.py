"""Commands that show a run over time: view, records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perflog.cli.base import EXIT_STATUS, app, examples
from perflog.cli.options import Given, Lang, Logs, Output, Quiet, Where, extraction_options
from perflog.cli.output import emit, say_written
from perflog.cli.progress import end_where_unread, extractions
from perflog.cli.seen import write_view
from perflog.errors import UsageError
from perflog.settings.config import pairs, settings

_SERVE = "Show the page in a browser on this machine and follow the logs as they grow, until Ctrl-C."
Serve = Annotated[bool, typer.Option("--serve", help=_SERVE)]
_PORT = "With --serve: the port. [default: any that is free]"
Port = Annotated[int, typer.Option("--port", help=_PORT, min=0, max=65535, show_default=False)]
_FORMAT = "csv, jsonl, parquet, or tensorboard (a folder of event files); also by --output's ending. [default: csv]"
_TENSORBOARD = "tensorboard"
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
    read = extractions(quiet)
    seen = read_records(logs, chosen, read, wanted, growing=True)
    if not seen.extraction.cases:
        raise UsageError(seen.extraction.why_none)
    write_view(output or Path("view.html"), seen, lang, quiet)
    end_where_unread(read, quiet)


@app.command(
    epilog=examples(
        "perflog records logs/ -o records.parquet",
        "perflog records train.log --format csv",
        "perflog records logs/ --format tensorboard -o runs/",
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
    from perflog.view.records import RECORD_FORMATS, encoded_records, frame_of, read_records

    form = format_for(output, format_, (*RECORD_FORMATS, _TENSORBOARD), "csv")
    if form in ("parquet", _TENSORBOARD) and output is None:
        what = "a folder" if form == _TENSORBOARD else "a file"
        raise typer.BadParameter(f"{form} is not text: name {what} with --output", param_hint="--format")
    chosen, wanted = settings(given, logs), pairs(where or [], "where")
    read = extractions(quiet)
    seen = read_records(logs, chosen, read, wanted)
    if form == _TENSORBOARD and output is not None:
        from perflog.files import write_atomically
        from perflog.show.exchange import records_to_tensorboard

        for name, content in records_to_tensorboard(frame_of(seen)).items():
            write_atomically(output / name, content, parents=True)
        say_written(output, quiet)
    else:
        emit(encoded_records(seen, form), output, quiet)
    end_where_unread(read, quiet)
