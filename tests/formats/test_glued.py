"""Two lines in one, as two processes write them: the first one's numbers are read or none; never the second one's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from perflog.formats.parser import Parser, Pattern
from perflog.matching.engine import engine_for
from perflog.matching.matches import Matches
from perflog.runs.factor import FACTORS
from tests.support import catalog

NINES = str.maketrans("12345678", "56789123")


class Glued(NamedTuple):
    """A pattern's sample, and the line that it makes with another process's behind it."""

    pattern: Pattern
    first: str
    line: str


def values_of(pattern: Pattern) -> set[str]:
    return {value.group for value in pattern.values}


def another(pattern: Pattern, line: str) -> str:
    """A sample as another process prints it: all digits of what it measures are others."""
    match = re.search(pattern.regex, line)
    assert match is not None, (pattern.key, line)
    spans = [match.span(group) for group in values_of(pattern) & set(pattern.groups) if match[group] is not None]
    for start, end in spans:
        line = line[:start] + line[start:end].translate(NINES) + line[end:]
    return line


def glued(parser: Parser) -> Iterator[Glued]:
    """Each sample, with itself as another process prints it behind it, and with the lines of its parser's other kinds."""
    measuring = [pattern for pattern in parser.patterns if pattern.role in ("step", "summary")]
    for pattern in measuring:
        for sample in pattern.samples:
            behind = [another(pattern, sample.line)]
            behind += [
                another(other, each.line) for other in measuring if other is not pattern for each in other.samples
            ]
            for second in behind:
                yield Glued(pattern, sample.line, f"{sample.line} {second}")
                if not (sample.line[-1].isdigit() and second[0].isdigit()):  # nothing tells where the number ends
                    yield Glued(pattern, sample.line, sample.line + second)


def first_values(found: Matches | None, text: int) -> dict[str, Any]:
    """What the first match in a text measures; empty where there is none."""
    if found is None:
        return {}
    row, end = np.searchsorted(found.text, (text, text + 1)).tolist()
    groups = values_of(found.pattern) & set(found.columns)
    return {} if row == end else {group: found.columns[group][row] for group in groups}


def is_read(value: Any) -> bool:
    """Whether a number was read: ``0.741E`` of a summary is none."""
    return value not in (None, "") and value == value and not str(value).endswith(("e", "E"))


def test_of_two_lines_in_one_no_number_is_the_second_ones() -> None:
    cases = [case for parser in catalog().parsers for case in glued(parser)]
    texts = [case.line.encode() + b"\n" for case in cases] + [case.first.encode() + b"\n" for case in cases]
    found = {matches.pattern.key: matches for matches in engine_for(catalog()).match(texts, at_end=False).matches}
    wrong = []
    for number, case in enumerate(cases):
        of_first = first_values(found.get(case.pattern.key), len(cases) + number)
        for group, value in first_values(found.get(case.pattern.key), number).items():
            if is_read(value) and value != of_first.get(group):
                wrong.append(f"{case.pattern.key}: {group} is {value}, not {of_first.get(group)}, in {case.line}")
    assert len(cases) > 3_000
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "behind", ["2025-05-04 10:11:12 - INFO - epoch", "05/04/2025 10:11:12 - INFO", "10:11:12 INFO"]
)
def test_a_factor_is_no_other_one_where_a_line_without_end_goes_on_with_a_date(behind: str) -> None:
    """``= 32`` and ``05/15/2025`` behind it were a batch size of 3,205."""
    patterns = [pattern for parser in catalog().parsers for pattern in parser.patterns if pattern.role == "metadata"]
    cases = [
        (pattern, group, sample.line)
        for pattern in patterns
        for group in FACTORS.keys() & set(pattern.groups)
        for sample in pattern.samples
        if (match := re.search(pattern.regex, sample.line)) and match.end(group) == len(sample.line)
    ]
    texts = [f"{line}{behind}\n".encode() for _, _, line in cases]
    found = {matches.pattern.key: matches for matches in engine_for(catalog()).match(texts, at_end=False).matches}
    read = [
        f"{pattern.key}: {matches.columns[group][row]} in {line}{behind}"
        for number, (pattern, group, line) in enumerate(cases)
        if (matches := found.get(pattern.key)) is not None
        for row in np.flatnonzero(matches.text == number).tolist()
        if matches.columns[group][row] not in (None, "", line[-len(matches.columns[group][row]) :])
    ]
    assert len(cases) > 20
    assert not read, "\n".join(read)
