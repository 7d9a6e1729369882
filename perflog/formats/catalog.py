"""All parsers at hand: perflog's own, the user's folders, and Python entry points.

A parser's samples are checked the first time that one of its lines is found, once per catalogue.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from perflog import resources
from perflog.errors import ParserError, UsageError
from perflog.formats.load import load_parser
from perflog.formats.meaning import check_meaning
from perflog.formats.parser import Parser, Pattern
from perflog.formats.paths import PathPattern, PathPatterns, load_path_patterns
from perflog.formats.samples import check_parser

#: The file in a parsers' folder that is no parser.
_PATHS = "paths.toml"
ENTRY_POINT_GROUP = "perflog.parsers"


@dataclass(frozen=True)
class Catalog:
    """The parsers in use, sorted by priority (specific first).

    ``derived`` holds what later stages make of a catalogue once for all logs, such as a matching engine.
    """

    parsers: tuple[Parser, ...]
    path_patterns: PathPatterns
    derived: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    _sound: set[str] = field(default_factory=set, compare=False, repr=False)

    def __getitem__(self, name: str) -> Parser:
        for parser in self.parsers:
            if parser.name == name:
                return parser
        import difflib

        names = [p.name for p in self.parsers]
        near = difflib.get_close_matches(name, names, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`perflog parsers list` shows them"
        raise UsageError(f"--parser {name!r}: there is no such parser; {hint}")

    def only(self, names: Sequence[str]) -> Catalog:
        """A catalog of the named parsers alone."""
        return Catalog(tuple(self[name] for name in names), self.path_patterns)

    @cached_property
    def by_literal(self) -> dict[str, list[Pattern]]:
        """Patterns by the literal that gates them."""
        table: dict[str, list[Pattern]] = {}
        for parser in self.parsers:
            for pattern in parser.patterns:
                table.setdefault(pattern.literal, []).append(pattern)
        return table

    @cached_property
    def literals(self) -> list[str]:
        return list(self.by_literal)

    @cached_property
    def by_name(self) -> dict[str, Parser]:
        return {parser.name: parser for parser in self.parsers}

    def checked(self, name: str) -> Parser:
        """The parser, its samples checked once (by each of two threads that ask at the same moment).

        perflog's own parsers are checked by its tests (and by ``perflog parsers check``), not again at every use.

        Raises:
            ParserError: when a sample does not give what it promises.
        """
        parser = self.by_name[name]
        if name not in self._sound and not parser.own:
            faults = check_parser(parser)
            if faults:
                raise ParserError(faults[0])
            self._sound.add(name)
        return parser


def user_folder() -> Path:
    """Where a user keeps own parsers for all projects."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "perflog" / "parsers"


def load_catalog(folders: Iterable[str | os.PathLike[str]] = ()) -> Catalog:
    """Load perflog's parsers and those in ``folders``; a later one replaces an earlier of the same name.

    Raises:
        ParserError: for a file that is not well formed.
        UsageError: for a folder that does not exist.
    """
    folders = list(folders)
    parsers: dict[str, Parser] = {
        parser.name: replace(parser, own=True) for parser in _load_folder(resources.folder("parsers"))
    }
    for point in entry_points(group=ENTRY_POINT_GROUP):
        parser = _made_by(point)
        parsers[parser.name] = parser
    for folder in _extra(folders):
        parsers |= {parser.name: parser for parser in _load_folder(folder)}
    ordered = sorted(parsers.values(), key=lambda p: (-p.priority, p.name))
    return Catalog(tuple(ordered), path_patterns(folders))


def path_patterns(folders: Iterable[str | os.PathLike[str]] = ()) -> PathPatterns:
    """What paths say, without the parsers; raises what :func:`load_catalog` does."""
    patterns: tuple[PathPattern, ...] = load_path_patterns(resources.folder("parsers") / _PATHS)
    for folder in _extra(folders):
        if (folder / _PATHS).is_file():
            patterns = load_path_patterns(folder / _PATHS) + patterns
    return PathPatterns(patterns)


def _extra(folders: Iterable[str | os.PathLike[str]]) -> list[Path]:
    user = user_folder()
    extra = ([user] if user.is_dir() else []) + [Path(f) for f in folders]
    for folder in extra:
        if not folder.is_dir():
            raise UsageError(f"--parsers {str(folder)!r}: no such folder")
    return extra


def _load_folder(folder: Path) -> list[Parser]:
    return [load_parser(file) for file in sorted(folder.glob("*.toml")) if file.name != _PATHS]


def _made_by(point: EntryPoint) -> Parser:
    """The parser that an entry point's function returns.

    Raises:
        ParserError: when it cannot be imported, is no function or returns no parser.
    """
    where = f"entry point {point.name!r} of {ENTRY_POINT_GROUP}"
    try:
        make = point.load()
    except (ImportError, AttributeError) as error:
        raise ParserError(f"{where}: {point.value!r} cannot be imported: {error}") from error
    parser = make() if callable(make) else None
    if not isinstance(parser, Parser):
        raise ParserError(f"{where}: expected a function that returns a Parser, found {point.value!r}")
    check_meaning(parser)
    return parser
