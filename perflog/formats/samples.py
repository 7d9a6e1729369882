"""Check a parser against the sample lines it carries.

Each sample must match its own pattern and no other, each pattern must have a sample, and the values read
must be those expected. A mismatch is shown with the line and a caret where the pattern gave up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from perflog.formats.parser import Parser, Pattern, Sample


def check_parser(parser: Parser) -> list[str]:
    """The parser's faults, as complete messages; an empty list when it is sound."""
    return [f"{parser.file}: {fault}" for fault in _faults(parser)]


def _faults(parser: Parser) -> Iterator[str]:
    for pattern in parser.patterns:
        error = _compile_error(pattern.regex) or _compile_error(pattern.also)
        if error:
            yield f"pattern '{pattern.name}': the regex does not compile in Rust syntax: {error}"
            return
    for pattern in parser.patterns:
        if not pattern.samples:
            yield f"pattern '{pattern.name}' has no sample line; add [[pattern.sample]] with line and expect"
        for sample in pattern.samples:
            yield from _sample_faults(parser, pattern, sample)
        for line in pattern.rejects:
            if read_line(pattern, line) is not None:
                yield f"pattern '{pattern.name}' matches a line it must reject:\n  {line}"


def _sample_faults(parser: Parser, pattern: Pattern, sample: Sample) -> Iterator[str]:
    read = read_line(pattern, sample.line)
    if read is None:
        yield f"pattern '{pattern.name}' does not match its sample:\n{gave_up(pattern, sample.line)}"
        return
    if pattern.tail is not None and sample.line.count(pattern.literal) > 1 and _holds_literal_twice(pattern, sample.line):
        yield f"pattern '{pattern.name}': the literal {pattern.literal!r} occurs again inside the match, which is split there; choose another"
    for group, wanted in sample.expect.items():
        if group not in pattern.groups + pattern.also_groups:
            yield f"pattern '{pattern.name}': sample expects '{group}', which is not a group of the regex"
        elif not same(read.get(group), wanted):
            yield f"pattern '{pattern.name}': sample expects {group} = {wanted!r}, read {read.get(group)!r} from\n  {sample.line}"
    if pattern.role == "metadata":
        return  # one line of settings may hold several facts
    for other in parser.patterns:
        if other is pattern or other.role == "metadata" or pattern.name == other.position or other.name == pattern.position:
            continue  # one line may hold a position and the measurement that it places
        if pattern.role == "ignore" and pattern.literal != other.literal:
            continue  # a line to be ignored is taken from all others
        if read_line(other, sample.line) is not None:
            yield f"the sample of '{pattern.name}' also matches '{other.name}':\n  {sample.line}"


def read_line(pattern: Pattern, line: str) -> dict[str, str | None] | None:
    """The named groups that ``pattern`` reads from ``line``, or None where it does not match."""
    import polars as pl

    if pattern.literal not in line:
        return None
    series = pl.Series([line])
    if not series.str.contains(pattern.regex)[0]:
        return None
    read: dict[str, str | None] = {}
    for regex, groups in ((pattern.regex, pattern.groups), (pattern.also, pattern.also_groups)):
        if groups:  # polars names unnamed groups by number; only the named ones carry meaning
            fields = series.str.extract_groups(regex)[0]
            read |= {group: fields[group] for group in groups}
    return read


def _holds_literal_twice(pattern: Pattern, line: str) -> bool:
    import polars as pl

    matched = pl.Series([line]).str.extract(f"({pattern.regex})", 1)[0]
    return matched is not None and str(matched).count(pattern.literal) > 1


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


def gave_up(pattern: Pattern, line: str) -> str:
    """The line with a caret under the first character that the pattern could not match."""
    if pattern.literal not in line:
        return f"  {line}\n  ^ the literal {pattern.literal!r} does not occur in this line"
    best = 0
    for end in range(len(pattern.regex), 0, -1):
        try:
            found = re.search(pattern.regex[:end], line)
        except re.error:
            continue
        if found and found.end() > 0:
            best = found.end()
            rest = pattern.regex[end:]
            return f"  {line}\n  {' ' * best}^ expected here: {rest[:60]}"
    return f"  {line}\n  ^ the pattern does not match from its first character on"


def _compile_error(regex: str) -> str | None:
    import polars as pl

    try:
        pl.Series([""]).str.contains(regex)
    except pl.exceptions.PolarsError as error:
        return str(error).splitlines()[-1]
    return None
