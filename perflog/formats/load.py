"""A parser's TOML file as a frozen record; what cannot be understood is refused (``docs/parsers.md``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from perflog.errors import ParserError
from perflog.formats import NO_PARSERS
from perflog.formats.dialect import expand, jump_in, tail_after
from perflog.formats.language import Key, ParserKeys, PatternKeys, Sample, ValueKeys, keys_of
from perflog.formats.meaning import Faults, misfits
from perflog.formats.parser import CLOCKS, Parser, Pattern, Value
from perflog.formats.printed import is_time, rate_unit, seconds_in
from perflog.formats.toml import convert, read_toml, texts

_GROUP = re.compile(r"\(\?P<(\w+)>")
_PARSER_NAME = re.compile(r"[A-Za-z0-9_-]+")
_OF_PATTERN, _OF_VALUE, _OF_SAMPLE = keys_of(PatternKeys), keys_of(ValueKeys), keys_of(Sample)


def load_parser(file: Path) -> Parser:
    """Read one parser file.

    Raises:
        ParserError: with the file, the pattern and the key at fault, and what would be right.
    """
    return parser_from(read_toml(file, ParserError), file)


def load_folder(folder: Path) -> list[Parser]:
    """The parsers in a folder, by name, or the one in a file; raises what :func:`load_parser` does."""
    if folder.is_file():
        return [load_parser(folder)]
    return [load_parser(file) for file in sorted(folder.glob("*.toml")) if file.name not in NO_PARSERS]


def parser_from(data: Mapping[str, Any], file: Path) -> Parser:
    """Build a parser from TOML data (see :func:`load_parser`); its name is the file's, without ``.toml``."""
    name = file.stem
    if not _PARSER_NAME.fullmatch(name):
        raise ParserError(f"{file}: a parser's file is named with letters, digits, _ and -, such as my_format.toml")
    table = convert(data, ParserKeys, str(file), ParserError)
    for pattern, given in zip(table.patterns, data["pattern"], strict=True):
        for fault in _unread(pattern, given):
            raise ParserError(f"{file}: pattern {pattern.name!r}: {fault}")
    patterns = tuple(_pattern(name, pattern, table, file) for pattern in table.patterns)
    parser = Parser(
        **asdict(table) | {"name": name, "file": file, "patterns": patterns, "default": texts(table.default)}
    )
    check_meaning(parser)
    return replace(parser, patterns=tuple(_with_parts(pattern, patterns) for pattern in patterns))


def check_meaning(parser: Parser) -> None:
    """Check a parser by the checks of its keys.

    Raises:
        ParserError: with the file, the pattern and the key that makes no sense, and what would.
    """
    names = [pattern.name for pattern in parser.patterns]
    for pattern in parser.patterns:
        if names.count(pattern.name) > 1:
            raise ParserError(f"{parser.file}: two patterns are named '{pattern.name}'; names must differ")
        for fault in _senseless(parser, pattern):
            raise ParserError(f"{parser.file}: pattern {pattern.name!r}: {fault}")
    for fault in misfits("default", parser.default.items()):
        raise ParserError(f"{parser.file}: {fault}")


def _senseless(parser: Parser, pattern: Pattern) -> Faults:
    for value in pattern.values:
        for key in _OF_VALUE.values():
            for fault in key.check(pattern, value) if key.check is not None else ():
                yield f"value {value.group!r}: {fault}"
    for key in _OF_PATTERN.values():
        if key.check is not None:
            yield from key.check(parser, pattern)


def _unread(table: PatternKeys, given: Mapping[str, Any]) -> Faults:
    """The keys of a pattern's table that are set and that nothing would read."""
    for name in given:
        yield from _why_unread(name, _OF_PATTERN[name], table, table.role)
    for value, of_value in zip(table.values, given.get("value", ()), strict=True):
        for name in of_value:
            for fault in _why_unread(name, _OF_VALUE[name], value, table.role, value.quantity):
                yield f"value {value.group!r}: {fault}"
    for sample, of_sample in zip(table.samples, given.get("sample", ()), strict=True):
        for name in of_sample:
            yield from _why_unread("sample", _OF_SAMPLE[name], sample, table.role)


def _why_unread(name: str, key: Key, table: Any, role: str, quantity: str = "") -> Faults:
    if key.of and role not in key.of:
        yield f"{name}: {key.why.format(role=role) or f'only a pattern with role {_either(key.of)} reads it'}"
    elif key.quantities and quantity not in key.quantities:
        yield f"{name}: {key.why or f'only a value with quantity {_either(key.quantities)} reads it'}"
    elif why := key.hidden(table) if key.hidden is not None else "":
        yield f"{name} is not read: {why}"


def _either(words: Sequence[str]) -> str:
    """``step or position``"""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _with_parts(pattern: Pattern, patterns: Sequence[Pattern]) -> Pattern:
    """A part of a record on several lines with the values of all parts and of its head; any other pattern as it is."""
    if not pattern.block:
        return pattern
    parts = [other for other in patterns if other.block == pattern.block or other.name == pattern.block]
    return replace(pattern, values=tuple(value for part in parts for value in part.values))


def _pattern(parser: str, table: PatternKeys, of_file: ParserKeys, file: Path) -> Pattern:
    """A pattern; one that takes its steps from another's lines (``position``) counts them as that one does.

    Where its own lines tell the step and the other's the epoch alone, its own ``step_base`` counts.
    """
    where = f"{file}: pattern {table.name!r}"
    regex = expand(table.regex, f"{where}: regex")
    also = expand(table.also, f"{where}: also")
    tail = tail_after(table.literal, table.regex)
    placing = (other for other in of_file.patterns if other.name == (table.position or table.block))
    counter = next(placing, table)
    numbers = table if "(?P<step>" in table.regex else counter  # a line that tells its step says what it counts from
    paused = table.first_is_start or any(  # between the states of a bar anything may be drawn
        other.pauses or (other.role == "ignore" and "(?P<run_steps>" in other.regex) for other in of_file.patterns
    )
    return Pattern(**asdict(table) | {
        "parser": parser,
        "regex": regex,
        "groups": tuple(_GROUP.findall(regex)),
        "step_base": 1 if numbers.step_base == "first" else numbers.step_base,
        "step_base_shown": numbers.step_base == "first",
        "step_per": "epoch" if table.restarts or counter.step_per == "unnamed" else counter.step_per,
        "epochs_unnamed": counter.step_per == "unnamed",
        "speaks_for_training": any(table.name in other.only_with for other in of_file.patterns),
        "interrupted": paused and any(value.quantity in CLOCKS or value.holds_pauses for value in table.values),
        "heads": any(table.name == other.block for other in of_file.patterns),
        "set": texts(table.set),
        "map": {key: texts(words) for key, words in table.map.items()},
        "values": tuple(_value(value, table.restarts) for value in table.values),
        "samples": tuple(_sample(sample) for sample in table.samples),
        "tail": None if tail is None else regex[len(table.regex) - len(tail) :],  # a literal expands to itself
        "jump": None if tail is None else jump_in(tail, f"{where}: regex"),
        "also": also,
        "also_groups": tuple(_GROUP.findall(also)),
    })  # fmt: skip


def _sample(table: Sample) -> Sample:
    return table if table.facts is None else replace(table, facts=texts(table.facts))


def _value(table: ValueKeys, restarts: bool) -> Value:
    """A value; the elapsed time of a pattern that ``restarts`` begins anew with what it counts as an epoch.

    A time per work, such as ``s/kimg``, is the rate that it is the inverse of.
    """
    value = Value(**asdict(table))
    if table.quantity == "time_per_work":
        time, _, work = table.unit.partition("/")
        # where it is no such unit, the check of what the file means says so
        unit = f"{work}/s" if is_time(time) and rate_unit(f"{work}/s") is not None else table.unit
        return replace(value, quantity="rate", unit=unit, inverse=seconds_in(time) if is_time(time) else 1.0)
    return replace(value, since="epoch") if restarts and table.quantity == "elapsed" else value
