"""Writes a new parser's file from a log of its format."""

from __future__ import annotations

import os
from pathlib import Path

from perflog.errors import UsageError
from perflog.files import write_atomically
from perflog.formats.catalog import load_catalog
from perflog.inference.infer import infer, shape_of
from perflog.inference.write import parser_text
from perflog.logs.find import find_logs
from perflog.settings.options import Options


def write_parser(name: str, log: str | os.PathLike[str], folder: str | os.PathLike[str]) -> tuple[Path, bool]:
    """Write ``NAME.toml`` into a folder: (the file, whether witnesses in the log agree with what it says).

    Raises:
        UsageError: when the log is none, holds no lines of one shape with a step and a number that may be a speed,
            or the file is there already.
        ParserError: when perflog's own parsers cannot be read.
    """
    file = Path(folder) / f"{name}.toml"
    if not name.replace("-", "_").isidentifier():
        raise UsageError(f"{name!r}: a parser is named with letters, digits, _ and -, such as my_trainer")
    if file.exists():
        raise UsageError(f"{file}: is there already; choose another name or folder")
    if not Path(folder).is_dir():
        raise UsageError(f"{folder}: there is no such folder; make it first")
    logs = find_logs([log])
    if len(logs) != 1:
        raise UsageError(f"{log}: expected one log, found {len(logs)}")
    found = infer(logs[0], load_catalog(), Options())
    tables = found.tables if found is not None else shape_of(logs[0])
    if tables is None:
        raise UsageError(
            f"{log}: no 20 lines of one shape hold a step that rises and a number with a unit of time or rate; "
            "docs/parsers.md says how to write a parser by hand"
        )
    write_atomically(file, parser_text({**tables, "title": f"{name}: inferred from {Path(log).name}"}))
    return file, found is not None
