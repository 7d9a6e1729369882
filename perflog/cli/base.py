"""The application that every module of commands adds its own to."""

from __future__ import annotations

from typing import Annotated

import typer

EXIT_STATUS = (
    "Exit status: 0 all logs gave numbers; 3 some log or case has no value (the rest is still printed); 2 wrong usage."
)

app = typer.Typer(
    help="Numbers that can be trusted from the training logs of deep-learning frameworks.",
    epilog=EXIT_STATUS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from perflog._version import __version__
        from perflog.matching import engine_description

        print(f"perflog {__version__}, engine: {engine_description()}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")]


@app.callback()
def _main(version: Version = False) -> None:
    """Numbers that can be trusted from the training logs of deep-learning frameworks."""
