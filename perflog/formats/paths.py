"""What the names of files and folders say of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from perflog.errors import ParserError
from perflog.formats.schema import Text
from perflog.formats.toml import Scalar, decode, texts
from perflog.formats.vocabulary import Fact

Kind = Literal["file", "folder"]
#: How many parts of a path are looked at, from the file name upwards.
PATH_DEPTH = 6
_LOG_ENDING = re.compile(r"\.(?:log|txt|out|err|gz|zst)$")


class _PatternTable(Struct, frozen=True, forbid_unknown_fields=True):
    regex: Text
    where: Literal["any", "file", "folder"] = "any"
    sample: dict[str, dict[str, Scalar]] = {}


class _PathsFile(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[tuple[_PatternTable, ...], Meta(min_length=1, description="one [[pattern]] or more")]


@dataclass(frozen=True, slots=True, eq=False)
class PathPattern:
    """A regex (Python's) whose named groups are facts; a group ``batch_size_2`` is a second form of ``batch_size``."""

    regex: re.Pattern[str]
    where: str
    samples: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class PartFacts:
    """What one part of a path says: values by key, None where it gives two, and the rest that no pattern understood."""

    values: Mapping[str, str | None]
    label: str


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """What the names of a folder and of those above it say, nearest first, and the rest that nothing understood."""

    facts: tuple[Fact, ...]
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class PathPatterns:
    """The patterns in use, first come first served; what a name says is found out once."""

    patterns: tuple[PathPattern, ...]
    _known: dict[tuple[str, Kind], PartFacts] = field(default_factory=dict, repr=False)
    _folders: dict[str, FolderFacts] = field(default_factory=dict, repr=False)

    def __iter__(self) -> Iterator[PathPattern]:
        return iter(self.patterns)

    def __len__(self) -> int:
        return len(self.patterns)

    def facts_of_part(self, part: str, kind: Kind) -> PartFacts:
        """What a file's or a folder's name says."""
        facts = self._known.get((part, kind))
        if facts is None:  # two threads may both find it out: they find the same
            facts = self._known[part, kind] = _facts_of_part(part, kind, self.patterns)
        return facts

    def facts_of_folder(self, folder: str) -> FolderFacts:
        """What the last parts of a folder's path say."""
        facts = self._folders.get(folder)
        if facts is None:
            facts = self._folders[folder] = self._facts_of_folder(folder.split("/")[-(PATH_DEPTH - 1) :])
        return facts

    def _facts_of_folder(self, parts: Sequence[str]) -> FolderFacts:
        facts: dict[str, Fact | None] = {}
        labels = []
        for part in reversed(parts):
            said = self.facts_of_part(part, "folder")
            for key, value in said.values.items():
                facts.setdefault(key, None if value is None else Fact(key, value, "path", part))
            labels.append(said.label)
        known = tuple(fact for fact in facts.values() if fact is not None)
        return FolderFacts(known, "/".join(label for label in reversed(labels) if label))


def load_path_patterns(file: Path) -> tuple[PathPattern, ...]:
    """Read ``paths.toml``.

    Raises:
        ParserError: when the file or one of its patterns is not well formed, with the place and what is expected there.
    """
    table = decode(file, _PathsFile, ParserError)
    return tuple(_path_pattern(item, f"{file}: pattern {number}") for number, item in enumerate(table.pattern, 1))


def _path_pattern(table: _PatternTable, where: str) -> PathPattern:
    try:
        regex = re.compile(table.regex)
    except (re.error, OverflowError, RecursionError) as error:
        raise ParserError(
            f"{where}: regex = {table.regex!r}: expected a regular expression of Python: {error}"
        ) from None
    return PathPattern(regex, table.where, {name: texts(facts) for name, facts in table.sample.items()})


def check_path_patterns(patterns: Iterable[PathPattern]) -> list[str]:
    """The patterns whose samples do not give what they promise."""
    faults = []
    for pattern in patterns:
        if not pattern.samples:
            faults.append(f"path pattern {pattern.regex.pattern!r} has no sample")
        for name, expected in pattern.samples.items():
            match = pattern.regex.search(name)
            read = _groups(match) if match else {}
            if read != dict(expected):
                faults.append(
                    f"path pattern {pattern.regex.pattern!r}: {name!r} gives {read}, expected {dict(expected)}"
                )
    return faults


def _groups(match: re.Match[str]) -> dict[str, str]:
    return {group.removesuffix("_2"): value for group, value in match.groupdict().items() if value}


def facts_of_path(path: str, patterns: PathPatterns) -> tuple[list[Fact], str]:
    """What a path says, nearest part first, and its label: the rest that no pattern understood."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    own = patterns.facts_of_part(name, "file")
    above = patterns.facts_of_folder(folder)
    facts = [Fact(key, value, "path", name) for key, value in own.values.items() if value is not None]
    facts += [fact for fact in above.facts if fact.key not in own.values]
    return facts, f"{above.label}/{own.label}" if above.label and own.label else above.label or own.label


def _facts_of_part(part: str, kind: Kind, patterns: Iterable[PathPattern]) -> PartFacts:
    values: dict[str, str | None] = {}
    understood: set[int] = set()
    for pattern in patterns:
        if pattern.where not in ("any", kind):
            continue
        for match in pattern.regex.finditer(part):
            for key, value in _groups(match).items():
                if key in values and values[key] != value and key != "model":
                    values[key] = None  # one name, two values (gpu1_gpu8): the name does not tell
                else:
                    values.setdefault(key, value)
            understood.update(range(*match.span()))
    label = "".join(char for place, char in enumerate(part) if place not in understood)
    if kind == "file":
        label = _LOG_ENDING.sub("", label)
    return PartFacts(values, label.strip("-_. "))
