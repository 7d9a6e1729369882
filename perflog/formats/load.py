"""A parser's TOML file as frozen objects; what cannot be understood is rejected (``docs/parsers.md``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perflog.errors import ParserError
from perflog.formats.meaning import check_meaning
from perflog.formats.parser import Parser, Pattern, Sample, Value
from perflog.formats.regexes import expand, jump_in, tail_after
from perflog.formats.schema import ParserFile, PatternTable, ValueTable
from perflog.formats.toml import convert, read_toml, texts

_GROUP = re.compile(r"\(\?P<(\w+)>")
_PARSER_NAME = re.compile(r"[A-Za-z0-9_-]+")


def load_parser(file: Path) -> Parser:
    """Read one parser file.

    Raises:
        ParserError: with the file, the pattern and the key at fault, and what would be right.
    """
    return parser_from(read_toml(file, ParserError), file)


def parser_from(data: Mapping[str, Any], file: Path) -> Parser:
    """Build a parser from TOML data (see :func:`load_parser`); its name is the file's, without ``.toml``."""
    name = file.stem
    if not _PARSER_NAME.fullmatch(name):
        raise ParserError(f"{file}: a parser's file is named with letters, digits, _ and -, such as my_format.toml")
    table = convert(data, ParserFile, str(file), ParserError)
    tables = {pattern.name: pattern for pattern in table.pattern}
    parser = Parser(
        name=name,
        title=table.title,
        source=table.source,
        framework=table.framework,
        priority=table.priority,
        file=file,
        patterns=tuple(_pattern(name, pattern, tables.get(pattern.position), file) for pattern in table.pattern),
        traps=table.traps,
        default=texts(table.default),
    )
    check_meaning(parser)
    return parser


def _pattern(parser: str, table: PatternTable, position: PatternTable | None, file: Path) -> Pattern:
    """A pattern; one that takes its steps from another's lines (``position``) counts them as that one does."""
    where = f"{file}: pattern {table.name!r}"
    regex = expand(table.regex, f"{where}: regex")
    also = expand(table.also, f"{where}: also")
    tail = tail_after(table.literal, table.regex)
    counter = table if position is None else position
    return Pattern(
        parser=parser,
        name=table.name,
        role=table.role,
        literal=table.literal,
        regex=regex,
        groups=tuple(_GROUP.findall(regex)),
        step_base=counter.step_base,
        step_per=counter.step_per,
        step_repeats=table.step_repeats,
        position=table.position,
        position_once=table.position_once,
        event=table.event,
        starts_run=table.starts_run,
        set=texts(table.set),
        map={key: texts(words) for key, words in table.map.items()},
        values=tuple(_value(item) for item in table.value),
        samples=tuple(Sample(item.line, item.expect) for item in table.sample),
        rejects=table.rejects,
        tail=None if tail is None else regex[len(table.regex) - len(tail) :],  # a literal expands to itself
        jump=None if tail is None else jump_in(tail, f"{where}: regex"),
        also=also,
        also_groups=tuple(_GROUP.findall(also)),
        memory_unit=table.memory_unit,
    )


def _value(table: ValueTable) -> Value:
    return Value(
        group=table.group,
        quantity=table.quantity,
        unit=table.unit,
        span=table.span,
        since=table.since,
        window=table.window,
        offset=table.offset,
        scope=table.scope,
        metric=table.metric,
        pick=table.pick,
    )
