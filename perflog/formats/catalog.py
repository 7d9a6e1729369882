"""All parsers at hand: perflog's own, the user's folders, and Python entry points.

A parser's samples are checked (:mod:`perflog.matching.checks`) when the first of its lines is found.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perflog import resources
from perflog.border import keep_inside
from perflog.errors import ParserError, UsageError
from perflog.formats import PATHS
from perflog.formats.parser import Parser, Pattern
from perflog.formats.paths import PathPatterns, load_path_patterns
from perflog.formats.prebuilt import OwnFormats, own_formats, text_of
from perflog.spelling import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


# ----------------------------------------------------------------------------------------------------
# Parsers that other installed distributions bring: entry points of the group ``perflog.parsers``.

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
    from perflog.formats.load import check_meaning

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


#: Parsers up to this priority are generic: they count only in logs where no more specific one found a measurement.
GENERIC = 20


@dataclass(frozen=True)
class Catalog:
    """The parsers in use, sorted by priority (specific first).

    ``derived`` holds what later stages make of a catalogue once for all logs, such as a matching engine.
    """

    parsers: tuple[Parser, ...]
    path_patterns: PathPatterns
    derived: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __getitem__(self, name: str) -> Parser:
        return self.named(name, "parser")

    def named(self, name: str, place: str) -> Parser:
        """The parser of that name.

        Args:
            place: where the name was given, as messages say it.

        Raises:
            UsageError: where there is none, with the nearest one.
        """
        for parser in self.parsers:
            if parser.name == name:
                return parser
        hint = did_you_mean(name, [p.name for p in self.parsers], otherwise="`perflog parsers list` shows them")
        raise UsageError(f"{place} {name!r}: there is no such parser{hint}")

    def only(self, names: Sequence[str], place: str = "parser") -> Catalog:
        """A catalog of the named parsers alone; ``place`` and errors as of :meth:`named`."""
        return Catalog(tuple(self.named(name, place) for name in names), self.path_patterns)

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

    @cached_property
    def generic(self) -> frozenset[str]:
        """The parsers that count only where no other one measured anything."""
        return frozenset(parser.name for parser in self.parsers if parser.priority <= GENERIC)

    @cached_property
    def launchers(self) -> frozenset[str]:
        """The parsers that tell how a program was started, and of no line of its training."""
        training = ("step", "position", "summary")
        return frozenset(
            parser.name for parser in self.parsers if not any(pattern.role in training for pattern in parser.patterns)
        )


def fingerprint(catalog: Catalog) -> str:
    """What tells the parsers and path patterns in force from others, wherever their files lie."""
    from hashlib import blake2b

    from msgspec import msgpack

    content = msgpack.encode((catalog.parsers, tuple(catalog.path_patterns)), enc_hook=text_of)
    return blake2b(content, digest_size=16).hexdigest()


def user_folder() -> Path:
    """Where a user keeps own parsers for all projects."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "perflog" / "parsers"


def load_catalog(folders: Iterable[str | os.PathLike[str]] = ()) -> Catalog:
    """Load perflog's parsers and those in ``folders``; a later one replaces an earlier of the same name.

    perflog's own come from a file that keeps them (:mod:`perflog.formats.prebuilt`), all others are read and checked.

    Raises:
        ParserError: for a file that is not well formed.
        UsageError: for a folder that does not exist.
    """
    own = own_formats(resources.folder("parsers"))
    parsers: dict[str, Parser] = {parser.name: parser for parser in own.parsers}
    parsers |= {parser.name: parser for parser in installed_parsers()}
    extra = _extra(folders)
    for folder in extra:
        parsers |= {parser.name: parser for parser in _load_folder(folder)}
    ordered = sorted(parsers.values(), key=lambda p: (-p.priority, p.name))
    return Catalog(tuple(ordered), _path_patterns(own, extra))


def path_patterns(folders: Iterable[str | os.PathLike[str]] = ()) -> PathPatterns:
    """What paths say, without the parsers; raises what :func:`load_catalog` does."""
    return _path_patterns(own_formats(resources.folder("parsers")), _extra(folders))


def _path_patterns(own: OwnFormats, extra: Iterable[Path]) -> PathPatterns:
    patterns = own.paths
    for folder in extra:
        if (folder / PATHS).is_file():
            patterns = load_path_patterns(folder / PATHS) + patterns
    return PathPatterns(patterns)


def _load_folder(folder: Path) -> list[Parser]:
    from perflog.formats.load import load_folder

    return load_folder(folder)


def _is_folder(path: Path) -> bool:
    """Whether there is a folder; not where that cannot be told, since the user may not look."""
    with suppress(OSError):
        return path.is_dir()
    return False


def _extra(folders: Iterable[str | os.PathLike[str]]) -> list[Path]:
    user = user_folder()
    extra = ([user] if _is_folder(user) else []) + [Path(f) for f in folders]
    for folder in extra:
        keep_inside(folder, "--parsers")
        if not folder.is_dir() and not (folder.is_file() and folder.suffix == ".toml"):
            raise UsageError(f"--parsers {str(folder)!r}: no such folder, and no parser's file, which ends in .toml")
    return extra
