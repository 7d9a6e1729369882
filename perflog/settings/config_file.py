"""What may stand in ``perflog.toml``, and its reading; imported where there is such a file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field, structs

from perflog.border import GIT, enters
from perflog.errors import UsageError
from perflog.formats.toml import Scalar, convert, read_toml, texts
from perflog.logs.addresses import is_address
from perflog.settings.config import FormatName
from perflog.settings.confinement import Confinement, repository_of, resolved
from perflog.settings.options import Aggregate, Estimator, Values

#: Options of single commands: how something is shown, compared or written says nothing of the logs beside the file.
_OF_COMMANDS = frozenset({
    "rows", "columns", "value", "where", "sort", "wide", "style", "lang", "templates", "notes", "digits", "title",
    "name", "missing", "kind", "output", "html", "quiet", "metric", "margin", "level", "across", "gate", "fail-on",
    "label", "date", "replace", "case", "detect", "only", "repeats", "watch", "tolerance", "cache",
})  # fmt: skip
#: The key that a fault of a config file is about: an unknown one, or one with a wrong value.
_FAULT = re.compile(r"unknown option '([^']+)'|([\w.]+) = ")
#: A table's heading, and a key before its value: what users write in a config file.
_HEADING = re.compile(r"""\s*\[\s*["']?([\w.-]+?)["']?\s*\]""")
_KEY = re.compile(r"""\s*["']?([\w.-]+?)["']?\s*=""")
_Count = Annotated[str | int | float, Meta(description="an amount such as 100, '10records' or '2epochs'")]
_Names = Annotated[str | tuple[str, ...], Meta(description="a name, or a list of names")]
_Aliases = Annotated[dict[str, str], Meta(description='a table of names, such as { rn50 = "resnet50" }')]
_Facts = Annotated[dict[str, Scalar], Meta(description="a table, such as { devices = 8 }")]


class _ConfigFile(Struct, frozen=True, forbid_unknown_fields=True):
    """What may stand in ``perflog.toml``; what is left out is None."""

    warmup: _Count | None = None
    steps: _Count | None = None
    last: _Count | None = None
    estimator: Estimator | None = None
    aggregate: Aggregate | None = None
    baseline: _Facts | None = None
    set: _Facts | None = None
    aliases: _Aliases | None = None
    values: Values | None = None
    without_slow: bool | None = None
    sampled: bool | None = None
    as_: _Names | None = field(name="as", default=None)
    convention: str | None = None
    parser: _Names | None = None
    parsers: _Names | None = None
    format: FormatName | None = None
    database: Annotated[str, Meta(description="a file's name in quotes")] | None = None


def read_config(file: Path) -> dict[str, Any]:
    """The options in a config file; paths in it are relative to its folder.

    Raises:
        UsageError: with the file, the option, what is expected there and what was found; for a folder of parsers that
            leads out of the file's repository, and for a file that is a link to one outside.
    """
    _confinement(file, "copy the file to its place").admit(file, "the config file")
    table = _checked(file)
    options = {key: value for key, value in structs.asdict(table).items() if value is not None}
    for key in ("set", "baseline"):
        if key in options:
            options[key] = texts(options[key])
    for key in ("as_", "parser", "parsers"):
        if key in options:
            options[key] = [options[key]] if isinstance(options[key], str) else list(options[key])
    if "parsers" in options:
        confinement = _confinement(file, "name it on the command line: --parsers {path}")
        options["parsers"] = [str(file.parent / name) for name in options["parsers"]]
        for folder in options["parsers"]:
            confinement.admit_files(folder, "*.toml", f"{_place(file, 'parsers')}: parsers")
    if "database" in options and "://" not in options["database"]:
        options["database"] = str(file.parent / Path(options["database"]).expanduser())
    return options


def _checked(file: Path) -> _ConfigFile:
    """What stands in a config file. Raises UsageError as :func:`read_config` does, with the line."""
    data = read_toml(file, UsageError)
    try:
        return convert(data, _ConfigFile, str(file), UsageError, noun="option")
    except UsageError as error:
        fault = _FAULT.match(str(error).removeprefix(f"{file}: "))
        if fault is None:
            raise
        unknown, known = fault.groups()
        line = _line_of(file, tuple((unknown or known).split(".")))
        place = f"{file}:{line}" if line else str(file)
        if unknown in _OF_COMMANDS:
            words = f"'{unknown}' is an option of commands, and has no place in a {file.name}: give it as --{unknown}"
            raise UsageError(f"{place}: {words}") from None
        raise UsageError(str(error).replace(str(file), place, 1)) from None


def place_of(file: Path, *keys: str) -> str:
    """Where a key stands in a config file, as messages name it: ``perflog.toml:3: set.devices``.

    Args:
        keys: a table and a key in it, or a key alone.
    """
    line = _line_of(file, keys)
    return f"{file}{f':{line}' if line else ''}: {'.'.join(keys)}"


def _line_of(file: Path, keys: Sequence[str]) -> int:
    """The number of the line on which a key is given; 0 where it cannot be told."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return 0
    table, *rest = keys if len(keys) > 1 else ("", *keys)
    inside, own = "", 0
    for number, line in enumerate(lines, 1):
        if heading := _HEADING.match(line):
            inside = heading[1]
            own = number if inside == ".".join(keys) else own
        elif (key := _KEY.match(line)) and (inside, key[1]) in ((table, rest[0]), ("", table), ("", ".".join(keys))):
            return number
    return own


def require_parsers(file: Path, folders: Sequence[str]) -> None:
    """Let the folders and files of parsers that a config file names pass where they are there.

    Raises:
        UsageError: for one that is not, with the file and the line.
    """
    for folder in map(Path, folders):
        if not folder.is_dir() and not (folder.is_file() and folder.suffix == ".toml"):
            expected = "expected a folder of parsers, or the file of one, which ends in .toml; there is none"
            raise UsageError(f"{_place(file, 'parsers')}: parsers: '{folder}': {expected}")


def admit_logs(file: Path, paths: Sequence[str | os.PathLike[str]], allowed: Sequence[Path] = ()) -> None:
    """Let logs pass that are read by parsers which a config file names.

    What the user named is read, wherever it lies, unless the name leads through the file's repository: whoever wrote
    the file may have made a link of it. A link below a log that leads elsewhere is not read either, since the file's
    parsers decide what of its target is shown.

    Args:
        allowed: where a recipe's logs may lie, with all links resolved.

    Raises:
        UsageError: for a log in the repository that leads out of it, and for such a link.
    """
    where = _place(file, "parsers")
    way_out = f"the parsers of {where} read no logs elsewhere; name the log itself, or the parsers with --parsers"
    (root,) = _confinement(file, "").roots
    addresses = tuple(str(path) for path in paths if is_address(path))
    for path in paths:
        is_own = not is_address(path) and not enters(root, path, "the log")
        roots = (root, *allowed, resolved(path, "the log")) if is_own else (root, *allowed)
        Confinement(roots, way_out, addresses).admit_logs([path])


def admit_logs_for(parsers: Sequence[str | os.PathLike[str]], paths: Sequence[str | os.PathLike[str]]) -> None:
    """Let logs pass that are read by parsers which the command line names.

    Who can write to a work tree of git writes its parsers and its links alike: logs named in it must lie in it too,
    with all that is found below them. Logs elsewhere are the user's own.

    Raises:
        UsageError: for a log, or a link below it, that leads out of the work tree of one of the parsers.
    """
    for folder in map(Path, parsers):
        root = repository_of(folder)
        if not os.path.lexists(root / GIT):
            continue
        way_out = f"parsers of this repository ({folder}) read no logs elsewhere; name the log itself, where it lies"
        own = [path for path in paths if not is_address(path) and enters(root, path, "the log")]
        Confinement((root,), way_out).admit_logs(own)


def refused_database(file: Path, database: str, in_working_folder: bool) -> str:
    """Why the database of a config file is not taken; empty where it is.

    Args:
        in_working_folder: whether the file is that of the working folder, and not only found beside logs.
    """
    where = f"{_place(file, 'database')}: database"
    hint = "name it with --database or in the environment, PERFLOG_DATABASE"
    if not in_working_folder:
        return f"{where} is not used, since whoever wrote the logs may have written the file beside them: {hint}"
    if "://" in database:
        return f"{where}: expected a file's name here, found a URL, to whose server a password may be sent: {hint}"
    try:
        _confinement(file, hint).admit(database, where)
    except UsageError as error:
        return str(error)
    return ""


def _confinement(file: Path, way_out: str) -> Confinement:
    """Where a config file's words may lead."""
    return Confinement((repository_of(file.parent),), way_out)


def _place(file: Path, option: str) -> str:
    """``perflog.toml:3``: a config file and the line on which an option stands in it."""
    return f"{file}:{_line_of(file, (option,)) or 1}"
