"""What a run was: facts about its configuration, where each comes from, and which one counts.

Precedence: command line, then config file, then the log's content, then the path, then the machine's facts
beside the logs, then what the parser declares for its format. When two sources disagree the first one counts and a note says so.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from perflog.errors import ParserError

#: The keys that tell configurations apart, in the order of tables; any other key is a label and does so too.
CASE_KEYS = ("framework", "framework_version", "model", "precision", "batch_size", "nodes", "devices", "accelerator")
INTEGERS = frozenset({"batch_size", "global_batch_size", "devices", "devices_per_node", "nodes", "threads", "repeat"})
SOURCES = ("command line", "config", "log", "path", "machine", "parser")
_PRECISION = {"float32": "fp32", "single": "fp32", "fp32": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "mixed": "amp"}

Scalar = str | int


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement about a run: a key, a value, who says so and where (a line number or an option)."""

    key: str
    value: Scalar
    source: str
    where: str = ""


@dataclass(slots=True)
class Metadata:
    """The facts that count, and the disagreements."""

    values: dict[str, Scalar] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def integer(self, key: str) -> int | None:
        value = self.values.get(key)
        return value if isinstance(value, int) else None


def normal(key: str, value: Any) -> Scalar | None:
    """A value in the form that is compared and shown; None when it is none."""
    text = str(value).strip().strip("'\"")
    if not text or text.lower() in ("none", "null", "nan"):
        return None
    if key in INTEGERS:
        digits = text.replace(",", "")
        return int(digits) if digits.isdigit() and int(digits) > 0 else (0 if key == "repeat" and digits == "0" else None)
    if key == "precision":
        return _PRECISION.get(text.lower(), text.lower())
    return text


def merge(facts: Iterable[Fact]) -> Metadata:
    """Let the facts with the highest precedence count, derive what follows from them, note disagreements."""
    result = Metadata()
    ranked = sorted(facts, key=lambda fact: SOURCES.index(fact.source))
    for fact in ranked:
        value = normal(fact.key, fact.value)
        if value is None:
            continue
        if fact.key not in result.values:
            result.values[fact.key] = value
            result.sources[fact.key] = fact.source
        elif not _agree(result.values[fact.key], value):
            _disagree(result, fact, value)
    _derive(result)
    return result


def _agree(one: Scalar, other: Scalar) -> bool:
    return one == other or str(one).lower() == str(other).lower()


def _disagree(result: Metadata, fact: Fact, value: Scalar) -> None:
    source = result.sources[fact.key]
    if fact.source == "parser" or (fact.key == "repeat"):
        return
    if fact.source == source == "log":
        result.doubts.append(f"the log gives two values for {fact.key}: {result.values[fact.key]} and {value} ({fact.where})")
        return
    if fact.source == source:
        return  # the nearest part of a path counts; its folders may say more general things
    if {fact.source, source} == {"log", "path"} and fact.key in ("accelerator", "model", "framework_version"):
        return  # short names in paths, long ones in logs: no contradiction that could be told
    result.doubts.append(f"{fact.key} is {result.values[fact.key]} by the {source}, {value} by the {fact.source}")


def _derive(result: Metadata) -> None:
    values, sources = result.values, result.sources

    def set_(key: str, value: int, source: str) -> None:
        if key not in values:
            values[key] = value
            sources[key] = source
        elif values[key] != value and SOURCES.index(sources[key]) > SOURCES.index(source):
            result.doubts.append(f"{key} is {value} by the {source}, {values[key]} by the {sources[key]}")
            values[key], sources[key] = value, source

    devices, nodes, per_node = (result.integer(k) for k in ("devices", "nodes", "devices_per_node"))
    if nodes and per_node:
        weaker = max(sources["nodes"], sources["devices_per_node"], key=SOURCES.index)
        if devices and devices != nodes * per_node and SOURCES.index(sources["devices"]) <= SOURCES.index(weaker):
            result.doubts.append(f"devices is {devices} by the {sources['devices']}, {nodes} × {per_node} by the {weaker}")
        set_("devices", nodes * per_node, weaker)
    elif devices and per_node and devices % per_node == 0:
        set_("nodes", devices // per_node, sources["devices"])
    elif devices == 1 and not nodes:
        set_("nodes", 1, sources["devices"])
    devices = result.integer("devices")
    batch, total = result.integer("batch_size"), result.integer("global_batch_size")
    if devices and total and not batch and total % devices == 0:
        set_("batch_size", total // devices, sources["global_batch_size"])
    elif devices and batch and total and batch * devices != total and sources["batch_size"] != "log":
        result.doubts.append(f"batch size {batch} × {devices} devices is not the log's global batch size {total}")
    values.pop("devices_per_node", None)


# ---------------------------------------------------------------- paths


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
