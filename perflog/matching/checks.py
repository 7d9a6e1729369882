"""Check a parser against the sample lines it carries.

Each sample must match its own pattern and no other, each pattern must have a sample, and the values read
must be those expected. A mismatch is shown with the line and a caret where the pattern gave up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from perflog.errors import ParserError
from perflog.formats.catalog import Catalog
from perflog.formats.meaning import TIMES
from perflog.formats.parser import TEXT_GROUPS, Parser, Pattern, Sample
from perflog.formats.printed import number_in
from perflog.matching.engine import use_compiled
from perflog.matching.one_line import gave_up, holds_twice, read_line

#: Says where in a line a pattern gave up.
_Place = Callable[[Pattern, str], str]


def check_parser(parser: Parser) -> list[str]:
    """The parser's faults, as complete messages; an empty list when it is sound."""
    return [f"{parser.file}: {fault}" for fault in _faults(parser, gave_up)]


def refuse_unsound(catalog: Catalog, name: str) -> None:
    """Check a parser's samples, once.

    perflog's own parsers are checked by its tests (and by ``perflog parsers check``), not again at every use.

    Raises:
        ParserError: when a sample does not give what it promises.
    """
    parser, sound = catalog.by_name[name], catalog.derived.setdefault("sound parsers", set())
    if parser.own or name in sound:
        return
    faults = check_parser(parser)
    if faults:
        raise ParserError(faults[0])
    sound.add(name)


def is_sound(parser: Parser) -> bool:
    """Whether a parser has no fault that the engine in use would meet; no place is looked for where a pattern gave up,
    and polars is not asked whether it reads the regexes where it does not match them: that takes most of the time.
    """
    return next(_faults(parser, lambda _pattern, line: line, in_rust=not use_compiled()), None) is None


def _faults(parser: Parser, place: _Place, *, in_rust: bool = True) -> Iterator[str]:
    for pattern in parser.patterns:
        for regex in _regexes_of(pattern) if in_rust else ():
            error = _compile_error(regex)
            if error:
                yield f"pattern '{pattern.name}': the regex does not compile in Rust syntax: {error}"
                return
    for pattern in parser.patterns:
        if not pattern.samples:
            yield f"pattern '{pattern.name}' has no sample line; add [[pattern.sample]] with line and expect"
        for sample in pattern.samples:
            yield from _sample_faults(parser, pattern, sample, place)
        for line in pattern.rejects:
            if read_line(pattern, line) is not None:
                yield f"pattern '{pattern.name}' matches a line it must reject:\n  {line}"


def _regexes_of(pattern: Pattern) -> Iterator[str]:
    """A pattern's regexes, whole and in the parts in which they are matched."""
    yield pattern.regex
    yield pattern.also
    if pattern.tail is not None:
        yield pattern.tail
    if pattern.jump is not None:
        yield pattern.jump.head
        yield pattern.jump.tail


def _sample_faults(parser: Parser, pattern: Pattern, sample: Sample, place: _Place) -> Iterator[str]:
    if "\n" in sample.line or "\r" in sample.line:
        yield f"pattern '{pattern.name}': a sample is one line, without its end: {sample.line!r}"
        return
    read = read_line(pattern, sample.line)
    if read is None:
        yield f"pattern '{pattern.name}' does not match its sample:\n{place(pattern, sample.line)}"
        return
    if pattern.tail is not None and sample.line.count(pattern.literal) > 1 and holds_twice(pattern, sample.line):
        yield (
            f"pattern '{pattern.name}': the literal {pattern.literal!r} occurs again inside the match, "
            "which is split there; choose another"
        )
    yield from _value_faults(pattern, sample, read)
    yield from _overlaps(parser, pattern, sample)


def _value_faults(pattern: Pattern, sample: Sample, read: Mapping[str, str | None]) -> Iterator[str]:
    """What a sample reads but should not."""
    for group, wanted in sample.expect.items():
        if group not in pattern.groups + pattern.also_groups:
            yield f"pattern '{pattern.name}': sample expects '{group}', which is not a group of the regex"
        elif not same(read.get(group), wanted):
            found = f"{group} = {wanted!r}, read {read.get(group)!r}"
            yield f"pattern '{pattern.name}': sample expects {found} from\n  {sample.line}"
    given = pattern.facts({group: text for group, text in read.items() if text})
    if sample.facts is not None and given != sample.facts:
        yield f"pattern '{pattern.name}': sample expects the facts {sample.facts}, given {given} by\n  {sample.line}"
    for group in _number_groups(pattern):
        text = read.get(group)
        form = pattern.forms.get(group)
        if text is not None and not (_is_number(text) if form is None else number_in(text, form) is not None):
            yield f"pattern '{pattern.name}': group '{group}' must read a number, read {text!r} from\n  {sample.line}"


def _number_groups(pattern: Pattern) -> list[str]:
    """The groups that are read as numbers, whatever the lines print."""
    if pattern.role in ("step", "position"):
        return [group for group in pattern.groups + pattern.also_groups if group not in TEXT_GROUPS]
    if pattern.role == "event":
        return ["timestamp"]
    if pattern.role == "summary":  # a time may be printed as 3:04:05, a metric be no number in some logs
        return [value.group for value in pattern.values if value.quantity not in {*TIMES, "metric"}]
    return []


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


def _overlaps(parser: Parser, pattern: Pattern, sample: Sample) -> Iterator[str]:
    """Other patterns of the parser that take a pattern's sample too."""
    if pattern.role == "metadata":
        return  # one line of settings may hold several facts
    for other in parser.patterns:
        if (
            other is pattern
            or other.role == "metadata"
            or pattern.name == other.position
            or other.name == pattern.position
        ):
            continue  # one line may hold a position and the measurement that it places
        if pattern.role == "ignore" and pattern.literal != other.literal:
            continue  # a line to be ignored is taken from all others
        if read_line(other, sample.line) is not None:
            yield f"the sample of '{pattern.name}' also matches '{other.name}':\n  {sample.line}"


def same(read: str | None, wanted: Any) -> bool:
    """Whether a captured text equals an expected value (numbers are compared as numbers)."""
    if read is None:
        return wanted in (None, "")
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        try:
            return float(read.replace(",", "")) == float(wanted)
        except ValueError:
            return False
    return read == str(wanted)


def _compile_error(regex: str) -> str | None:
    import polars as pl

    try:
        pl.Series([""]).str.contains(regex)
    except pl.exceptions.PolarsError as error:
        return str(error).splitlines()[-1]
    return None
