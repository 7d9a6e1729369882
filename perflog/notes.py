"""A note: what is said beside a number, and what it would change.

A note that moves the number far is part of the number: it stands in the cell. The others stand below, or are counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct, structs

#: What a note is about: the number itself, which configuration it is of, that a number is missing, or none of them.
Changes = Literal["", "number", "case", "missing"]
#: A number that would move by this share or more bears the other one in its cell.
IN_CELL = 0.02
#: One that would move by this share or more, and of which the log does not say which is meant, leads nothing.
LEADS_NOTHING = 0.10
#: A number in a sentence; one that is part of a word or of a name is none.
_ONE = r"[+−-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_NUMBER = re.compile(rf"(?<![\w./-]){_ONE}(?:(?: ?%)?(?: to | 至 ){_ONE})?(?![\w/]|[.-]\w)")
_SEVERAL = re.compile(r"\b(line|run|record) (?=\S+ to )")
_ALONE = re.compile(r"\blines (\S+ to \S+) alone\b")
_LINE = re.compile(r"\bline \d+")


class Note(Struct, frozen=True, omit_defaults=True):
    """One sentence beside a number, with its effect.

    Attributes:
        text: the sentence.
        changes: ``number``: the number would be another one; ``case``: it may be of another configuration; ``missing``:
            there is none, for this reason; empty: nothing.
        move: by how much the number would change, as a signed share of it: ``other / value - 1``; None while unknown.
        other: the other number, in the unit of the throughput; None where there is none.
        label: how the other number is made, in a few words for a cell: ``without line 71``.
        undecided: whether the log leaves open which of the two numbers is meant.
    """

    text: str
    changes: Changes = ""
    move: float | None = None
    other: float | None = None
    label: str = ""
    undecided: bool = False

    def __str__(self) -> str:
        return self.text

    @property
    def is_needed(self) -> bool:
        """Whether a table would mislead without it: a number is missing, or may be of another configuration."""
        return self.changes in ("case", "missing")

    @property
    def is_mark(self) -> bool:
        """Whether the note stands in the number's cell."""
        return self.other is not None and self.move is not None and abs(self.move) >= IN_CELL

    @property
    def is_open(self) -> bool:
        """Whether two numbers far apart are possible, so that no speedup and no verdict is made of either."""
        return self.is_mark and self.undecided and abs(self.move or 0.0) >= LEADS_NOTHING

    def at(self, value: float | None) -> Note:
        """The note beside a number, with the other one that follows from the move where that is not given."""
        if self.move is None or self.other is not None or value is None:
            return self
        return structs.replace(self, other=value * (1 + self.move))

    @classmethod
    def of_number(
        cls, text: str, *, value: float | None, other: float, label: str = "", undecided: bool = False
    ) -> Note:
        """A note by which the number would be another one; without an effect where either is no positive number.

        Args:
            value: the number that is given.
            other: what it would be; in the same unit.
        """
        if value is None or not 0 < value < math.inf or not 0 < other < math.inf:
            return cls(text)
        return cls(text, "number", other / value - 1, other, label, undecided)

    @classmethod
    def of_missing(cls, text: str) -> Note:
        """A note that says why there is no number."""
        return cls(text, "missing")

    @classmethod
    def of_case(cls, text: str) -> Note:
        """A note by which the number may be of another configuration."""
        return cls(text, "case")


def mark_of(notes: Iterable[Note]) -> Note | None:
    """The note that stands in the cell: of those that the log leaves open, else of all, the one that moves it most."""
    marks = [note for note in notes if note.is_mark]
    return max(marks, key=lambda note: (note.is_open, abs(math.log1p(note.move or 0.0))), default=None)


def merged(sentences: Iterable[str], to: str = " to ") -> list[str]:
    """Sentences in their order; those that differ in their numbers alone are one, with the range of each.

    >>> merged(["line 5 has a rate of +1.7 %", "line 9 has a rate of +1.9 %"])
    ['lines 5 to 9 has a rate of +1.7 to +1.9 %']
    """
    return [text for _, text in alike(sentences, to)]


def alike(sentences: Iterable[str], to: str = " to ") -> list[tuple[list[str], str]]:
    """(the sentences that differ in their numbers alone, the one that stands for them), in order.

    Numbers that belong to a word (``MSER-5``, ``rn50``) are part of it.
    """
    groups: dict[str, list[str]] = {}
    for sentence in dict.fromkeys(sentences):
        groups.setdefault(_NUMBER.sub("#", sentence), []).append(sentence)
    return [(members, _ranged(members, to)) for members in groups.values()]


def _ranged(sentences: Sequence[str], to: str) -> str:
    """One sentence in place of several that differ in numbers."""
    if len(sentences) == 1:
        return sentences[0]
    columns = zip(*(_NUMBER.findall(sentence) for sentence in sentences), strict=True)
    ranges = iter([_range(column, to) for column in columns])
    text = _SEVERAL.sub(r"\1s ", _NUMBER.sub(lambda _: next(ranges), sentences[0]))
    return _ALONE.sub(r"one line (\1) alone", text)


def _range(numbers: Sequence[str], to: str) -> str:
    parts = {part for text in numbers for part in re.split("(?: ?%)?(?: to | 至 )", text)}
    ordered = sorted(parts, key=lambda text: float(text.replace("−", "-")))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]}{to}{ordered[-1]}"


def label_of(marks: Sequence[Note]) -> str:
    """The label of several runs' marks: theirs where it is one, without the numbers that differ, or how many ways."""
    labels = list(dict.fromkeys(mark.label for mark in marks))
    if len(labels) == 1:
        return labels[0]
    if len({_LINE.sub("", label) for label in labels}) == 1:
        return _LINE.sub("one line each", labels[0])
    alike = merged(labels)
    return alike[0] if len(alike) == 1 else "by the notes"


def texts(notes: Iterable[Note]) -> list[str]:
    """The sentences of some notes."""
    return [note.text for note in notes]
