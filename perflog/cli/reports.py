"""Commands that make reports: table, plot, report, readme."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from perflog.cli.base import app
from perflog.cli.extracting import extracted
from perflog.cli.options import (
    Columns,
    Digits,
    Given,
    Kind,
    Lang,
    Logs,
    Missing,
    Names,
    Notes,
    Output,
    Quiet,
    Rows,
    StyleName,
    Templates,
    Titles,
    Values,
    Where,
    extraction_options,
)  # fmt: skip
from perflog.cli.recipe import page_of, picture_of, recipe_words, region_text, table_text
from perflog.settings.config import one_of, settings


@app.command(
    epilog="Examples:  perflog table logs/ --rows nodes,devices --value throughput,speedup --style dlperf  ·  "
    "perflog table logs/ --rows devices=1:8:32 --columns precision,batch_size --style paddle --lang zh"
)
@extraction_options()
def table(
    logs: Logs, rows: Rows, given: Given, columns: Columns = "", value: Values = "throughput", where: Where = None, style: StyleName = "plain",
    lang: Lang = "en", templates: Templates = None, notes: Notes = True, digits: Digits = None, title: Titles = None, name: Names = None,
    missing: Missing = None, output: Output = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Make a report's table: cases in rows and columns, in the style of a family of reports."""
    look = {"style": style, "lang": lang, "templates": templates, "notes": notes, "digits": digits, "title": title, "name": name, "missing": missing}
    text, _ = table_text(logs, (rows, columns, value), where, look, given, quiet)
    if output is not None:
        from perflog.files import write_atomically

        write_atomically(output, text)
    else:
        sys.stdout.write(text)


@app.command(epilog="Examples:  perflog plot logs/ -o scaling.svg  ·  perflog plot logs/ --kind steps --warmup 100 -o steps.png")
@extraction_options()
def plot(logs: Logs, given: Given, kind: Kind = "scaling", output: Output = None, quiet: Quiet = False) -> None:
    """Draw throughput and speedup against devices, the spread of the runs, or step times with the warm-up."""
    if output is None:
        raise typer.BadParameter("a picture needs a file: --output scaling.svg", param_hint="--output")
    data, words = picture_of(logs, kind, output, given, quiet)
    from perflog.files import write_atomically

    write_atomically(output, data)
    if not quiet:
        print(f"wrote {output}: {words}", file=sys.stderr)


@app.command(
    epilog="Examples:  perflog report logs/ --warmup 100 -o README.md --lang zh  (later: perflog readme README.md)  ·  "
    "perflog report logs/ --warmup 100 --html -o report.html"
)
@extraction_options()
def report(
    logs: Logs, given: Given, output: Output = None, lang: Lang = "en",
    html: Annotated[bool, typer.Option("--html", help="One HTML page that holds everything; also when the output's name ends in .html.")] = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Write a report: environment, results, pictures, logs, as Markdown that `perflog readme` keeps true, or as a page."""
    from perflog.files import write_atomically
    from perflog.report.table import LANGUAGES

    one_of("lang", lang, LANGUAGES)
    if output is None:
        raise typer.BadParameter("a report needs a file: --output README.md, or --output report.html", param_hint="--output")
    html = html or output.suffix.lower() in (".html", ".htm")
    if output.exists() and not (html and _is_page(output)):
        hint = "only a page that perflog made is written over" if html else f"`perflog readme {output}` makes its regions true"
        raise typer.BadParameter(f"{output} exists: {hint}; name another file", param_hint="--output")
    if html:
        data, said = page_of(logs, output, lang, given, quiet)
        write_atomically(output, data)
    else:
        said = _markdown(logs, output, lang, given, quiet)
    if not quiet:
        print(f"wrote {output}: {said}", file=sys.stderr)


def _is_page(file: Path) -> bool:
    from perflog.report.html import BEGINNING

    with file.open("rb") as opened:
        return opened.read(len(BEGINNING)) == BEGINNING.encode()


def _markdown(logs: list[str], output: Path, lang: str, given: Given, quiet: bool) -> str:
    from perflog.files import write_atomically
    from perflog.report.markdown import skeleton
    from perflog.report.regions import filled

    output.parent.mkdir(parents=True, exist_ok=True)  # the recipes' paths lead through it
    near, options = recipe_words(logs, given, output.parent)
    text = skeleton(extracted(logs, settings(given, logs), quiet), near, options, output, lang)
    pictures: dict[Path, bytes] = {}
    text, regions = filled(text, str(output), partial(region_text, base=output.parent, pictures=pictures))
    for file, data in pictures.items():
        write_atomically(file, data)
    write_atomically(output, text)
    return f"{regions} regions, {len(pictures)} pictures"


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
    from perflog.report.regions import regenerated

    pictures: dict[Path, bytes] = {}
    made = [(file, *regenerated(file, partial(region_text, base=file.parent, pictures=pictures))) for file in files]
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
