"""Commands that read logs, and the parts that others read of them: extract, explain, merge, config, conventions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perflog.cli.base import EXIT_STATUS, app, examples
from perflog.cli.cases import (
    OF_SEVERAL_FILES,
    View,
    cache_of,
    form_of,
    show_again_and_again,
    write_cases,
    write_kept_cases,
)
from perflog.cli.options import (
    MANY,
    READING,
    Aggregate,
    Baseline,
    Configured,
    Format,
    Given,
    Logs,
    Notes,
    Output,
    Parsers,
    Quiet,
    Shown,
    Sort,
    TextOrJson,
    Viewed,
    Where,
    Wide,
    WithCache,
    extraction_options,
)
from perflog.cli.output import emit, prose
from perflog.cli.progress import extractions
from perflog.cli.seen import write_view_of
from perflog.logs.addresses import as_addresses
from perflog.settings.config import DEFAULTS, find_config, pairs, settings
from perflog.show.options import format_for

if TYPE_CHECKING:
    from perflog.cache.cache import Cache
    from perflog.extraction import Extraction
    from perflog.settings.config import Settings

Watch = Annotated[bool, typer.Option("--watch", help="Show the table anew as logs grow, until Ctrl-C.")]
_SHARD = (
    "Read this share of the logs alone, the third of ten for 3/10, and write it with -o FILE.parquet for "
    "`perflog merge`."
)
Shard = Annotated[str, typer.Option("--shard", help=_SHARD, metavar="K/N", show_default=False, rich_help_panel=MANY)]
_ON = "Let a cluster read the logs: ray for the one that this machine belongs to, or ray://HOST:PORT."
On = Annotated[str, typer.Option("--on", help=_ON, metavar="CLUSTER", show_default=False, rich_help_panel=MANY)]
_SHARDS = "With --on: in how many shares. [default: 4 for each processor]"
Shards = Annotated[
    int | None, typer.Option("--shards", help=_SHARDS, min=1, max=999_999, show_default=False, rich_help_panel=MANY)
]

_WHY_NOT = "Say too why this parser was rejected, or every other one: all."
WhyNot = Annotated[str, typer.Option("--why-not", help=_WHY_NOT, metavar="PARSER", show_default=False)]

Parts = Annotated[
    list[str],
    typer.Argument(
        help="All parts of one place: the files that `perflog extract --shard` wrote, or their folder.",
        metavar="PARTS...",
        show_default=False,
        callback=as_addresses,
    ),
]


@app.command(
    epilog=examples(
        "perflog extract logs/ --warmup 100",
        "perflog extract logs/ -o cases.csv",
        "perflog extract logs/ --where precision=fp32 --sort -throughput",
        "perflog extract logs/ --columns framework,devices,throughput,interval",
        "perflog extract train.log -s devices=8 -s batch_size=32",
        "perflog extract logs/ --watch",
        "perflog extract logs/ --shard 3/10 -o part3.parquet",
        more=EXIT_STATUS,
    )
)
@extraction_options(needed=READING)
def extract(
    logs: Logs, given: Given, where: Where = None, sort: Sort = "", columns: Shown = "", wide: Wide = False,
    notes: Notes = None, watch: Watch = False, shard: Shard = "", on: On = "", shards: Shards = None,
    format_: Format = None, output: Output = None, viewed: Viewed = None, cache: WithCache = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Extract throughput, speedup and the program's own results from training logs."""
    chosen = settings(given | {"format": format_}, logs)
    kept = cache_of(cache, quiet)
    if shard:
        _write_share(shard, logs, chosen, output, quiet, kept)
        return
    form = form_of(output, chosen)
    view = View.asked(where, sort, columns, wide, notes, viewed)
    seen = write_view_of(viewed, logs, chosen, extractions(quiet, kept), quiet)
    if watch:
        show_again_and_again(logs, chosen, view)
    if seen is None and kept is not None and not on and form not in OF_SEVERAL_FILES:
        write_kept_cases(kept, logs, chosen, form, view, output, quiet)
        return
    if on:
        extraction = _on(on, logs, chosen, shards, quiet, kept is not None)
    else:
        extraction = seen or extractions(quiet, kept).of(logs, chosen)
    write_cases(view.of(extraction), form, view, output, quiet, logs)


@app.command(
    epilog=examples(
        "perflog explain logs/4n8g/rn50_b128_fp32_3.log",
        "perflog explain train.log --why-not mindspore",
        "perflog explain train.log --format json",
        more=EXIT_STATUS,
    )
)
@extraction_options("aggregate", "baseline", needed=READING)
def explain(
    logs: Logs, given: Given, why_not: WhyNot = "", format_: TextOrJson = None, output: Output = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Say what was read from each log, on which lines and by which parser, or what a log lacks."""
    from perflog.show.explain import explain_logs, to_json

    form = format_for(output, format_, ("text", "json"), "text")
    explanations = []
    for number, explanation in enumerate(explain_logs(logs, settings(given, logs), why_not, form == "json")):
        explanations.append(explanation)
        if form == "text" and output is None:  # each as soon as it is known
            print(prose(("\n" if number else "") + explanation.text))
    if form == "json":
        emit(to_json(explanations), output, quiet)
    elif output is not None:
        emit("\n\n".join(explanation.text for explanation in explanations) + "\n", output, quiet)
    if not all(explanation.complete for explanation in explanations):
        raise typer.Exit(3)


@app.command(
    epilog=examples(
        "perflog merge part*.parquet", "perflog merge parts/ -o cases.json --sort -throughput", more=EXIT_STATUS
    )
)
def merge(
    parts: Parts, aggregate: Aggregate = None, baseline: Baseline = None, parsers: Parsers = None,
    where: Where = None, sort: Sort = "", columns: Shown = "", wide: Wide = False, notes: Notes = None,
    format_: Format = None, output: Output = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Make of the parts that workers read what one machine would have made of all logs."""
    from dataclasses import replace

    from perflog.cluster.shares import require_parts

    given = {"aggregate": aggregate, "baseline": pairs(baseline or [], "baseline"), "parsers": parsers}
    chosen = replace(settings(given | {"format": format_}, parts), parts=None)  # all that is named is for parts
    form = form_of(output, chosen)
    require_parts(parts)
    view = View.asked(where, sort, columns, wide, notes)
    write_cases(view.of(extractions(quiet).of(parts, chosen)), form, view, output, quiet, parts)


@app.command(epilog=examples("perflog config logs/", "perflog config logs/ --format json"))
@extraction_options(needed=READING)
def config(
    given: Given,
    logs: Configured = None,
    format_: TextOrJson = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Show the options in force and where each comes from."""
    from perflog.escaping import json_text
    from perflog.history.place import without_password

    form = format_for(output, format_, ("text", "json"), "text")
    chosen = settings(given, logs or [])
    chosen.options()
    file = find_config(logs or [])
    values = {key: chosen.values[key] for key in DEFAULTS} | {"set": {**chosen.config_set, **chosen.values["set"]}}
    values["database"] = values["database"] and without_password(values["database"])
    rows = [(key.rstrip("_"), value, chosen.sources[key]) for key, value in values.items()]
    if form == "json":
        options = {name: {"value": value, "source": source} for name, value, source in rows}
        data = {"schema": "perflog/config/1", "file": None if file is None else str(file), "options": options}
        emit(json_text(data) + "\n", output, quiet)
        return
    lines = [f"config file: {file or 'none (no perflog.toml above the logs or the working folder)'}"]
    width = max(len(_shown(value)) for value in values.values())
    lines += [f"{name:<12} {_shown(value):<{width}} {source}" for name, value, source in rows]
    emit(prose("\n".join(lines) + "\n", output), output, quiet)


@app.command(epilog=examples("perflog conventions", "perflog extract logs/ --convention paddle-perf-paddleclas-2023"))
def conventions(format_: TextOrJson = None) -> None:
    """List the conventions of published reports that --convention applies."""
    from perflog.escaping import json_text
    from perflog.settings.convention import load_conventions

    rules = load_conventions()
    if format_for(None, format_, ("text", "json"), "text") == "json":
        data = [{"name": name, "title": rule.title, "options": rule.options} for name, rule in rules.items()]
        print(json_text({"schema": "perflog/conventions/1", "conventions": data}))
        return
    for name, rule in rules.items():
        print(prose(f"{name}\n    {rule.title}"))


def _write_share(
    share: str, logs: list[str], chosen: Settings, output: Path | None, quiet: bool, cache: Cache | None
) -> None:
    """Read a share of the logs into a part, and say how many it has."""
    from perflog.cluster.shares import write_share

    part = write_share(share, logs, chosen, output, extractions(quiet).progress, cache)
    if not quiet:
        print(f"part {part.share}: {part.logs} of {part.place.logs} logs written to {output}", file=sys.stderr)


def _on(
    address: str, logs: list[str], chosen: Settings, shards: int | None, quiet: bool, with_cache: bool
) -> Extraction:
    """The extraction that a cluster's workers make, with a bar of their shares."""
    from perflog.cli.progress import shares_bar
    from perflog.cluster.shares import extraction_on

    with shares_bar(quiet) as told:
        return extraction_on(address, logs, chosen, shards, told, with_cache)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={v}" for k, v in value.items()) or "-"
    if isinstance(value, list):
        return " ".join(str(v) for v in value) or "-"
    return "-" if value is None else str(value)
