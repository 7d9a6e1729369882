"""The application that every module of commands adds its own to."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from copy import copy
from pathlib import Path
from typing import Annotated, Any

import typer

from perflog.cli.help import Application, Group

EXIT_STATUS = (
    "Exit status: 0 all logs gave numbers; 3 some log or case has no value (the rest is still printed); 2 wrong usage."
)

#: The commands in groups, in the order in which they are used.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Read": ("extract", "explain", "merge"),
    "Publish": ("table", "plot", "report", "readme", "audit"),
    "Compare": ("compare", "plan", "noise"),
    "Keep": ("save", "history"),
    "Run": ("run", "watch"),
    "Set up": ("example", "init", "config", "conventions", "parsers", "doctor", "cache"),
}
#: The shells that typer writes completions for.
_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def examples(*commands: str, more: str = "Exit status: 0 done; 2 wrong usage.") -> str:
    """The text below a command's help: its examples, one a line, then what else is to be said.

    Args:
        commands: whole commands, ``perflog …``.
        more: such as the exit statuses.
    """
    lines = "\n".join(["Example:" if len(commands) == 1 else "Examples:", *(f"  {command}" for command in commands)])
    return f"{lines}\n\n{more}"


class Commands(Group):
    """The commands by their groups, with completions of values, and a shell's name behind the option that installs."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, group by group."""
        panels = {name: panel for panel, names in GROUPS.items() for name in names}
        for name, command in self.commands.items():
            command.rich_help_panel = panels.get(name)  # type: ignore[attr-defined]
        ordered = [name for name in panels if name in self.commands]
        return ordered + [name for name in super().list_commands(ctx) if name not in panels]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Let ``--install-completion zsh`` mean that shell, whichever the command is typed in."""
        if args and args[0] in ("--install-completion", "--show-completion"):
            from perflog.cli.completion import use_own_scripts

            use_own_scripts()
            if len(args) > 1:
                _complete_for(args[0], args[1])
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names; logs that were named without one are said to need it."""
        if args and args[0] not in self.commands and Path(args[0]).exists():
            from shlex import quote

            from perflog.escaping import named

            ctx.fail(f"{named(args[0])} is no command, but a path. To read it: perflog extract {named(quote(args[0]))}")
        return super().resolve_command(ctx, args)

    def _main_shell_completion(
        self, ctx_args: MutableMapping[str, Any], prog_name: str, complete_var: str | None = None
    ) -> None:
        if os.environ.get("_PERFLOG_COMPLETE"):
            from perflog.cli.completion import complete_values, read_whole_lines, use_own_scripts

            use_own_scripts()
            read_whole_lines()
            complete_values(self)
        super()._main_shell_completion(ctx_args, prog_name, complete_var)


def _complete_for(option: str, shell: str) -> None:
    """Install or print the completion of one shell, and end."""
    from typer._completion_shared import get_completion_script, install

    from perflog.settings.config import one_of

    one_of(option.removeprefix("--"), shell, _SHELLS)
    if option == "--install-completion":
        print(f"{shell} completion installed in {install(shell=shell, prog_name='perflog')[1]}")
        print("It works in terminals that are opened from now on.")
    else:
        print(get_completion_script(prog_name="perflog", complete_var="_PERFLOG_COMPLETE", shell=shell))
    raise typer.Exit


app = Application(
    cls=Commands,
    help="Numbers that can be trusted from the training logs of deep-learning frameworks.",
    epilog=EXIT_STATUS,
    no_args_is_help=True,
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


def listed(whole: typer.Typer) -> typer.Typer:
    """The application with the names and the help of its commands alone, to be listed: to make all their options takes
    longer than to print the list."""
    short = copy(whole)
    short.registered_commands = [_without_options(info) for info in whole.registered_commands]
    short.registered_groups = [copy(info) for info in whole.registered_groups]
    for info in short.registered_groups:
        if info.typer_instance is not None:
            info.typer_instance = copy(info.typer_instance)
            info.typer_instance.registered_commands = []
            if info.typer_instance.registered_callback is not None:
                info.typer_instance.registered_callback = _without_options(info.typer_instance.registered_callback)
    return short


def alone(whole: typer.Typer, name: str) -> typer.Typer:
    """The application with one command or group: to make the options of those beside it takes as long as a few logs."""
    short = copy(whole)
    short.registered_commands = [info for info in whole.registered_commands if _name_of(info) == name]
    short.registered_groups = [info for info in whole.registered_groups if info.name == name]
    return short


def _name_of(info: Any) -> str:
    return str(info.name or info.callback.__name__.replace("_", "-"))


def _without_options(info: Any) -> Any:
    """A command's or a group's description with a function in its place that has the same name and help."""

    def nothing() -> None:
        """Stand for the command."""

    nothing.__name__, nothing.__doc__ = info.callback.__name__, info.callback.__doc__
    short = copy(info)
    short.callback = nothing
    return short
