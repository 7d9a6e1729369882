"""A parser's TOML file as frozen objects; what cannot be understood is rejected. The schema is in ``docs/parsers.md``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from perflog.errors import ParserError
from perflog.formats.parser import EVENTS, LAST_GROUPS, QUANTITIES, RESERVED_GROUPS, ROLES, SCOPES, SINCE, SPANS, Parser, Pattern, Sample, Value
from perflog.formats.regexes import expand, jump_in, tail_after

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
