"""The commands ``perflog save`` and ``perflog history``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perflog.cli.base import app
from perflog.cli.extracting import database_of, extracted
from perflog.cli.options import DatabaseName, Given, Logs, Quiet, extraction_options, share
from perflog.errors import UsageError
from perflog.settings.config import one_of, pairs, settings

if TYPE_CHECKING:
    from perflog.export.columns import Grid
    from perflog.history.series import Series

Format = Annotated[str, typer.Option("--format", "-f", help="table, markdown, csv or json.")]
CASE_HELP = "Follow the cases that are so over all campaigns: model=rn50,devices=8 (may be repeated)."

history_app = typer.Typer(help="The campaigns that were saved, and cases followed over them.", invoke_without_command=True)
app.add_typer(history_app, name="history")


@app.command(
    epilog="Examples:  perflog save logs/ --label v2.5 --warmup 100  ·  perflog save old/ --label v2.4 --date 2025-01-31 --database postgresql://team@db/perf. "
    "Exit status: 0 saved, or saved before; 3 saved, and some log or case has no value; 2 nothing saved."
)
@extraction_options()
def save(
    logs: Logs, given: Given,
    label: Annotated[str, typer.Option("--label", "-l", help="The campaign's name: v2.5, or 2025-06-01.", show_default=False)],
    date: Annotated[str | None, typer.Option("--date", help="When it was measured: 2025-01-31. [default: now]", show_default=False)] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put these results in the place of those that have the label.")] = False,
    database: DatabaseName = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Keep a campaign's cases, runs and metrics, with where they come from, in the history."""
    from perflog.history import save as saving
    from perflog.history.place import shown, url_of

    when = _date(date)
    chosen = settings(given | {"database": database}, logs)
    place = database_of(chosen)
    url_of(place)  # a wrong URL is told before the logs are read
    extraction = extracted(logs, chosen, quiet)
    saved = saving.save(place, extraction, label, when, replace)
    missing = sum(run.throughput.value is None for run in extraction.runs)
    without = f", {missing} without a value" if missing else ""
    print(f"{saved.done}: {saved.label} ({saved.date:%Y-%m-%d}), {_many(saved.cases, 'case')}, {_many(saved.runs, 'run')}{without}")
    if not quiet:
        print(f"in {shown(url_of(place))}", file=sys.stderr)
    if not extraction.complete:
        raise typer.Exit(3)


@history_app.callback(
    epilog="Examples:  perflog history  ·  perflog history --case model=rn50,devices=8  ·  perflog history --case devices=8 -o series.svg  ·  "
    "perflog history delete v2.4"
)
def history(
    context: typer.Context,
    case: Annotated[list[str] | None, typer.Option("--case", help=CASE_HELP, show_default=False)] = None,
    value: Annotated[str, typer.Option("--value", "-v", help="The metric: throughput, step_time, time_to_train, accuracy …")] = "throughput",
    margin: Annotated[str, typer.Option("--margin", help="Changes of level up to this do not matter.")] = "2%",
    ignore: Annotated[list[str] | None, typer.Option("--ignore", help="A machine fact that may change within a series: hostname.", show_default=False)] = None,
    form: Format = "table",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file; .svg and .png are pictures.", show_default=False)] = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """List the campaigns that were saved; with --case, follow cases over them."""
    from perflog.files import write_atomically
    from perflog.history.tell import FORMATS
    from perflog.plot.drawing import FORMATS as PICTURES

    one_of("format", form, FORMATS)
    place = database_of(settings({"database": database}))
    context.obj = place
    if context.invoked_subcommand is not None:
        return
    within = share(margin, "--margin")
    drawn = output.suffix.removeprefix(".").lower() if output is not None else ""
    if drawn in PICTURES and not case:
        raise UsageError("a picture needs cases: --case model=rn50,devices=8")
    data: str | bytes
    if not case:
        data = _campaigns(place, form, output is None and sys.stdout.isatty(), quiet)
    else:
        from perflog.history.series import series

        found = series(place, pairs([part for text in case for part in text.split(",") if part.strip()], "case"), value, ignore or ())
        if drawn in PICTURES:
            from perflog.history.picture import picture

            data = picture(found, within, drawn)
        else:
            data = _series(found, within, form, output is None and sys.stdout.isatty())
    if output is None:
        assert isinstance(data, str)
        sys.stdout.write(data)
        return
    write_atomically(output, data)
    if not quiet:
        print(f"wrote {output}", file=sys.stderr)


@history_app.command("delete", epilog="Example:  perflog history delete v2.4 --yes")
def history_delete(
    context: typer.Context,
    label: Annotated[str, typer.Argument(help="A campaign's label.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    database: DatabaseName = None,
) -> None:
    """Take a campaign out of the history."""
    from perflog.history.campaigns import campaigns, delete_campaign

    place = database_of(settings({"database": database})) if database else context.obj
    if not yes:
        entry = next((one for one in campaigns(place) if one.label == label), None)
        if entry is not None and not typer.confirm(f"delete {label} ({entry.date:%Y-%m-%d}), {_many(entry.cases, 'case')}, {_many(entry.runs, 'run')}?"):
            print("nothing deleted")
            raise typer.Exit(1)
    delete_campaign(place, label)
    print(f"deleted: {label}")


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _date(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--date {text!r}: expected a day such as 2025-01-31, or 2025-01-31T18:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _campaigns(place: str, form: str, terminal: bool, quiet: bool) -> str:
    from perflog.history import tell
    from perflog.history.campaigns import campaigns
    from perflog.history.place import shown, url_of

    entries = campaigns(place)
    if form == "json":
        return tell.to_json({"schema": tell.SCHEMA, "campaigns": tell.campaign_rows(entries)})
    if form == "csv":
        return tell.to_csv(tell.campaign_rows(entries))
    if not quiet:
        many = _many(len(entries), "campaign") if entries else "no campaign yet"
        print(f"{many} in {shown(url_of(place))}", file=sys.stderr)
    return _grids([tell.campaign_grid(entries)], form, terminal) if entries else ""


def _series(found: Sequence[Series], margin: float, form: str, terminal: bool) -> str:
    from perflog.history import tell

    if form == "json":
        return tell.to_json(tell.document(found, margin))
    if form == "csv":
        return tell.to_csv(tell.series_rows(found, margin))
    return _grids([tell.series_grid(one, margin) for one in found], form, terminal)


def _grids(grids: Sequence[Grid], form: str, colour: bool) -> str:
    import shutil

    from perflog.export.text import drawn, marked

    width: Any = shutil.get_terminal_size().columns if colour else None
    return "\n".join(marked(one) if form == "markdown" else drawn(one, width, colour) for one in grids)
