"""The application that every module of commands adds its own to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from copy import copy
from pathlib import Path
from re import sub
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Context
from typer.core import TyperCommand, TyperGroup, TyperOption

# ----------------------------------------------------------------------------------------------------
# The help as plain text: the parameters and commands in their groups, in lines that a terminal of 80 columns holds.
#
# Typer's own needs rich, whose import takes as long as all else that `perflog --help` does.

#: The widest lines, and the widest names that have their text beside them, in columns.
WIDEST, WIDEST_NAME = 100, 26
#: The groups of the parameters that name none; options without a group come last.
_TITLES = {"argument": "Arguments", "option": "Options"}


class Rare(str):
    """The group of an option that few need (``Rare(NUMBERS)``): only ``--help-all`` shows it."""

    __slots__ = ()


#: What typer says at the end of an argument that must be given.
_REQUIRED = "[required]"
#: What typer says of an option's value where the option itself says nothing, and what is said for it.
_VALUES = {
    "<str>": "TEXT",
    "<path>": "FILE",
    "<file>": "FILE",
    "<float range>": "NUMBER",
    "<float>": "NUMBER",
    "<int range>": "N",
    "<int>": "N",
}
#: What the value of an option is called, in all commands that have it and say nothing themselves.
_VALUES_OF = {
    "--across": "FIELDS", "--alias": "NAME=NAME", "--allow": "FOLDER", "--branch": "NAME", "--case": "KEY=VALUE",
    "--columns": "FIELDS", "--commit": "COMMIT",
    "--date": "DATE", "--detect": "SHARE", "--fail-on": "REASONS", "--format": "FORMAT", "--ignore": "FACT",
    "--label": "LABEL", "--logs": "PATH", "--make-environment": "NAME", "--margin": "SHARE", "--marker": "NAME",
    "--metric": "NAME", "--only": "KEY=VALUE", "--output": "FILE", "--repeats-over": "FIELDS", "--rows": "FIELDS",
    "--since": "LABEL", "--tolerance": "SHARE", "--value": "NAME",
}  # fmt: skip
#: Names and texts by their groups.
Groups = dict[str, list[tuple[str, str]]]


class _Helped:
    """What commands and groups of commands have in common: their help, short and whole."""

    params: list[Any]
    _whole_help: TyperOption | None = None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(help_of(self, ctx))

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with ``--help-all``, which is listed where it shows more than ``--help``."""
        if self._whole_help is None:  # one object, by which the parser knows its place
            more = sum(map(_is_rare, self.params))
            self._whole_help = TyperOption(
                param_decls=["--help-all"], is_flag=True, is_eager=True, expose_value=False, hidden=not more,
                help=f"Show all options: also {more} that few need.", callback=_print_whole_help,
            )  # fmt: skip
        return [*super().get_params(ctx), self._whole_help]  # type: ignore[misc]


def _is_rare(parameter: Any) -> bool:
    return isinstance(getattr(parameter, "rich_help_panel", None), Rare)


def _print_whole_help(ctx: Any, _parameter: Any, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        typer.echo(help_of(ctx.command, ctx, whole=True), nl=False)
        ctx.exit()


class Command(_Helped, TyperCommand):
    """A command of perflog."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of the usage line, with nothing around those that must be given."""
        return [piece.replace("{", "").replace("}", "").upper() for piece in super().collect_usage_pieces(ctx)]


class Group(_Helped, TyperGroup):
    """A group of commands of perflog."""


class Application(typer.Typer):
    """Commands whose help and errors are plain text."""

    def __init__(self, *, cls: type[Group] = Group, **given: Any) -> None:
        """Make one of the arguments that typer takes."""
        super().__init__(cls=cls, rich_markup_mode=None, pretty_exceptions_enable=False, **given)

    if not TYPE_CHECKING:  # the types are those of typer

        def command(self, name: str | None = None, *, cls: type[TyperCommand] = Command, **given: Any) -> Any:
            """Add a function as a command, as typer does."""
            return super().command(name, cls=cls, **given)


def help_of(command: Any, ctx: Context, *, whole: bool = False) -> str:
    """The help of a command: usage, what it does, its parameters and commands by their groups, examples.

    Args:
        command: as typer makes it from a function or an application.
        whole: also the options that few need, the examples with one of them, and the exit statuses.
    """
    columns = min(shutil.get_terminal_size().columns, WIDEST)
    usage = f"Usage: {' '.join([ctx.command_path, *command.collect_usage_pieces(ctx)])}"
    rare = {name for parameter in command.params if _is_rare(parameter) for name in parameter.opts}
    lists = _lists(_parameters(command, ctx, whole), columns) + _lists(_commands(command, ctx), columns)
    parts = [fill(usage, columns, subsequent_indent="  "), _prose(command.help or "", columns), *lists]
    below = command.epilog or ""
    if rare and not whole:
        below = "\n".join(line for line in below.partition("\n\n")[0].splitlines() if not rare & {*line.split()})
    return "\n\n".join(part for part in (*parts, _prose(below, columns)) if part) + "\n"


def _parameters(command: Any, ctx: Context, whole: bool) -> Groups:
    """The rows of the arguments, of the groups that options name, and of the options that name none."""
    groups: Groups = {_TITLES["argument"]: []}
    is_short = not whole and any(map(_is_rare, command.params))
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        is_left_out = _is_rare(parameter) or (is_short and parameter.name == "help")  # who reads it, knows it
        if record is not None and (whole or not is_left_out):
            title = getattr(parameter, "rich_help_panel", None) or _TITLES[parameter.param_type_name]
            is_argument = parameter.param_type_name == "argument"
            names = record[0].upper() if is_argument else _aligned(record[0])
            text = record[1].removesuffix(_REQUIRED) if is_argument else record[1]  # the usage line says it
            groups.setdefault(title, []).append((names, _ranges(text)))
    without_group = groups.pop(_TITLES["option"], [])
    return {**groups, _TITLES["option"]: without_group}


def _commands(command: Any, ctx: Context) -> Groups:
    """The rows of the commands below one, by the groups that they name."""
    groups: Groups = {}
    for name in command.list_commands(ctx) if isinstance(command, TyperGroup) else ():
        below: Any = command.get_command(ctx, name)
        if below is not None and not below.hidden:
            first = (below.help or "").partition("\n\n")[0]
            groups.setdefault(below.rich_help_panel or "Commands", []).append((name, first))
    return groups


def _lists(groups: Groups, columns: int) -> list[str]:
    """Each group's title and rows as lines, with one width of names for all."""
    longest = max((len(name) for rows in groups.values() for name, _ in rows if len(name) <= WIDEST_NAME), default=0)
    return [f"{title}:\n" + "\n".join(_lines(rows, longest, columns)) for title, rows in groups.items() if rows]


def _aligned(names: str) -> str:
    """The names of an option, those that have a long one alone below the long ones of the others."""
    option = sub(r".*(--[a-z-]+).*", r"\1", names)
    for typed, value in _VALUES.items():
        names = names.replace(typed, _VALUES_OF.get(option, value))
    return f"    {names}" if names.startswith("--") else names


def _ranges(text: str) -> str:
    """A parameter's text with its range in words."""
    return sub(r"x>=([0-9.]+)", r"at least \1", sub(r"([0-9.]+)<=x<=([0-9.]+)", r"\1 to \2", text))


def _lines(rows: Iterable[tuple[str, str]], longest: int, columns: int) -> list[str]:
    """The lines of a list of two columns; a name that is too long has its text below it."""
    indent = " " * (longest + 4)
    lines: list[str] = []
    for name, text in rows:
        paragraph = wrap(
            " ".join(text.split()),
            max(columns, len(indent) + 20),
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        if len(name) > longest or not paragraph:
            lines += [f"  {name}", *paragraph]
        else:
            lines += [f"  {name:<{longest}}  {paragraph[0][len(indent) :]}", *paragraph[1:]]
    return lines


def _prose(text: str, columns: int) -> str:
    """Paragraphs in lines of so many columns; a line that is indented, such as an example, stays as it is."""
    paragraphs: list[str] = []
    for paragraph in text.split("\n\n"):
        lines: Sequence[str] = paragraph.splitlines()
        is_list = any(line.startswith(" ") for line in lines)
        paragraphs.append(paragraph if is_list else fill(" ".join(paragraph.split()), columns, break_on_hyphens=False))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph.strip())


EXIT_STATUS = (
    "Exit status: 0 all logs gave numbers; 3 some log or case has no value (the rest is still printed); 2 wrong usage."
)

#: The commands in groups, in the order in which they are used.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Read": ("extract", "explain", "merge"),
    "Look": ("view", "records"),
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
