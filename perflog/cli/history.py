"""The commands ``perflog save`` and ``perflog history``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perflog.cli.base import app
from perflog.cli.options import DatabaseName, Given, Logs, Quiet, extraction_options
from perflog.cli.output import emit, to_terminal, width_of
from perflog.cli.progress import extractions
from perflog.errors import UsageError
from perflog.settings.config import one_of, pairs, settings

if TYPE_CHECKING:
    from perflog.history import Series

Format = Annotated[str, typer.Option("--format", "-f", help="table, markdown, csv or json.")]
Label = Annotated[
    str, typer.Option("--label", "-l", help="The campaign's name: v2.5, or 2025-06-01.", show_default=False)
]
Date = Annotated[
    str | None,
    typer.Option("--date", help="When it was measured: 2025-01-31. [default: now]", show_default=False),
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Put these results in the place of those that have the label.")
]
CASE_HELP = "Follow the cases that are so over all campaigns: model=rn50,devices=8 (may be repeated)."
VALUE_HELP = "The metric: throughput, step_time, time_to_train, accuracy …"
IGNORE_HELP = "A machine fact that may change within a series: hostname."

history_app = typer.Typer(
    help="The campaigns that were saved, and cases followed over them.", invoke_without_command=True
)
app.add_typer(history_app, name="history")


@app.command(
    epilog="Examples:  perflog save logs/ --label v2.5 --warmup 100  ·  perflog save old/ --label v2.4 "
    "--date 2025-01-31 --database postgresql://team@db/perf. "
    "Exit status: 0 saved, or saved before; 3 saved, and some log or case has no value; 2 nothing saved."
)
@extraction_options()
def save(
    logs: Logs,
    given: Given,
    label: Label,
    date: Date = None,
    replace: Replace = False,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """Keep a campaign's cases, runs and metrics, with where they come from, in the history."""
    from perflog.compare.opening import database_of
    from perflog.export.columns import counted
    from perflog.history import name_of
    from perflog.history import save as store

    when = _date(date)
    chosen = settings(given | {"database": database}, logs)
    place = database_of(chosen)
    database_name = name_of(place)  # a wrong URL is told before the logs are read
    extraction = extractions(quiet).of(logs, chosen)
    saved = store(place, extraction, label, when, replace)
    without = f", {saved.without_value} without a value" if saved.without_value else ""
    counts = f"{counted(saved.cases, 'case')}, {counted(saved.runs, 'run')}"
    print(f"{saved.done}: {saved.label} ({saved.date:%Y-%m-%d}), {counts}{without}")
    if not quiet:
        print(f"in {database_name}", file=sys.stderr)
    if not extraction.complete:
        raise typer.Exit(3)


@history_app.callback(
    epilog="Examples:  perflog history  ·  perflog history --case model=rn50,devices=8  ·  "
    "perflog history --case devices=8 -o series.svg  ·  perflog history delete v2.4"
)
def history(
    context: typer.Context,
    case: Annotated[list[str] | None, typer.Option("--case", help=CASE_HELP, show_default=False)] = None,
    value: Annotated[str, typer.Option("--value", "-v", help=VALUE_HELP)] = "throughput",
    margin: Annotated[str, typer.Option("--margin", help="Changes of level up to this do not matter.")] = "2%",
    ignore: Annotated[list[str] | None, typer.Option("--ignore", help=IGNORE_HELP, show_default=False)] = None,
    form: Format = "table",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write to this file; .svg and .png are pictures.", show_default=False),
    ] = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """List the campaigns that were saved; with --case, follow cases over them."""
    from perflog.compare.opening import database_of
    from perflog.compare.rule import share
    from perflog.history import FORMATS, series
    from perflog.plot.drawing import FORMATS as PICTURES

    one_of("format", form, FORMATS)
    place = database_of(settings({"database": database}))
    context.obj = place
    if context.invoked_subcommand is not None:
        return
    within = share(margin, "--margin")
    if not case:
        if output is not None and output.suffix.removeprefix(".").lower() in PICTURES:
            raise UsageError("a picture needs cases: --case model=rn50,devices=8")
        emit(_campaigns(place, form, to_terminal(output), quiet), output, quiet)
        return
    wanted = pairs([part for text in case for part in text.split(",") if part.strip()], "case")
    lines = series(place, wanted, value, ignore or ())
    emit(_rendered(lines, within, form, output), output, quiet)


@history_app.command("delete", epilog="Example:  perflog history delete v2.4 --yes")
def history_delete(
    context: typer.Context,
    label: Annotated[str, typer.Argument(help="A campaign's label.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    database: DatabaseName = None,
) -> None:
    """Take a campaign out of the history."""
    from perflog.compare.opening import database_of
    from perflog.export.columns import counted
    from perflog.history import campaigns, delete

    place = database_of(settings({"database": database})) if database else context.obj
    entry = None if yes else next((entry for entry in campaigns(place) if entry.label == label), None)
    if entry is not None:
        counts = f"{counted(entry.cases, 'case')}, {counted(entry.runs, 'run')}"
        if not typer.confirm(f"delete {label} ({entry.date:%Y-%m-%d}), {counts}?"):
            print("nothing deleted")
            raise typer.Exit(1)
    delete(place, label)
    print(f"deleted: {label}")


def _date(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--date {text!r}: expected a day such as 2025-01-31, or 2025-01-31T18:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _campaigns(place: str, form: str, terminal: bool, quiet: bool) -> str:
    from perflog.export.columns import counted
    from perflog.history import campaigns, name_of, render_campaigns

    entries = campaigns(place)
    if form not in ("json", "csv") and not quiet:
        count = counted(len(entries), "campaign") if entries else "no campaign yet"
        print(f"{count} in {name_of(place)}", file=sys.stderr)
    return render_campaigns(entries, form, width_of(terminal), terminal)


def _rendered(lines: Sequence[Series], margin: float, form: str, output: Path | None) -> str | bytes:
    """Series as a picture, where the output's name asks for one, or as text."""
    from perflog.history import draw_series, render_series
    from perflog.plot.drawing import FORMATS as PICTURES

    suffix = output.suffix.removeprefix(".").lower() if output is not None else ""
    if suffix in PICTURES:
        return draw_series(lines, margin, suffix)
    terminal = to_terminal(output)
    return render_series(lines, margin, form, width_of(terminal), terminal)
