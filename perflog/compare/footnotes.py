"""The notes of a table's rows as footnotes: each is told once, and the rows that it is for bear its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perflog.notes import alike


@dataclass(frozen=True, slots=True)
class Footnotes:
    """The notes of a table.

    Attributes:
        texts: each note once; where notes of rows differ in numbers alone, one with the ranges of these.
        marks: for each row the numbers of its notes, counted from 1, in order.
    """

    texts: tuple[str, ...]
    marks: tuple[tuple[int, ...], ...]


def footnotes(notes: Sequence[Sequence[str]]) -> Footnotes:
    """Footnotes in the order in which the rows' notes come.

    >>> footnotes([["a rate of +1.7 %", "b"], ["a rate of +1.9 %"]])
    Footnotes(texts=('a rate of +1.7 to +1.9 %', 'b'), marks=((1, 2), (1,)))
    """
    groups = alike(note for row in notes for note in row)
    numbers = {note: mark for mark, (members, _) in enumerate(groups, 1) for note in members}
    marks = tuple(tuple(sorted({numbers[note] for note in row})) for row in notes)
    return Footnotes(tuple(text for _, text in groups), marks)
