"""Commands that make reports: table, plot, report."""

from __future__ import annotations

from typing import Annotated

import typer

from perflog.cli.base import app, examples
from perflog.cli.kept import cache_of
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
    WithCache,
    extraction_options,
)
from perflog.cli.output import emit, say_lacking, say_written
from perflog.cli.progress import end_where_unread, extractions
from perflog.export.options import FLAGS
from perflog.settings.config import one_of, pairs, settings

Html = Annotated[
    bool,
    typer.Option("--html", help="One HTML page that holds everything; also when the output's name ends in .html."),
]
_TABLE_FORMATS = "markdown, html, latex, csv or xlsx; also by the ending of --output. [default: markdown]"
TableFormat = Annotated[str | None, typer.Option("--format", "-f", help=_TABLE_FORMATS, show_default=False)]
_BY_DEFAULT = " [default: what tells the cases apart]"
ReportRows = Annotated[
    str, typer.Option(*FLAGS["rows"], help=f"Fields of the tables' rows.{_BY_DEFAULT}", show_default=False)
]
ReportColumns = Annotated[
    str, typer.Option(*FLAGS["columns"], help=f"Fields of the tables' columns.{_BY_DEFAULT}", show_default=False)
]


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
    from perflog.export.options import format_for
    from perflog.report.contents import dimensions, require_cases
    from perflog.report.making import BINARY, TABLE_FORMATS, encoded_table, look_of, make_table, projection

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
    from perflog.export.options import format_for
    from perflog.plot.drawing import FORMATS
    from perflog.report.making import make_picture

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
        "perflog report logs/ --warmup 100 -o report.html",
        "perflog report logs/ --warmup 100 --where framework=PyTorch -o RESULTS.md",
        more="`perflog readme README.md` makes the regions of a README anew.",
    )
)
@extraction_options()
def report(
    logs: Logs, given: Given, output: Output = None, where: Where = None, rows: ReportRows = "",
    columns: ReportColumns = "", lang: Lang = "en", html: Html = False, cache: WithCache = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Write a report, with a section for each model and unit: Markdown that `perflog readme` keeps true, or a page."""
    from perflog.export.options import format_for
    from perflog.report.contents import Choice
    from perflog.report.reports import make_report, refusal
    from perflog.report.table import LANGUAGES

    one_of("lang", lang, LANGUAGES)
    if output is None:
        message = "a report needs a file: --output README.md, or --output report.html"
        raise typer.BadParameter(message, param_hint="--output")
    page = html or format_for(output, None, ("markdown", "html"), "markdown", has_option=False) == "html"
    reason = refusal(output, page)
    if reason:
        raise typer.BadParameter(reason, param_hint="--output")
    choice = Choice(pairs(where or [], "where"), rows, columns)
    read = extractions(quiet, cache_of(cache, quiet))
    result = make_report(logs, given, output, lang, page, read, choice)
    result.write()
    say_written(output, quiet, result.described)
    end_where_unread(read, quiet)
