"""Commands that read logs: extract, explain, config, conventions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perflog.cli.base import EXIT_STATUS, app
from perflog.cli.options import Format, Given, Logs, Output, Quiet, extraction_options
from perflog.cli.output import emit, to_terminal, width_of
from perflog.cli.progress import extractions
from perflog.settings.config import DEFAULTS, FORMATS, find_config, one_of, settings

if TYPE_CHECKING:
    from perflog.extraction import Extraction

#: How many skipped files are named.
MOST_SKIPPED = 5


@app.command(
    epilog="Examples:  perflog extract logs/ --warmup 100  ·  perflog extract logs/ -f json -o out.json  ·  "
    f"perflog extract a.log -s devices=8. {EXIT_STATUS}"
)
@extraction_options()
def extract(logs: Logs, given: Given, format_: Format = None, output: Output = None, quiet: Quiet = False) -> None:
    """Extract throughput, speedup and the program's own results from training logs."""
    chosen = settings(given | {"format": format_}, logs)
    form = chosen.values["format"]
    one_of("format", form, FORMATS)
    if form == "parquet" and output is None:
        raise typer.BadParameter("parquet is not text: name a file with --output FILE", param_hint="--format")
    extraction = extractions(quiet).of(logs, chosen)
    if form == "dlperf":
        _write_dlperf(extraction, output, logs)
    else:
        from perflog.export.encoding import encoded

        terminal = to_terminal(output)
        emit(encoded(extraction, form, width_of(terminal), terminal), output, quiet)
    if not quiet:
        _remarks(extraction, form)
    if not extraction.complete:
        raise typer.Exit(3)


@app.command(epilog="Example:  perflog explain logs/4n8g/rn50_b128_fp32_3.log")
@extraction_options("aggregate", "baseline")
def explain(logs: Logs, given: Given) -> None:
    """Say what was read from each log, what was not understood, and why other parsers were rejected."""
    from perflog.report.explain import explain_logs

    complete = True
    for number, explanation in enumerate(explain_logs(logs, settings(given, logs))):
        print(("\n" if number else "") + explanation.text)
        complete &= explanation.complete
    if not complete:
        raise typer.Exit(3)


@app.command(epilog="Example:  perflog config logs/")
@extraction_options()
def config(
    given: Given,
    logs: Annotated[
        list[str] | None, typer.Argument(help="Logs whose perflog.toml is looked for.", show_default=False)
    ] = None,
    format_: Format = None,
) -> None:
    """Show the options in force and where each comes from."""
    chosen = settings(given | {"format": format_}, logs or [])
    chosen.options()
    file = find_config(logs or [])
    print(f"config file: {file or 'none (no perflog.toml above the logs or the working folder)'}")
    for key in DEFAULTS:
        value = {**chosen.config_set, **chosen.values["set"]} if key == "set" else chosen.values[key]
        print(f"{key:<11} {_shown(value):<24} {chosen.sources[key]}")


@app.command(epilog="Example:  perflog extract logs/ --convention paddle-perf-paddleclas-2.5")
def conventions() -> None:
    """List the conventions of published reports that --convention applies."""
    from perflog.settings.convention import load_conventions

    for name, rule in load_conventions().items():
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
