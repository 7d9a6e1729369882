"""The commands ``perflog compare``, ``perflog plan`` and ``perflog noise``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perflog.cli.base import app
from perflog.cli.extracting import Progress, catalog_of, extracted
from perflog.cli.options import Given, Logs, Output, Quiet, Where, extraction_options
from perflog.config import Settings, one_of, pairs, settings
from perflog.errors import UsageError

if TYPE_CHECKING:
    from perflog.compare.rows import Comparison
    from perflog.compare.sides import Side
    from perflog.output.columns import Grid

Metric = Annotated[str, typer.Option("--metric", "-m", help="throughput, step_time, time_to_train, speedup, reported or memory.")]


@app.command(
    epilog="Examples:  perflog compare logs-2.4/ logs-2.5/ --warmup 100  ·  perflog compare old/ new/ --gate  ·  perflog compare a/ b/ c/ -o ratios.svg. "
    "Exit status: 0; with --gate 1 some case is slower, 3 some case has not enough data (or no partner); 2 wrong usage."
)
@extraction_options("aggregate")
def compare(
    sides: Annotated[list[str], typer.Argument(help="Two or more: folders of logs, or labels saved in the history.", show_default=False)],
    given: Given,
    metric: Metric = "throughput",
    margin: Annotated[str, typer.Option("--margin", help="Changes within this do not matter.")] = "2%",
    level: Annotated[float, typer.Option("--level", help="Confidence of intervals and test, in per cent.")] = 95.0,
    across: Annotated[str, typer.Option("--across", help="Keys that may differ too: label,accelerator.", show_default=False)] = "",
    where: Where = None,
    gate: Annotated[bool, typer.Option("--gate", help="For CI: the exit status says whether a case is slower.")] = False,
    form: Annotated[str, typer.Option("--format", "-f", help="table, markdown, csv or json.")] = "table",
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Is the new version faster? Each case's ratio with its interval and a verdict, or why there can be none."""
    from perflog.compare.output import FORMATS, to_csv, to_json
    from perflog.compare.output import grid as rows_of
    from perflog.compare.rows import METRICS
    from perflog.drawing import FORMATS as PICTURES

    one_of("metric", metric, list(METRICS))
    one_of("format", form, FORMATS)
    if len(sides) < 2:
        raise typer.BadParameter("name at least two sides: perflog compare OLD NEW", param_hint="SIDES")
    if not 50 <= level < 100:
        raise typer.BadParameter(f"a level lies between 50 and 100 per cent, not {level:g}", param_hint="--level")
    chosen = settings(given, [side for side in sides if Path(side).exists()])
    options = chosen.options()
    keys = tuple(key.strip() for key in across.split(",") if key.strip())
    rule = (metric, share(margin, "--margin"), level / 100)
    taken = pairs(where or [], "where")
    made = _compared([_side(name, chosen, quiet) for name in sides], chosen, rule, keys, taken)
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
    quiet: Quiet = False,
) -> None:
    """How many runs a side does each case need to see a change of this size?"""
    _noise(logs, given, metric, share(detect, "--detect"), form, output, quiet)


@app.command(epilog="Example:  perflog noise logs/ --warmup 100")
@extraction_options("aggregate", "baseline")
def noise(
    logs: Logs,
    given: Given,
    metric: Metric = "throughput",
    form: Annotated[str, typer.Option("--format", "-f", help="table, markdown or json.")] = "table",
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """The spread between the runs of each case, and the smallest change that as many runs could show."""
    _noise(logs, given, metric, None, form, output, quiet)


def _noise(logs: list[str], given: Given, metric: str, detect: float | None, form: str, output: Path | None, quiet: bool) -> None:
    from perflog.compare import planning
    from perflog.compare.rows import METRICS

    one_of("metric", metric, list(METRICS))
    one_of("format", form, ("table", "markdown", "json"))
    chosen = settings(given, logs)
    cases = extracted(logs, chosen, quiet).cases
    if not cases:
        raise UsageError("no training log found; `perflog explain FILE` says why a file is none")
    found = planning.noise(cases, metric, detect)
    if form == "json":
        import json

        _emit(json.dumps(planning.document(found, metric, detect), ensure_ascii=False, indent=1) + "\n", output, quiet)
    else:
        _emit(_drawn(planning.grid(found, metric, chosen.options(), detect), form, output), output, quiet)


def share(text: str, option: str) -> float:
    """``2%`` or ``0.02`` as a share. Raises UsageError for others."""
    number, per_cent, rest = text.partition("%")
    try:
        value = float(number) / (100 if per_cent else 1)
    except ValueError:
        value = -1.0
    if rest.strip() or not 0 < value < 1:
        raise UsageError(f"{option} {text!r}: expected a share such as 2% or 0.02")
    return value


def _side(name: str, chosen: Settings, quiet: bool) -> Side:
    from perflog.compare.sides import side_of_logs
    from perflog.find import find_logs

    found = find_logs([name])
    with Progress(sum(max(log.size, 0) for log in found), quiet) as progress:
        side = side_of_logs(name.rstrip("/"), found, chosen.options(), catalog_of(chosen), progress)
    if not side.extraction.cases:
        raise UsageError(f"{name}: no training log found; `perflog explain FILE` says why a file is none")
    return side


def _compared(sides: Sequence[Side], chosen: Settings, rule: tuple[str, float, float], across: tuple[str, ...], where: dict[str, str]) -> list[Comparison]:
    """Each side against the first."""
    from perflog.compare.doubts import doubts
    from perflog.compare.machine import differences, facts_of
    from perflog.compare.pairs import paired
    from perflog.compare.rows import Comparison, compared, mean_of
    from perflog.compare.sides import chosen as taken
    from perflog.compare.sides import label_of

    metric, margin, level = rule
    catalog = catalog_of(chosen)
    names = _short([side.name for side in sides])
    old = sides[0]
    cases = {id(side): [(case, label_of(case, side.root, catalog)) for case in taken(side.extraction.cases, where)] for side in sides}
    out = []
    for new, name in zip(sides[1:], names[1:], strict=True):
        found, alone = paired(cases[id(old)], cases[id(new)], across)
        rows = compared(found, metric, level, margin)
        for row in rows:
            row.notes += doubts(row, old, new)
        notes = [f"{names[0]} and {name}: {note}" for note in differences(*(facts_of(s.extraction.cases) for s in (old, new)))]
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

    from perflog.output.text import drawn, marked

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
