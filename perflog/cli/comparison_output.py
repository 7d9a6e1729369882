"""What `perflog compare` prints or writes, in each of its formats, and what a workflow of GitHub Actions shows."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.cli.output import emit, emit_commands, tables_text, to_terminal, width_of

if TYPE_CHECKING:
    from perflog.compare.rows import Comparison
    from perflog.export.case_table import Shown
    from perflog.settings.gate import GateResult

#: The variable that names the file of a job's summary, and the one that says that a runner reads the output.
SUMMARY, IS_RUNNER = "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"


@dataclass(frozen=True, slots=True)
class Look:
    """How comparisons are shown.

    Attributes:
        form: one of the formats of :mod:`perflog.compare.output`.
        marker: the name in the marker of Markdown.
        shown: the columns of tables, and of CSV.
        explained: whether it is said what the verdicts mean.
        fail_on: the reasons that the gate was asked for.
        result: what the gate says; None where there is none.
    """

    form: str
    marker: str
    shown: Shown
    explained: bool = False
    fail_on: Sequence[str] = ()
    result: GateResult | None = None


def show(comparisons: Sequence[Comparison], look: Look, output: Path | None, quiet: bool) -> None:
    """Print comparisons, or write them to a file; ``github`` also writes the job's summary and annotations.

    Raises:
        PerflogError: when a file cannot be written.
    """
    if look.form == "github":
        _show_to_github(comparisons, look, output, quiet)
        return
    data, described = rendered(comparisons, look, to_terminal(output))
    emit(data, output, quiet, described)


def rendered(comparisons: Sequence[Comparison], look: Look, terminal: bool) -> tuple[str | bytes, str]:
    """Comparisons in a format, and what a picture shows.

    Args:
        terminal: whether a table goes to a person's terminal.
    """
    from perflog.compare import data, picture
    from perflog.export.junit import junit

    if look.form in ("svg", "png"):
        return picture.picture(comparisons, look.form), picture.described(comparisons)
    if look.form == "json":
        return data.to_json(comparisons), ""
    if look.form == "csv":
        return data.to_csv(comparisons, look.shown.columns), ""
    if look.form == "html":
        from perflog.compare.page import page

        return page(comparisons, look.result), ""
    if look.form == "junit":
        from perflog.compare.checks import tests

        return junit("perflog compare", tests(comparisons, look.fail_on)), ""
    return (_markdown(comparisons, look) if look.form == "markdown" else _table(comparisons, look, terminal)), ""


def _markdown(comparisons: Sequence[Comparison], look: Look) -> str:
    from perflog.compare.comment import comment

    return comment(comparisons, look.marker, look.result, look.explained, look.shown)


def _table(comparisons: Sequence[Comparison], look: Look, terminal: bool) -> str:
    """For people: the first lines and the table of every comparison."""
    from perflog.compare.output import comparison_table
    from perflog.compare.sentences import opening, paragraphs
    from perflog.export.text import folded

    parts = []
    for comparison in comparisons:
        shown = comparison_table(comparison, look.explained, look.shown)
        table = tables_text([shown], "table", terminal, look.shown.wide)
        first = folded(paragraphs(opening(comparison)), width_of(terminal))
        parts.append(f"{first}\n{table}")
    return "\n".join(parts)


def _show_to_github(comparisons: Sequence[Comparison], look: Look, output: Path | None, quiet: bool) -> None:
    """The job's summary and annotations where GitHub's variables are set; plain Markdown elsewhere."""
    from perflog.compare.checks import findings
    from perflog.export.annotations import commands

    markdown = _markdown(comparisons, look)
    summary, is_runner = os.environ.get(SUMMARY, ""), os.environ.get(IS_RUNNER) == "true"
    if summary:
        _append(Path(summary), markdown)
    if is_runner:
        emit_commands(commands(findings(comparisons, look.fail_on, look.result)))
    if output is not None:
        emit(markdown, output, quiet)
    elif summary or is_runner:
        sys.stdout.write(_table(comparisons, look, terminal=False))
    else:
        sys.stdout.write(markdown)


def _append(file: Path, markdown: str) -> None:
    """Append to the job's summary, which earlier steps may have begun. Raises PerflogError where it cannot be."""
    from perflog.errors import PerflogError
    from perflog.escaping import named

    try:
        with file.open("a", encoding="utf-8", errors="backslashreplace") as summary:
            summary.write(f"{markdown}\n")
    except OSError as error:
        what = f"cannot write the job's summary '{named(str(file))}' ({SUMMARY})"
        raise PerflogError(f"{what}: {error.strerror or error}") from None


def comment_on_pull_request(comparisons: Sequence[Comparison], look: Look, quiet: bool) -> None:
    """Post the Markdown to the workflow's pull request, or replace what was posted before.

    A comment that is refused changes no exit status: the token of a fork's pull request may not write one.

    Raises:
        UsageError: outside of a workflow for a pull request, or without a token.
    """
    from perflog.cli.pull_request import post, pull_request_of
    from perflog.compare.comment import marker_of
    from perflog.errors import PerflogError, UsageError

    request = pull_request_of(os.environ)
    try:
        done = post(request, _markdown(comparisons, look), marker_of(look.marker))
    except UsageError:
        raise
    except PerflogError as error:
        print(f"perflog: {error}", file=sys.stderr)
        return
    if not quiet:
        print(f"{done} the comment on pull request {request.number}", file=sys.stderr)
