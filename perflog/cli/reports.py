"""Commands that make reports, keep them true and judge those of others: table, plot, report, readme, audit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perflog.cli.base import app, examples
from perflog.cli.cases import cache_of
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
    ParserNames,
    Parsers,
    Quiet,
    Rows,
    Set,
    StyleName,
    Templates,
    Titles,
    Values,
    Viewed,
    Where,
    WithCache,
    extraction_options,
    shared_option,
)
from perflog.cli.output import emit, emit_commands, prose, say_lacking, say_written, to_terminal
from perflog.cli.progress import end_where_unread, extractions, progress_bar
from perflog.cli.seen import write_view_of
from perflog.logs.addresses import as_addresses
from perflog.settings.config import one_of, pairs, settings

if TYPE_CHECKING:
    from perflog.show.regenerate import Regenerated

Html = Annotated[
    bool,
    typer.Option("--html", help="One HTML page that holds everything; also when the output's name ends in .html."),
]
_TABLE_FORMATS = "markdown, html, latex, csv or xlsx; also by the ending of --output. [default: markdown]"
TableFormat = Annotated[str | None, typer.Option("--format", "-f", help=_TABLE_FORMATS, show_default=False)]
_BY_DEFAULT = "[default: what tells the cases apart]"
ReportRows = Annotated[str, shared_option("rows", f"Fields of the tables' rows. {_BY_DEFAULT}")]
ReportColumns = Annotated[str, shared_option("columns", f"Fields of the tables' columns. {_BY_DEFAULT}")]
_CHECK = "Change nothing; show what differs and exit with 1 if anything does, with 2 if no file has a region."
Check = Annotated[bool, typer.Option("--check", help=_CHECK)]
_ALLOW = "A folder outside the files' repository that recipes may use too (may be repeated)."
Allow = Annotated[list[Path] | None, typer.Option("--allow", help=_ALLOW, show_default=False)]
_DIFFERENCES = "What differs, as text (cell by cell), markdown, diff, json or github (annotations of GitHub Actions)."
Differences = Annotated[str, typer.Option("--format", "-f", help=_DIFFERENCES)]
_LOGS_HELP = "Logs (may be repeated). [default: those below the files' folders, or that the tables' recipes name]"
_LOGS = typer.Option("--logs", help=_LOGS_HELP, show_default=False, callback=as_addresses)
LogFolders = Annotated[list[str] | None, _LOGS]
Everything = Annotated[bool, typer.Option("--all", help="Show every cell, not only those to look at.")]
_JUDGED = "text, markdown, json, junit (XML) or github (annotations of GitHub Actions). [default: text]"
Judged = Annotated[str | None, typer.Option("--format", "-f", help=_JUDGED, show_default=False)]
_TOLERANCE = "Differences of up to this share fail no cell: 0.1%."
Tolerance = Annotated[str, typer.Option("--tolerance", help=_TOLERANCE)]


@app.command(
    epilog=examples(
        "perflog table logs/ --rows nodes,devices --value throughput,speedup --style dlperf",
        "perflog table logs/ --rows devices=1:8:32 --columns precision,batch_size --style paddle --lang zh",
        "perflog table logs/ --rows devices -o results.tex",
    )
)
@extraction_options()
def table(
    logs: Logs, given: Given, rows: Rows = "", columns: Columns = "", value: Values = "throughput", where: Where = None,
    style: StyleName = "plain", lang: Lang = "en", templates: Templates = None, notes: Notes = None,
    digits: Digits = None, title: Titles = None, name: Names = None, missing: Missing = None,
    format_: TableFormat = None, output: Output = None, cache: WithCache = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Make a report's table: cases in rows and columns, in the style of a family of reports."""
    from perflog.show.contents import dimensions, require_cases
    from perflog.show.making import BINARY, TABLE_FORMATS, encoded_table, look_of, make_table, projection
    from perflog.show.options import format_for

    form = format_for(output, format_, TABLE_FORMATS, "markdown")
    if form in BINARY and output is None:
        raise typer.BadParameter(f"{form} is not text: name a file with --output FILE", param_hint="--format")
    look = look_of({
        "style": style, "lang": lang, "templates": templates, "notes": notes, "digits": digits, "title": title,
        "name": name, "missing": missing,
    })  # fmt: skip
    wanted, chosen = pairs(where or [], "where"), settings(given, logs)
    read = extractions(quiet, cache_of(cache, quiet))
    if not rows:
        rows, own_columns = dimensions(require_cases(read.of(logs, chosen, wanted)))
        columns = columns or own_columns
    shown = projection(rows, columns, value, wanted)
    made = make_table(logs, chosen, read, shown, look, plain=form != "markdown")
    emit(encoded_table(made, form), output, quiet=True)
    end_where_unread(read, quiet)


@app.command(
    epilog=examples(
        "perflog plot logs/ -o scaling.svg",
        "perflog plot logs/ --where model=rn50 -o rn50.pdf",
        "perflog plot logs/ --kind steps --warmup 100 -o steps.png",
        "perflog plot logs-2.4/ logs-2.5/ --kind versions -o versions.svg",
    )
)
@extraction_options()
def plot(
    logs: Logs, given: Given, kind: Kind = "scaling", where: Where = None, lang: Lang = "en",
    output: Output = None, cache: WithCache = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Draw throughput and speedup against devices, the spread of the runs, step times with the warm-up, or versions."""
    from perflog.show.drawing import FORMATS
    from perflog.show.making import make_picture
    from perflog.show.options import format_for

    if output is None:
        raise typer.BadParameter("a picture needs a file: --output scaling.svg", param_hint="--output")
    form = format_for(output, None, FORMATS, FORMATS[0], has_option=False)
    wanted = pairs(where or [], "where")
    read = extractions(quiet, cache_of(cache, quiet))
    picture = make_picture(logs, settings(given, logs), read, kind, form, wanted, lang)
    emit(picture.data, output, quiet, picture.described)
    lacking = ["English words"] if picture.language != lang else []
    if picture.gaps:
        lacking.append(f"boxes in place of '{picture.gaps[:20]}{'…' if len(picture.gaps) > 20 else ''}'")
    say_lacking(output, lacking)
    end_where_unread(read, quiet)


@app.command(
    epilog=examples(
        "perflog report logs/ --warmup 100 -o report.html --view runs.html",
        "perflog report logs/ --warmup 100 --where framework=PyTorch -o RESULTS.md",
        more="`perflog readme README.md` makes the regions of a README anew.",
    )
)
@extraction_options()
def report(
    logs: Logs, given: Given, output: Output = None, where: Where = None, rows: ReportRows = "",
    columns: ReportColumns = "", lang: Lang = "en", html: Html = False, view: Viewed = None, cache: WithCache = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Write a report, with a section for each model and unit: Markdown that `perflog readme` keeps true, or a page."""
    from perflog.show.contents import Choice
    from perflog.show.options import format_for
    from perflog.show.reports import make_report, refusal
    from perflog.show.words import require_language

    require_language(lang)
    if output is None:
        message = "a report needs a file: --output README.md, or --output report.html"
        raise typer.BadParameter(message, param_hint="--output")
    page = html or format_for(output, None, ("markdown", "html"), "markdown", has_option=False) == "html"
    reason = refusal(output, page)
    if reason:
        raise typer.BadParameter(reason, param_hint="--output")
    choice = Choice(pairs(where or [], "where"), rows, columns)
    read = extractions(quiet, cache_of(cache, quiet))
    result = make_report(logs, given, output, lang, page, read, choice, view)
    result.write()
    say_written(output, quiet, result.described)
    write_view_of(view, logs, settings(given, logs), read, quiet, lang)
    end_where_unread(read, quiet)


@app.command(
    epilog=examples(
        "perflog readme README.md",
        "perflog readme --check README.md",
        "perflog readme --check -f github README.md",
        more="A region:  <!-- perflog: table logs/ --rows devices --style paddle -->  …  <!-- /perflog -->. "
        "Paths in it are relative to the file, and lead to its repository alone. Exit status: 0 all regions are true; "
        "1 with --check, some are not; 2 a marker or recipe is wrong, a log cannot be read, or with --check no region "
        "is there.",
    )
)
def readme(
    files: Annotated[list[Path], typer.Argument(help="Markdown files with perflog regions.", show_default=False)],
    check: Check = False,
    form: Differences = "text",
    allow: Allow = None,
    cache: WithCache = None,
    quiet: Quiet = False,
) -> None:
    """Regenerate the tables between perflog's markers, in place."""
    from perflog.show.regenerate import FORMATS, regenerate, render, summary

    one_of("format", form, FORMATS)
    regenerated = regenerate(files, extractions(quiet=True, cache=cache_of(cache, quiet)), allow or ())
    if not check:
        regenerated.write()
    if check or form == "json":
        text = render(regenerated, form)
        if form == "github":
            emit_commands(text)
        else:
            sys.stdout.write(text)
    if not quiet or not regenerated.regions:
        print(summary(regenerated, check), file=sys.stderr)
    if check:
        _exit_unless_true(regenerated)


def _exit_unless_true(regenerated: Regenerated) -> None:
    """Raise Exit with 2 where nothing was checked, and with 1 where something differs."""
    if not regenerated.regions:
        raise typer.Exit(2)
    if not regenerated.up_to_date:
        raise typer.Exit(1)


@app.command(
    epilog=examples(
        "perflog audit README.md",
        "perflog audit reports/ --logs logs/ --tolerance 0.1%",
        "perflog audit reports/ --logs logs/ --all -o audit.md",
        more="Exit status: 0 cells were checked, none differs or contradicts; 1 some do, or nothing could be checked; "
        "2 wrong usage.",
    )
)
def audit(
    files: Annotated[list[Path], typer.Argument(help="Markdown files, or folders of them.", show_default=False)],
    logs: LogFolders = None,
    tolerance: Tolerance = "0.1%",
    everything: Everything = False,
    form: Judged = None,
    set_: Set = None,
    parser: ParserNames = None,
    parsers: Parsers = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Hold the result tables of ordinary READMEs against their logs: which cells do the logs support?"""
    from perflog.audit import FORMATS, documents, failing, render
    from perflog.audit import audit as judge_cells
    from perflog.audit.auditing import folders_of
    from perflog.compare.rule import share as share_of
    from perflog.logs.find import find_logs
    from perflog.show.options import format_for

    chosen_form = format_for(output, form, FORMATS, "text")
    share = share_of(tolerance, "--tolerance")
    pages = documents(files)
    given = {"parser": parser, "parsers": parsers, "set": pairs(set_ or [], "set")}
    chosen = settings(given, logs or folders_of(pages))
    found = find_logs(logs) if logs else None
    judgements = judge_cells(pages, found, chosen.catalog(), chosen.options(), share, progress_bar(quiet))
    text = render(judgements, chosen_form, everything, to_terminal(output))
    if chosen_form == "github" and output is None:
        emit_commands(text)
    else:
        emit(prose(text, output) if chosen_form == "text" else text, output, quiet)
    if failing(judgements):
        raise typer.Exit(1)
