"""Options that several commands share, written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from perflog.export.options import EXTRACTION, FLAGS, extraction_values
from perflog.logs.addresses import as_addresses
from perflog.settings.config import FORMATS
from perflog.settings.options import AGGREGATES, ESTIMATORS, VALUES

Logs = Annotated[
    list[str],
    typer.Argument(
        help="Logs: files, folders, archives (.gz, .zst, .xz, .bz2, .lz4, .zip, .tar), s3://, gs://, az:// or "
        "https:// addresses, or - for standard input.",
        metavar="LOGS...",
        show_default=False,
        callback=as_addresses,
    ),
]
#: The panel of the options that decide on the numbers.
NUMBERS = "How the numbers are made"
_KEY_VALUE = "KEY=VALUE"


def _option(name: str, help_: str, metavar: str | None = None, show_default: bool = False) -> Any:
    """An option whose flags recipes of regions share."""
    panel = NUMBERS if name in EXTRACTION else None
    return typer.Option(*FLAGS[name], help=help_, metavar=metavar, show_default=show_default, rich_help_panel=panel)


def choices(names: Iterable[str]) -> str:
    """The names that an option takes, as the help says them: ``median, mean or olympic``.

    They stand in the text, where lines break between words; as an option's type they would be cut in narrow terminals.
    """
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


_WARMUP = "Left out at the start: 100 (steps), 2epochs, 10records, 30s, 10%, auto. [default: 20]"
_STEPS = "How many steps (or 25records) to take after the warm-up. [default: all]"
_LAST = "Take the last so many steps (or 25records) instead."
_ESTIMATOR = f"How the measurements of a run become one number: {choices(ESTIMATORS)}. [default: total]"
_AGGREGATE = f"How the runs of a case become one number: {choices(AGGREGATES)}. [default: median]"
_BASELINE = "The case that speedups are relative to: devices=8. [default: one device]"
_SET = "A fact about the runs that logs and paths do not tell: batch_size=32."
_CONVENTION = "Make the numbers as a family of published reports did; other options beside it adjust it."
_VALUES = f"How running means and clocks are taken: {choices(VALUES)}. [default: differenced]"
_WITHOUT_SLOW = "Leave out the few slow records that rule a run's number, which notes name."
_DATABASE = "A file, or postgresql://user@host/name. [default: ~/.local/share/perflog/history.sqlite]"
_NOTES = "Every note under the table, or none. [default: those without which it would mislead]"
_STYLE = "The layout of a family of reports (docs/tables.md), or your own."
_QUIET = "No progress and no remarks."
_WHERE = "Take the cases with this value alone: model=rn50, or devices=1:8 (may be repeated)."
_SORT = "The order of the cases: devices,-throughput (- turns it round)."
_SHOWN = "Show these fields of the cases alone: model,devices,throughput,interval."
_WIDE = "Show every column, with the ends of the intervals, however wide that is."
_ROWS = "Fields of the rows: devices, or nodes,devices=8:32. [default: those that tell the cases apart]"
_SHAPES = ("AMOUNT", "NAME", "FOLDER", "FILE", "FIELDS", "TEXT")
_AMOUNT, _NAME, _FOLDER, _FILE, _FIELDS, _TEXT = _SHAPES

_CONFIGURED = "Logs whose perflog.toml is looked for."
_CONFIGURED_ARGUMENT = typer.Argument(help=_CONFIGURED, metavar="LOGS...", show_default=False, callback=as_addresses)
Configured = Annotated[list[str] | None, _CONFIGURED_ARGUMENT]
Warmup = Annotated[str | None, _option("warmup", _WARMUP, _AMOUNT)]
Steps = Annotated[str | None, _option("steps", _STEPS, _AMOUNT)]
Last = Annotated[str | None, _option("last", _LAST, _AMOUNT)]
Estimator = Annotated[str | None, _option("estimator", _ESTIMATOR, _NAME)]
Aggregate = Annotated[str | None, _option("aggregate", _AGGREGATE, _NAME)]
Baseline = Annotated[list[str] | None, _option("baseline", _BASELINE, _KEY_VALUE)]
Set = Annotated[list[str] | None, _option("set", _SET, _KEY_VALUE)]
ParserNames = Annotated[list[str] | None, _option("parser", "Use this parser alone (may be repeated).", _NAME)]
Parsers = Annotated[list[str] | None, _option("parsers", "A folder of own parsers, or the file of one.", _FOLDER)]
ConventionName = Annotated[str | None, _option("convention", _CONVENTION, _NAME)]
AsPrinted = Annotated[str | None, _option("values", _VALUES, _NAME)]
WithoutSlow = Annotated[bool | None, _option("without_slow", _WITHOUT_SLOW)]
Output = Annotated[Path | None, _option("output", "Write to this file; its ending names the format.", _FILE)]
Quiet = Annotated[bool, _option("quiet", _QUIET, show_default=True)]
DatabaseName = Annotated[str | None, typer.Option("--database", help=_DATABASE, metavar="DATABASE", show_default=False)]

Rows = Annotated[str, _option("rows", _ROWS, _FIELDS)]
Columns = Annotated[str, _option("columns", "Fields of the columns: precision,batch_size.", _FIELDS)]
Values = Annotated[
    str, _option("value", "What the cells hold: throughput,speedup,accuracy …", _FIELDS, show_default=True)
]
Where = Annotated[list[str] | None, _option("where", _WHERE, _KEY_VALUE)]
Sort = Annotated[str, typer.Option("--sort", help=_SORT, metavar=_FIELDS, show_default=False)]
Shown = Annotated[str, _option("columns", _SHOWN, _FIELDS)]
Wide = Annotated[bool, typer.Option("--wide", help=_WIDE)]
StyleName = Annotated[str, _option("style", _STYLE, _NAME, show_default=True)]
Lang = Annotated[str, _option("lang", "Language of headings and words: en or zh.", _NAME, show_default=True)]
Templates = Annotated[list[str] | None, _option("templates", "A folder with styles of your own.", _FOLDER)]
Notes = Annotated[bool | None, typer.Option("--notes/--no-notes", help=_NOTES, show_default=False)]
Digits = Annotated[list[str] | None, _option("digits", "A value's digits: throughput=%.2f.", _KEY_VALUE)]
_KIND = f"What the picture shows: {choices(('scaling', 'spread', 'steps', 'versions'))}."
Kind = Annotated[str, _option("kind", _KIND, _NAME, show_default=True)]
_NAMES = "Show a value so: fp16=AMP, or PyTorch='[PyTorch](url)'."
Names = Annotated[list[str] | None, _option("name", _NAMES, _KEY_VALUE)]
Titles = Annotated[list[str] | None, _option("title", "A heading: throughput='samples/s(PyTorch)'.", _KEY_VALUE)]
_MISSING = "What a cell without a number prints. [default: the style's]"
Missing = Annotated[str | None, _option("missing", _MISSING, _TEXT)]

_CACHE = "Read the logs alone that have changed since they were last read with it (docs/scale.md)."
WithCache = Annotated[bool | None, typer.Option("--cache/--no-cache", help=_CACHE, show_default=False)]


def form_option(formats: Iterable[str], default: str = "") -> Any:
    """The option ``--format`` of a command with these formats.

    Args:
        default: said in the help where the option's own default is None; empty where it is not.
    """
    help_ = f"The format: {choices(formats)}; a file's ending names it too."
    said = f" [default: {default}]" if default else ""
    return typer.Option("--format", "-f", help=help_ + said, metavar="FORMAT", show_default=not default)


Format = Annotated[str | None, form_option(FORMATS, "table")]
TextOrJson = Annotated[str | None, form_option(("text", "json"), "text")]

#: What decides on the numbers of an extraction, as ``settings`` takes it.
Given = dict[str, Any]
_EXTRACTION: dict[str, Any] = {
    "warmup": Warmup, "steps": Steps, "last": Last, "estimator": Estimator, "aggregate": Aggregate,
    "baseline": Baseline, "set": Set, "parser": ParserNames, "parsers": Parsers, "convention": ConventionName,
    "values": AsPrinted, "without_slow": WithoutSlow,
}  # fmt: skip


def extraction_options(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of extraction in place of its parameter ``given``, but for those named."""

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        parameters = []
        for parameter in own.parameters.values():
            if parameter.name != "given":
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
                continue
            parameters += [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
                for name, annotation in _EXTRACTION.items()
                if name not in without
            ]

        @wraps(command)
        def call(**values: Any) -> None:
            own_values = {name: value for name, value in values.items() if name in own.parameters}
            command(**own_values, given=extraction_values(values))

        call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return wrap
