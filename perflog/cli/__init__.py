"""Options in, functions called, text out.

The command line: reads options, calls the stages, prints. Everything else is in other modules. Each module adds its
commands to :data:`app` when it is imported; one command alone needs its module alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["COMMANDS", "app", "app_for"]

#: The commands of each module, in the order in which the help lists them (groups of commands come last).
COMMANDS = {
    "compare": ("compare", "plan", "noise"),
    "history": ("save", "history"),
    "logs": ("extract", "explain", "merge", "config", "conventions"),
    "parsers": ("parsers",),
    "reports": ("table", "plot", "report", "readme", "audit"),
    "run": ("run", "watch"),
    "viewing": ("view", "records"),
    "setup": ("example", "init", "doctor", "cache"),
}


#: Command lines that show the list of commands, and no option of any of them.
_LISTS: tuple[list[str], ...] = ([], ["--help"], ["-h"])


def app_for(words: Sequence[str]) -> typer.Typer:
    """The application for the words of a command line.

    Where the first word names a command, all others are left out: nothing but the list of commands
    would show them, and to make all takes longer than to read a small log.
    """
    module = next((module for module, names in COMMANDS.items() if words and words[0] in names), None)
    whole = _app(COMMANDS if module is None else (module,))
    if module is not None:
        from perflog.cli.base import alone

        return alone(whole, words[0])
    if list(words) in _LISTS and not os.environ.get("_PERFLOG_COMPLETE"):
        from perflog.cli.base import listed

        return listed(whole)
    return whole


def __getattr__(name: str) -> Any:
    if name == "app":  # with all commands
        return _app(COMMANDS)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _app(modules: Sequence[str] | dict[str, tuple[str, ...]]) -> typer.Typer:
    for module in modules:
        import_module(f"{__name__}.{module}")
    from perflog.cli.base import app

    return app
