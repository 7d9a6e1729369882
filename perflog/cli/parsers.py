"""The commands ``perflog parsers …``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from perflog.cli.base import app
from perflog.cli.options import Parsers
from perflog.settings.config import settings

if TYPE_CHECKING:
    from perflog.formats.catalog import Catalog

parsers_app = typer.Typer(help="The formats perflog understands: list, show, check.", no_args_is_help=True)
app.add_typer(parsers_app, name="parsers")


@parsers_app.command("list")
def parsers_list(parsers: Parsers = None) -> None:
    """List every parser: name, framework, title."""
    for parser in sorted(_catalog(parsers).parsers, key=lambda p: p.name):
        print(f"{parser.name:<26} {parser.framework:<14} {parser.title}")


@parsers_app.command("show")
def parsers_show(
    name: Annotated[str, typer.Argument(help="A parser's name.", show_default=False)], parsers: Parsers = None
) -> None:
    """Print one parser as a page: its lines, what their numbers mean, and its traps."""
    from perflog.formats.describe import describe_parser

    print(describe_parser(_catalog(parsers)[name]))


@parsers_app.command("check")
def parsers_check(
    names: Annotated[list[str] | None, typer.Argument(help="Parsers to check.", show_default=False)] = None,
    parsers: Parsers = None,
) -> None:
    """Check every parser against its sample lines (exit status 1 when one fails)."""
    from perflog.formats.paths import check_path_patterns
    from perflog.formats.samples import check_parser

    catalog = _catalog(parsers)
    chosen = catalog.only(names) if names else catalog
    faults = [fault for parser in chosen.parsers for fault in check_parser(parser)]
    faults += check_path_patterns(catalog.path_patterns)
    for fault in faults:
        print(fault)
    if faults:
        raise typer.Exit(1)
    samples = sum(len(pattern.samples) for parser in chosen.parsers for pattern in parser.patterns)
    print(f"{len(chosen.parsers)} parsers, {samples} samples: all as they should be")


@parsers_app.command("new")
def parsers_new(
    name: Annotated[str, typer.Argument(help="The new parser's name; its file is NAME.toml.", show_default=False)],
    log: Annotated[str, typer.Option("--from", metavar="LOG", help="A log of the format.", show_default=False)],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Where the file is written.")] = ".",
) -> None:
    """Write a parser for a log's format, inferred from its lines, to be corrected and kept.

    Example: perflog parsers new my_trainer --from train.log -o my_parsers
    """
    from perflog.inference.new import write_parser

    file, corroborated = write_parser(name, log, output)
    print(f"{file}: written")
    if corroborated:
        print("The log's own witnesses agree with what its numbers were taken for; `perflog explain` shows them.")
    else:
        print("No witness in the log says what its numbers mean: correct the file before you use it.")


def _catalog(folders: list[str] | None) -> Catalog:
    from perflog.formats.catalog import load_catalog

    return load_catalog(settings({"parsers": folders}).values["parsers"])
