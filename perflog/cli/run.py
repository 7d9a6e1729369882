"""Commands that make logs: run, watch."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perflog.cli.base import app
from perflog.cli.options import Quiet
from perflog.errors import UsageError
from perflog.settings.config import pairs

if TYPE_CHECKING:
    from perflog.campaign.folder import Folder
    from perflog.campaign.judge import Verdict
    from perflog.campaign.plan import Campaign, Job
    from perflog.campaign.runner import Runner
    from perflog.campaign.watch import Row


@app.command(
    epilog="Examples:  perflog run --list  ·  perflog run --make-environment pytorch  ·  perflog run campaign.toml --only precision=amp. "
    "The same command goes on where it was cut off. Exit status: 0 all runs are there; 3 some failed; 2 wrong usage."
)
def run(
    campaign: Annotated[Path | None, typer.Argument(help="A campaign: what to train, how often (see docs/campaigns.md).", show_default=False)] = None,
    list_: Annotated[bool, typer.Option("--list", help="Which environments are ready, and how to make the others.")] = False,
    make_environment: Annotated[list[str] | None, typer.Option(help="Make this runner's environment (may be repeated).", show_default=False)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands and run nothing.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="Run this part alone: precision=amp, devices=1n8g.", show_default=False)] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="So many runs of each configuration. [default: the campaign's]", show_default=False)] = None,
    logs: Annotated[Path | None, typer.Option(help="The folder of the logs. [default: the campaign's]", show_default=False)] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run again what failed.")] = False,
    hostfile: Annotated[Path | None, typer.Option(help="Hosts of runs on several nodes, one a line.", show_default=False)] = None,
    remote: Annotated[list[str] | None, typer.Option(help="Words that start a command on {host}, in place of ssh.", show_default=False)] = None,
    slurm: Annotated[bool, typer.Option("--slurm", help="Print Slurm job scripts in place of running.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train again and again, and keep the logs: a campaign that can be cut off at any moment."""
    from perflog.campaign import environment
    from perflog.campaign.plan import jobs, load_campaign
    from perflog.campaign.runner import load_runners

    if list_ or make_environment:
        known = load_runners()
        for name in make_environment or []:
            if name not in known:
                raise UsageError(f"no runner '{name}' (known: {', '.join(known)})")
            print(f"{name}: {environment.make(known[name], quiet)}")
        if list_:
            _list(known)
        return
    if campaign is None:
        raise typer.BadParameter("name a campaign file, or give --list or --make-environment NAME", param_hint="CAMPAIGN")
    chosen = load_campaign(campaign)
    chosen.logs = logs or chosen.logs
    chosen.hostfile = str(hostfile.absolute()) if hostfile else chosen.hostfile
    chosen.remote = list(remote or chosen.remote)
    wanted = jobs(chosen, pairs(only or [], "only"), repeats)
    if not wanted:
        raise UsageError(f"{campaign}: nothing to run with --only {' --only '.join(only or [])}")
    if _prepared(chosen, wanted, (dry_run, slurm, retry_failed), quiet):
        raise typer.Exit(3)


def _list(known: Mapping[str, Runner]) -> None:
    from perflog.campaign import environment

    print(f"environments in {environment.environments()}")
    for name, runner in known.items():
        state = environment.state(runner)
        print(f"{name:<10} {state:<10} " + (", ".join(runner.models) if state == "ready" else f"perflog run --make-environment {name}"))


def _prepared(chosen: Campaign, wanted: list[Job], how: tuple[bool, bool, bool], quiet: bool) -> int:
    """Say what cannot be run, and run, or print, the rest; how many runs failed."""
    from perflog.campaign import environment
    from perflog.campaign.execute import shown
    from perflog.campaign.folder import Folder, configuration
    from perflog.campaign.machine import gpu_count
    from perflog.campaign.plan import refusals

    dry_run, slurm, retry_failed = how
    known, gpus = chosen.known(), gpu_count()
    refused = refusals(chosen, wanted, gpus)
    for name, why in {configuration(job): why for job, why in refused.items()}.items():
        print(f"cannot run {name}: {why}", file=sys.stderr)
    wanted = [job for job in wanted if job not in refused]
    folder = Folder(chosen.logs)
    if slurm:
        from perflog.campaign.slurm import scripts

        sys.stdout.write(scripts(chosen, wanted, bool(gpus)))
        return 0
    if dry_run:
        for job in wanted:
            for command in shown(job, known[job.framework], chosen, folder):
                state = folder.state(job)
                print(f"# {job.log}" + (f" ({state})" if state in ("finished", "failed") else "") + f"\n{command}")
        return 0
    for name in dict.fromkeys(job.framework for job in wanted):
        state = environment.state(known[name])
        if state != "ready" and name not in chosen.pythons:
            raise UsageError(f"the environment of {name} is {state}: perflog run --make-environment {name}")
    return _run(chosen, wanted, known, folder, retry_failed, quiet)


def _run(chosen: Campaign, wanted: list[Job], known: Mapping[str, Runner], folder: Folder, retry_failed: bool, quiet: bool) -> int:
    from perflog.campaign import machine
    from perflog.campaign.execute import execute
    from perflog.campaign.watch import write_plan
    from perflog.formats.catalog import load_catalog

    with folder.locked() as lock:
        cut = folder.clean()
        names = dict.fromkeys(job.framework for job in wanted)
        left = [job for job in wanted if folder.state(job) in ("open", "running") or (retry_failed and folder.state(job) == "failed")]
        write_plan(folder, wanted, chosen.steps, chosen.warmup)
        if left:
            machine.record(folder.root, machine.facts([known[name] for name in names], chosen.environment, chosen.pythons))
        catalog = load_catalog()
        with _Told(len(wanted), len(wanted) - len(left), cut, quiet) as told:
            for at, job in enumerate(left):
                told.begin(job, folder.seconds(left[at:]))
                verdict = execute(job, known[job.framework], chosen, folder, lock, catalog, told.tick)
                told.end(job, verdict)
        if left:
            machine.close(folder.root)
        failed = [job for job in wanted if folder.state(job) == "failed"]
    if not quiet:
        retry = "; `--retry-failed` runs them again" if failed else ""
        print(f"{len(wanted) - len(failed)} finished, {len(failed)} failed{retry}; next: perflog extract {folder.root}", file=sys.stderr)
    return len(failed)


class _Told:
    """Tells how a campaign goes on: a bar with the time left on a terminal, else a line for each run."""

    def __init__(self, total: int, done: int, cut: int, quiet: bool) -> None:
        self.total, self.done, self.cut, self.quiet = total, done, cut, quiet
        self._bar: Any = None
        self._task: Any = None
        self._began, self._left = 0.0, 0.0

    def __enter__(self) -> _Told:
        if self.quiet:
            return self
        if self.done or self.cut:
            cut = f", {self.cut} cut off before its end" if self.cut else ""
            print(f"{self.done} of {self.total} runs are there{cut}; going on", file=sys.stderr)
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=self.total, completed=self.done, left="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, job: Job, seconds: Mapping[Job, float]) -> None:
        self._began, self._left = time.monotonic(), sum(seconds.values())
        if self._bar is not None:
            self._bar.update(self._task, description=job.name)
            self.tick()

    def tick(self) -> None:
        if self._bar is not None and self._left:
            left = max(0.0, self._left - (time.monotonic() - self._began))
            self._bar.update(self._task, left=f"about {_duration(left)} left")

    def end(self, job: Job, verdict: Verdict) -> None:
        self.done += 1
        if self.quiet:
            return
        took = time.monotonic() - self._began
        value = f"{verdict.throughput:.1f} {verdict.unit}" if verdict.throughput is not None else "no value"
        text = f"[{self.done}/{self.total}] {job.name}: {verdict.reason or value}, {took:.1f} s" + (f" ({verdict.remark})" if verdict.remark else "")
        if self._bar is None:
            left = f", about {_duration(self._left - took)} left" if self._left > took and self.done < self.total else ""
            print(text + left, file=sys.stderr, flush=True)
            return
        self._bar.console.print(text, markup=False, highlight=False)
        self._bar.update(self._task, completed=self.done)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


@app.command(epilog="Example:  perflog watch logs/")
def watch(
    logs: Annotated[Path, typer.Argument(help="A campaign's folder of logs.", show_default=False)],
    once: Annotated[bool, typer.Option("--once", help="Print the table once.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 1.0,
) -> None:
    """Show a campaign's runs as they grow: finished, failed, running."""
    from perflog.campaign.watch import Watch
    from perflog.formats.catalog import load_catalog

    if not logs.is_dir():
        raise UsageError(f"no such folder: {str(logs)!r}")
    looking = Watch(logs, load_catalog())
    if once or not sys.stdout.isatty():
        from tabulate import tabulate

        print(tabulate([_cells(row) for row in looking.rows()], headers=_HEADINGS, disable_numparse=True))
        return
    from rich.live import Live

    with Live(_table(looking.rows()), auto_refresh=False) as live:
        while True:
            rows = looking.rows()
            live.update(_table(rows), refresh=True)
            if rows and all(row.wanted and row.finished + row.failed >= row.wanted for row in rows):
                return
            time.sleep(every)


_HEADINGS = ("configuration", "finished", "failed", "median", "now")


def _cells(row: Row) -> list[str]:
    finished = f"{row.finished} of {row.wanted}" if row.wanted else str(row.finished)
    value = f"{row.throughput:.1f} {row.unit}" if row.throughput is not None else "-"
    return [row.name, finished, str(row.failed or "-"), value, row.now or row.reason or "-"]


def _table(rows: list[Row]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(*_HEADINGS)
    for row in rows:
        table.add_row(*(Text(cell) for cell in _cells(row)), style="red" if row.failed else "bold" if row.now else "")
    return table
