"""Commands that make reports: table, plot, report, readme."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perflog.cli.base import app
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
)
from perflog.cli.output import emit, say_written
from perflog.cli.progress import extractions
from perflog.settings.config import one_of, pairs, settings

if TYPE_CHECKING:
    from perflog.report.regenerate import Regenerated

Html = Annotated[
    bool,
    typer.Option("--html", help="One HTML page that holds everything; also when the output's name ends in .html."),
]
Check = Annotated[bool, typer.Option("--check", help="Change nothing; show the difference and exit 1 if there is one.")]
_ALLOW = "A folder outside the files' repository that recipes may use too (may be repeated)."
Allow = Annotated[list[Path] | None, typer.Option("--allow", help=_ALLOW, show_default=False)]


@app.command(
    epilog="Examples:  perflog table logs/ --rows nodes,devices --value throughput,speedup --style dlperf  ·  "
    "perflog table logs/ --rows devices=1:8:32 --columns precision,batch_size --style paddle --lang zh"
)
@extraction_options()
def table(
    logs: Logs, rows: Rows, given: Given, columns: Columns = "", value: Values = "throughput", where: Where = None,
    style: StyleName = "plain", lang: Lang = "en", templates: Templates = None, notes: Notes = True,
    digits: Digits = None, title: Titles = None, name: Names = None, missing: Missing = None, output: Output = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Make a report's table: cases in rows and columns, in the style of a family of reports."""
    from perflog.report.making import make_table, projection
    from perflog.report.recipe import look_of

    look = look_of({
        "style": style, "lang": lang, "templates": templates, "notes": notes, "digits": digits, "title": title,
        "name": name, "missing": missing,
    })  # fmt: skip
    shown = projection(rows, columns, value, pairs(where or [], "where"))
    result = make_table(logs, settings(given, logs), extractions(quiet), shown, look)
    emit(result.text, output, quiet=True)


@app.command(
    epilog="Examples:  perflog plot logs/ -o scaling.svg  ·  perflog plot logs/ --kind steps --warmup 100 -o steps.png"
)
@extraction_options()
def plot(logs: Logs, given: Given, kind: Kind = "scaling", output: Output = None, quiet: Quiet = False) -> None:
    """Draw throughput and speedup against devices, the spread of the runs, or step times with the warm-up."""
    from perflog.report.making import make_picture

    if output is None:
        raise typer.BadParameter("a picture needs a file: --output scaling.svg", param_hint="--output")
    form = output.suffix.removeprefix(".")
    picture = make_picture(logs, settings(given, logs), extractions(quiet), kind, form)
    emit(picture.data, output, quiet, picture.described)


@app.command(
    epilog="Examples:  perflog report logs/ --warmup 100 -o README.md --lang zh  "
    "(later: perflog readme README.md)  ·  "
    "perflog report logs/ --warmup 100 --html -o report.html"
)
@extraction_options()
def report(
    logs: Logs, given: Given, output: Output = None, lang: Lang = "en", html: Html = False, quiet: Quiet = False
) -> None:
    """Write a report: environment, results, pictures, logs, as Markdown that `perflog readme` keeps true, or as a
    page."""
    from perflog.report.reports import make_report, refusal
    from perflog.report.table import LANGUAGES

    one_of("lang", lang, LANGUAGES)
    if output is None:
        message = "a report needs a file: --output README.md, or --output report.html"
        raise typer.BadParameter(message, param_hint="--output")
    html = html or output.suffix.lower() in (".html", ".htm")
    reason = refusal(output, html)
    if reason:
        raise typer.BadParameter(reason, param_hint="--output")
    result = make_report(logs, given, output, lang, html, extractions(quiet))
    result.write()
    say_written(output, quiet, result.described)


@app.command(
    epilog="A region:  <!-- perflog: table logs/ --rows devices --style paddle -->  …  <!-- /perflog -->. "
    "Paths in it are relative to the file, and lead to its repository alone. "
    "Exit status: 0 all regions are true; 1 with --check, some are not; 2 a marker or recipe is wrong."
)
def readme(
    files: Annotated[list[Path], typer.Argument(help="Markdown files with perflog regions.", show_default=False)],
    check: Check = False,
    allow: Allow = None,
    quiet: Quiet = False,
) -> None:
    """Regenerate the tables between perflog's markers, in place."""
    from perflog.report.regenerate import regenerate

    regenerated = regenerate(files, extractions(quiet=True), allow or ())
    if check:
        _show_differences(regenerated)
    else:
        regenerated.write()
    if not quiet:
        regions = sum(file.regions for file in regenerated.files)
        changed = len(regenerated.stale) + len(regenerated.pictures)
        verb = "differ from their logs" if check else "rewritten"
        verdict = f"{changed} files {verb}" if changed else "all true"
        print(f"{regions} regions in {len(regenerated.files)} files: {verdict}", file=sys.stderr)
    if check and not regenerated.up_to_date:
        raise typer.Exit(1)


def _show_differences(regenerated: Regenerated) -> None:
    from perflog.report.difference import differences

    for picture in regenerated.pictures:
        print(f"{picture}: the picture differs from its logs")
    for file in regenerated.stale:
        sys.stdout.writelines(differences(file.old, file.new, str(file.path), f"{file.path} (from the logs)"))
