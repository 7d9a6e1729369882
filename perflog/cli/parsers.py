"""The commands ``perflog parsers …``."""

from __future__ import annotations

from typing import Annotated

import typer

from perflog.cli.base import app
from perflog.cli.extracting import catalog_of
from perflog.cli.options import Parsers
from perflog.settings.config import settings

parsers_app = typer.Typer(help="The formats perflog understands: list, show, check.", no_args_is_help=True)
app.add_typer(parsers_app, name="parsers")


@parsers_app.command("list")
def parsers_list(parsers: Parsers = None) -> None:
    """List every parser: name, framework, title."""
    catalog = catalog_of(settings({"parsers": parsers}))
    for one in sorted(catalog.parsers, key=lambda p: p.name):
        print(f"{one.name:<26} {one.framework:<14} {one.title}")


@parsers_app.command("show")
def parsers_show(name: Annotated[str, typer.Argument(help="A parser's name.", show_default=False)], parsers: Parsers = None) -> None:
    """Print one parser as a page: its lines, what their numbers mean, and its traps."""
    from perflog.formats.describe import describe_parser

    print(describe_parser(catalog_of(settings({"parsers": parsers}))[name]))


@parsers_app.command("check")
def parsers_check(names: Annotated[list[str] | None, typer.Argument(help="Parsers to check.", show_default=False)] = None, parsers: Parsers = None) -> None:
    """Check every parser against its sample lines (exit status 1 when one fails)."""
    from perflog.formats.paths import check_path_patterns
    from perflog.formats.samples import check_parser

    catalog = catalog_of(settings({"parsers": parsers}))
    chosen = catalog.only(names) if names else catalog
    faults = [fault for one in chosen.parsers for fault in check_parser(one)] + check_path_patterns(catalog.path_patterns)
    for fault in faults:
        print(fault)
    if faults:
        raise typer.Exit(1)
    samples = sum(len(p.samples) for one in chosen.parsers for p in one.patterns)
    print(f"{len(chosen.parsers)} parsers, {samples} samples: all as they should be")
