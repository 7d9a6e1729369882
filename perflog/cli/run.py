"""Commands that make logs: run, watch."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perflog.campaign import Observer
from perflog.cli.base import Rare, app, examples
from perflog.cli.options import DatabaseName, Quiet, TextOrJson
from perflog.escaping import visible
from perflog.settings.config import pairs

if TYPE_CHECKING:
    from perflog.campaign import Completion, Job, Outcome, Progress, Schedule

#: The groups of the options of `perflog run`.
WHAT, VERSUS, MADE = "What is run", "Against an old side", "Environments"
CAMPAIGN_HELP = "What to train, how often (docs/campaigns.md)."
REPEATS_HELP = "So many runs of each configuration. [default: the campaign's]"
AGAINST_HELP = (
    "Measure against this, in turn, until each case is decided: another campaign, this one again, or a Python "
    "environment's folder."
)
MAX_RUNS_HELP = "A case is undecided after so many runs a side. [default: 30]"
MAX_HOURS_HELP = "Cases are undecided after so many hours of training. [default: no limit]"
MARGIN_HELP = "Changes within this do not matter. [default: 2%]"
HISTORY_HELP = "Say how many rounds the history (--database) lets expect. [default: where a database is named]"
SEED_HELP = "The seed of the random order within each round. [default: drawn and recorded]"


@app.command(
    epilog=examples(
        "perflog run --list",
        "perflog run --make-environment pytorch",
        "perflog run campaign.toml --only precision=amp",
        "perflog run campaign.toml --against old.toml --max-runs 30",
        more="The same command goes on where it was cut off. Exit status: 0 all runs are there, or with --against all "
        "cases are decided or the budget is spent; 3 some failed; 2 wrong usage.",
    )
)
def run(
    campaign: Annotated[Path | None, typer.Argument(help=CAMPAIGN_HELP, show_default=False)] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Which are ready, and how to make the others.", rich_help_panel=MADE)
    ] = False,
    make_environment: Annotated[
        list[str] | None,
        typer.Option(help="Make this runner's (may be repeated).", rich_help_panel=MADE, show_default=False),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands and run nothing.", rich_help_panel=WHAT)
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Run this part alone: precision=amp, devices=1n8g.", rich_help_panel=WHAT, show_default=False
        ),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help=REPEATS_HELP, show_default=False, rich_help_panel=WHAT)
    ] = None,
    logs: Annotated[
        Path | None,
        typer.Option(
            help="The folder of the logs. [default: the campaign's]", rich_help_panel=WHAT, show_default=False
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed.", rich_help_panel=WHAT)
    ] = False,
    hostfile: Annotated[
        Path | None,
        typer.Option(
            help="Hosts of runs on several nodes, one a line.", rich_help_panel=Rare(WHAT), show_default=False
        ),
    ] = None,
    remote: Annotated[
        list[str] | None,
        typer.Option(
            help="Words that start a command on {host}, in place of ssh.",
            rich_help_panel=Rare(WHAT),
            show_default=False,
        ),
    ] = None,
    slurm: Annotated[
        bool, typer.Option("--slurm", help="Print Slurm job scripts in place of running.", rich_help_panel=WHAT)
    ] = False,
    against: Annotated[Path | None, typer.Option(help=AGAINST_HELP, show_default=False, rich_help_panel=VERSUS)] = None,
    max_runs: Annotated[
        int | None, typer.Option(min=4, help=MAX_RUNS_HELP, show_default=False, rich_help_panel=VERSUS)
    ] = None,
    max_hours: Annotated[
        float | None, typer.Option(min=0, help=MAX_HOURS_HELP, show_default=False, rich_help_panel=VERSUS)
    ] = None,
    margin: Annotated[
        str | None, typer.Option(help=MARGIN_HELP, show_default=False, rich_help_panel=Rare(VERSUS))
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help=SEED_HELP, show_default=False, rich_help_panel=Rare(VERSUS))
    ] = None,
    history: Annotated[
        bool | None,
        typer.Option("--history/--no-history", help=HISTORY_HELP, show_default=False, rich_help_panel=Rare(VERSUS)),
    ] = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """Train again and again, and keep the logs: a campaign that can be cut off at any moment."""
    from perflog import campaign as campaigns

    if list_ or make_environment:
        for name in make_environment or []:
            print(f"{name}: {campaigns.make_environment(name, quiet)}")
        if list_:
            _list()
        return
    if campaign is None:
        raise typer.BadParameter(
            "name a campaign file, or give --list or --make-environment NAME", param_hint="CAMPAIGN"
        )
    selected: dict[str, Any] = {
        "only": pairs(only or [], "only"),
        "logs": logs,
        "hostfile": hostfile,
        "remote": remote or (),
    }
    limits = {"--max-runs": max_runs, "--max-hours": max_hours, "--margin": margin, "--seed": seed}
    if against is not None:
        from perflog.cli.versus import plan_against, run_versus
        from perflog.compare.sides import history_of
        from perflog.settings.config import settings

        _refuse({"--repeats": repeats, "--slurm": slurm or None}, "has no meaning with --against")
        past = history_of(settings({"database": database}, []), history)
        run_versus(plan_against(campaign, against, selected, limits), dry_run, retry_failed, quiet, past)
        return
    _refuse({**limits, "--history": history, "--database": database}, "is for measurements with --against OLD")
    scheduled = campaigns.schedule(campaign, repeats=repeats, **selected)
    for name, why in scheduled.refused.items():
        print(f"cannot run {name}: {why}", file=sys.stderr)
    if slurm:
        sys.stdout.write(campaigns.slurm_scripts(scheduled))
    elif dry_run:
        _dry_run(scheduled)
    else:
        _run(scheduled, retry_failed, quiet)


def _run(scheduled: Schedule, retry_failed: bool, quiet: bool) -> None:
    """Run what is scheduled; exit with status 3 when a run failed."""
    from perflog import campaign as campaigns

    outcome = campaigns.run(scheduled, retry_failed=retry_failed, observer=None if quiet else Teller())
    if not quiet:
        _summary(outcome)
    if outcome.failed:
        raise typer.Exit(3)


def _refuse(given: Mapping[str, object], why: str) -> None:
    """Raise for the first option that was given: it cannot be used here."""
    for option, value in given.items():
        if value is not None:
            raise typer.BadParameter(f"{option} {why}", param_hint=option)


def _list() -> None:
    from perflog import campaign

    print(f"environments in {campaign.environments()}")
    remedies = campaign.remedies()
    width = max(map(len, remedies), default=0)
    for name, (state, models) in campaign.states().items():
        print(f"{name:<{width}} {state:<10} " + (", ".join(models) if state == "ready" else remedies[name]))


def _dry_run(scheduled: Schedule) -> None:
    from perflog import campaign

    for entry in campaign.commands(scheduled):
        state = f" ({entry.state})" if entry.state in ("finished", "failed") else ""
        report = f"# the report's line: {entry.report}\n" if entry.report else ""
        for command in entry.commands:
            print(f"# {entry.job.log}{state}\n{report}{command}")
    for line in campaign.missing(scheduled):
        print(line, file=sys.stderr)


def _summary(outcome: Outcome) -> None:
    retry = "; `--retry-failed` runs them again" if outcome.failed else ""
    counts = f"{len(outcome.finished)} finished, {len(outcome.failed)} failed"
    print(f"{counts}{retry}; next: perflog extract {outcome.folder}", file=sys.stderr)


class Teller(Observer):
    """Tells how a campaign goes on: a bar with the time left on a terminal, else a line for each run."""

    def __init__(self) -> None:
        self.total, self.done = 0, 0
        self._bar: Any = None
        self._task: Any = None
        self._began, self._left = 0.0, 0.0

    def tell(self, text: str) -> None:
        if self._bar is None:
            print(visible(text), file=sys.stderr, flush=True)
        else:
            self._bar.console.print(visible(text), markup=False, highlight=False)

    def begin(self, total: int, done: int, cut: int) -> None:
        self.total, self.done = total, done
        if done or cut:
            cut_off = f", {cut} cut off before its end" if cut else ""
            print(f"{done} of {total} runs are there{cut_off}; going on", file=sys.stderr)
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            texts = (TextColumn("{task.fields[left]}"), TextColumn("{task.description}"))
            columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), *texts)
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=total, completed=done, left="")

    def begin_job(self, job: Job, seconds: Mapping[Job, float]) -> None:
        self._began, self._left = time.monotonic(), sum(seconds.values())
        if self._bar is not None:
            from rich.markup import escape

            self._bar.update(self._task, description=escape(visible(job.name)))
            self.tick()

    def tick(self) -> None:
        if self._bar is not None and self._left:
            left = max(0.0, self._left - (time.monotonic() - self._began))
            self._bar.update(self._task, left=f"about {_duration(left)} left")

    def end_job(self, job: Job, completion: Completion) -> None:
        self.done += 1
        took = time.monotonic() - self._began
        value = f"{completion.throughput:.1f} {completion.unit}" if completion.throughput is not None else "no value"
        remark = f" ({completion.remark})" if completion.remark else ""
        text = f"[{self.done}/{self.total}] {job.name}: {completion.reason or value}, {took:.1f} s{remark}"
        more = self._bar is None and self._left > took and self.done < self.total
        self.tell(text + (f", about {_duration(self._left - took)} left" if more else ""))
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


@app.command(
    epilog=examples(
        "perflog watch logs/",
        "perflog watch logs/ --once",
        more="Exit status of one look: 0; 3 a log could not be read; 2 no such folder.",
    )
)
def watch(
    logs: Annotated[Path, typer.Argument(help="A folder of logs, of a campaign or any other.", show_default=False)],
    once: Annotated[bool, typer.Option("--once", help="Print the table once.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 1.0,
    stay: Annotated[bool, typer.Option("--stay", help="Go on when all runs have ended, until Ctrl-C.")] = False,
    format_: TextOrJson = None,
) -> None:
    """Show the runs of a folder of logs as they grow, until all have ended. As JSON they are printed once."""
    from perflog.campaign import Watcher
    from perflog.show.options import format_for

    watcher = Watcher(logs)
    if format_for(None, format_, ("text", "json"), "text") == "json":
        from perflog.escaping import json_text

        entries = watcher.look()
        print(json_text({"schema": "perflog/watch/1", "configurations": [asdict(entry) for entry in entries]}))
        raise typer.Exit(_status(entries))
    if once or not sys.stdout.isatty():
        from tabulate import tabulate

        entries = watcher.look()
        rows = [[visible(cell) for cell in _cells(entry)] for entry in entries]
        print(tabulate(rows, headers=_HEADINGS, disable_numparse=True))
        raise typer.Exit(_status(entries))
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    entries = watcher.look()
    with Live(Group(_table(entries), Text(state_of(entries, stay))), auto_refresh=False) as live:
        while stay or not has_ended(entries):
            time.sleep(every)
            entries = watcher.look()
            live.update(Group(_table(entries), Text(state_of(entries, stay))), refresh=True)
    raise typer.Exit(_status(entries))


def has_ended(entries: Sequence[Progress]) -> bool:
    """Whether all runs have ended: as many as were planned, or, where no plan says how many, all that have begun."""
    return bool(entries) and all(entry.ended or entry.is_idle for entry in entries)


def state_of(entries: Sequence[Progress], stay: bool) -> str:
    """The line below the table: that all runs have ended, or what is waited for."""
    finished, failed = (sum(getattr(entry, name) for entry in entries) for name in ("finished", "failed"))
    if has_ended(entries):
        ended = f"{finished} finished" + (f", {failed} failed" if failed else "")
        return f"finished: all runs have ended or have all their steps ({ended})" + (
            "; --stay: Ctrl-C ends it" if stay else ""
        )
    left = sum(entry.wanted - entry.finished - entry.failed for entry in entries if entry.wanted and not entry.ended)
    growing = sum(not entry.wanted and bool(entry.now) for entry in entries)
    waits = [
        f"{left} planned run{'s' * (left != 1)}" if left else "",
        f"{growing} log{'s that do not say that they have' if growing != 1 else ' that does not say that it has'} ended"
        if growing
        else "",
    ]
    return f"waiting for {' and '.join(filter(None, waits)) or 'the first log'}; Ctrl-C ends it"


def _status(entries: list[Progress]) -> int:
    """The exit status of one look: 3 where a log could not be read."""
    return 3 if any(entry.unread for entry in entries) else 0


_HEADINGS = ("configuration", "finished", "failed", "median", "now")


def _cells(entry: Progress) -> list[str]:
    finished = f"{entry.finished} of {entry.wanted}" if entry.wanted else str(entry.finished)
    value = f"{entry.throughput:.1f} {entry.unit}" if entry.throughput is not None else "-"
    return [entry.name, finished, str(entry.failed or "-"), value, entry.now or entry.decision or entry.reason or "-"]


def _table(entries: list[Progress]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(*_HEADINGS)
    for entry in entries:
        table.add_row(
            *(Text(visible(cell)) for cell in _cells(entry)),
            style="red" if entry.failed else "bold" if entry.now else "",
        )
    return table
