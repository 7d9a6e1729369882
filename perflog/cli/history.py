"""The commands ``perflog save`` and ``perflog history``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from perflog.cli.base import Application, Rare, app, examples
from perflog.cli.cases import cache_of
from perflog.cli.options import (
    DatabaseName,
    Given,
    Logs,
    Quiet,
    TextOrJson,
    WithCache,
    extraction_options,
    shared_option,
)
from perflog.cli.output import emit, emit_to_github, say_lacking, to_terminal, width_of
from perflog.cli.progress import extractions
from perflog.errors import PerflogError, UsageError
from perflog.settings.config import one_of, pairs, settings

#: The groups of the options of `perflog history`.
FOLLOWED, IN_CI, SITE = "What is followed", "In CI", "For a site"
_FORM = "table, markdown, csv, json; with --case svg, png; with --regressions junit, github, atom. [default: table]"
Format = Annotated[str | None, typer.Option("--format", "-f", help=_FORM, show_default=False)]
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
_COMMIT = "The commit that was measured; git: what is checked out here; ci: what the CI's variables say."
Commit = Annotated[str | None, typer.Option("--commit", help=_COMMIT, show_default=False)]
_BRANCH = "Its branch. [default: the one that goes with --commit git or ci]"
Branch = Annotated[str | None, typer.Option("--branch", help=_BRANCH, show_default=False)]
CASE_HELP = "Only these cases: model=rn50,devices=8; repeatable."
Cases = Annotated[
    list[str] | None, typer.Option("--case", help=CASE_HELP, show_default=False, rich_help_panel=FOLLOWED)
]
_OF_BRANCH = "The campaigns of this branch alone."
OfBranch = Annotated[str, typer.Option("--branch", help=_OF_BRANCH, show_default=False, rich_help_panel=Rare(FOLLOWED))]
_CHANGED = "Only cases that changed level, worst first."
Changed = Annotated[bool, typer.Option("--regressions", help=_CHANGED, rich_help_panel=FOLLOWED)]
_SINCE = "With --regressions: since v2.4, or since 2025-01-31."
Since = Annotated[str, typer.Option("--since", help=_SINCE, show_default=False, rich_help_panel=FOLLOWED)]
_VALUE = "The metric: throughput, step_time …; for a site also several."
Value = Annotated[str, typer.Option("--value", "-v", help=_VALUE, rich_help_panel=FOLLOWED)]
Margin = Annotated[
    str, typer.Option("--margin", help="Smaller changes of level do not matter.", rich_help_panel=FOLLOWED)
]
_IGNORE = "A machine fact that may change within a series: hostname."
Ignore = Annotated[
    list[str] | None, typer.Option("--ignore", help=_IGNORE, show_default=False, rich_help_panel=Rare(FOLLOWED))
]
_GATE = "The exit status says whether a case got worse."
GateFlag = Annotated[bool, typer.Option("--gate", help=_GATE, rich_help_panel=IN_CI)]
_FAIL_ON = "What fails: slower, inconclusive, missing or nothing-compared. Implies --gate."
FailOn = Annotated[str, typer.Option("--fail-on", help=_FAIL_ON, show_default=False, rich_help_panel=IN_CI)]
_CODE = "For a site: the repository's address, to link commits and differences: https://github.com/NAME/NAME."
CodeAddress = Annotated[
    str, typer.Option("--code-url", help=_CODE, metavar="URL", show_default=False, rich_help_panel=Rare(SITE))
]
_VIEWED = "For a site: the pages of campaigns' runs (perflog view), from the site: ../runs/{campaign}.html."
ViewAddress = Annotated[
    str, typer.Option("--view", help=_VIEWED, metavar="ADDRESS", show_default=False, rich_help_panel=Rare(SITE))
]
SiteLang = Annotated[str, shared_option("lang", show_default=True, needed=(), group=SITE)]
_OUTPUT = "Write to this file; .svg and .png are pictures; a folder (site/) becomes a site."
OutputText = Annotated[str | None, typer.Option("--output", "-o", help=_OUTPUT, show_default=False)]


_LEDGER_FORM = typer.Option("--format", "-f", help="table, markdown, csv or json.", show_default=False)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of a history: where it is, which cases, what of them, and how it is told."""

    place: str
    wanted: Mapping[str, str]
    metric: str
    margin: float
    ignored: Sequence[str]
    since: str
    branch: str
    language: str
    code: str
    view: str
    quiet: bool


history_app = Application(
    help="The campaigns that were saved, and cases followed over them.", invoke_without_command=True
)
app.add_typer(history_app, name="history")


@app.command(
    epilog=examples(
        "perflog save logs/ --label v2.5 --warmup 100",
        "perflog save old/ --label v2.4 --date 2025-01-31 --database postgresql://team@db/perf",
        "perflog save logs/ --label nightly-812 --commit ci",
        more="Exit status: 0 saved, or saved before; 3 saved, and some log or case has no value; 2 nothing saved.",
    )
)
@extraction_options()
def save(
    logs: Logs,
    given: Given,
    label: Label,
    date: Date = None,
    replace: Replace = False,
    commit: Commit = None,
    branch: Branch = None,
    database: DatabaseName = None,
    format_: TextOrJson = None,
    cache: WithCache = None,
    quiet: Quiet = False,
) -> None:
    """Keep a campaign's cases, runs and metrics, with where they come from, in the history."""
    from perflog.compare.sides import database_of
    from perflog.escaping import json_text
    from perflog.history import code_of, name_of
    from perflog.history import save as store
    from perflog.show.options import format_for
    from perflog.show.text import counted

    when, form = _date(date), format_for(None, format_, ("text", "json"), "text")
    chosen = settings(given | {"database": database}, logs)
    place = database_of(chosen)
    database_name = name_of(place)  # a wrong URL is told before the logs are read
    code = code_of(commit, branch)
    read = extractions(quiet, cache_of(cache, quiet))
    extraction = read.of(logs, chosen)
    read.require_all_read("saved")
    saved = store(place, extraction, label, when, replace, code)
    if form == "json":
        outcome = {**asdict(saved), "date": f"{saved.date:%Y-%m-%d}", **asdict(code), "database": database_name}
        print(json_text({"schema": "perflog/saved/1", "campaign": outcome}))
        raise typer.Exit(0 if extraction.complete else 3)
    without = f", {saved.without_value} without a value" if saved.without_value else ""
    counts = f"{counted(saved.cases, 'case')}, {counted(saved.runs, 'run')}"
    print(f"{saved.done}: {saved.label} ({saved.date:%Y-%m-%d}), {counts}{without}")
    if not quiet:
        print(f"in {database_name}", file=sys.stderr)
    if not extraction.complete:
        raise typer.Exit(3)


@history_app.callback(
    epilog=examples(
        "perflog history",
        "perflog history --case model=rn50,devices=8",
        "perflog history --case devices=8 -o series.svg",
        "perflog history --regressions --since v2.4 --gate",
        "perflog history --regressions -f atom -o feed.atom",
        "perflog history -o site/",
        more="Exit status: 0; with --gate or --fail-on 1 a case got worse, 3 another reason that was asked for; "
        "2 wrong usage.",
    )
)
def history(
    context: typer.Context, case: Cases = None, regressions: Changed = False, since: Since = "", branch: OfBranch = "",
    value: Value = "throughput", margin: Margin = "2%", ignore: Ignore = None, gate: GateFlag = False,
    fail_on: FailOn = "", form: Format = None, output: OutputText = None, lang: SiteLang = "en",
    database: DatabaseName = None, code_url: CodeAddress = "", view: ViewAddress = "", quiet: Quiet = False,
) -> None:  # fmt: skip
    """List the campaigns that were saved; follow cases over them; find those that changed; make a site of all."""
    from perflog.cases.pairs import metrics_named
    from perflog.compare.rule import share
    from perflog.compare.sides import database_of

    place = database_of(settings({"database": database}))
    context.obj = place
    if context.invoked_subcommand is not None:
        return
    asked = Asked(
        place, _wanted(case), metrics_named(value), share(margin, "--margin"), ignore or [], since, branch, lang,
        code_url, view, quiet,
    )  # fmt: skip
    site = output is not None and (output.endswith("/") or Path(output).is_dir())
    file = Path(output) if output is not None else None
    reasons = _reasons(regressions, gate, fail_on, since)
    for option, given in {"--code-url": code_url, "--view": view}.items():
        if given and not site:
            raise UsageError(f"{option} is for a site: perflog history -o site/ {option} {given}")
    if file is not None and site:
        _write_site(asked, file, regressions, form)
    elif regressions:
        _show_regressions(asked, form, file, reasons)
    elif asked.wanted:
        _show_series(asked, form, file)
    else:
        _show_campaigns(asked, form, file)


def _wanted(case: Sequence[str] | None) -> Mapping[str, str]:
    """The cases that ``--case`` names."""
    return pairs([part for text in case or () for part in text.split(",") if part.strip()], "case")


def _reasons(regressions: bool, gate: bool, fail_on: str, since: str) -> list[str]:
    """What the gate is asked to fail on. Raises UsageError for what only ``--regressions`` has."""
    from perflog.compare.sides import names
    from perflog.history.level_changes import GATE, REASONS

    if not regressions:
        given = {"--gate": gate, "--fail-on": fail_on, "--since": since}
        for option, is_given in given.items():
            if is_given:
                raise UsageError(f"{option} goes with --regressions: perflog history --regressions {option} …")
    return names(fail_on, "fail-on", list(REASONS)) or (list(GATE) if gate else [])


def _write_site(asked: Asked, folder: Path, regressions: bool, form: str | None) -> None:
    """Make the site and put it in its folder. Raises UsageError where the folder holds anything else."""
    from perflog.cli.output import say_written
    from perflog.history import publish, site
    from perflog.history.publishing import refusal
    from perflog.show.words import LANGUAGES

    if regressions or form not in (None, "html"):
        what = "--regressions" if regressions else f"--format {form}"
        raise UsageError(f"--output {folder}/ is a site, which {what} has not: name a file instead")
    one_of("lang", asked.language, list(LANGUAGES))
    refused = refusal(folder)  # told before the work is done
    if refused:
        raise UsageError(refused)
    made = site(
        asked.place, folder, asked.metric.split(","), asked.margin, asked.wanted, asked.ignored, asked.language,
        asked.branch, asked.code, asked.view,
    )  # fmt: skip
    publish(folder, made.files)
    say_written(folder / "index.html", asked.quiet, made.described)


def _show_regressions(asked: Asked, form: str | None, output: Path | None, reasons: Sequence[str]) -> None:
    """Print or write the changed cases; exit as the gate says, where it was asked for."""
    from perflog.history import look, outputs, regressions, render_regressions
    from perflog.history.changed_cases import FORMATS
    from perflog.show.options import format_for

    form = format_for(output, form, [*FORMATS, *outputs.FORMATS], "table")
    wanted = (asked.place, asked.since, asked.metric, asked.margin, asked.wanted, asked.ignored, asked.branch)
    try:
        found = look(*wanted)
    except PerflogError as error:  # whoever may only read still sees what is there
        found = regressions(*wanted)
        print(f"perflog: not kept in the ledger: {error}", file=sys.stderr)
    result = found.gate(reasons) if reasons else None
    terminal = to_terminal(output)
    if form == "github":
        table, said = partial(render_regressions, found, "table"), outputs.findings(found, reasons, result)
        emit_to_github(render_regressions(found, "markdown"), table, said, output, asked.quiet)
    elif form in outputs.FORMATS:
        emit(outputs.render(found, form, reasons), output, asked.quiet)
    else:
        emit(render_regressions(found, form, width_of(terminal), terminal), output, asked.quiet)
    if result is not None:
        print(result.sentence, file=sys.stderr)
        raise typer.Exit(result.status)


def _show_series(asked: Asked, form: str | None, output: Path | None) -> None:
    """Print or write the cases that are wanted, as text or as a picture."""
    from perflog.history import FORMATS, draw_series, render_series, series
    from perflog.show.drawing import FORMATS as PICTURES
    from perflog.show.options import format_for
    from perflog.show.series import drawable_words
    from perflog.show.words import LANGUAGES

    one_of("lang", asked.language, list(LANGUAGES))
    form = format_for(output, form, [*FORMATS, *PICTURES], "table")
    lines = series(asked.place, asked.wanted, asked.metric, asked.ignored, asked.branch)
    terminal = to_terminal(output)
    if form in PICTURES:
        emit(draw_series(lines, asked.margin, form, asked.language), output, asked.quiet)
        if output is not None and drawable_words(asked.language, form).language != asked.language:
            say_lacking(output, ["English words"])
    else:
        emit(render_series(lines, asked.margin, form, width_of(terminal), terminal), output, asked.quiet)


def _show_campaigns(asked: Asked, form: str | None, output: Path | None) -> None:
    """Print or write the list of campaigns. Raises UsageError for a picture, which needs cases."""
    from perflog.history import FORMATS, campaigns, name_of, render_campaigns
    from perflog.show.drawing import FORMATS as PICTURES
    from perflog.show.options import format_for
    from perflog.show.text import counted

    if output is not None and output.suffix.removeprefix(".").lower() in PICTURES:
        raise UsageError("a picture needs cases: --case model=rn50,devices=8")
    form, terminal = format_for(output, form, FORMATS, "table"), to_terminal(output)
    entries = campaigns(asked.place)
    if form not in ("json", "csv") and not asked.quiet:
        count = counted(len(entries), "campaign") if entries else "no campaign yet"
        print(f"{count} in {name_of(asked.place)}", file=sys.stderr)
    emit(render_campaigns(entries, form, width_of(terminal), terminal), output, asked.quiet)


@history_app.command("delete", epilog=examples("perflog history delete v2.4 --yes"))
def history_delete(
    context: typer.Context,
    label: Annotated[str, typer.Argument(help="A campaign's label.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    database: DatabaseName = None,
) -> None:
    """Take a campaign out of the history."""
    from perflog.history import campaigns, delete
    from perflog.show.text import counted

    place = _place(context, database)
    entry = None if yes else next((entry for entry in campaigns(place) if entry.label == label), None)
    if entry is not None:
        counts = f"{counted(entry.cases, 'case')}, {counted(entry.runs, 'run')}"
        if not typer.confirm(f"delete {label} ({entry.date:%Y-%m-%d}), {counts}?"):
            print("nothing deleted")
            raise typer.Exit(1)
    delete(place, label)
    print(f"deleted: {label}")


def _place(context: typer.Context, database: str | None) -> str:
    """The database of a command below ``history``: its own ``--database``, or the one before its name."""
    from perflog.compare.sides import database_of

    return database_of(settings({"database": database})) if database else str(context.obj)


_AT = typer.Argument(help="The campaign's label, as the tables show it.", show_default=False)
At = Annotated[str, _AT]
Text = Annotated[str, typer.Argument(help="What is to be said, in a line.", show_default=False)]
_BY = "Who says it. [default: git's user.name]"
By = Annotated[str | None, typer.Option("--by", help=_BY, metavar="NAME", show_default=False)]


@history_app.command(
    "ack", epilog=examples("perflog history ack v2.4 'known: driver bug 4711' --case model=rn50 --by Ada")
)
def history_ack(
    context: typer.Context, campaign: At, text: Text, case: Cases = None, by: By = None, value: Value = "throughput",
    margin: Margin = "2%", ignore: Ignore = None, branch: OfBranch = "", database: DatabaseName = None,
) -> None:  # fmt: skip
    """Answer for what got worse: it no longer fails the gate.

    It is listed with the answer.
    """
    from perflog.compare.rule import share
    from perflog.history import acknowledge

    place, width = _place(context, database), share(margin, "--margin")
    for event in acknowledge(place, campaign, text, _author(by), value, width, _wanted(case), ignore or [], branch):
        print(f"acknowledged: {event.name} at {event.campaign}")


@history_app.command("note", epilog=examples("perflog history note v2.4 'new power supply in rack 7' --by Ada"))
def history_note(
    context: typer.Context, campaign: At, text: Text, case: Cases = None, by: By = None, database: DatabaseName = None
) -> None:
    """Keep a note on a campaign, or on some of its cases."""
    from perflog.history import note

    for event in note(_place(context, database), campaign, text, _author(by), _wanted(case)):
        print(f"noted: {' at '.join(filter(None, (event.name, event.campaign)))}")


def _author(given: str | None) -> str:
    """Who says it: ``--by``, or git's user. Raises UsageError where neither is known."""
    from perflog.history.commits import git

    if given is not None:
        return given
    try:
        return git(Path(), "config", "user.name", asked="--by")
    except UsageError:
        raise UsageError("--by is missing, and git has no user.name here: say who says it") from None


@history_app.command(
    "events", epilog=examples("perflog history events", "perflog history events -f json -o events.json")
)
def history_events(
    context: typer.Context, form: Annotated[str | None, _LEDGER_FORM] = None, output: OutputText = None,
    database: DatabaseName = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """List the ledger: what was found, noted and acknowledged, and when.

    Each entry says by whom. Nothing is ever taken out of it.
    """
    from perflog.history import FORMATS, events, render_events
    from perflog.show.options import format_for

    file = Path(output) if output is not None else None
    form = format_for(file, form, FORMATS, "table")
    terminal = to_terminal(file)
    there = events(_place(context, database))
    if not there and form == "table":
        print("the ledger is empty: `perflog history --regressions` adds what it finds", file=sys.stderr)
    emit(render_events(there, form, width_of(terminal), terminal), file, quiet)


_REPOSITORY = typer.Option(
    "--repository", help="A folder of the repository, to find the commit between.", metavar="FOLDER", show_default=False
)


_RUN = "Measure the commits between, each in turn with the good one, with this campaign file of the repository."
_PREPARE = "With --run: a command that makes a commit's work tree ready, run in it: make."
_ONLY = "With --run: this part of the campaign alone: devices=1n8g."
_LOGS = "With --run: the folder of work trees and logs."
_MAX_RUNS = "With --run: a commit is undecided after so many runs a side. [default: 30]"


@history_app.command(
    "bisect",
    epilog=examples(
        "perflog history bisect v2.5",
        "perflog history bisect v2.5 --case model=rn50 --repository .",
        "perflog history bisect v2.5 --run bench/campaign.toml --prepare make",
        more="The same command goes on where it was cut off. Exit status: 0 told, or with --run the commit was found; "
        "1 with --run it was not.",
    ),
)
def history_bisect(
    context: typer.Context, campaign: At, case: Cases = None,
    repository: Annotated[Path | None, _REPOSITORY] = None,
    run: Annotated[Path | None, typer.Option(help=_RUN, metavar="FILE", show_default=False)] = None,
    prepare: Annotated[str, typer.Option(help=_PREPARE, metavar="COMMAND", show_default=False)] = "",
    only: Annotated[list[str] | None, typer.Option(help=_ONLY, show_default=False)] = None,
    logs: Annotated[Path, typer.Option(help=_LOGS)] = Path("bisect"),
    max_runs: Annotated[int | None, typer.Option(min=4, help=_MAX_RUNS, show_default=False)] = None,
    value: Value = "throughput", margin: Margin = "2%", ignore: Ignore = None, branch: OfBranch = "",
    database: DatabaseName = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Find the commit that made cases worse.

    Says between which commits the cases got worse that did so at a campaign, and with --run which one did it.
    """
    from perflog.cli.bisecting import search, tell, tell_next
    from perflog.compare.rule import share
    from perflog.history import bisect

    if run is None and (prepare or only or max_runs is not None):
        raise UsageError("--prepare, --only and --max-runs go with --run CAMPAIGN.toml")
    if run is not None and value != "throughput":
        raise UsageError(f"--run measures throughput, not {value}")
    place, width = _place(context, database), share(margin, "--margin")
    folder = repository if run is None else repository or run.parent
    suspects = bisect(place, campaign, folder, value, width, _wanted(case), ignore or [], branch)
    if run is None:
        for found in suspects:
            tell(found)
            tell_next(found)
        return
    from perflog.campaign.halving import Search
    from perflog.campaign.versus import MAX_RUNS, Budget

    part, budget = pairs(only or [], "only"), Budget(max_runs or MAX_RUNS)
    template = Search(repository or run.parent, "", "", run, logs, prepare, part, budget, width)
    halved = []
    for found in suspects:
        tell(found)
        halved.append(search(found, template, quiet))
    if any(one.first_bad is None for one in halved):
        raise typer.Exit(1)


@history_app.command(
    "check", epilog=examples("perflog history check", more="Exit status: 0 all is whole; 1 it is not.")
)
def history_check(context: typer.Context, database: DatabaseName = None, quiet: Quiet = False) -> None:
    """Check that every campaign and event is as it was written."""
    from perflog.history import check
    from perflog.show.text import counted

    found = check(_place(context, database))
    for fault in found.faults:
        print(fault)
    counts = f"{counted(found.campaigns, 'campaign')}, {counted(found.events, 'event')}"
    if not quiet:
        print(f"{counts}: {counted(len(found.faults), 'fault') if found.faults else 'all as it was written'}")
    if found.faults:
        raise typer.Exit(1)


def _date(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--date {text!r}: expected a day such as 2025-01-31, or 2025-01-31T18:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
