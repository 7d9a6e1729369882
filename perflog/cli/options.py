"""Options that several commands share, written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from perflog.cli.base import Rare
from perflog.logs.addresses import as_addresses
from perflog.settings.config import FORMATS
from perflog.show.options import EXTRACTION, OPTIONS, REPEATED, SHOWN, Needed, choices, extraction_values

Logs = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders, archives, s3://, gs://, az:// or https:// addresses, or - for standard input.",
        metavar="LOGS...",
        show_default=False,
        callback=as_addresses,
    ),
]
#: The groups of the options that several commands have: what decides on the numbers, what of them is shown, and what
#: helps where thousands of logs are read.
NUMBERS, VIEW, MANY = "How the numbers are made", "What is shown", Rare("Many logs")


def shared_option(
    name: str, help_: str = "", show_default: bool = False, needed: Sequence[Needed] = (Needed.OFTEN,), group: str = ""
) -> Any:
    """An option that recipes of regions share.

    Args:
        help_: another text in the help, where a command means more by it.
        needed: what is needed so often stands in the command's ``--help``.
        group: the group in the help, where it is not that of the option.
    """
    option = OPTIONS[name]
    group = group or (NUMBERS if name in EXTRACTION else VIEW if name in SHOWN else "Options")
    return typer.Option(
        *option.flags, help=help_ or option.help, metavar=option.value or None, show_default=show_default,
        rich_help_panel=group if option.needed in needed else Rare(group),
    )  # fmt: skip


_DATABASE = "A file, or postgresql://user@host/name. [default: ~/.local/share/perflog/history.sqlite]"
_NOTES = "Every note under the table, or none. [default: those without which it would mislead]"
_SORT = "Their order: devices,-throughput (- turns it round)."
_SHOWN = "Only these columns: model,devices,throughput."
_WIDE = "Show every column, with the ends of the intervals, however wide that is."
_CONFIGURED = "Logs whose perflog.toml is looked for."
_CONFIGURED_ARGUMENT = typer.Argument(help=_CONFIGURED, metavar="LOGS...", show_default=False, callback=as_addresses)
Configured = Annotated[list[str] | None, _CONFIGURED_ARGUMENT]
Aggregate = Annotated[str | None, shared_option("aggregate")]
Baseline = Annotated[list[str] | None, shared_option("baseline")]
Set = Annotated[list[str] | None, shared_option("set")]
ParserNames = Annotated[list[str] | None, shared_option("parser")]
Parsers = Annotated[list[str] | None, shared_option("parsers")]
Output = Annotated[Path | None, shared_option("output")]
Quiet = Annotated[bool, shared_option("quiet", show_default=True)]
_VIEWED = "Write the runs over time to this page too (perflog view); numbers lead to it."
Viewed = Annotated[
    Path | None,
    typer.Option("--view", help=_VIEWED, metavar="FILE", show_default=False, rich_help_panel=Rare("Options")),
]
DatabaseName = Annotated[
    str | None,
    typer.Option("--database", help=_DATABASE, metavar="DATABASE", show_default=False, rich_help_panel=Rare("Options")),
]

Rows = Annotated[str, shared_option("rows")]
Columns = Annotated[str, shared_option("columns")]
Values = Annotated[str, shared_option("value", show_default=True)]
Where = Annotated[list[str] | None, shared_option("where")]
Sort = Annotated[str, typer.Option("--sort", help=_SORT, metavar="FIELDS", show_default=False, rich_help_panel=VIEW)]
Shown = Annotated[str, shared_option("columns", _SHOWN)]
Wide = Annotated[bool, typer.Option("--wide", help=_WIDE, rich_help_panel=Rare(VIEW))]
StyleName = Annotated[str, shared_option("style", show_default=True)]
Lang = Annotated[str, shared_option("lang", show_default=True)]
Templates = Annotated[list[str] | None, shared_option("templates")]
Notes = Annotated[
    bool | None, typer.Option("--notes/--no-notes", help=_NOTES, show_default=False, rich_help_panel=Rare(VIEW))
]
Digits = Annotated[list[str] | None, shared_option("digits")]
Kind = Annotated[str, shared_option("kind", show_default=True)]
Names = Annotated[list[str] | None, shared_option("name")]
Titles = Annotated[list[str] | None, shared_option("title")]
Missing = Annotated[str | None, shared_option("missing")]

_CACHE = "Read the logs alone that have changed since they were last read with it (docs/scale.md)."
WithCache = Annotated[
    bool | None, typer.Option("--cache/--no-cache", help=_CACHE, show_default=False, rich_help_panel=MANY)
]


def form_option(formats: Iterable[str], default: str = "") -> Any:
    """The option ``--format`` of a command with these formats.

    Args:
        default: said in the help where the option's own default is None; empty where it is not.
    """
    help_ = f"{choices(formats)}; a file's ending names it too."
    said = f" [default: {default}]" if default else ""
    return typer.Option("--format", "-f", help=help_ + said, metavar="FORMAT", show_default=not default)


Format = Annotated[str | None, form_option(FORMATS, "table")]
TextOrJson = Annotated[str | None, form_option(("text", "json"), "text")]

#: What is needed so often stands in the help of the commands that are about the reading of logs.
READING = (Needed.OFTEN, Needed.READING)
#: What decides on the numbers of an extraction, as ``settings`` takes it.
Given = dict[str, Any]


@cache
def _annotation(name: str, needed: tuple[Needed, ...]) -> Any:
    """An option of extraction as a parameter's annotation, with None for one that is not given."""
    kind: Any = list[str] if name in REPEATED else str if EXTRACTION[name].value else bool
    annotated: Any = Annotated
    return annotated[kind | None, shared_option(name, needed=needed)]


def extraction_options(
    *without: str, needed: tuple[Needed, ...] = (Needed.OFTEN,)
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of extraction in place of its parameter ``given``, but for those named.

    Args:
        needed: what is needed so often stands in the command's ``--help``.
    """

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        parameters = []
        for parameter in own.parameters.values():
            if parameter.name != "given":
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
                continue
            parameters += [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(name, needed)
                )
                for name in EXTRACTION
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
