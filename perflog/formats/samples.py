"""Check a parser against the sample lines it carries.

Each sample must match its own pattern and no other, each pattern must have a sample, and the values read
must be those expected. A mismatch is shown with the line and a caret where the pattern gave up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any

from perflog.formats.meaning import TIMES
from perflog.formats.parser import TEXT_GROUPS, Parser, Pattern, Sample
from perflog.formats.printed import number_in

#: Says where in a line a pattern gave up.
_Place = Callable[[Pattern, str], str]

#: Seconds in which the place is looked for where a pattern gave up; each try compiles a regex.
_PATIENCE = 5.0
#: How many beginnings of the pattern are tried in one call, of which each has a price of its own.
_TOGETHER = 16


def check_parser(parser: Parser) -> list[str]:
    """The parser's faults, as complete messages; an empty list when it is sound."""
    return [f"{parser.file}: {fault}" for fault in _faults(parser, gave_up)]


def is_sound(parser: Parser) -> bool:
    """Whether a parser has no fault; no place is looked for where a pattern gave up, which takes most of the time."""
    return next(_faults(parser, lambda _pattern, line: line), None) is None


def _faults(parser: Parser, place: _Place) -> Iterator[str]:
    for pattern in parser.patterns:
        for regex in _regexes_of(pattern):
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
    if (
        pattern.tail is not None
        and sample.line.count(pattern.literal) > 1
        and _holds_literal_twice(pattern, sample.line)
    ):
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
    _end_of_match(pattern.regex, line)  # the first try takes the time of an import too
    give_up = monotonic() + _PATIENCE
    for longest in range(len(pattern.regex), 0, -_TOGETHER):
        if monotonic() > give_up:
            break
        ends = range(longest, max(longest - _TOGETHER, 0), -1)
        for beginning in _matching([pattern.regex[:end] for end in ends], line):
            if matched := _end_of_match(beginning, line):
                rest = pattern.regex[len(beginning) :]
                return f"  {line}\n  {' ' * matched}^ expected here: {rest[:60]}"
    return f"  {line}\n  ^ the pattern does not match from its first character on"


def _matching(regexes: Sequence[str], line: str) -> list[str]:
    """Those of the texts that are regexes and match somewhere in the line, in one call of polars for all of them."""
    import polars as pl

    tried = [pl.col("line").str.find(regex, strict=False).alias(str(n)) for n, regex in enumerate(regexes)]
    starts = pl.DataFrame({"line": [line]}).select_seq(tried).row(0)
    return [regex for regex, start in zip(regexes, starts, strict=True) if start is not None]


def _end_of_match(regex: str, line: str) -> int:
    """Where the first match in a line ends; 0 where there is none, or where the text is no regex."""
    import polars as pl

    series = pl.Series([line])
    try:
        start = series.str.find(regex)[0]
        text = None if start is None else series.str.extract(regex, 0)[0]
    except pl.exceptions.PolarsError:
        return 0
    if start is None or text is None:
        return 0
    return len(line.encode()[:start].decode()) + len(text)


def _compile_error(regex: str) -> str | None:
    import polars as pl

    try:
        pl.Series([""]).str.contains(regex)
    except pl.exceptions.PolarsError as error:
        return str(error).splitlines()[-1]
    return None
