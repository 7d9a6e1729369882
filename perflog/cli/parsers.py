"""The commands ``perflog parsers …``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perflog.cli.base import Application, app, examples
from perflog.cli.options import Parsers, TextOrJson, shared_option
from perflog.settings.config import settings
from perflog.show.options import format_for

if TYPE_CHECKING:
    from perflog.formats.catalog import Catalog

parsers_app = Application(help="The formats perflog understands: list, show, check, new, schema.", no_args_is_help=True)
app.add_typer(parsers_app, name="parsers")


@parsers_app.command("list", epilog=examples("perflog parsers list", "perflog parsers list --format json"))
def parsers_list(parsers: Parsers = None, format_: TextOrJson = None) -> None:
    """List every parser: name, framework, title."""
    ordered = sorted(_catalog(parsers).parsers, key=lambda parser: parser.name)
    if format_for(None, format_, ("text", "json"), "text") == "json":
        _print_json("parsers", [{"name": p.name, "framework": p.framework, "title": p.title} for p in ordered])
        return
    for parser in ordered:
        print(f"{parser.name:<26} {parser.framework:<14} {parser.title}")


@parsers_app.command("show", epilog=examples("perflog parsers show hf_trainer"))
def parsers_show(
    name: Annotated[str, typer.Argument(help="A parser's name, or its file.", show_default=False)],
    parsers: Parsers = None,
    format_: TextOrJson = None,
) -> None:
    """Print one parser as a page: its lines, what their numbers mean, and its traps."""
    from perflog.formats.page import describe_parser, parser_document

    (chosen,), folders = _with_files([name], parsers)
    parser = _catalog(folders)[chosen]
    if format_for(None, format_, ("text", "json"), "text") == "json":
        _print_json("parser", parser_document(parser))
        return
    print(describe_parser(parser))


@parsers_app.command(
    "check",
    epilog=examples(
        "perflog parsers check",
        "perflog parsers check my_trainer --parsers .",
        more="Exit status: 0 all are as they should be; 1 one is not; 2 a file is no parser.",
    ),
)
def parsers_check(
    names: Annotated[
        list[str] | None, typer.Argument(help="Parsers to check, by name or file.", show_default=False)
    ] = None,
    parsers: Parsers = None,
    format_: TextOrJson = None,
) -> None:
    """Check every parser against its sample lines."""
    from perflog.formats.paths import check_path_patterns
    from perflog.matching.checks import check_parser
    from perflog.show.text import counted

    chosen_names, folders = _with_files(names or [], parsers)
    catalog = _catalog(folders)
    chosen = catalog.only(chosen_names) if chosen_names else catalog
    faults = [fault for parser in chosen.parsers for fault in check_parser(parser)]
    faults += check_path_patterns(catalog.path_patterns)
    samples = sum(len(pattern.samples) for parser in chosen.parsers for pattern in parser.patterns)
    if format_for(None, format_, ("text", "json"), "text") == "json":
        _print_json("check", {"parsers": len(chosen.parsers), "samples": samples, "faults": faults})
    for fault in faults if format_ != "json" else ():
        print(fault)
    if faults:
        raise typer.Exit(1)
    if format_ != "json":
        checked = f"{counted(len(chosen.parsers), 'parser')}, {counted(samples, 'sample')}"
        print(f"{checked}: all as they should be")


@parsers_app.command(
    "new",
    epilog=examples(
        "perflog parsers new my_trainer --from train.log",
        "perflog parsers new my_loop --from train.log --as 'tick {step} | took {step_time:s:last}'",
    ),
)
def parsers_new(
    name: Annotated[str, typer.Argument(help="The new parser's name; its file is NAME.toml.", show_default=False)],
    log: Annotated[str, typer.Option("--from", metavar="LOG", help="A log of the format.", show_default=False)],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Where the file is written.")] = ".",
    as_: Annotated[list[str] | None, shared_option("as_")] = None,
) -> None:
    """Write a parser for a log's format, inferred from its lines, to be corrected and kept."""
    from perflog.inference.new import write_parser

    written = write_parser(name, log, output, tuple(as_ or ()))
    print(f"{written.file}: written")
    if written.basis is None:
        print("It knows the steps alone. Say in it which number is the speed or the time of a step, then:")
        print(f"  perflog parsers check {name} --parsers {output}")
        print(f"  perflog extract {log} --parsers {output}")
    elif written.basis == "inferred":
        print("The log's own witnesses agree with what its numbers were taken for; `perflog explain` shows them.")
    elif written.basis == "stated":
        print("The log states its number once, and nothing else in it speaks of it: see that the file says what it is.")
    else:
        print("Its numbers are what --as says.")


@parsers_app.command(
    "schema",
    epilog=examples(
        "perflog parsers schema",
        more="Kept as a file it serves an editor: taplo reads it from a first line `#:schema parser.schema.json`.",
    ),
)
def parsers_schema() -> None:
    """Print the JSON Schema of parsers' files, by which editors complete and check them."""
    from perflog.escaping import json_text
    from perflog.formats.schema import schema_of_formats

    print(json_text(schema_of_formats()))


def _with_files(names: list[str], folders: list[str] | None) -> tuple[list[str], list[str]]:
    """The names of parsers, of which some are given by their files, and the folders and files to load them from."""
    files = [name for name in names if name.endswith(".toml")]
    return [Path(name).stem if name in files else name for name in names], [*(folders or []), *files]


def _print_json(what: str, data: Any) -> None:
    from perflog.escaping import json_text

    print(json_text({"schema": f"perflog/{what}/1", what: data}))


def _catalog(folders: list[str] | None) -> Catalog:
    from perflog.formats.catalog import load_catalog

    return load_catalog(settings({"parsers": folders}).values["parsers"])
