"""The command ``perflog readme``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perflog.cli.base import app, examples
from perflog.cli.kept import cache_of
from perflog.cli.options import Quiet, WithCache
from perflog.cli.output import emit_commands
from perflog.cli.progress import extractions

if TYPE_CHECKING:
    from perflog.report.regenerate import Regenerated

_CHECK = "Change nothing; show what differs and exit with 1 if anything does, with 2 if no file has a region."
Check = Annotated[bool, typer.Option("--check", help=_CHECK)]
_ALLOW = "A folder outside the files' repository that recipes may use too (may be repeated)."
Allow = Annotated[list[Path] | None, typer.Option("--allow", help=_ALLOW, show_default=False)]
_FORM = "What differs, as text (cell by cell), markdown, diff, json or github (annotations of GitHub Actions)."
Form = Annotated[str, typer.Option("--format", "-f", help=_FORM)]


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
    form: Form = "text",
    allow: Allow = None,
    cache: WithCache = None,
    quiet: Quiet = False,
) -> None:
    """Regenerate the tables between perflog's markers, in place."""
    from perflog.report.regenerate import FORMATS, regenerate, render, summary
    from perflog.settings.config import one_of

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
