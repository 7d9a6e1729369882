"""Options that several commands share, written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from perflog.errors import UsageError
from perflog.settings.config import FORMATS, pairs

Logs = Annotated[list[str], typer.Argument(help="Logs: files, folders, .gz, .zst and .zip.", show_default=False)]
Warmup = Annotated[
    str | None,
    typer.Option("--warmup", "-w", help="Left out at the start: 100 (steps), 2epochs, 10records, 30s, 10%, auto. [default: 20]", show_default=False),
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

DatabaseName = Annotated[
    str | None,
    typer.Option("--database", help="A file, or postgresql://user@host/name. [default: ~/.local/share/perflog/history.sqlite]", show_default=False),
]

Rows = Annotated[str, typer.Option("--rows", "-r", help="Fields of the rows: devices, or nodes,devices, or devices=1:8:32.", show_default=False)]
Columns = Annotated[str, typer.Option("--columns", help="Fields of the columns: precision,batch_size.", show_default=False)]
Values = Annotated[str, typer.Option("--value", "-v", help="What the cells hold: throughput,speedup,accuracy …")]
Where = Annotated[list[str] | None, typer.Option("--where", help="Take the cases with this value alone: model=rn50.", show_default=False)]
StyleName = Annotated[str, typer.Option("--style", help="plain, paddle, dlperf … (see docs/tables.md), or your own.")]
Lang = Annotated[str, typer.Option("--lang", help="Language of the headings: en or zh.")]
Templates = Annotated[list[str] | None, typer.Option("--templates", help="A folder with styles of your own.", show_default=False)]
Notes = Annotated[bool, typer.Option("--notes/--no-notes", help="How the numbers were made, n and doubts, under the table.")]
Digits = Annotated[list[str] | None, typer.Option("--digits", help="A value's digits: throughput=%.2f.", show_default=False)]
Kind = Annotated[str, typer.Option("--kind", help="scaling, spread, steps or versions.")]
Names = Annotated[list[str] | None, typer.Option("--name", help="Show a value so: fp16=AMP, or PyTorch='[PyTorch](url)'.", show_default=False)]
Titles = Annotated[list[str] | None, typer.Option("--title", help="A heading: throughput='samples/s(PyTorch)'.", show_default=False)]
Missing = Annotated[str | None, typer.Option("--missing", help="What a cell without a number prints. [default: the style's]", show_default=False)]

#: What decides on the numbers of an extraction, as ``settings`` takes it.
Given = dict[str, Any]
_EXTRACTION: dict[str, Any] = {
    "warmup": Warmup, "steps": Steps, "last": Last, "estimator": Estimator, "aggregate": Aggregate, "baseline": Baseline, "set": Set,
    "parser": ParserNames, "parsers": Parsers, "convention": ConventionName,
}  # fmt: skip


def given_options(values: dict[str, Any]) -> Given:
    """The options of extraction among a command's parameters, their ``key=value`` texts read."""
    given = {name: values.get(name) for name in _EXTRACTION}
    return given | {name: pairs(given[name] or [], name) for name in ("baseline", "set")}


def extraction_options(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of extraction in place of its parameter ``given``, but for those named."""

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        parameters = []
        for one in own.parameters.values():
            if one.name != "given":
                parameters.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY))
                continue
            names = [name for name in _EXTRACTION if name not in without]
            parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_EXTRACTION[name]) for name in names]

        @wraps(command)
        def call(**values: Any) -> None:
            command(**{name: value for name, value in values.items() if name in own.parameters}, given=given_options(values))

        call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {one.name: one.annotation for one in parameters}
        return call

    return wrap


def share(text: str, option: str) -> float:
    """``2%`` or ``0.02`` as a share. Raises UsageError for others."""
    number, per_cent, rest = text.partition("%")
    try:
        value = float(number) / (100 if per_cent else 1)
    except ValueError:
        value = -1.0
    if rest.strip() or not 0 <= value < 1:
        raise UsageError(f"{option} {text!r}: expected a share such as 2% or 0.02")
    return value
