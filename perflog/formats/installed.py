"""Parsers that other installed distributions bring: entry points of the group ``perflog.parsers``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perflog.errors import ParserError
from perflog.formats.parser import Parser

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "perflog.parsers"


def installed_parsers() -> Iterator[Parser]:
    """The parsers that entry points' functions return.

    Raises:
        ParserError: when one cannot be imported, is no function or returns no parser, or a parser makes no sense.
    """
    if not _may_be_any():
        return
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        yield _made_by(point)


def _may_be_any() -> bool:
    """Whether importlib has to be asked, which takes longer to import than all files of entry points to read."""
    from importlib.machinery import PathFinder

    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return True
    return any(_may_hold_any(place or os.curdir) for place in dict.fromkeys(sys.path))


def _may_hold_any(place: str) -> bool:
    """Whether a place on Python's path names the group: a folder is looked at, archives and eggs are not."""
    if place.endswith(".egg") or os.path.isfile(place):  # noqa: PTH113 - quickly
        return True
    try:
        names = [name for name in os.listdir(place) if name.lower().endswith((".dist-info", ".egg-info"))]  # noqa: PTH208
    except OSError:
        return False
    return any(_names_group(os.path.join(place, name, "entry_points.txt")) for name in names)  # noqa: PTH118


def _names_group(file: str) -> bool:
    try:
        with open(file, "rb", buffering=0) as opened:  # noqa: PTH123
            return GROUP.encode() in opened.read()
    except OSError:
        return False


def _made_by(point: EntryPoint) -> Parser:
    """The parser that an entry point's function returns.

    Raises:
        ParserError: when it cannot be imported, is no function or returns no parser.
    """
    from perflog.formats.meaning import check_meaning

    where = f"entry point {point.name!r} of {GROUP}"
    try:
        make = point.load()
    except (ImportError, AttributeError) as error:
        raise ParserError(f"{where}: {point.value!r} cannot be imported: {error}") from error
    parser = make() if callable(make) else None
    if not isinstance(parser, Parser):
        raise ParserError(f"{where}: expected a function that returns a Parser, found {point.value!r}")
    check_meaning(parser)
    return parser
