"""The commands ``perflog compare``, ``perflog plan`` and ``perflog noise``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perflog.cli.base import app
from perflog.cli.options import DatabaseName, Given, Logs, Output, Quiet, Where, extraction_options
from perflog.cli.output import emit, tables_text, to_terminal
from perflog.cli.progress import extractions
from perflog.settings.config import one_of, pairs, settings

if TYPE_CHECKING:
    from perflog.compare.rows import Comparison

Metric = Annotated[
    str, typer.Option("--metric", "-m", help="throughput, step_time, time_to_train, speedup, reported or memory.")
]
Sides = Annotated[
    list[str],
    typer.Argument(
        help="Two or more: folders of logs, or labels saved in the history (perflog save).", show_default=False
    ),
]
Margin = Annotated[str, typer.Option("--margin", help="Changes within this do not matter.")]
Level = Annotated[float, typer.Option("--level", help="Confidence of intervals and test, in per cent.")]
Across = Annotated[
    str, typer.Option("--across", help="Keys that may differ too: label,accelerator.", show_default=False)
]
GateFlag = Annotated[bool, typer.Option("--gate", help="For CI: the exit status says whether a case is slower.")]
Form = Annotated[str, typer.Option("--format", "-f", help="table, markdown, csv or json.")]
NoiseForm = Annotated[str, typer.Option("--format", "-f", help="table, markdown or json.")]
Detect = Annotated[str, typer.Option("--detect", help="The change that must be seen.")]


@app.command(
    epilog="Examples:  perflog compare logs-2.4/ logs-2.5/ --warmup 100  ·  perflog compare v2.4 v2.5  ·  "
    "perflog compare old/ new/ --gate  ·  perflog compare a/ b/ c/ -o ratios.svg. "
    "Exit status: 0; with --gate 1 some case is slower, 3 some case has not enough data (or no partner); "
    "2 wrong usage."
)
@extraction_options("aggregate")
def compare(
    sides: Sides,
    given: Given,
    metric: Metric = "throughput",
    margin: Margin = "2%",
    level: Level = 95.0,
    across: Across = "",
    where: Where = None,
    gate: GateFlag = False,
    form: Form = "table",
    output: Output = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """Is the new version faster? Each case's ratio with its interval and a verdict, or why there can be none."""
    from perflog.compare.comparing import compare_sides
    from perflog.compare.opening import open_sides
    from perflog.compare.output import FORMATS
    from perflog.compare.rule import Rule, share
    from perflog.formats.catalog import path_patterns

    one_of("format", form, FORMATS)
    if len(sides) < 2:
        raise typer.BadParameter("name at least two sides: perflog compare OLD NEW", param_hint="SIDES")
    if not 50 <= level < 100:
        message = f"a level lies between 50 and 100 per cent, not {level:g}"
        raise typer.BadParameter(message, param_hint="--level")
    rule = Rule(metric, share(margin, "--margin"), level / 100)
    chosen = settings(given | {"database": database}, [side for side in sides if Path(side).exists()])
    keys = tuple(key.strip() for key in across.split(",") if key.strip())
    wanted = pairs(where or [], "where")
    opened = open_sides(sides, chosen, extractions(quiet))
    comparisons = compare_sides(opened, rule, path_patterns(chosen.values["parsers"]), keys, wanted)
    data, described = _rendered(comparisons, form, output)
    emit(data, output, quiet, described)
    if gate:
        raise typer.Exit(_exit_status(comparisons))


def _rendered(comparisons: Sequence[Comparison], form: str, output: Path | None) -> tuple[str | bytes, str]:
    """Comparisons in the form that the output's name or ``form`` asks for, and what a picture shows."""
    from perflog.compare import data, picture
    from perflog.compare import output as texts
    from perflog.plot.drawing import FORMATS as PICTURES

    suffix = output.suffix.removeprefix(".") if output is not None else ""
    if suffix in PICTURES:
        return picture.picture(comparisons, suffix), picture.described(comparisons)
    if form == "json":
        return data.to_json(comparisons), ""
    if form == "csv":
        return data.to_csv(comparisons), ""
    tables = [texts.comparison_table(comparison) for comparison in comparisons]
    return tables_text(tables, form, to_terminal(output)), ""


def _exit_status(comparisons: Sequence[Comparison]) -> int:
    from perflog.compare.comparing import Gate, gate

    return {Gate.PASSED: 0, Gate.SLOWER: 1, Gate.UNDECIDED: 3}[gate(comparisons)]


@app.command(epilog="Examples:  perflog plan logs/ --detect 2%  ·  perflog plan logs/ --detect 1% --metric step_time")
@extraction_options("aggregate", "baseline")
def plan(
    logs: Logs,
    given: Given,
    detect: Detect = "2%",
    metric: Metric = "throughput",
    form: NoiseForm = "table",
    output: Output = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """How many runs a side does each case need to see a change of this size?"""
    from perflog.compare.rule import share

    _noise(logs, given | {"database": database}, metric, share(detect, "--detect"), form, output, quiet)


@app.command(epilog="Example:  perflog noise logs/ --warmup 100")
@extraction_options("aggregate", "baseline")
def noise(
    logs: Logs,
    given: Given,
    metric: Metric = "throughput",
    form: NoiseForm = "table",
    output: Output = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """The spread between the runs of each case, and the smallest change that as many runs could show."""
    _noise(logs, given | {"database": database}, metric, None, form, output, quiet)


def _noise(
    logs: list[str],
    given: dict[str, Any],
    metric: str,
    detect: float | None,
    form: str,
    output: Path | None,
    quiet: bool,
) -> None:
    from perflog.compare.noise_output import FORMATS, noise_table, to_json
    from perflog.compare.planning import noise_of
    from perflog.compare.rule import METRICS

    one_of("metric", metric, list(METRICS))
    one_of("format", form, FORMATS)
    chosen = settings(given, [log for log in logs if Path(log).exists()])
    measured = noise_of(logs, chosen, extractions(quiet), metric, detect)
    text = to_json(measured) if form == "json" else tables_text([noise_table(measured)], form, to_terminal(output))
    emit(text, output, quiet)
