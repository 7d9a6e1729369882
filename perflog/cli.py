"""The command line: reads options, calls the stages, prints. Everything else is in other modules."""

from __future__ import annotations

import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perflog import __version__
from perflog.config import DEFAULTS, FORMATS, Settings, find_config, one_of, pairs, settings

if TYPE_CHECKING:
    from perflog.catalog import Catalog
    from perflog.extraction import Extraction

EXIT_STATUS = "Exit status: 0 all logs gave numbers; 3 some log or case has no value (the rest is still printed); 2 wrong usage."

app = typer.Typer(
    help="Numbers that can be trusted from the training logs of deep-learning frameworks.",
    epilog=EXIT_STATUS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
parsers_app = typer.Typer(help="The formats perflog understands: list, show, check.", no_args_is_help=True)
app.add_typer(parsers_app, name="parsers")

Logs = Annotated[list[str], typer.Argument(help="Logs: files, folders, .gz, .zst and .zip.", show_default=False)]
Warmup = Annotated[
    str | None,
    typer.Option("--warmup", "-w", help="Left out at the start: 100 (steps), 2epochs, 10records, 30s, 10%. [default: 20]", show_default=False),
]
Steps = Annotated[str | None, typer.Option("--steps", "-n", help="How many steps to take after the warm-up. [default: all]", show_default=False)]
Last = Annotated[str | None, typer.Option("--last", help="Take the last so many steps (or 25records) instead.", show_default=False)]
Estimator = Annotated[
    str | None,
    typer.Option("--estimator", "-e", help="total, mean, median, trimmed, last or reported. [default: total]", show_default=False),
]
Aggregate = Annotated[str | None, typer.Option("--aggregate", "-a", help="Over runs: median, mean or olympic. [default: median]", show_default=False)]
Baseline = Annotated[
    list[str] | None,
    typer.Option("--baseline", help="The case that speedups are relative to: key=value. [default: one device]", show_default=False),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="A fact about the runs that logs and paths do not tell: batch_size=32.", show_default=False),
]
ParserNames = Annotated[list[str] | None, typer.Option("--parser", help="Use this parser alone (may be repeated).", show_default=False)]
Parsers = Annotated[list[str] | None, typer.Option("--parsers", help="A folder with parsers of your own.", show_default=False)]
ConventionName = Annotated[str | None, typer.Option("--convention", "-c", help="Make the numbers as a family of published reports did.", show_default=False)]
Format = Annotated[str | None, typer.Option("--format", "-f", help=f"{', '.join(FORMATS)}. [default: table]", show_default=False)]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.", show_default=False)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no remarks.")]

Rows = Annotated[str, typer.Option("--rows", "-r", help="Fields of the rows: devices, or nodes,devices, or devices=1:8:32.", show_default=False)]
Columns = Annotated[str, typer.Option("--columns", help="Fields of the columns: precision,batch_size.", show_default=False)]
Values = Annotated[str, typer.Option("--value", "-v", help="What the cells hold: throughput,speedup,accuracy …")]
Where = Annotated[list[str] | None, typer.Option("--where", help="Take the cases with this value alone: model=rn50.", show_default=False)]
StyleName = Annotated[str, typer.Option("--style", help="plain, paddle, dlperf … (see docs/tables.md), or your own.")]
Lang = Annotated[str, typer.Option("--lang", help="Language of the headings: en or zh.")]
Templates = Annotated[list[str] | None, typer.Option("--templates", help="A folder with styles of your own.", show_default=False)]
Notes = Annotated[bool, typer.Option("--notes/--no-notes", help="How the numbers were made, n and doubts, under the table.")]
Digits = Annotated[list[str] | None, typer.Option("--digits", help="A value's digits: throughput=%.2f.", show_default=False)]
Kind = Annotated[str, typer.Option("--kind", help="scaling, spread or steps.")]
Names = Annotated[list[str] | None, typer.Option("--name", help="Show a value so: fp16=AMP, or PyTorch='[PyTorch](url)'.", show_default=False)]
Titles = Annotated[list[str] | None, typer.Option("--title", help="A heading: throughput='samples/s(PyTorch)'.", show_default=False)]
Missing = Annotated[str | None, typer.Option("--missing", help="What a cell without a number prints. [default: the style's]", show_default=False)]


def _version(asked: bool) -> None:
    if asked:
        print(f"perflog {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")] = False,  # noqa: ARG001 - its callback prints
) -> None:
    """Numbers that can be trusted from the training logs of deep-learning frameworks."""
    _EXTRACTIONS.clear()


@app.command(
    epilog=f"Examples:  perflog extract logs/ --warmup 100  ·  perflog extract logs/ -f json -o out.json  ·  perflog extract a.log -s devices=8. {EXIT_STATUS}"
)
def extract(
    logs: Logs, warmup: Warmup = None, steps: Steps = None, last: Last = None, estimator: Estimator = None, aggregate: Aggregate = None,
    baseline: Baseline = None, set_: Set = None, parser: ParserNames = None, parsers: Parsers = None, convention: ConventionName = None,
    format_: Format = None, output: Output = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Extract throughput, speedup and the program's own results from training logs."""
    given = _given(warmup, steps, last, estimator, aggregate, baseline, set_, parser, parsers, convention) | {"format": format_}
    chosen = settings(given, logs)
    form = chosen.values["format"]
    one_of("format", form, FORMATS)
    if form == "parquet" and output is None:
        raise typer.BadParameter("parquet is not text: name a file with --output FILE", param_hint="--format")
    extraction = _extracted(logs, chosen, quiet)
    _write(extraction, form, output, logs)
    if not quiet:
        _remarks(extraction, form, output)
    if not extraction.complete:
        raise typer.Exit(3)


@app.command(
    epilog="Examples:  perflog table logs/ --rows nodes,devices --value throughput,speedup --style dlperf  ·  "
    "perflog table logs/ --rows devices=1:8:32 --columns precision,batch_size --style paddle --lang zh"
)
def table(
    logs: Logs, rows: Rows, columns: Columns = "", value: Values = "throughput", where: Where = None, style: StyleName = "plain", lang: Lang = "en",
    templates: Templates = None, notes: Notes = True, digits: Digits = None, title: Titles = None, name: Names = None, missing: Missing = None,
    warmup: Warmup = None, steps: Steps = None, last: Last = None, estimator: Estimator = None, aggregate: Aggregate = None,
    baseline: Baseline = None, set_: Set = None, parser: ParserNames = None, parsers: Parsers = None, convention: ConventionName = None,
    output: Output = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Make a report's table: cases in rows and columns, in the style of a family of reports."""
    given = _given(warmup, steps, last, estimator, aggregate, baseline, set_, parser, parsers, convention)
    look = {"style": style, "lang": lang, "templates": templates, "notes": notes, "digits": digits, "title": title, "name": name, "missing": missing}
    text, _ = _table(logs, (rows, columns, value), where, look, given, quiet)
    if output is not None:
        from perflog.files import write_atomically

        write_atomically(output, text)
    else:
        sys.stdout.write(text)


@app.command(epilog="Examples:  perflog plot logs/ -o scaling.svg  ·  perflog plot logs/ --kind steps --warmup 100 -o steps.png")
def plot(
    logs: Logs, kind: Kind = "scaling", warmup: Warmup = None, steps: Steps = None, last: Last = None, estimator: Estimator = None,
    aggregate: Aggregate = None, baseline: Baseline = None, set_: Set = None, parser: ParserNames = None, parsers: Parsers = None,
    convention: ConventionName = None, output: Output = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Draw throughput and speedup against devices, the spread of the runs, or step times with the warm-up."""
    if output is None:
        raise typer.BadParameter("a picture needs a file: --output scaling.svg", param_hint="--output")
    given = _given(warmup, steps, last, estimator, aggregate, baseline, set_, parser, parsers, convention)
    data, words = _picture(logs, kind, output, given, quiet)
    from perflog.files import write_atomically

    write_atomically(output, data)
    if not quiet:
        print(f"wrote {output}: {words}", file=sys.stderr)


@app.command(epilog="Example:  perflog report logs/ --warmup 100 -o README.md --lang zh. Later: perflog readme README.md")
def report(
    logs: Logs, output: Output = None, lang: Lang = "en", warmup: Warmup = None, steps: Steps = None, last: Last = None,
    estimator: Estimator = None, aggregate: Aggregate = None, baseline: Baseline = None, set_: Set = None, parser: ParserNames = None,
    parsers: Parsers = None, convention: ConventionName = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Write a report: environment, results, pictures, log links, all in regions that `perflog readme` keeps true."""
    import os

    from perflog.files import write_atomically
    from perflog.readme import filled
    from perflog.report import skeleton
    from perflog.table.text import LANGUAGES

    one_of("lang", lang, LANGUAGES)
    if output is None:
        raise typer.BadParameter("a report needs a file: --output README.md", param_hint="--output")
    if output.exists():
        raise typer.BadParameter(f"{output} exists: `perflog readme {output}` makes its regions true; name another file", param_hint="--output")
    given = _given(warmup, steps, last, estimator, aggregate, baseline, set_, parser, parsers, convention)
    words = [w for name, value in given.items() for w in _words(name, value)]
    near = [Path(os.path.relpath(log, output.parent)).as_posix() for log in logs]
    text = skeleton(_extracted(logs, settings(given, logs), quiet), near, words, output, lang)
    pictures: dict[Path, bytes] = {}
    text, regions = filled(text, str(output), partial(_recipe, base=output.parent, pictures=pictures))
    for file, data in pictures.items():
        write_atomically(file, data)
    write_atomically(output, text)
    if not quiet:
        print(f"wrote {output}: {regions} regions, {len(pictures)} pictures", file=sys.stderr)


@app.command(
    epilog="A region:  <!-- perflog: table logs/ --rows devices --style paddle -->  …  <!-- /perflog -->. "
    "Paths in it are relative to the file. Exit status: 0 all regions are true; 1 with --check, some are not; 2 a marker or recipe is wrong."
)
def readme(
    files: Annotated[list[Path], typer.Argument(help="Markdown files with perflog regions.", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Change nothing; show the difference and exit 1 if there is one.")] = False,
    quiet: Quiet = False,
) -> None:
    """Regenerate the tables between perflog's markers, in place."""
    from perflog.files import write_atomically
    from perflog.readme import regenerated

    pictures: dict[Path, bytes] = {}
    made = [(file, *regenerated(file, partial(_recipe, base=file.parent, pictures=pictures))) for file in files]
    drawn = {file: data for file, data in pictures.items() if not file.is_file() or file.read_bytes() != data}
    for file, data in drawn.items():
        if check:
            print(f"{file}: the picture differs from its logs")
        else:
            write_atomically(file, data)
    stale = [(file, old, new) for file, old, new, _ in made if old != new]
    for file, old, new in stale:
        if check:
            import difflib

            sys.stdout.writelines(difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), str(file), f"{file} (from the logs)"))
        else:
            write_atomically(file, new)
    if not quiet:
        count = sum(regions for *_, regions in made)
        changed = len(stale) + len(drawn)
        verdict = f"{changed} files {'differ from their logs' if check else 'rewritten'}" if changed else "all true"
        print(f"{count} regions in {len(made)} files: {verdict}", file=sys.stderr)
    if check and (stale or drawn):
        raise typer.Exit(1)


@app.command(epilog="Example:  perflog explain logs/4n8g/rn50_b128_fp32_3.log")
def explain(
    logs: Logs, warmup: Warmup = None, steps: Steps = None, last: Last = None, estimator: Estimator = None, set_: Set = None,
    parser: ParserNames = None, parsers: Parsers = None, convention: ConventionName = None,
) -> None:  # fmt: skip
    """Say what was read from each log, what was not understood, and why other parsers were rejected."""
    from perflog.explain import explain_log
    from perflog.find import find_logs

    chosen = settings(_given(warmup, steps, last, estimator, None, None, set_, parser, parsers, convention), logs)
    options = chosen.options()
    catalog = _catalog(chosen)
    complete = True
    for at, log in enumerate(find_logs(logs)):
        text, fine = explain_log(log, catalog, options)
        print(("\n" if at else "") + text)
        complete &= fine
    if not complete:
        raise typer.Exit(3)


@app.command(epilog="Example:  perflog config logs/")
def config(
    logs: Annotated[list[str] | None, typer.Argument(help="Logs whose perflog.toml is looked for.", show_default=False)] = None, warmup: Warmup = None,
    steps: Steps = None, last: Last = None, estimator: Estimator = None, aggregate: Aggregate = None, baseline: Baseline = None, set_: Set = None,
    parser: ParserNames = None, parsers: Parsers = None, convention: ConventionName = None, format_: Format = None,
) -> None:  # fmt: skip
    """Show the options in force and where each comes from."""
    chosen = settings(_given(warmup, steps, last, estimator, aggregate, baseline, set_, parser, parsers, convention) | {"format": format_}, logs or [])
    chosen.options()
    file = find_config(logs or [])
    print(f"config file: {file or 'none (no perflog.toml above the logs or the working folder)'}")
    for key in DEFAULTS:
        value = {**chosen.config_set, **chosen.values["set"]} if key == "set" else chosen.values[key]
        print(f"{key:<11} {_shown(value):<24} {chosen.sources[key]}")


@app.command(epilog="Example:  perflog extract logs/ --convention paddle-perf-paddleclas-2.5")
def conventions() -> None:
    """List the conventions of published reports that --convention applies."""
    from perflog.convention import load_conventions

    for name, rule in load_conventions().items():
        print(f"{name}\n    {rule.title}")


@parsers_app.command("list")
def parsers_list(parsers: Parsers = None) -> None:
    """List every parser: name, framework, title."""
    catalog = _catalog(settings({"parsers": parsers}))
    for one in sorted(catalog.parsers, key=lambda p: p.name):
        print(f"{one.name:<26} {one.framework:<14} {one.title}")


@parsers_app.command("show")
def parsers_show(name: Annotated[str, typer.Argument(help="A parser's name.", show_default=False)], parsers: Parsers = None) -> None:
    """Print one parser as a page: its lines, what their numbers mean, and its traps."""
    from perflog.explain import describe_parser

    print(describe_parser(_catalog(settings({"parsers": parsers}))[name]))


@parsers_app.command("check")
def parsers_check(names: Annotated[list[str] | None, typer.Argument(help="Parsers to check.", show_default=False)] = None, parsers: Parsers = None) -> None:
    """Check every parser against its sample lines (exit status 1 when one fails)."""
    from perflog.metadata import check_path_patterns
    from perflog.parsercheck import check_parser

    catalog = _catalog(settings({"parsers": parsers}))
    chosen = catalog.only(names) if names else catalog
    faults = [fault for one in chosen.parsers for fault in check_parser(one)] + check_path_patterns(catalog.path_patterns)
    for fault in faults:
        print(fault)
    if faults:
        raise typer.Exit(1)
    samples = sum(len(p.samples) for one in chosen.parsers for p in one.patterns)
    print(f"{len(chosen.parsers)} parsers, {samples} samples: all as they should be")


# ---------------------------------------------------------------- helpers of the commands


def _given(
    warmup: str | None, steps: str | None, last: str | None, estimator: str | None, aggregate: str | None, baseline: list[str] | None,
    set_: list[str] | None, parser: list[str] | None, parsers: list[str] | None, convention: str | None,
) -> dict[str, Any]:  # fmt: skip
    return {
        "warmup": warmup, "steps": steps, "last": last, "estimator": estimator, "aggregate": aggregate, "baseline": pairs(baseline or [], "baseline"),
        "set": pairs(set_ or [], "set"), "parser": parser, "parsers": parsers, "convention": convention,
    }  # fmt: skip


#: What one command has extracted so far, by everything that decides on it.
_EXTRACTIONS: dict[str, Extraction] = {}


def _extracted(logs: list[str], chosen: Settings, quiet: bool) -> Extraction:
    from perflog.extraction import extract_logs
    from perflog.find import find_logs

    options = chosen.options()
    key = repr((logs, chosen.values["parser"], chosen.values["parsers"], options))
    if key not in _EXTRACTIONS:  # a README's regions often stand on the same logs
        found = find_logs(logs)
        catalog = _catalog(chosen)
        with _Progress(sum(max(log.size, 0) for log in found), quiet) as progress:
            _EXTRACTIONS[key] = extract_logs(found, options, catalog, progress)
    return _EXTRACTIONS[key]


def _table(logs: list[str], parts: tuple[str, str, str], where: list[str] | None, look: dict[str, Any], given: dict[str, Any], quiet: bool) -> tuple[str, int]:
    """The text of a table, and how many of its first cells name a row."""
    from dataclasses import replace

    from perflog.table.grid import Projection, fields, grid
    from perflog.table.style import digits_form, load_style
    from perflog.table.text import LANGUAGES, markdown
    from perflog.table.text import table as made_table

    one_of("lang", look["lang"], LANGUAGES)
    style = load_style(look["style"], look["templates"] or ())
    forms = {name: digits_form(form, "--digits") for name, form in pairs(look["digits"] or [], "digits").items()}
    titles = {**style.titles.get(look["lang"], style.titles.get("en", {})), **pairs(look["title"] or [], "title")}
    style = replace(
        style,
        digits={**style.digits, **forms},
        titles={**style.titles, look["lang"]: titles},
        missing=style.missing if look["missing"] is None else look["missing"],
    )
    rows, columns, value = parts
    values = tuple(part.strip() for part in value.split(",") if part.strip())
    projection = Projection(fields(rows, "--rows"), fields(columns, "--columns"), values, pairs(where or [], "where"))
    extraction = _extracted(logs, settings(given, logs), quiet)
    made = made_table(grid(extraction, projection), style, look["lang"], extraction, pairs(look["name"] or [], "name"))
    return markdown(made, style, look["notes"]), made.keys


@cache
def _commands() -> Any:
    command: Any = typer.main.get_command(app)
    return command.commands


def _words(name: str, value: Any) -> list[str]:
    """An option as words of a recipe."""
    if isinstance(value, dict):
        return [w for k, v in value.items() for w in (f"--{name}", f"{k}={v}")]
    if isinstance(value, list):
        return [w for v in value for w in (f"--{name}", str(v))]
    return [] if value is None else [f"--{name}", str(value)]


def _picture(logs: list[str], kind: str, output: Path, given: dict[str, Any], quiet: bool) -> tuple[bytes, str]:
    """A picture and what it shows in words."""
    from perflog.plot import FORMATS as PICTURES
    from perflog.plot import KINDS, described, picture

    one_of("kind", kind, KINDS)
    form = output.suffix.removeprefix(".")
    one_of("output", form, PICTURES)
    chosen = settings(given, logs)
    if kind != "steps":
        extraction = _extracted(logs, chosen, quiet)
        return picture(extraction, kind, form), described(extraction, kind)
    from perflog.find import find_logs
    from perflog.trace import traces

    extraction, found = traces(find_logs(logs), chosen.options(), _catalog(chosen))
    return picture(extraction, kind, form, found), described(extraction, kind)


def _recipe(recipe: str, base: Path, pictures: dict[Path, bytes]) -> tuple[str, int]:
    """The text of a README region's recipe, written as on the command line, paths relative to the README.

    Pictures are collected, not written: a wrong recipe further on must leave everything as it is.
    """
    import shlex

    from perflog.errors import UsageError

    try:
        words = shlex.split(recipe)
    except ValueError as error:
        raise UsageError(f"the recipe cannot be read: {error}") from None
    if not words or words[0] not in ("table", "plot", "links", "environment"):
        raise UsageError(f"a region holds a table, plot, links or environment: expected `perflog: table LOGS --rows …`, found {recipe[:40]!r}")
    words = [w for at, w in enumerate(words) if w != "--keep" and words[at - 1] != "--keep"]  # the marker's own: rows without logs
    try:
        own = words[0] if words[0] in ("table", "plot") else "report"
        given = _commands()[own].make_context(f"perflog {words[0]}", words[1:]).params
    except Exception as error:  # click's own errors: they carry the message a user needs
        raise UsageError(f"the recipe is wrong: {getattr(error, 'message', None) or error}") from None
    logs = [str(base / log) for log in given["logs"]]
    names = ("warmup", "steps", "last", "estimator", "aggregate", "baseline", "set_", "parser", "parsers", "convention")
    options = _given(*(given[name] for name in names))
    if words[0] == "table":
        return _table(logs, (given["rows"], given["columns"], given["value"]), given["where"], given, options, True)
    if words[0] in ("links", "environment"):
        from perflog.report import environment, links

        extraction = _extracted(logs, settings(options, logs), True)
        return links(extraction, base) if words[0] == "links" else environment(extraction, given["lang"]), 0
    if given["output"] is None:
        raise UsageError("a picture needs a file: -o scaling.svg")
    data, described = _picture(logs, given["kind"], given["output"], options, True)
    pictures[base / given["output"]] = data
    return f"![{described}]({given['output']})\n", 0


def _catalog(chosen: Settings) -> Catalog:
    from perflog.catalog import load_catalog

    catalog = load_catalog(chosen.values["parsers"])
    return catalog.only(chosen.values["parser"]) if chosen.values["parser"] else catalog


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={v}" for k, v in value.items()) or "-"
    if isinstance(value, list):
        return " ".join(str(v) for v in value) or "-"
    return "-" if value is None else str(value)


def _write(extraction: Extraction, form: str, output: Path | None, logs: list[str]) -> None:
    from perflog.files import write_atomically

    if form == "dlperf":
        from perflog.output import dlperf

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

        from perflog.output.text import terminal

        return terminal(extraction, shutil.get_terminal_size().columns if to_terminal else None, to_terminal)
    if form == "markdown":
        from perflog.output.text import markdown

        return markdown(extraction)
    from perflog.output import data

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


class _Progress:
    """A progress bar on stderr for long work, on a terminal only."""

    LONG = 64 << 20

    def __init__(self, total: int, quiet: bool) -> None:
        self.total = total
        self.shown = not quiet and total > self.LONG and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Any:
        if not self.shown:
            return None
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

        self._bar = Progress("reading", BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task("", total=self.total)
        return lambda size: self._bar.update(self._task, advance=size)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
