"""The commands ``perflog compare``, ``perflog plan`` and ``perflog noise``."""

from __future__ import annotations

import sys
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
FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on",
        help="What the gate fails on: slower, inconclusive, missing, nothing-compared. Implies --gate, whose "
        "default is slower,nothing-compared.",
        show_default=False,
    ),
]
Form = Annotated[str, typer.Option("--format", "-f", help="table, markdown, csv or json.")]
NoiseForm = Annotated[str, typer.Option("--format", "-f", help="table, markdown or json.")]
Detect = Annotated[str, typer.Option("--detect", help="The change that must be seen.")]


@app.command(
    epilog="Examples:  perflog compare logs-2.4/ logs-2.5/ --warmup 100  ·  perflog compare v2.4 v2.5  ·  "
    "perflog compare old/ new/ --gate  ·  perflog compare a/ b/ c/ -o ratios.svg. "
    "Exit status: 0; with --gate 1 a case is slower, 3 nothing could be compared (or another reason of --fail-on); "
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
    fail_on: FailOn = "",
    form: Form = "table",
    output: Output = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """Is the new version faster? Each case's ratio with its interval and a verdict, or why there can be none."""
    from perflog.compare.choosing import names
    from perflog.compare.comparing import compare_sides
    from perflog.compare.gate import DEFAULT, REASONS
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
    reasons = names(fail_on, "fail-on", list(REASONS)) or (list(DEFAULT) if gate else [])
    rule = Rule(metric, share(margin, "--margin"), level / 100)
    chosen = settings(given | {"database": database}, [side for side in sides if Path(side).exists()])
    keys, wanted = names(across, "across"), pairs(where or [], "where")
    opened = open_sides(sides, chosen, extractions(quiet))
    comparisons = compare_sides(opened, rule, path_patterns(chosen.values["parsers"]), keys, wanted)
    data, described = _rendered(comparisons, form, output)
    emit(data, output, quiet, described)
    if reasons:
        raise typer.Exit(_gate(comparisons, reasons))


def _rendered(comparisons: Sequence[Comparison], form: str, output: Path | None) -> tuple[str | bytes, str]:
    """Comparisons in the form that the output's name or ``form`` asks for, and what a picture shows."""
    from perflog.compare import data, picture
    from perflog.compare import output as texts
    from perflog.compare.sentences import opening, paragraphs
    from perflog.plot.drawing import FORMATS as PICTURES

    suffix = output.suffix.removeprefix(".") if output is not None else ""
    if suffix in PICTURES:
        return picture.picture(comparisons, suffix), picture.described(comparisons)
    if form == "json":
        return data.to_json(comparisons), ""
    if form == "csv":
        return data.to_csv(comparisons), ""
    terminal = to_terminal(output)
    tables = [
        f"{paragraphs(opening(comparison))}\n{tables_text([texts.comparison_table(comparison)], form, terminal)}"
        for comparison in comparisons
    ]
    return "\n".join(tables), ""


def _gate(comparisons: Sequence[Comparison], reasons: Sequence[str]) -> int:
    """Say in one line why the gate passed or failed; the exit status."""
    from perflog.compare.gate import gate

    result = gate(comparisons, reasons)
    print(result.sentence, file=sys.stderr)
    return result.status


@app.command(
    epilog="Examples:  perflog plan logs/ --detect 5%  ·  perflog plan logs/ --detect 2% --margin 1% --metric step_time"
)
@extraction_options("aggregate", "baseline")
def plan(
    logs: Logs,
    given: Given,
    detect: Detect = "5%",
    margin: Margin = "2%",
    metric: Metric = "throughput",
    form: NoiseForm = "table",
    output: Output = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """How many runs a side does each case need for `perflog compare` to call a change of this size?"""
    from perflog.compare.rule import share

    detected = share(detect, "--detect")
    _noise(logs, given | {"database": database}, metric, detected, share(margin, "--margin"), form, output, quiet)


@app.command(epilog="Example:  perflog noise logs/ --warmup 100")
@extraction_options("aggregate", "baseline")
def noise(
    logs: Logs,
    given: Given,
    metric: Metric = "throughput",
    margin: Margin = "2%",
    form: NoiseForm = "table",
    output: Output = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """The spread between the runs of each case, and the smallest change that as many runs could show."""
    from perflog.compare.rule import share

    _noise(logs, given | {"database": database}, metric, None, share(margin, "--margin"), form, output, quiet)


def _noise(
    logs: list[str],
    given: dict[str, Any],
    metric: str,
    detect: float | None,
    margin: float,
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
    measured = noise_of(logs, chosen, extractions(quiet), metric, detect, margin)
    text = to_json(measured) if form == "json" else tables_text([noise_table(measured)], form, to_terminal(output))
    emit(text, output, quiet)
