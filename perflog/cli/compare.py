"""The commands ``perflog compare``, ``perflog plan`` and ``perflog noise``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perflog.cli.base import app
from perflog.cli.extracting import Progress, catalog_of, database_of, extracted
from perflog.cli.options import DatabaseName, Given, Logs, Output, Quiet, Where, extraction_options, share
from perflog.errors import UsageError
from perflog.settings.config import Settings, one_of, pairs, settings

if TYPE_CHECKING:
    from perflog.compare.rows import Comparison
    from perflog.compare.sides import Side
    from perflog.export.columns import Grid
    from perflog.history.load import Campaign
    from perflog.settings.options import Options

Metric = Annotated[str, typer.Option("--metric", "-m", help="throughput, step_time, time_to_train, speedup, reported or memory.")]


@app.command(
    epilog="Examples:  perflog compare logs-2.4/ logs-2.5/ --warmup 100  ·  perflog compare v2.4 v2.5  ·  "
    "perflog compare old/ new/ --gate  ·  perflog compare a/ b/ c/ -o ratios.svg. "
    "Exit status: 0; with --gate 1 some case is slower, 3 some case has not enough data (or no partner); 2 wrong usage."
)
@extraction_options("aggregate")
def compare(
    sides: Annotated[list[str], typer.Argument(help="Two or more: folders of logs, or labels saved in the history (perflog save).", show_default=False)],
    given: Given,
    metric: Metric = "throughput",
    margin: Annotated[str, typer.Option("--margin", help="Changes within this do not matter.")] = "2%",
    level: Annotated[float, typer.Option("--level", help="Confidence of intervals and test, in per cent.")] = 95.0,
    across: Annotated[str, typer.Option("--across", help="Keys that may differ too: label,accelerator.", show_default=False)] = "",
    where: Where = None,
    gate: Annotated[bool, typer.Option("--gate", help="For CI: the exit status says whether a case is slower.")] = False,
    form: Annotated[str, typer.Option("--format", "-f", help="table, markdown, csv or json.")] = "table",
    output: Output = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """Is the new version faster? Each case's ratio with its interval and a verdict, or why there can be none."""
    from perflog.compare.output import FORMATS, to_csv, to_json
    from perflog.compare.output import grid as rows_of
    from perflog.compare.rows import METRICS
    from perflog.plot.drawing import FORMATS as PICTURES

    one_of("metric", metric, list(METRICS))
    one_of("format", form, FORMATS)
    if len(sides) < 2:
        raise typer.BadParameter("name at least two sides: perflog compare OLD NEW", param_hint="SIDES")
    if not 50 <= level < 100:
        raise typer.BadParameter(f"a level lies between 50 and 100 per cent, not {level:g}", param_hint="--level")
    chosen = settings(given | {"database": database}, [side for side in sides if Path(side).exists()])
    keys = tuple(key.strip() for key in across.split(",") if key.strip())
    rule = (metric, share(margin, "--margin"), level / 100)
    taken = pairs(where or [], "where")
    opened, options = _opened(sides, chosen, quiet)
    made = _compared(opened, chosen, rule, keys, taken)
    if output is not None and output.suffix.removeprefix(".") in PICTURES:
        from perflog.compare.picture import described, picture

        _emit(picture(made, options, output.suffix.removeprefix(".")), output, quiet, described(made))
    elif form in ("json", "csv"):
        _emit(to_json(made, options) if form == "json" else to_csv(made), output, quiet)
    else:
        _emit("\n".join(_drawn(rows_of(one, options), form, output) for one in made), output, quiet)
    if gate:
        raise typer.Exit(_gate(made))


@app.command(epilog="Examples:  perflog plan logs/ --detect 2%  ·  perflog plan logs/ --detect 1% --metric step_time")
@extraction_options("aggregate", "baseline")
def plan(
    logs: Logs,
    given: Given,
    detect: Annotated[str, typer.Option("--detect", help="The change that must be seen.")] = "2%",
    metric: Metric = "throughput",
    form: Annotated[str, typer.Option("--format", "-f", help="table, markdown or json.")] = "table",
    output: Output = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """How many runs a side does each case need to see a change of this size?"""
    _noise(logs, given, metric, share(detect, "--detect"), form, output, quiet, database)


@app.command(epilog="Example:  perflog noise logs/ --warmup 100")
@extraction_options("aggregate", "baseline")
def noise(
    logs: Logs,
    given: Given,
    metric: Metric = "throughput",
    form: Annotated[str, typer.Option("--format", "-f", help="table, markdown or json.")] = "table",
    output: Output = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """The spread between the runs of each case, and the smallest change that as many runs could show."""
    _noise(logs, given, metric, None, form, output, quiet, database)


def _noise(
    logs: list[str], given: Given, metric: str, detect: float | None, form: str, output: Path | None, quiet: bool, database: str | None
) -> None:  # fmt: skip
    from perflog.compare import planning
    from perflog.compare.rows import METRICS

    one_of("metric", metric, list(METRICS))
    one_of("format", form, ("table", "markdown", "json"))
    chosen = settings(given | {"database": database}, [log for log in logs if Path(log).exists()])
    if all(Path(log).exists() for log in logs):
        cases, options = extracted(logs, chosen, quiet).cases, chosen.options()
    else:
        sides, options = _opened(logs, chosen, quiet)
        cases = [case for side in sides for case in side.extraction.cases]
    if not cases:
        raise UsageError("no training log found; `perflog explain FILE` says why a file is none")
    found = planning.noise(cases, metric, detect)
    if form == "json":
        import json

        _emit(json.dumps(planning.document(found, metric, detect), ensure_ascii=False, indent=1) + "\n", output, quiet)
    else:
        _emit(_drawn(planning.grid(found, metric, options, detect), form, output), output, quiet)


def _opened(names: Sequence[str], chosen: Settings, quiet: bool) -> tuple[list[Side], Options]:
    """The sides, from logs or from the history, and the options that all their numbers are made by.

    Saved numbers cannot be made anew: where the command line asks for no other rule, theirs is taken for the logs too.
    """
    from dataclasses import replace

    from perflog.compare.sides import side_of_campaign, side_of_logs
    from perflog.logs.find import find_logs

    saved = {name: _campaign(name, chosen) for name in names if not Path(name).exists() and "/" not in name}
    options = chosen.options()
    asked = [key for key in ("warmup", "steps", "last", "estimator", "convention") if chosen.sources[key] == "command line"]
    if saved and not asked:
        first = next(iter(saved.values())).extraction.options
        options = replace(
            options, window=first.window, estimator=first.estimator, as_printed=first.as_printed, convention=first.convention, digits=first.digits
        )
    for name, campaign in saved.items():
        own = campaign.extraction.options
        if _rule(own) != _rule(options):
            raise UsageError(f"{name} was saved with {_rule(own)}, which is not {_rule(options)}: one rule must hold for all sides; save its logs anew")
    sides = []
    for name in names:
        if name in saved:
            sides.append(side_of_campaign(name, saved[name]))
            continue
        found = find_logs([name])
        with Progress(sum(max(log.size, 0) for log in found), quiet) as progress:
            side = side_of_logs(name.rstrip("/"), found, options, catalog_of(chosen), progress)
        if not side.extraction.cases:
            raise UsageError(f"{name}: no training log found; `perflog explain FILE` says why a file is none")
        sides.append(side)
    return sides, options


def _campaign(name: str, chosen: Settings) -> Campaign:
    from perflog.history.load import load_campaign

    try:
        return load_campaign(database_of(chosen), name)
    except UsageError as error:
        raise UsageError(f"no such file or folder: {name!r}, and no saved campaign: {error}") from None


def _rule(options: Options) -> str:
    printed = " (values as printed)" if options.as_printed else ""
    return f"estimator {options.estimator}, {options.window}" + (f", convention {options.convention}" if options.convention else "") + printed


def _compared(sides: Sequence[Side], chosen: Settings, rule: tuple[str, float, float], across: tuple[str, ...], where: dict[str, str]) -> list[Comparison]:
    """Each side against the first."""
    from perflog.compare.doubts import doubts
    from perflog.compare.pairs import paired
    from perflog.compare.rows import Comparison, compared, mean_of
    from perflog.compare.sides import chosen as taken
    from perflog.compare.sides import label_of, machine_notes
    from perflog.formats.catalog import path_patterns

    metric, margin, level = rule
    patterns = path_patterns(chosen.values["parsers"])
    names = _short([side.name for side in sides])
    old = sides[0]
    cases = {id(side): [(case, label_of(case, side.root, patterns)) for case in taken(side.extraction.cases, where)] for side in sides}
    out = []
    for new, name in zip(sides[1:], names[1:], strict=True):
        found, alone = paired(cases[id(old)], cases[id(new)], across)
        rows = compared(found, metric, level, margin)
        for row in rows:
            row.notes += doubts(row, old, new)
        notes = machine_notes(old, new, [(pair.old, pair.new) for pair in found])
        out.append(Comparison(names[0], name, metric, margin, level, rows, alone, mean_of(rows, alone), notes))
    return out


def _short(names: Sequence[str]) -> list[str]:
    """The last parts of the names, as many as tell them apart."""
    parts = [name.split("/") for name in names]
    for count in range(1, max(map(len, parts)) + 1):
        short = ["/".join(part[-count:]) for part in parts]
        if len(set(short)) == len(short):
            return short
    return [f"{at}. {name}" for at, name in enumerate(names, 1)]


def _drawn(made: Grid, form: str, output: Path | None) -> str:
    import shutil

    from perflog.export.text import drawn, marked

    if form == "markdown":
        return marked(made)
    terminal = output is None and sys.stdout.isatty()
    return drawn(made, shutil.get_terminal_size().columns if terminal else None, terminal)


def _emit(data: str | bytes, output: Path | None, quiet: bool, what: str = "") -> None:
    from perflog.files import write_atomically

    if output is None:
        sys.stdout.write(data if isinstance(data, str) else data.decode("utf-8", "replace"))
        return
    write_atomically(output, data)
    if not quiet:
        print(f"wrote {output}{f': {what}' if what else ''}", file=sys.stderr)


def _gate(made: Sequence[Comparison]) -> int:
    """0: nothing slower; 1: something is; 3: something cannot be said, or is not there any more."""
    from perflog.stats.verdict import Verdict

    verdicts = [row.verdict for one in made for row in one.rows]
    if Verdict.SLOWER in verdicts:
        return 1
    gone = any(u.side == "old" for one in made for u in one.unpaired)
    return 3 if not verdicts or gone or Verdict.NOT_ENOUGH_DATA in verdicts else 0
