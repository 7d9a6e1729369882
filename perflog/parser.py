"""A parser is data: one TOML file that says what a format's lines look like and what their numbers mean.

This module turns such a file into frozen objects and rejects what it cannot understand; it reads no log.
The schema is documented in ``docs/parsers.md``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perflog.errors import ParserError

#: Written ``{N}`` in a regex. Short classes keep Rust's one-pass matcher in use (docs/performance.md);
#: what is not a number after all becomes null when it is cast, and is counted as not understood.
MACROS: Mapping[str, str] = {
    "{I}": r"[0-9]+",
    "{N}": r"[-+0-9.][-+0-9.eE]*",
    "{NN}": r"[-+]?(?:[0-9.][-+0-9.eE]*|nan|inf|NaN|Inf)",
    "{ETA}": r"(?:[0-9]+ days?, )?[0-9:]+",
    "{TO}": r".*?",
}

ROLES = ("step", "position", "summary", "event", "metadata", "ignore")
QUANTITIES = ("step_time", "rate", "elapsed", "interval_time", "samples", "timestamp", "time_to_train", "accuracy", "metric")
SPANS = ("last", "interval", "window", "cumulative", "run")
SCOPES = ("rank", "device", "node", "job")
SINCE = ("run", "epoch")
#: Groups whose last value is a metric of the run.
LAST_GROUPS = ("loss", "memory")
EVENTS = ("run_start", "run_stop", "run_failed")

#: Named groups with a fixed meaning; every other group must be named by a value or be metadata.
RESERVED_GROUPS = frozenset(
    {"epoch", "step", "first_step", "epoch_steps", "run_steps", "covers", "rank", "loss", "memory", "timestamp", "unit",
     "global_batch_size", "value", "devices", "nodes", "batch_size"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """What one named group of a line means."""

    group: str
    quantity: str
    unit: str = ""
    span: str = "interval"
    since: str = "run"
    window: int = 0
    offset: int = 0
    scope: str = "job"
    metric: str = ""
    pick: str = "last"


@dataclass(frozen=True, slots=True)
class Sample:
    """A line and the values its pattern must read from it."""

    line: str
    expect: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Jump:
    """A regex with one ``{TO}``: ``head``, then whatever the line says up to ``literal``, then ``tail``.

    What lies between is not looked at, only the first ``literal`` is found, which costs a tenth of matching it.
    """

    head: str
    literal: str
    tail: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of line: a literal that gates a regex, and the meaning of the regex's groups.

    ``also`` is a second regex for groups that are wanted of a text's last lines only (the final loss, the peak of
    memory, which is printed in ``memory_unit``).
    """

    parser: str
    name: str
    role: str
    literal: str
    regex: str
    groups: tuple[str, ...]
    step_base: int = 1
    step_per: str = "run"
    step_repeats: bool = False
    position: str = ""
    position_once: bool = False
    event: str = ""
    starts_run: bool = False
    set: Mapping[str, str] = field(default_factory=dict)
    map: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    values: tuple[Value, ...] = ()
    samples: tuple[Sample, ...] = ()
    rejects: tuple[str, ...] = ()
    tail: str | None = None
    jump: Jump | None = None
    also: str = ""
    also_groups: tuple[str, ...] = ()
    memory_unit: str = "MiB"

    @property
    def key(self) -> str:
        return f"{self.parser}.{self.name}"


@dataclass(frozen=True, slots=True)
class Parser:
    """A format: its patterns and where its facts come from."""

    name: str
    title: str
    source: str
    framework: str
    priority: int
    file: Path
    patterns: tuple[Pattern, ...]
    traps: tuple[str, ...] = ()
    default: Mapping[str, str] = field(default_factory=dict)

    def pattern(self, name: str) -> Pattern:
        return next(p for p in self.patterns if p.name == name)


def expand(regex: str) -> str:
    """Replace the macros ``{I}``, ``{N}``, ``{NN}``, ``{ETA}`` and ``{TO}`` by what they stand for."""
    for macro, text in MACROS.items():
        regex = regex.replace(macro, text)
    return regex


def tail_after(literal: str, regex: str) -> str | None:
    """The rest of ``regex`` when it begins with ``literal`` to the letter, else None.

    Such a pattern is found by splitting text at the literal and matching the rest at the start of each
    piece, which reads every byte once and finds several events that were glued to one line.
    """
    at = 0
    for char in literal:
        if regex[at : at + 1] == "\\" and regex[at + 1 : at + 2] == char and not char.isalnum():
            at += 2
        elif regex[at : at + 1] == char and char not in r"\.[](){}*+?|^$":
            at += 1
        else:
            return None
    rest = regex[at:]
    if rest[:1] in ("*", "+", "?") or re.match(r"\{[0-9]", rest):
        return None  # the quantifier would belong to the literal's last character
    return None if _has_top_level_bar(rest) else rest


_PLAIN_TEXT = re.compile(r"(?:[^\\.\[\](){}*+?|^$]|\\[^A-Za-z0-9])+")


def jump_in(tail: str, where: str) -> Jump | None:
    """The parts of a regex (macros not yet replaced) around its one ``{TO}``; None when it has none.

    Raises:
        ParserError: when no plain text follows, or the text also stands before.
    """
    if "{TO}" not in tail:
        return None
    head, rest = tail.split("{TO}", 1)
    found = _PLAIN_TEXT.match(rest)
    text = found[0] if found else ""
    if found and re.match(r"[*+?]|\{[0-9]", rest[found.end() :]):
        text = text[:-1].removesuffix("\\")
    literal = re.sub(r"\\(.)", r"\1", text)
    if len(literal) < 3 or "{TO}" in rest:
        raise ParserError(f"{where}: {{TO}} may stand once, before three or more characters of plain text")
    if text in head or literal in head:
        raise ParserError(f"{where}: the text after {{TO}}, {literal!r}, also stands before it; choose more of it")
    return Jump(expand(head), literal, expand(rest[len(text) :]))


def _has_top_level_bar(regex: str) -> bool:
    depth, in_class, at = 0, False, 0
    while at < len(regex):
        char = regex[at]
        if char == "\\":
            at += 2
            continue
        if in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            at += 2 if regex[at + 1 : at + 2] == "^" else 1
            continue
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "|" and depth == 0:
            return True
        at += 1
    return False


_GROUP = re.compile(r"\(\?P<(\w+)>")


def load_parser(file: Path) -> Parser:
    """Read one parser file.

    Raises:
        ParserError: with the file, the pattern and the key at fault, and what would be right.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ParserError(f"{file}: not a readable TOML file: {error}") from None
    return parser_from(data, file)


def parser_from(data: Mapping[str, Any], file: Path) -> Parser:
    """Build a parser from TOML data (see :func:`load_parser`)."""
    known = {"title", "source", "framework", "priority", "pattern", "traps", "default"}
    _no_others(data, known, str(file))
    for key in ("title", "source", "pattern"):
        if key not in data:
            raise ParserError(f"{file}: '{key}' is missing")
    name = file.stem
    patterns = tuple(_pattern(name, item, f"{file}: pattern {item.get('name', n)!r}") for n, item in enumerate(data["pattern"]))
    names = [p.name for p in patterns]
    for pattern in patterns:
        if names.count(pattern.name) > 1:
            raise ParserError(f"{file}: two patterns are named '{pattern.name}'; names must differ")
        if pattern.position and pattern.position not in names:
            raise ParserError(f"{file}: pattern '{pattern.name}' takes its position from '{pattern.position}', which is not a pattern of this file")
    patterns = tuple(_placed(p, patterns) for p in patterns)
    return Parser(
        name=name,
        title=data["title"],
        source=data["source"],
        framework=data.get("framework", ""),
        priority=int(data.get("priority", 50)),
        file=file,
        patterns=patterns,
        traps=tuple(data.get("traps", ())),
        default={k: str(v) for k, v in data.get("default", {}).items()},
    )


def _placed(pattern: Pattern, patterns: tuple[Pattern, ...]) -> Pattern:
    """A pattern that takes its steps from another's lines counts them as that one does."""
    if not pattern.position:
        return pattern
    source = next(p for p in patterns if p.name == pattern.position)
    return replace(pattern, step_base=source.step_base, step_per=source.step_per)


def _pattern(parser: str, data: Mapping[str, Any], where: str) -> Pattern:
    known = {"name", "role", "literal", "regex", "step_base", "step_per", "step_repeats", "position", "position_once", "event",
             "starts_run", "set", "map", "value", "also", "memory_unit", "sample", "rejects"}  # fmt: skip
    _no_others(data, known, where)
    for key in ("name", "role", "literal", "regex"):
        if not data.get(key):
            raise ParserError(f"{where}: '{key}' is missing")
    _one_of(data["role"], ROLES, "role", where)
    _one_of(data.get("step_per", "run"), SINCE, "step_per", where)
    regex = expand(data["regex"])
    also = expand(data.get("also", ""))
    groups = tuple(_GROUP.findall(regex))
    also_groups = tuple(_GROUP.findall(also))
    if also and (data["role"] != "step" or set(also_groups) - set(LAST_GROUPS) or not also_groups):
        raise ParserError(f"{where}: 'also' reads {' and '.join(LAST_GROUPS)} of a pattern with role step, nothing else")
    values = tuple(_value(item, groups, where) for item in data.get("value", ()))
    named = {v.group for v in values} | RESERVED_GROUPS
    if data["role"] in ("step", "position", "summary"):
        for group in groups:
            if group not in named:
                raise ParserError(f"{where}: nothing says what group '{group}' means; add a [[pattern.value]] for it, or write (?:…)")
    if data["role"] == "event":
        _one_of(data.get("event", ""), EVENTS, "event", where)
    tail = tail_after(data["literal"], data["regex"])
    return Pattern(
        parser=parser,
        name=data["name"],
        role=data["role"],
        literal=data["literal"],
        regex=regex,
        groups=groups,
        step_base=int(data.get("step_base", 1)),
        step_per=data.get("step_per", "run"),
        step_repeats=bool(data.get("step_repeats", False)),
        position=data.get("position", ""),
        position_once=bool(data.get("position_once", False)),
        event=data.get("event", ""),
        starts_run=bool(data.get("starts_run", False)),
        set={k: str(v) for k, v in data.get("set", {}).items()},
        map=data.get("map", {}),
        values=values,
        samples=tuple(Sample(s["line"], s.get("expect", {})) for s in data.get("sample", ())),
        rejects=tuple(data.get("rejects", ())),
        tail=None if tail is None else expand(tail),
        jump=None if tail is None else jump_in(tail, where),
        also=also,
        also_groups=also_groups,
        memory_unit=data.get("memory_unit", "MiB"),
    )


def _value(data: Mapping[str, Any], groups: tuple[str, ...], where: str) -> Value:
    _no_others(data, {"group", "quantity", "unit", "span", "since", "window", "offset", "scope", "metric", "pick"}, where)
    value = Value(**data)
    if value.group not in groups:
        raise ParserError(f"{where}: value '{value.group}' is not a named group of the regex (groups: {', '.join(groups)})")
    _one_of(value.quantity, QUANTITIES, "quantity", where)
    _one_of(value.span, SPANS, "span", where)
    _one_of(value.since, SINCE, "since", where)
    _one_of(value.scope, SCOPES, "scope", where)
    _one_of(value.pick, ("last", "first", "max", "min"), "pick", where)
    if value.quantity == "metric" and not value.metric:
        raise ParserError(f"{where}: value '{value.group}' has quantity 'metric' and needs metric = \"<its name>\"")
    return value


def _no_others(data: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in data:
        if key not in known:
            raise ParserError(f"{where}: unknown key '{key}' (known: {', '.join(sorted(known))})")


def _one_of(value: str, allowed: tuple[str, ...], key: str, where: str) -> None:
    if value not in allowed:
        raise ParserError(f"{where}: {key} = {value!r} is not one of {', '.join(allowed)}")
