"""The help as plain text: the parameters and commands in their groups, in lines that a terminal of 80 columns holds.

Typer's own needs rich, whose import takes as long as all else that `perflog --help` does.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from re import sub
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

import typer
from typer import Context
from typer.core import TyperCommand, TyperGroup

#: The widest lines, and the widest names that have their text beside them, in columns.
WIDEST, WIDEST_NAME = 100, 26
#: The groups of the parameters that name none.
_TITLES = {"argument": "Arguments", "option": "Options"}
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
    "--across": "FIELDS", "--alias": "NAME=NAME", "--allow": "FOLDER", "--case": "KEY=VALUE", "--columns": "FIELDS",
    "--date": "DATE", "--detect": "SHARE", "--fail-on": "REASONS", "--format": "FORMAT", "--ignore": "FACT",
    "--label": "LABEL", "--logs": "PATH", "--make-environment": "NAME", "--margin": "SHARE", "--marker": "NAME",
    "--metric": "NAME", "--only": "KEY=VALUE", "--output": "FILE", "--rows": "FIELDS", "--since": "LABEL",
    "--tolerance": "SHARE", "--value": "NAME",
}  # fmt: skip
#: Names and texts by their groups.
Groups = dict[str, list[tuple[str, str]]]


class Command(TyperCommand):
    """A command of perflog."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(help_of(self, ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of the usage line, with nothing around those that must be given."""
        return [piece.replace("{", "").replace("}", "").upper() for piece in super().collect_usage_pieces(ctx)]


class Group(TyperGroup):
    """A group of commands of perflog."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(help_of(self, ctx))


class Application(typer.Typer):
    """Commands whose help and errors are plain text."""

    def __init__(self, *, cls: type[Group] = Group, **given: Any) -> None:
        """Make one of the arguments that typer takes."""
        super().__init__(cls=cls, rich_markup_mode=None, pretty_exceptions_enable=False, **given)

    if not TYPE_CHECKING:  # the types are those of typer

        def command(self, name: str | None = None, *, cls: type[TyperCommand] = Command, **given: Any) -> Any:
            """Add a function as a command, as typer does."""
            return super().command(name, cls=cls, **given)


def help_of(command: Any, ctx: Context) -> str:
    """The help of a command: usage, what it does, its parameters and commands by their groups, examples.

    Args:
        command: as typer makes it from a function or an application.
    """
    columns = min(shutil.get_terminal_size().columns, WIDEST)
    usage = f"Usage: {' '.join([ctx.command_path, *command.collect_usage_pieces(ctx)])}"
    lists = _lists(_parameters(command, ctx), columns) + _lists(_commands(command, ctx), columns)
    parts = [fill(usage, columns, subsequent_indent="  "), _prose(command.help or "", columns), *lists]
    return "\n\n".join(part for part in (*parts, _prose(command.epilog or "", columns)) if part) + "\n"


def _parameters(command: Any, ctx: Context) -> Groups:
    """The rows of the arguments, of the options, and of the options that name a group of their own."""
    groups: Groups = {title: [] for title in _TITLES.values()}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            title = getattr(parameter, "rich_help_panel", None) or _TITLES[parameter.param_type_name]
            names = record[0].upper() if parameter.param_type_name == "argument" else _aligned(record[0])
            groups.setdefault(title, []).append((names, _ranges(record[1])))
    return groups


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
            " ".join(text.split()), max(columns, len(indent) + 20), initial_indent=indent, subsequent_indent=indent
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
