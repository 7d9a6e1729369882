"""Lines of one shape: the same words around other numbers, many times in one log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

#: A number as programs print one: a clock, or digits with commas, decimals and an exponent.
NUMBER = re.compile(r"(?<![A-Za-z_])(?:\d+(?::\d\d)+(?:\.\d+)?|[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![0-9])")
#: What stands in front of a program's own words: stamps, levels, ranks, file names and lines.
_PREFIX = re.compile(
    r"^(?:[\s\[(<|>,-]*"
    r"(?:\d[\d:.,/TZ+-]*\d|(?:INFO|DEBUG|WARNING|I|root|__main__|rank ?\d+|[A-Za-z_.]+\.py:\d+)\b[\])>:]*)"
    r"[\s\])>|,:-]*)+"
)
#: A shape counts when so many lines have it.
LEAST_LINES = 20
#: Of a log so many lines are looked at, to find its shapes.
MOST_LINES = 20_000


@dataclass(slots=True)
class Shape:
    """Lines of one shape.

    Attributes:
        words: the texts around the numbers, one more than there are numbers, the prefix of the line left out.
        numbers: the numbers of each line, as they were printed.
        first: the first of the lines, without its prefix.
    """

    words: tuple[str, ...]
    first: str
    numbers: list[tuple[str, ...]] = field(default_factory=list)

    def column(self, place: int) -> list[str]:
        return [row[place] for row in self.numbers]


def shapes_of(lines: Iterable[str]) -> list[Shape]:
    """The shapes that many lines have, the most frequent first."""
    found: dict[tuple[str, ...], Shape] = {}
    for line in lines:
        own = without_prefix(line.rstrip())
        numbers = NUMBER.findall(own)
        if len(numbers) < 2 or len(own) > 2000:
            continue
        words = tuple(_one_blank(NUMBER.split(own)))
        shape = found.get(words)
        if shape is None:
            shape = found[words] = Shape(words, own)
        shape.numbers.append(tuple(numbers))
    able = [shape for shape in found.values() if len(shape.numbers) >= LEAST_LINES]
    return sorted(able, key=lambda shape: -len(shape.numbers))


def without_prefix(line: str) -> str:
    """A line from the program's own first word on."""
    prefix = _PREFIX.match(line)
    rest = line[prefix.end() :] if prefix else line
    return rest if re.search("[A-Za-z]", rest) else line


def _one_blank(words: Sequence[str]) -> Iterable[str]:
    return (re.sub(r"\s+", " ", word) for word in words)
