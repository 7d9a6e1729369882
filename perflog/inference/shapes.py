"""Lines of one shape: the same words around other numbers, many times in one log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from perflog.lazy_regex import lazy_regex

#: A number as programs print one: a clock, or digits with commas, decimals and an exponent; none that is unusable.
NUMBER = lazy_regex(
    r"(?<![A-Za-z_])(?:\d+(?::\d\d)+(?:\.\d+)?|[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
    r"|[-+]?(?:nan|inf|NaN|Inf)(?![A-Za-z]))(?![0-9])"
)
#: What stands in front of a program's own words: stamps, levels, ranks, file names and lines.
_PREFIX = lazy_regex(
    r"^(?:[\s\[(<|>,-]*"
    r"(?:[IWEF]\d{4}(?= )|\d{2,4}[-/.]\d{1,2}[-/.]\d{1,4}(?=[ T,:_|\]])|\d{2}[-/]\d{2}(?=[ T,:_|]+\d{1,2}:\d\d)"
    r"|T?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?:INFO|DEBUG|WARNING|I|root|__main__|rank ?\d+|[A-Za-z_.]+\.py:\d+)\b[\])>:]*)"
    r"[\s\])>|,:-]*)+"
)
#: A line that tells a step has one of these, in small letters: a word for it, or a place of a whole.
_COUNTS = ("step", "iter", "itr", "batch", "update", "it:", "it=", "it ", "/", " of ")
#: What a plain text is made of: printable ASCII, tabs and line feeds.
_PLAIN = bytes(range(32, 127)) + b"\t\n"
#: A shape counts when so many lines have it.
LEAST_LINES = 20
#: A line of more characters is no line that a person would print.
LONGEST_LINE = 2_000
#: Of a log so many lines are looked at, to find its shapes.
MOST_LINES = 20_000


class Shape(Struct):
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

    def whole_numbers(self, place: int) -> list[int] | None:
        """A column as whole numbers, with commas or without; None where one is none."""
        texts = [text.replace(",", "") for text in self.column(place)]
        return [int(text) for text in texts] if all(text.isdigit() for text in texts) else None


def shapes_of(lines: Iterable[str]) -> list[Shape]:
    """The shapes that many lines have, the most frequent first."""
    found: dict[tuple[str, ...], Shape] = {}
    for line in lines:
        if len(line) > LONGEST_LINE or not _may_count(line.lower()):
            continue
        own = without_prefix(line.rstrip())
        numbers = NUMBER.findall(own)
        if len(numbers) < 2:
            continue
        words = tuple(_one_blank(NUMBER.split(own)))
        shape = found.get(words)
        if shape is None:
            shape = found[words] = Shape(words, own)
        shape.numbers.append(tuple(numbers))
    able = [shape for shape in found.values() if len(shape.numbers) >= LEAST_LINES]
    return sorted(able, key=lambda shape: -len(shape.numbers))


def may_have_shapes(text: bytes) -> bool:
    """Whether :func:`shapes_of` may find a shape in a whole log; decided without a regex, and soon where it may."""
    if not text.isascii() or text.translate(None, _PLAIN):
        return True  # what a terminal would show is known only when the text is clean
    count = 0
    for line in text.decode("ascii").lower().split("\n"):
        if _may_count(line) and (sum(map(str.isdigit, line)) > 1 or "nan" in line or "inf" in line):
            count += 1
            if count >= LEAST_LINES:
                return True
    return False


def _may_count(line: str) -> bool:
    """Whether a line in small letters may tell a step: soon decided for most lines of logs that are no training's."""
    return any(word in line for word in _COUNTS)


def without_prefix(line: str) -> str:
    """A line from the program's own first word on."""
    prefix = _PREFIX.match(line)
    rest = line[prefix.end() :] if prefix else line
    return rest if re.search("[A-Za-z]", rest) else line


def _one_blank(words: Sequence[str]) -> Iterable[str]:
    return (re.sub(r"\s+", " ", word) for word in words)
