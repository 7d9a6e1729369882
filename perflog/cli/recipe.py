"""Tables and pictures from a command's options or from the recipe of a README's region, which are the same words."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import typer

from perflog.cli.base import app
from perflog.cli.extracting import catalog_of, extracted
from perflog.cli.options import Given, given_options
from perflog.settings.config import one_of, pairs, settings

#: Regions that hold a list, all made by ``perflog report`` alone.
LISTS = ("environment", "method", "links")


def table_text(logs: list[str], parts: tuple[str, str, str], where: list[str] | None, look: dict[str, Any], given: Given, quiet: bool) -> tuple[str, int]:
    """The text of a table, and how many of its first cells name a row."""
    from dataclasses import replace

    from perflog.report.grid import Projection, fields, grid
    from perflog.report.style import digits_form, load_style
    from perflog.report.table import LANGUAGES, markdown
    from perflog.report.table import table as made_table

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
    extraction = extracted(logs, settings(given, logs), quiet)
    made = made_table(grid(extraction, projection), style, look["lang"], extraction, pairs(look["name"] or [], "name"))
    return markdown(made, style, look["notes"]), made.keys


@cache
def _commands() -> Any:
    command: Any = typer.main.get_command(app)
    return command.commands


def recipe_words(logs: list[str], given: Given, base: Path) -> tuple[list[str], list[str]]:
    """Logs, relative to ``base``, and options as words of a recipe or command."""
    import os

    return [Path(os.path.relpath(log, base)).as_posix() for log in logs], [w for name, value in given.items() for w in _words_of(name, value)]


def _words_of(name: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        return [w for k, v in value.items() for w in (f"--{name}", f"{k}={v}")]
    if isinstance(value, list):
        return [w for v in value for w in (f"--{name}", str(v))]
    return [] if value is None else [f"--{name}", str(value)]


def page_of(logs: list[str], output: Path, lang: str, given: Given, quiet: bool) -> tuple[bytes, str]:
    """An HTML report, and what it holds in words."""
    import shlex

    from perflog.errors import UsageError
    from perflog.report.html import Picture, page
    from perflog.report.markdown import plan

    extraction = extracted(logs, settings(given, logs), quiet)
    pictures = []
    for kind in plan(extraction).pictures:
        try:
            pictures.append(Picture(kind, *picture_of(logs, kind, Path("page.svg"), given, quiet)))
        except UsageError as error:
            raise UsageError(f"the picture of {kind}: {error}") from None
    near, options = recipe_words(logs, given, output.parent)
    commands = [
        shlex.join(["perflog", "extract", *near, *options]),
        shlex.join(["perflog", "report", *near, *options, *(["--lang", lang] if lang != "en" else []), "--html", "--output", output.name]),
    ]
    data = page(extraction, pictures, commands, output.parent, lang)
    return data, f"{len(extraction.cases)} cases, {len(pictures)} pictures, {len(data) / 1000:.0f} kB"


def picture_of(logs: list[str], kind: str, output: Path, given: Given, quiet: bool) -> tuple[bytes, str]:
    """A picture and what it shows in words."""
    from perflog.plot.drawing import FORMATS as PICTURES
    from perflog.plot.picture import KINDS, described, picture

    one_of("kind", kind, KINDS)
    form = output.suffix.removeprefix(".")
    one_of("output", form, PICTURES)
    chosen = settings(given, logs)
    if kind != "steps":
        extraction = extracted(logs, chosen, quiet)
        return picture(extraction, kind, form), described(extraction, kind)
    from perflog.logs.find import find_logs
    from perflog.plot.trace import traces

    extraction, found = traces(find_logs(logs), chosen.options(), catalog_of(chosen))
    return picture(extraction, kind, form, found), described(extraction, kind)


def region_text(recipe: str, base: Path, pictures: dict[Path, bytes]) -> tuple[str, int]:
    """The text of a README region's recipe, written as on the command line, paths relative to the README.

    Pictures are collected, not written: a wrong recipe further on must leave everything as it is.
    """
    import shlex

    from perflog.errors import UsageError

    try:
        words = shlex.split(recipe)
    except ValueError as error:
        raise UsageError(f"the recipe cannot be read: {error}") from None
    if not words or words[0] not in ("table", "plot", *LISTS):
        raise UsageError(f"a region holds a table, plot, environment, method or links: expected `perflog: table LOGS --rows …`, found {recipe[:40]!r}")
    words = [w for at, w in enumerate(words) if w != "--keep" and words[at - 1] != "--keep"]  # the marker's own: rows without logs
    try:
        own = words[0] if words[0] in ("table", "plot") else "report"
        given = _commands()[own].make_context(f"perflog {words[0]}", words[1:]).params
    except Exception as error:  # click's own errors: they carry the message a user needs
        raise UsageError(f"the recipe is wrong: {getattr(error, 'message', None) or error}") from None
    logs = [str(base / log) for log in given["logs"]]
    options = given_options(given)
    if words[0] == "table":
        return table_text(logs, (given["rows"], given["columns"], given["value"]), given["where"], given, options, True)
    if words[0] in LISTS:
        from perflog.report.markdown import environment, links, listed, method

        extraction = extracted(logs, settings(options, logs), True)
        if words[0] == "links":
            return links(extraction, base), 0
        return listed((environment if words[0] == "environment" else method)(extraction, given["lang"])), 0
    if given["output"] is None:
        raise UsageError("a picture needs a file: -o scaling.svg")
    data, described = picture_of(logs, given["kind"], given["output"], options, True)
    pictures[base / given["output"]] = data
    return f"![{described}]({given['output']})\n", 0
