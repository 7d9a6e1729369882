"""The commands ``perflog compare``, ``perflog plan`` and ``perflog noise``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from perflog.cli.base import Rare, app, examples
from perflog.cli.cases import View, cache_of
from perflog.cli.options import (
    VIEW,
    DatabaseName,
    Given,
    Logs,
    Output,
    Quiet,
    Viewed,
    Where,
    WithCache,
    extraction_options,
    form_option,
)
from perflog.cli.output import emit, tables_text, to_terminal
from perflog.cli.progress import end_where_unread, extractions
from perflog.cli.seen import address_of_view, write_view_of
from perflog.logs.addresses import as_addresses
from perflog.settings.config import names_in, one_of, pairs, settings

if TYPE_CHECKING:
    from perflog.compare.rows import Comparison
    from perflog.compare.rule import Rule
    from perflog.settings.config import Settings
    from perflog.show.extractions import Extractions

#: The groups of the options that say what is compared by which rule, and what a CI makes of it.
COMPARED, IN_CI = "What is compared", "In CI"
_METRIC = "step_time, data_time, time_to_train, speedup, efficiency, reported or memory. [default: throughput]"
Metric = Annotated[str, typer.Option("--metric", "-m", help=_METRIC, rich_help_panel=COMPARED, show_default=False)]
Sides = Annotated[
    list[str],
    typer.Argument(
        help="Two or more: folders of logs, or labels saved in the history (perflog save).",
        show_default=False,
        callback=as_addresses,
    ),
]
Margin = Annotated[str, typer.Option("--margin", help="Changes within this do not matter.", rich_help_panel=COMPARED)]
_LEVEL = "Confidence of intervals and test, in per cent."
Level = Annotated[float, typer.Option("--level", help=_LEVEL, rich_help_panel=Rare(COMPARED))]
_ACROSS = "Keys that may differ too: label,accelerator."
Across = Annotated[str, typer.Option("--across", help=_ACROSS, show_default=False, rich_help_panel=COMPARED)]
_OVER = "Keys that tell machines apart, of which each is one repeat by the centre of its runs: label, or accelerator."
RepeatsOver = Annotated[
    str, typer.Option("--repeats-over", help=_OVER, show_default=False, rich_help_panel=Rare(COMPARED))
]
_GATE = "The exit status says whether a case is slower."
GateFlag = Annotated[bool, typer.Option("--gate", help=_GATE, rich_help_panel=IN_CI)]
FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on",
        help="What fails: slower, inconclusive, missing, same-logs, nothing-compared. [default: all but inconclusive]",
        show_default=False,
        rich_help_panel=IN_CI,
    ),
]
_ALIAS = "Another name of a model, framework, accelerator or precision: resnet50v1.5=resnet50 (may be repeated)."
Alias = Annotated[
    list[str] | None, typer.Option("--alias", help=_ALIAS, show_default=False, rich_help_panel=Rare(COMPARED))
]
_EXPLAIN = "Say below the table what each verdict means, in plain words."
Explain = Annotated[bool, typer.Option("--explain-verdicts", help=_EXPLAIN, rich_help_panel=Rare(VIEW))]
_MARKER = "The name in the hidden marker of Markdown, by which the next comment replaces it. [default: the metric]"
Marker = Annotated[str, typer.Option("--marker", help=_MARKER, show_default=False, rich_help_panel=Rare(IN_CI))]
_COMMENT = "Comment on the pull request (needs GITHUB_TOKEN)."
Comment = Annotated[bool, typer.Option("--comment", help=_COMMENT, rich_help_panel=IN_CI)]
_FORMATS = ("table", "markdown", "csv", "json", "html", "github", "junit", "svg", "png")
Form = Annotated[str | None, form_option(_FORMATS, "table")]
_HISTORY = (
    "Judge each case with what its earlier campaigns spread by, out of the history (--database). [default: where a "
    "database is named]"
)
History = Annotated[
    bool | None,
    typer.Option("--history/--no-history", help=_HISTORY, show_default=False, rich_help_panel=Rare(COMPARED)),
]
_NOISE_HISTORY = (
    "Take what runs and campaigns of each case have spread by out of the history (--database). [default: where a "
    "database is named]"
)
NoiseHistory = Annotated[
    bool | None,
    typer.Option("--history/--no-history", help=_NOISE_HISTORY, show_default=False, rich_help_panel=Rare(COMPARED)),
]
_SORT = "Their order: -change, or devices,-ratio (- turns it round)."
Sort = Annotated[
    str, typer.Option("--sort", help=_SORT, metavar="FIELDS", show_default=False, rich_help_panel=Rare(VIEW))
]
_COLUMNS = "Only these columns: model,devices,change,interval."
Columns = Annotated[
    str, typer.Option("--columns", help=_COLUMNS, metavar="FIELDS", show_default=False, rich_help_panel=Rare(VIEW))
]
_NOISE_SORT = "Their order: -spread, or devices,-runs_needed (- turns it round)."
NoiseSort = Annotated[
    str, typer.Option("--sort", help=_NOISE_SORT, metavar="FIELDS", show_default=False, rich_help_panel=Rare(VIEW))
]
_NOISE_COLUMNS = "Only these columns: model,devices,spread,change_seen."
NoiseColumns = Annotated[
    str,
    typer.Option("--columns", help=_NOISE_COLUMNS, metavar="FIELDS", show_default=False, rich_help_panel=Rare(VIEW)),
]
_WIDE = "Show each field of the cases in a column of its own, however wide that is."
Wide = Annotated[bool, typer.Option("--wide", help=_WIDE, rich_help_panel=Rare(VIEW))]
NoiseForm = Annotated[str | None, form_option(("table", "markdown", "csv", "json"), "table")]
Detect = Annotated[str, typer.Option("--detect", help="The change that must be seen.", rich_help_panel=COMPARED)]


@app.command(
    epilog=examples(
        "perflog compare logs-2.4/ logs-2.5/ --warmup 100",
        "perflog compare v2.4 v2.5",
        "perflog compare old/ new/ --sort change --columns model,devices,change,interval,verdict",
        "perflog compare old/ new/ --gate --format github",
        "perflog compare a/ b/ c/ -o ratios.svg",
        more="Exit status: 0; 3 no case is on both sides; with --gate or --fail-on 1 a case is slower, 3 nothing could "
        "be compared or another reason that was asked for; 2 wrong usage.",
    )
)
@extraction_options("aggregate")
def compare(
    sides: Sides, given: Given, metric: Metric = "throughput", margin: Margin = "2%", level: Level = 95.0,
    across: Across = "", repeats_over: RepeatsOver = "", where: Where = None, alias: Alias = None, sort: Sort = "",
    columns: Columns = "", wide: Wide = False, gate: GateFlag = False, fail_on: FailOn = "",
    explain_verdicts: Explain = False, form: Form = None, marker: Marker = "", comment: Comment = False,
    output: Output = None, view: Viewed = None, history: History = None, database: DatabaseName = None,
    cache: WithCache = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Is the new version faster? Each case's ratio, its interval and a verdict."""
    from perflog.cases.pairs import metrics_named
    from perflog.cli.comparison_output import Look, comment_on_pull_request, show
    from perflog.compare.outputs import FORMATS, GATE, marker_of
    from perflog.compare.outputs import gate as result_of
    from perflog.compare.rule import Rule, share
    from perflog.compare.sides import names
    from perflog.compare.table import in_order
    from perflog.settings.convention import REASONS
    from perflog.show.case_table import Shown
    from perflog.show.options import format_for

    if len(sides) < 2:
        raise typer.BadParameter("name at least two sides: perflog compare OLD NEW", param_hint="SIDES")
    if not 50 <= level < 100:
        message = f"a level lies between 50 and 100 per cent, not {level:g}"
        raise typer.BadParameter(message, param_hint="--level")
    form = format_for(output, form, FORMATS, "table")
    reasons = names(fail_on, "fail-on", list(REASONS)) or (list(GATE) if gate else [])
    metric = metrics_named(metric)
    rule = Rule(metric, share(margin, "--margin"), level / 100)
    marker_of(marker or metric)  # a wrong name is told before the logs are read
    chosen = settings(given | {"database": database}, [side for side in sides if Path(side).exists()])
    in_page = address_of_view(view, output, sides)
    selection = (
        names(across, "across"),
        names(repeats_over, "repeats-over"),
        pairs(where or [], "where"),
        _aliases(alias),
    )
    read = extractions(quiet, cache_of(cache, quiet))
    comparisons = _compared(sides, chosen, rule, selection, read, history)
    result = result_of(comparisons, reasons) if reasons else None
    comparisons = [in_order(comparison, sort) for comparison in comparisons] if sort else comparisons
    look = Look(form, marker or metric, Shown(names_in(columns), wide), explain_verdicts, reasons, result, in_page)
    show(comparisons, look, output, quiet)
    write_view_of(view, sides, chosen, read, quiet)
    if comment:
        comment_on_pull_request(comparisons, look, quiet)
    if result is not None:
        print(result.sentence, file=sys.stderr)
        status = result.status
    else:
        status = 0 if any(comparison.rows for comparison in comparisons) else REASONS["nothing-compared"]
    end_where_unread(read, quiet, status)


#: Keys that may differ, keys that tell machines apart, the values that cases are chosen by, and names that are others.
_Selection = tuple[Sequence[str], Sequence[str], dict[str, str], dict[str, str]]


def _aliases(texts: Sequence[str] | None) -> dict[str, str]:
    """``alias=name`` texts as a dict; an alias may hold a hyphen. Raises UsageError for one without ``=``."""
    pairs(texts or [], "alias")
    return {alias.strip(): name.strip() for alias, _, name in (text.partition("=") for text in texts or ())}


def _compared(
    sides: Sequence[str], chosen: Settings, rule: Rule, selection: _Selection, read: Extractions, history: bool | None
) -> list[Comparison]:
    """The sides opened and compared. Raises UsageError for a name that is none, also of an alias."""
    from perflog.compare.comparing import compare_sides
    from perflog.compare.sides import history_of, open_sides, require_alias
    from perflog.formats.catalog import path_patterns

    across, over, wanted, aliases = selection
    opened = open_sides(sides, chosen, read)
    require_alias([case for side in opened.sides for case in side.extraction.cases], aliases)
    patterns = path_patterns(chosen.values["parsers"])
    known = {**chosen.values["aliases"], **aliases}
    return compare_sides(opened, rule, patterns, across, wanted, known, over, history_of(chosen, history))


@app.command(
    epilog=examples(
        "perflog plan logs/ --detect 5%",
        "perflog plan logs/ --detect 2% --margin 1% --metric step_time",
        "perflog plan logs/ --where precision=fp32 --sort -runs_needed",
    )
)
@extraction_options("aggregate", "baseline")
def plan(
    logs: Logs, given: Given, detect: Detect = "5%", margin: Margin = "2%", metric: Metric = "throughput",
    history: NoiseHistory = None, where: Where = None, sort: NoiseSort = "", columns: NoiseColumns = "",
    wide: Wide = False, form: NoiseForm = None, output: Output = None, database: DatabaseName = None,
    cache: WithCache = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """How many runs a side does each case need for `perflog compare` to call a change of this size?"""
    from perflog.cases.pairs import metrics_named
    from perflog.compare.rule import share

    request = _Noise(metrics_named(metric), share(margin, "--margin"), share(detect, "--detect"), history)
    view = View.asked(where, sort, columns, wide)
    _show_noise(logs, given | {"database": database}, request, view, form, output, quiet, cache)


@app.command(epilog=examples("perflog noise logs/ --warmup 100", "perflog noise logs/ --sort -spread --wide"))
@extraction_options("aggregate", "baseline")
def noise(
    logs: Logs, given: Given, metric: Metric = "throughput", margin: Margin = "2%", history: NoiseHistory = None,
    where: Where = None, sort: NoiseSort = "", columns: NoiseColumns = "", wide: Wide = False,
    form: NoiseForm = None, output: Output = None, database: DatabaseName = None, cache: WithCache = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """The spread between the runs of each case, and the smallest change that as many runs could show."""
    from perflog.cases.pairs import metrics_named
    from perflog.compare.rule import share

    request = _Noise(metrics_named(metric), share(margin, "--margin"), history=history)
    view = View.asked(where, sort, columns, wide)
    _show_noise(logs, given | {"database": database}, request, view, form, output, quiet, cache)


class _Noise(NamedTuple):
    """What is asked of the noise: the metric, the margin and the change to detect (shares), the history."""

    metric: str
    margin: float
    detect: float | None = None
    history: bool | None = None


def _show_noise(
    logs: list[str], given: dict[str, Any], request: _Noise, view: View, form: str | None, output: Path | None,
    quiet: bool, cache: bool | None,
) -> None:  # fmt: skip
    """Read the logs, and show their noise in one of its formats."""
    from perflog.compare.noise import FORMATS, noise_csv, noise_json, noise_of, noise_table, sorted_noise
    from perflog.compare.rule import METRICS
    from perflog.show.options import format_for

    one_of("metric", request.metric, METRICS)
    chosen_form = format_for(output, form, FORMATS, "table")
    chosen = settings(given, [log for log in logs if Path(log).exists()])
    read = extractions(quiet, cache_of(cache, quiet))
    measured = noise_of(logs, chosen, read, request.metric, request.detect, request.margin, request.history, view.where)
    measured = sorted_noise(measured, view.order) if view.order else measured
    if chosen_form == "csv":
        text = noise_csv(measured, view.columns)
    elif chosen_form == "json":
        text = noise_json(measured)
    else:
        table = noise_table(measured, view.shown)
        text = tables_text([table], chosen_form, to_terminal(output), view.wide)
    emit(text, output, quiet)
    end_where_unread(read, quiet)
