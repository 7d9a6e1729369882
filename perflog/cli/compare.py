"""The commands ``perflog compare``, ``perflog plan`` and ``perflog noise``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perflog.cli.base import app, examples
from perflog.cli.options import DatabaseName, Given, Logs, Output, Quiet, Where, extraction_options, form_option
from perflog.cli.output import emit, tables_text, to_terminal
from perflog.cli.progress import extractions
from perflog.logs.addresses import as_addresses
from perflog.settings.config import one_of, pairs, settings

if TYPE_CHECKING:
    from perflog.compare.rows import Comparison
    from perflog.compare.rule import Rule
    from perflog.settings.config import Settings

_METRIC = "throughput, step_time, time_to_train, speedup, efficiency, reported or memory."
Metric = Annotated[str, typer.Option("--metric", "-m", help=_METRIC)]
Sides = Annotated[
    list[str],
    typer.Argument(
        help="Two or more: folders of logs, or labels saved in the history (perflog save).",
        show_default=False,
        callback=as_addresses,
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
_ALIAS = "Another name of a model, framework, accelerator or precision: resnet50v1.5=resnet50 (may be repeated)."
Alias = Annotated[list[str] | None, typer.Option("--alias", help=_ALIAS, show_default=False)]
_EXPLAIN = "Say below the table what each verdict means, in plain words."
Explain = Annotated[bool, typer.Option("--explain-verdicts", help=_EXPLAIN)]
_MARKER = "The name in the hidden marker of Markdown, by which the next comment replaces it. [default: the metric]"
Marker = Annotated[str, typer.Option("--marker", help=_MARKER, show_default=False)]
_COMMENT = "In a workflow: comment on the pull request, or replace the last comment; needs GITHUB_TOKEN."
Comment = Annotated[bool, typer.Option("--comment", help=_COMMENT)]
_FORM = "table, markdown, csv, json, html, github, junit, svg or png. [default: by the ending of --output, or table]"
Form = Annotated[str | None, typer.Option("--format", "-f", help=_FORM, show_default=False)]
_HISTORY = "Include the variance between earlier campaigns of one version, out of the history (--database)."
History = Annotated[bool, typer.Option("--history", help=_HISTORY)]
_NOISE_HISTORY = "Show the variance between campaigns of one version too, out of the history (--database)."
NoiseHistory = Annotated[bool, typer.Option("--history", help=_NOISE_HISTORY)]
NoiseForm = Annotated[str | None, form_option(("table", "markdown", "csv", "json"), "table")]
Detect = Annotated[str, typer.Option("--detect", help="The change that must be seen.")]


@app.command(
    epilog=examples(
        "perflog compare logs-2.4/ logs-2.5/ --warmup 100",
        "perflog compare v2.4 v2.5",
        "perflog compare old/ new/ --gate --format github",
        "perflog compare a/ b/ c/ -o ratios.svg",
        more="Exit status: 0; with --gate or --fail-on 1 a case is slower, 3 nothing could be compared or another "
        "reason that was asked for; 2 wrong usage.",
    )
)
@extraction_options("aggregate")
def compare(
    sides: Sides, given: Given, metric: Metric = "throughput", margin: Margin = "2%", level: Level = 95.0,
    across: Across = "", where: Where = None, alias: Alias = None, gate: GateFlag = False, fail_on: FailOn = "",
    explain_verdicts: Explain = False, form: Form = None, marker: Marker = "", comment: Comment = False,
    output: Output = None, history: History = False, database: DatabaseName = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Is the new version faster? Each case's ratio with its interval and a verdict, or why there can be none."""
    from perflog.cli.comparison_output import Look, comment_on_pull_request, show
    from perflog.compare.choosing import names
    from perflog.compare.comment import marker_of
    from perflog.compare.gate import gate as result_of
    from perflog.compare.output import FORMATS
    from perflog.compare.rule import Rule, share
    from perflog.export.endings import format_for
    from perflog.settings.gate import DEFAULT, REASONS

    if len(sides) < 2:
        raise typer.BadParameter("name at least two sides: perflog compare OLD NEW", param_hint="SIDES")
    if not 50 <= level < 100:
        message = f"a level lies between 50 and 100 per cent, not {level:g}"
        raise typer.BadParameter(message, param_hint="--level")
    form = format_for(output, form, FORMATS, "table")
    reasons = names(fail_on, "fail-on", list(REASONS)) or (list(DEFAULT) if gate else [])
    rule = Rule(metric, share(margin, "--margin"), level / 100)
    marker_of(marker or metric)  # a wrong name is told before the logs are read
    chosen = settings(given | {"database": database}, [side for side in sides if Path(side).exists()])
    selection = (names(across, "across"), pairs(where or [], "where"), _aliases(alias))
    comparisons = _compared(sides, chosen, rule, selection, quiet, history)
    result = result_of(comparisons, reasons) if reasons else None
    look = Look(form, marker or metric, explain_verdicts, reasons, result)
    show(comparisons, look, output, quiet)
    if comment:
        comment_on_pull_request(comparisons, look, quiet)
    if result is not None:
        print(result.sentence, file=sys.stderr)
        raise typer.Exit(result.status)


#: Keys that may differ, the values that cases are chosen by, and names that are others.
_Selection = tuple[Sequence[str], dict[str, str], dict[str, str]]


def _aliases(texts: Sequence[str] | None) -> dict[str, str]:
    """``alias=name`` texts as a dict; an alias may hold a hyphen. Raises UsageError for one without ``=``."""
    pairs(texts or [], "alias")
    return {alias.strip(): name.strip() for alias, _, name in (text.partition("=") for text in texts or ())}


def _compared(
    sides: Sequence[str], chosen: Settings, rule: Rule, selection: _Selection, quiet: bool, history: bool
) -> list[Comparison]:
    """The sides opened and compared. Raises UsageError for a name that is none, also of an alias."""
    from perflog.compare.choosing import require_alias
    from perflog.compare.comparing import compare_sides
    from perflog.compare.opening import database_of, open_sides
    from perflog.formats.catalog import path_patterns

    across, wanted, aliases = selection
    opened = open_sides(sides, chosen, extractions(quiet))
    require_alias([case for side in opened.sides for case in side.extraction.cases], aliases)
    patterns = path_patterns(chosen.values["parsers"])
    known = {**chosen.values["aliases"], **aliases}
    return compare_sides(opened, rule, patterns, across, wanted, known, database_of(chosen) if history else "")


@app.command(
    epilog=examples("perflog plan logs/ --detect 5%", "perflog plan logs/ --detect 2% --margin 1% --metric step_time")
)
@extraction_options("aggregate", "baseline")
def plan(
    logs: Logs,
    given: Given,
    detect: Detect = "5%",
    margin: Margin = "2%",
    metric: Metric = "throughput",
    form: NoiseForm = None,
    output: Output = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """How many runs a side does each case need for `perflog compare` to call a change of this size?"""
    from perflog.compare.rule import share

    detected = share(detect, "--detect")
    _noise(logs, given | {"database": database}, metric, detected, share(margin, "--margin"), form, output, quiet)


@app.command(epilog=examples("perflog noise logs/ --warmup 100"))
@extraction_options("aggregate", "baseline")
def noise(
    logs: Logs,
    given: Given,
    metric: Metric = "throughput",
    margin: Margin = "2%",
    history: NoiseHistory = False,
    form: NoiseForm = None,
    output: Output = None,
    database: DatabaseName = None,
    quiet: Quiet = False,
) -> None:
    """The spread between the runs of each case, and the smallest change that as many runs could show."""
    from perflog.compare.rule import share

    shared = share(margin, "--margin")
    _noise(logs, given | {"database": database}, metric, None, shared, form, output, quiet, history)


def _noise(
    logs: list[str],
    given: dict[str, Any],
    metric: str,
    detect: float | None,
    margin: float,
    form: str | None,
    output: Path | None,
    quiet: bool,
    history: bool = False,
) -> None:
    from perflog.compare.noise_output import FORMATS, noise_table, to_csv, to_json
    from perflog.compare.planning import noise_of
    from perflog.compare.rule import METRICS
    from perflog.export.endings import format_for

    one_of("metric", metric, list(METRICS))
    chosen_form = format_for(output, form, FORMATS, "table")
    chosen = settings(given, [log for log in logs if Path(log).exists()])
    measured = noise_of(logs, chosen, extractions(quiet), metric, detect, margin, history)
    if chosen_form in ("csv", "json"):
        emit(to_csv(measured) if chosen_form == "csv" else to_json(measured), output, quiet)
        return
    emit(tables_text([noise_table(measured)], chosen_form, to_terminal(output)), output, quiet)
