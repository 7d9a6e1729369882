"""Commands that read logs: extract, explain, config, conventions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perflog.cli.base import EXIT_STATUS, app
from perflog.cli.extracting import catalog_of, extracted
from perflog.cli.options import Format, Given, Logs, Output, Quiet, extraction_options
from perflog.settings.config import DEFAULTS, FORMATS, find_config, one_of, settings

if TYPE_CHECKING:
    from perflog.extraction import Extraction


@app.command(
    epilog=f"Examples:  perflog extract logs/ --warmup 100  ·  perflog extract logs/ -f json -o out.json  ·  perflog extract a.log -s devices=8. {EXIT_STATUS}"
)
@extraction_options()
def extract(logs: Logs, given: Given, format_: Format = None, output: Output = None, quiet: Quiet = False) -> None:
    """Extract throughput, speedup and the program's own results from training logs."""
    chosen = settings(given | {"format": format_}, logs)
    form = chosen.values["format"]
    one_of("format", form, FORMATS)
    if form == "parquet" and output is None:
        raise typer.BadParameter("parquet is not text: name a file with --output FILE", param_hint="--format")
    extraction = extracted(logs, chosen, quiet)
    _write(extraction, form, output, logs)
    if not quiet:
        _remarks(extraction, form, output)
    if not extraction.complete:
        raise typer.Exit(3)


@app.command(epilog="Example:  perflog explain logs/4n8g/rn50_b128_fp32_3.log")
@extraction_options("aggregate", "baseline")
def explain(logs: Logs, given: Given) -> None:
    """Say what was read from each log, what was not understood, and why other parsers were rejected."""
    from perflog.logs.find import find_logs
    from perflog.report.explain import explain_log

    chosen = settings(given, logs)
    options = chosen.options()
    catalog = catalog_of(chosen)
    complete = True
    for at, log in enumerate(find_logs(logs)):
        text, fine = explain_log(log, catalog, options)
        print(("\n" if at else "") + text)
        complete &= fine
    if not complete:
        raise typer.Exit(3)


@app.command(epilog="Example:  perflog config logs/")
@extraction_options()
def config(
    given: Given,
    logs: Annotated[list[str] | None, typer.Argument(help="Logs whose perflog.toml is looked for.", show_default=False)] = None,
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


def _write(extraction: Extraction, form: str, output: Path | None, logs: list[str]) -> None:
    from perflog.files import write_atomically

    if form == "dlperf":
        from perflog.export import dlperf

        target = output or Path("result") / f"{Path(logs[0]).resolve().name}_result.json"
        write_atomically(target, dlperf.to_json(extraction))
        sys.stdout.write(dlperf.console(extraction, f"./{target}" if not target.is_absolute() else str(target)))
        return
    data = _formatted(extraction, form, output is None and sys.stdout.isatty())
    if output is not None:
        write_atomically(output, data)
    elif isinstance(data, str):
        sys.stdout.write(data)


def _formatted(extraction: Extraction, form: str, to_terminal: bool) -> str | bytes:
    if form == "table":
        import shutil

        from perflog.export.text import terminal

        return terminal(extraction, shutil.get_terminal_size().columns if to_terminal else None, to_terminal)
    if form == "markdown":
        from perflog.export.text import markdown

        return markdown(extraction)
    from perflog.export import data

    if form == "json":
        return data.to_json(extraction)
    frame = data.case_frame(extraction)
    if form == "csv":
        return frame.write_csv()
    import io

    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _remarks(extraction: Extraction, form: str, output: Path | None) -> None:
    """What a person should know that the table does not say, on stderr."""
    if output is not None and form != "dlperf":
        print(f"wrote {output}", file=sys.stderr)
    if extraction.skipped and form != "json":
        shown = extraction.skipped[:5]
        for skipped in shown:
            print(f"skipped {skipped.log.name}: {skipped.reason}", file=sys.stderr)
        if len(extraction.skipped) > len(shown):
            print(f"skipped {len(extraction.skipped) - len(shown)} more files (--format json lists them)", file=sys.stderr)
    if not extraction.cases:
        print("no training log found; `perflog explain FILE` says why a file is none", file=sys.stderr)
    if form == "dlperf":
        for run in extraction.runs:
            if run.throughput.value is None:
                print(f"no value {run.log.name}: {run.throughput.reason}", file=sys.stderr)
