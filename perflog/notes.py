"""A note: what is said beside a number, and what it would change.

A note that moves the number far is part of the number: it stands in the cell. The others stand below, or are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

#: What a note is about: the number itself, which configuration it is of, or neither.
Changes = Literal["", "number", "case"]


class Note(Struct, frozen=True, omit_defaults=True):
    """One sentence beside a number, with its effect.

    Attributes:
        text: the sentence.
        changes: ``number``: the number would be another one; ``case``: it may be of another configuration; empty: none.
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
    def of_case(cls, text: str) -> Note:
        """A note by which the number may be of another configuration."""
        return cls(text, "case")


def texts(notes: Iterable[Note]) -> list[str]:
    """The sentences of some notes."""
    return [note.text for note in notes]
