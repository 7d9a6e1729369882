"""All parsers at hand: perflog's own, the user's folders, and Python entry points.

Loading is lazy and cached: a parser's samples are checked the first time one of its lines is found.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path

from perflog import resources
from perflog.errors import ParserError, UsageError
from perflog.formats.load import load_parser
from perflog.formats.parser import Parser, Pattern
from perflog.formats.paths import PathPattern, load_path_patterns
from perflog.formats.samples import check_parser

#: Files in a parsers folder that are no parsers.
_OTHER_FILES = frozenset({"paths.toml"})
ENTRY_POINT_GROUP = "perflog.parsers"


@dataclass(frozen=True)
class Catalog:
    """The parsers in use, sorted by priority (specific first)."""

    parsers: tuple[Parser, ...]
    path_patterns: tuple[PathPattern, ...]

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
        """The parser, its samples checked once.

        Raises:
            ParserError: when a sample does not give what it promises.
        """
        parser = self.by_name[name]
        if name not in _CHECKED:
            faults = check_parser(parser)
            if faults:
                raise ParserError(faults[0])
            _CHECKED.add(name)
        return parser


_CHECKED: set[str] = set()


def user_folder() -> Path:
    """Where a user keeps own parsers for all projects."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "perflog" / "parsers"


def load_catalog(folders: Iterable[str | os.PathLike[str]] = ()) -> Catalog:
    """Load perflog's parsers and those in ``folders``; a later one replaces an earlier of the same name.

    Raises:
        ParserError: for a file that is not well formed.
        UsageError: for a folder that does not exist.
    """
    own = resources.folder("parsers")
    found: dict[str, Parser] = {parser.name: parser for parser in _load_folder(own)}
    for make in _entry_points():
        parser = make()
        found[parser.name] = parser
    for folder in _extra(folders):
        found |= {parser.name: parser for parser in _load_folder(folder)}
    ordered = sorted(found.values(), key=lambda p: (-p.priority, p.name))
    return Catalog(tuple(ordered), path_patterns(folders))


def path_patterns(folders: Iterable[str | os.PathLike[str]] = ()) -> tuple[PathPattern, ...]:
    """What paths say, without the parsers; raises what :func:`load_catalog` does."""
    paths = load_path_patterns(resources.folder("parsers") / "paths.toml")
    for folder in _extra(folders):
        if (folder / "paths.toml").is_file():
            paths = load_path_patterns(folder / "paths.toml") + paths
    return paths


def _extra(folders: Iterable[str | os.PathLike[str]]) -> list[Path]:
    user = user_folder()
    extra = ([user] if user.is_dir() else []) + [Path(f) for f in folders]
    for folder in extra:
        if not folder.is_dir():
            raise UsageError(f"--parsers {str(folder)!r}: no such folder")
    return extra


def _load_folder(folder: Path) -> list[Parser]:
    return [load_parser(file) for file in sorted(folder.glob("*.toml")) if file.name not in _OTHER_FILES]


def _entry_points() -> list[Callable[[], Parser]]:
    makers: list[Callable[[], Parser]] = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        made = point.load()
        if not callable(made):
            raise ParserError(f"entry point {point.name!r} of {ENTRY_POINT_GROUP}: expected a function that returns a Parser")
        makers.append(made)
    return makers
