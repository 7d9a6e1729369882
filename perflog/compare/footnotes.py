"""The notes of a table's rows as footnotes: each is told once, and the rows that it is for bear its number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: A number that is a share: notes that differ in one alone say the same of their rows.
_SHARE = re.compile(r"[+−-]?\d+(?:\.\d+)?(?= ?%)")


@dataclass(frozen=True, slots=True)
class Footnotes:
    """The notes of a table.

    Attributes:
        texts: each note once; where notes of rows differ in one share of 100 alone, one with the range of these.
        marks: for each row the numbers of its notes, counted from 1, in order.
    """

    texts: tuple[str, ...]
    marks: tuple[tuple[int, ...], ...]


def footnotes(notes: Sequence[Sequence[str]]) -> Footnotes:
    """Footnotes in the order in which the rows' notes come.

    >>> footnotes([["a rate of +1.7 %", "b"], ["a rate of +1.9 %"]])
    Footnotes(texts=('a rate of +1.7 to +1.9 %', 'b'), marks=((1, 2), (1,)))
    """
    groups: dict[str, list[str]] = {}
    for note in dict.fromkeys(note for row in notes for note in row):
        groups.setdefault(_SHARE.sub("#", note), []).append(note)
    numbers: dict[str, int] = {}
    texts: list[str] = []
    for members in groups.values():
        for together, text in _told(members):
            texts.append(text)
            numbers |= dict.fromkeys(together, len(texts))
    return Footnotes(tuple(texts), tuple(tuple(sorted({numbers[note] for note in row})) for row in notes))


def _told(notes: Sequence[str]) -> list[tuple[Sequence[str], str]]:
    """Notes that are alike but for their shares: (those that are told together, the text)."""
    shares = [_SHARE.findall(note) for note in notes]
    differing = [place for place, values in enumerate(zip(*shares, strict=True)) if len(set(values)) > 1]
    if len(differing) != 1:
        return [([note], note) for note in notes]
    (place,) = differing
    values = sorted((texts[place] for texts in shares), key=lambda text: float(text.replace("−", "-")))
    found = list(_SHARE.finditer(notes[0]))[place]
    return [(notes, f"{notes[0][: found.start()]}{values[0]} to {values[-1]}{notes[0][found.end() :]}")]
