"""Commands that read logs: extract, explain, config, conventions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perflog.cli.base import EXIT_STATUS, app, examples
from perflog.cli.options import (
    Configured,
    Format,
    Given,
    Logs,
    Output,
    Quiet,
    Shown,
    Sort,
    TextOrJson,
    Where,
    Wide,
    extraction_options,
)
from perflog.cli.output import emit, to_terminal, width_of
from perflog.cli.progress import extractions
from perflog.cli.view import View, show_again_and_again
from perflog.export.endings import format_for
from perflog.settings.config import DEFAULTS, FORMATS, find_config, names_in, pairs, settings

if TYPE_CHECKING:
    from perflog.extraction import Extraction

#: How many skipped files are named.
MOST_SKIPPED = 5
#: Formats that are no text.
BINARY = ("parquet", "xlsx")
Watch = Annotated[
    bool, typer.Option("--watch", help="Show the table anew whenever a log grows, until Ctrl-C; the last one stays.")
]


@app.command(
    epilog=examples(
        "perflog extract logs/ --warmup 100",
        "perflog extract logs/ -o cases.csv",
        "perflog extract logs/ --where precision=fp32 --sort -throughput",
        "perflog extract logs/ --columns framework,devices,throughput,interval",
        "perflog extract train.log -s devices=8 -s batch_size=32",
        "perflog extract logs/ --watch",
        more=EXIT_STATUS,
    )
)
@extraction_options()
def extract(
    logs: Logs, given: Given, where: Where = None, sort: Sort = "", columns: Shown = "", wide: Wide = False,
    watch: Watch = False, format_: Format = None, output: Output = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Extract throughput, speedup and the program's own results from training logs."""
    chosen = settings(given | {"format": format_}, logs)
    is_given = chosen.sources["format"] != "default"
    form = format_for(output, chosen.values["format"] if is_given else None, FORMATS, DEFAULTS["format"])
    if form in BINARY and output is None:
        raise typer.BadParameter(f"{form} is not text: name a file with --output FILE", param_hint="--format")
    view = View(pairs(where or [], "where"), sort, names_in(columns), wide)
    if watch:
        show_again_and_again(logs, chosen, view)
    extraction = view.of(extractions(quiet).of(logs, chosen))
    if form == "dlperf":
        _write_dlperf(extraction, output, logs)
    else:
        from perflog.export.document import json_pieces
        from perflog.export.encoding import encoded

        terminal = to_terminal(output)
        width = None if wide else width_of(terminal)
        data = json_pieces(extraction) if form == "json" else encoded(extraction, form, width, terminal, view.shown)
        emit(data, output, quiet)
    if not quiet:
        _remarks(extraction, form)
    if not extraction.complete:
        raise typer.Exit(3)


@app.command(
    epilog=examples(
        "perflog explain logs/4n8g/rn50_b128_fp32_3.log", "perflog explain train.log --format json", more=EXIT_STATUS
    )
)
@extraction_options("aggregate", "baseline")
def explain(logs: Logs, given: Given, format_: TextOrJson = None, output: Output = None, quiet: Quiet = False) -> None:
    """Say what was read from each log, what was not understood, and why other parsers were rejected."""
    from perflog.report.explain import explain_logs, to_json

    form = format_for(output, format_, ("text", "json"), "text")
    explanations = []
    for number, explanation in enumerate(explain_logs(logs, settings(given, logs))):
        explanations.append(explanation)
        if form == "text" and output is None:  # each as soon as it is known
            print(("\n" if number else "") + explanation.text)
    if form == "json":
        emit(to_json(explanations), output, quiet)
    elif output is not None:
        emit("\n\n".join(explanation.text for explanation in explanations) + "\n", output, quiet)
    if not all(explanation.complete for explanation in explanations):
        raise typer.Exit(3)


@app.command(epilog=examples("perflog config logs/", "perflog config logs/ --format json"))
@extraction_options()
def config(
    given: Given,
    logs: Configured = None,
    format_: TextOrJson = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Show the options in force and where each comes from."""
    from perflog.escaping import json_text

    form = format_for(output, format_, ("text", "json"), "text")
    chosen = settings(given, logs or [])
    chosen.options()
    file = find_config(logs or [])
    values = {key: chosen.values[key] for key in DEFAULTS} | {"set": {**chosen.config_set, **chosen.values["set"]}}
    if form == "json":
        options = {key: {"value": value, "source": chosen.sources[key]} for key, value in values.items()}
        data = {"schema": "perflog/config/1", "file": None if file is None else str(file), "options": options}
        emit(json_text(data) + "\n", output, quiet)
        return
    lines = [f"config file: {file or 'none (no perflog.toml above the logs or the working folder)'}"]
    lines += [f"{key:<11} {_shown(value):<24} {chosen.sources[key]}" for key, value in values.items()]
    emit("\n".join(lines) + "\n", output, quiet)


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
        print(f"{name}\n    {rule.title}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={v}" for k, v in value.items()) or "-"
    if isinstance(value, list):
        return " ".join(str(v) for v in value) or "-"
    return "-" if value is None else str(value)


def _write_dlperf(extraction: Extraction, output: Path | None, logs: list[str]) -> None:
    """DLPerf's result file, and what its script prints."""
    from perflog.export import dlperf
    from perflog.files import write_atomically

    target = output or Path("result") / f"{Path(logs[0]).resolve().name}_result.json"
    write_atomically(target, dlperf.to_json(extraction), parents=output is None)
    sys.stdout.write(dlperf.console(extraction, str(target) if target.is_absolute() else f"./{target}"))


def _remarks(extraction: Extraction, form: str) -> None:
    """What a person should know that the table does not say, on stderr."""
    if extraction.skipped and form != "json":
        first_failed = sorted(extraction.skipped, key=lambda left_out: not left_out.failed)
        for skipped in first_failed[:MOST_SKIPPED]:
            print(f"skipped {skipped.log.name}: {skipped.reason}", file=sys.stderr)
        rest = len(extraction.skipped) - MOST_SKIPPED
        if rest > 0:
            print(f"skipped {rest} more files (--format json lists them)", file=sys.stderr)
    if not extraction.cases:
        print("no training log found; `perflog explain FILE` says why a file is none", file=sys.stderr)
    if form == "dlperf":
        for run in extraction.runs:
            if run.throughput.value is None:
                print(f"no value {run.log.name}: {run.throughput.reason}", file=sys.stderr)
