"""What the names of files and folders say of a run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from perflog.errors import ParserError
from perflog.formats.vocabulary import Fact


@dataclass(frozen=True, slots=True, eq=False)
class PathPattern:
    regex: re.Pattern[str]
    where: str
    samples: Mapping[str, Mapping[str, str]]


@lru_cache(maxsize=4)
def load_path_patterns(file: Path) -> tuple[PathPattern, ...]:
    """Read ``paths.toml``.

    Raises:
        ParserError: when the file or one of its patterns is not well formed.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        return tuple(PathPattern(re.compile(p["regex"]), p.get("where", "any"), p.get("sample", {})) for p in data["pattern"])
    except (OSError, KeyError, re.error, tomllib.TOMLDecodeError) as error:
        raise ParserError(f"{file}: {error}") from None


def check_path_patterns(patterns: Iterable[PathPattern]) -> list[str]:
    """The patterns whose samples do not give what they promise."""
    faults = []
    for pattern in patterns:
        if not pattern.samples:
            faults.append(f"path pattern {pattern.regex.pattern!r} has no sample")
        for name, expected in pattern.samples.items():
            found = pattern.regex.search(name)
            read = {_plain(k): v for k, v in found.groupdict().items() if v} if found else {}
            if read != dict(expected):
                faults.append(f"path pattern {pattern.regex.pattern!r}: {name!r} gives {read}, expected {dict(expected)}")
    return faults


def _plain(group: str) -> str:
    return group.removesuffix("_2")


#: How many parts of a path are looked at, from the file name upwards.
PATH_DEPTH = 6


def facts_of_path(path: str, patterns: tuple[PathPattern, ...]) -> tuple[list[Fact], str]:
    """What a path says, nearest part first, and its label: the rest that no pattern understood."""
    parts = path.replace("\\", "/").split("/")
    facts: list[Fact] = []
    labels: list[str] = []
    known: set[str] = set()
    for depth, part in enumerate(reversed(parts[-PATH_DEPTH:])):
        found, label = _facts_of_part(part, "file" if depth == 0 else "folder", patterns)
        for key, value in found.items():
            if key not in known and value is not None:
                facts.append(Fact(key, value, "path", part))
        known |= set(found)
        labels.append(label)
    return facts, "/".join(label for label in reversed(labels) if label)


@lru_cache(maxsize=65536)
def _facts_of_part(part: str, where: str, patterns: tuple[PathPattern, ...]) -> tuple[dict[str, str | None], str]:
    found: dict[str, str | None] = {}
    spans: list[tuple[int, int]] = []
    for pattern in patterns:
        if pattern.where not in ("any", where):
            continue
        for match in pattern.regex.finditer(part):
            groups = {_plain(k): v for k, v in match.groupdict().items() if v}
            for key, value in groups.items():
                if key in found and found[key] != value and key != "model":
                    found[key] = None  # one name, two values (gpu1_gpu8): the name does not tell
                else:
                    found.setdefault(key, value)
            spans.append(match.span())
    label = "".join(c for at, c in enumerate(part) if not any(a <= at < b for a, b in spans))
    if where == "file":
        label = re.sub(r"\.(?:log|txt|out|err|gz|zst)$", "", label)
    return found, label.strip("-_. ")
