"""A parser's TOML file as frozen objects; what cannot be understood is rejected (``docs/parsers.md``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs
from msgspec.structs import replace

from perflog.errors import ParserError
from perflog.formats.dialect import expand, jump_in, tail_after
from perflog.formats.meaning import check_meaning
from perflog.formats.parser import CLOCKS, Parser, Pattern, Sample, Value
from perflog.formats.printed import is_time, rate_unit, seconds_in
from perflog.formats.sources import NO_PARSERS
from perflog.formats.toml import ParserFile, PatternTable, SampleTable, ValueTable, convert, read_toml, texts

_GROUP = re.compile(r"\(\?P<(\w+)>")
_PARSER_NAME = re.compile(r"[A-Za-z0-9_-]+")


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
    table = convert(data, ParserFile, str(file), ParserError)
    tables = {pattern.name: pattern for pattern in table.pattern}
    heads = frozenset(pattern.block for pattern in table.pattern)
    paused = any(pattern.pauses for pattern in table.pattern)
    named = frozenset(other for pattern in table.pattern for other in pattern.only_with)
    parser = Parser(
        name=name,
        title=table.title,
        source=table.source,
        framework=table.framework,
        priority=table.priority,
        file=file,
        patterns=tuple(
            _pattern(name, pattern, tables.get(pattern.position or pattern.block), named, paused, heads, file)
            for pattern in table.pattern
        ),
        traps=table.traps,
        default=texts(table.default),
    )
    check_meaning(parser)
    return replace(parser, patterns=tuple(_with_parts(pattern, parser.patterns) for pattern in parser.patterns))


def _with_parts(pattern: Pattern, patterns: Sequence[Pattern]) -> Pattern:
    """A part of a record on several lines with the values of all parts and of its head; any other pattern as it is."""
    if not pattern.block:
        return pattern
    parts = [other for other in patterns if other.block == pattern.block or other.name == pattern.block]
    values = tuple(value for part in parts for value in part.values)
    return replace(pattern, values=values)


def _pattern(
    parser: str, table: PatternTable, position: PatternTable | None, named: frozenset[str], paused: bool,
    heads: frozenset[str], file: Path,
) -> Pattern:  # fmt: skip
    """A pattern; one that takes its steps from another's lines (``position``) counts them as that one does.

    Where its own lines tell the step and the other's the epoch alone, its own ``step_base`` counts.

    Args:
        named: the patterns whose lines speak for a training (``only_with``).
        heads: the patterns of head lines, below which the parts of a record stand (``block``).
        paused: whether a line of the file says that something else than training happened.
    """
    where = f"{file}: pattern {table.name!r}"
    regex = expand(table.regex, f"{where}: regex")
    also = expand(table.also, f"{where}: also")
    tail = tail_after(table.literal, table.regex)
    counter = table if position is None else position
    numbers = table if "(?P<step>" in table.regex else counter  # a line that tells its step says what it counts from
    return Pattern(
        parser=parser,
        name=table.name,
        role=table.role,
        literal=table.literal,
        regex=regex,
        groups=tuple(_GROUP.findall(regex)),
        step_base=1 if numbers.step_base == "first" else numbers.step_base,
        step_base_shown=numbers.step_base == "first",
        step_per="epoch" if table.restarts else counter.step_per,
        step_repeats=table.step_repeats,
        step_counts=table.step_counts,
        step_rounded=table.step_rounded,
        forms=_forms(table),
        redrawn=table.redrawn,
        irregular=table.irregular,
        restarts=table.restarts,
        first_is_start=table.first_is_start,
        track=table.track,
        only_with=table.only_with,
        never_with=table.never_with,
        told_by=table.told_by,
        ticks_told_by=table.ticks_told_by,
        speaks_for_training=table.name in named,
        pauses=table.pauses,
        interrupted=paused and any(value.quantity in CLOCKS or value.holds_pauses for value in table.value),
        block=table.block,
        heads=table.name in heads,
        total=table.total,
        assumed_covers=table.assumed_covers,
        assumption=table.assumption,
        drops_first=table.drops_first,
        ends_epoch=table.ends_epoch,
        position=table.position,
        position_once=table.position_once,
        evaluates=table.evaluates,
        event=table.event,
        starts_run=table.starts_run,
        set=texts(table.set),
        note=table.note,
        map={key: texts(words) for key, words in table.map.items()},
        values=tuple(_value(item, table.restarts) for item in table.value),
        samples=tuple(_sample(item) for item in table.sample),
        rejects=table.rejects,
        tail=None if tail is None else regex[len(table.regex) - len(tail) :],  # a literal expands to itself
        jump=None if tail is None else jump_in(tail, f"{where}: regex"),
        also=also,
        also_groups=tuple(_GROUP.findall(also)),
        memory_unit=table.memory_unit,
        own=table.own,
        weak=table.weak,
        section=table.section,
    )


def _sample(table: SampleTable) -> Sample:
    return Sample(table.line, table.expect, None if table.facts is None else texts(table.facts))


def _value(table: ValueTable, restarts: bool = False) -> Value:
    """A value; the elapsed time of a pattern that ``restarts`` begins anew with what it counts as an epoch."""
    if table.quantity == "time_per_work":
        return _rate_of(table)
    return Value(
        group=table.group,
        quantity=table.quantity,
        unit=table.unit,
        span=table.span,
        since="epoch" if restarts and table.quantity == "elapsed" else table.since,
        window=table.window,
        offset=table.offset,
        scope=table.scope,
        metric=table.metric,
        definition=table.definition,
        pick=table.pick,
        plus=table.plus,
        amount=table.amount,
        same=table.same,
        window_from=table.window_from,
        holds_pauses=table.holds_pauses,
        partial=table.partial,
    )


def _rate_of(table: ValueTable) -> Value:
    """A time per work, such as ``s/kimg``, as the rate that it is the inverse of."""
    time, _, work = table.unit.partition("/")
    unit = f"{work}/s"
    if not is_time(time) or rate_unit(unit) is None:
        unit = table.unit  # the check of what the file means says so
    rate = _value(structs.replace(table, quantity="rate", unit=unit))
    return replace(rate, inverse=seconds_in(time) if is_time(time) else 1.0)


def _forms(table: PatternTable) -> dict[str, str]:
    """The groups whose numbers are printed for people, and how: as clocks, or with a suffix."""
    clocks = {value.group: "clock" for value in table.value if value.unit == "clock"}
    return {**clocks, **dict.fromkeys(table.scaled, "scaled")}
