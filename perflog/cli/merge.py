"""The command merge: all parts of logs that many workers read, together."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from perflog.cli.base import EXIT_STATUS, app, examples
from perflog.cli.cases import form_of, write_cases
from perflog.cli.options import Aggregate, Baseline, Format, Notes, Output, Parsers, Quiet, Shown, Sort, Where, Wide
from perflog.cli.progress import extractions
from perflog.cli.view import View
from perflog.logs.addresses import as_addresses
from perflog.settings.config import pairs, settings

Parts = Annotated[
    list[str],
    typer.Argument(
        help="All parts of one place: the files that `perflog extract --shard` wrote, or their folder.",
        metavar="PARTS...",
        show_default=False,
        callback=as_addresses,
    ),
]


@app.command(
    epilog=examples(
        "perflog merge part*.parquet", "perflog merge parts/ -o cases.json --sort -throughput", more=EXIT_STATUS
    )
)
def merge(
    parts: Parts, aggregate: Aggregate = None, baseline: Baseline = None, parsers: Parsers = None,
    where: Where = None, sort: Sort = "", columns: Shown = "", wide: Wide = False, notes: Notes = None,
    format_: Format = None, output: Output = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Make of the parts that workers read what one machine would have made of all logs."""
    from perflog.cluster.shares import require_parts

    given = {"aggregate": aggregate, "baseline": pairs(baseline or [], "baseline"), "parsers": parsers}
    chosen = replace(settings(given | {"format": format_}, parts), parts=None)  # all that is named is for parts
    form = form_of(output, chosen)
    require_parts(parts)
    view = View.asked(where, sort, columns, wide, notes)
    write_cases(view.of(extractions(quiet).of(parts, chosen)), form, view, output, quiet, parts)
