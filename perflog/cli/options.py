"""Options that several commands share, written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from perflog.report.options import FLAGS, extraction_values
from perflog.settings.config import FORMATS

Logs = Annotated[list[str], typer.Argument(help="Logs: files, folders, .gz, .zst and .zip.", show_default=False)]


def _option(name: str, help_: str, show_default: bool = False) -> Any:
    """An option whose flags recipes of regions share."""
    return typer.Option(*FLAGS[name], help=help_, show_default=show_default)


_WARMUP = "Left out at the start: 100 (steps), 2epochs, 10records, 30s, 10%, auto. [default: 20]"
_ESTIMATOR = "total, mean, median, trimmed, last or reported. [default: total]"
_BASELINE = "The case that speedups are relative to: key=value. [default: one device]"
_SET = "A fact about the runs that logs and paths do not tell: batch_size=32."
_CONVENTION = "Make the numbers as a family of published reports did; other options beside it adjust it."
_VALUES = "Running means and clocks: differenced, or as printed. [default: differenced]"
_FORMAT = f"{', '.join(FORMATS)}. [default: table]"
_DATABASE = "A file, or postgresql://user@host/name. [default: ~/.local/share/perflog/history.sqlite]"
_NOTES = "How the numbers were made, n and doubts, under the table."
_STYLE = "plain, paddle, dlperf … (see docs/tables.md), or your own."

Warmup = Annotated[str | None, _option("warmup", _WARMUP)]
Steps = Annotated[str | None, _option("steps", "How many steps to take after the warm-up. [default: all]")]
Last = Annotated[str | None, _option("last", "Take the last so many steps (or 25records) instead.")]
Estimator = Annotated[str | None, _option("estimator", _ESTIMATOR)]
Aggregate = Annotated[str | None, _option("aggregate", "Over runs: median, mean or olympic. [default: median]")]
Baseline = Annotated[list[str] | None, _option("baseline", _BASELINE)]
Set = Annotated[list[str] | None, _option("set", _SET)]
ParserNames = Annotated[list[str] | None, _option("parser", "Use this parser alone (may be repeated).")]
Parsers = Annotated[list[str] | None, _option("parsers", "A folder with parsers of your own.")]
ConventionName = Annotated[str | None, _option("convention", _CONVENTION)]
AsPrinted = Annotated[str | None, _option("values", _VALUES)]
Format = Annotated[str | None, typer.Option("--format", "-f", help=_FORMAT, show_default=False)]
Output = Annotated[Path | None, _option("output", "Write to this file.")]
Quiet = Annotated[bool, _option("quiet", "No progress and no remarks.", show_default=True)]
DatabaseName = Annotated[str | None, typer.Option("--database", help=_DATABASE, show_default=False)]

Rows = Annotated[str, _option("rows", "Fields of the rows: devices, or nodes,devices, or devices=1:8:32.")]
Columns = Annotated[str, _option("columns", "Fields of the columns: precision,batch_size.")]
Values = Annotated[str, _option("value", "What the cells hold: throughput,speedup,accuracy …", show_default=True)]
Where = Annotated[list[str] | None, _option("where", "Take the cases with this value alone: model=rn50.")]
StyleName = Annotated[str, _option("style", _STYLE, show_default=True)]
Lang = Annotated[str, _option("lang", "Language of the headings: en or zh.", show_default=True)]
Templates = Annotated[list[str] | None, _option("templates", "A folder with styles of your own.")]
Notes = Annotated[bool, typer.Option("--notes/--no-notes", help=_NOTES)]
Digits = Annotated[list[str] | None, _option("digits", "A value's digits: throughput=%.2f.")]
Kind = Annotated[str, _option("kind", "scaling, spread, steps or versions.", show_default=True)]
Names = Annotated[list[str] | None, _option("name", "Show a value so: fp16=AMP, or PyTorch='[PyTorch](url)'.")]
Titles = Annotated[list[str] | None, _option("title", "A heading: throughput='samples/s(PyTorch)'.")]
Missing = Annotated[str | None, _option("missing", "What a cell without a number prints. [default: the style's]")]

#: What decides on the numbers of an extraction, as ``settings`` takes it.
Given = dict[str, Any]
_EXTRACTION: dict[str, Any] = {
    "warmup": Warmup, "steps": Steps, "last": Last, "estimator": Estimator, "aggregate": Aggregate,
    "baseline": Baseline, "set": Set, "parser": ParserNames, "parsers": Parsers, "convention": ConventionName,
    "values": AsPrinted,
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
