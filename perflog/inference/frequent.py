"""The most frequent shapes of a log's lines, whatever they are: what a person looks at first in an unknown format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from perflog.inference.formats import tables_of
from perflog.inference.infer import first_lines
from perflog.inference.meanings import Meaning
from perflog.inference.shapes import LONGEST_LINE, NUMBER, Shape, without_prefix
from perflog.logs.find import LogFile

#: A shape is shown when so many lines have it.
_LEAST = 3
#: So many shapes are kept at most while a log is read; a text whose every line is another is no training log.
_MOST_KEPT = 5_000
_QUESTION = """
# Which number is the training's speed, or the time of its steps? Put it into the pattern, with its quantity (rate,
# step_time, interval_time, elapsed …), its unit and its span: docs/parsers.md says what each means.
"""
_WORD = re.compile(r"[A-Za-z][A-Za-z_]*")


@dataclass(frozen=True, slots=True)
class Frequent:
    """A shape of lines, with numbers in it.

    Attributes:
        shape: its words, and the numbers of every such line.
        line: the number of the first such line, from 1.
    """

    shape: Shape
    line: int

    @property
    def count(self) -> int:
        """How many lines have the shape."""
        return len(self.shape.numbers)

    @property
    def outline(self) -> str:
        """The line with ``#`` for each number."""
        return "#".join(self.shape.words)


def frequent_shapes(log: LogFile, most: int = 5) -> list[Frequent]:
    """The shapes that most lines of a log's beginning have, the most frequent first; those without numbers left out."""
    found: dict[tuple[str, ...], Frequent] = {}
    for number, line in enumerate(first_lines(log), 1):
        own = without_prefix(line.rstrip())
        numbers = NUMBER.findall(own) if len(own) <= LONGEST_LINE else []
        words = tuple(re.sub(r"\s+", " ", word) for word in NUMBER.split(own))
        if not numbers or (words not in found and len(found) >= _MOST_KEPT):
            continue
        found.setdefault(words, Frequent(Shape(words, own), number)).shape.numbers.append(tuple(numbers))
    able = [frequent for frequent in found.values() if frequent.count >= _LEAST]
    return sorted(able, key=lambda frequent: (-frequent.count, frequent.line))[:most]


def draft(log: LogFile) -> tuple[dict[str, Any], str] | None:
    """A parser of a log's most frequent lines as a person begins one: (its tables, what is to be filled in).

    Nothing in it says what a number means but the step, a whole number that rises. None where no lines are alike, or
    none of them counts.
    """
    for frequent in frequent_shapes(log):
        shape = frequent.shape
        step = next((place for place in range(len(shape.words) - 1) if _rises(shape.whole_numbers(place))), None)
        others = [place for place in range(len(shape.words) - 1) if place != step]
        if step is None or not others:
            continue
        tables = tables_of(shape, [Meaning(step, "step")], "draft")
        if tables is not None:
            del tables["pattern"][0]["value"]
            return tables, "".join([_QUESTION, *(_choice(shape, step, place) for place in others)])
    return None


def _rises(column: Sequence[int] | None) -> bool:
    """Whether whole numbers go up from line to line, as those of steps do."""
    return bool(column) and all(later > earlier for earlier, later in pairwise(column or ()))


def _word_before(words: str) -> str:
    """The last word before a number, as the name of a group; ``step`` and ``epoch`` are names of positions alone."""
    found = _WORD.findall(words)
    word = str(found[-1]).lower() if found else ""
    return "number" if word in ("", "step", "epoch") else word


def _choice(shape: Shape, step: int, place: int) -> str:
    """What a person puts into the pattern where the number at ``place`` is the one that counts."""
    meanings = sorted([Meaning(step, "step"), Meaning(place, _word_before(shape.words[place]))], key=lambda m: m.place)
    tables = tables_of(shape, meanings, "draft")
    if tables is None:
        return ""
    (pattern,) = tables["pattern"]
    group = pattern["value"][0]["group"]
    seen = ", ".join(shape.column(place)[:3])
    return (
        f"#\n# {seen} …: then in [[pattern]]\n#   regex = '{pattern['regex']}'\n# and at the end\n"
        "#   [[pattern.value]]\n"
        f'#   group = "{group}"\n#   quantity = "step_time"\n#   unit = "s"\n#   span = "last"\n'
    )
