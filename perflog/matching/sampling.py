"""Takes samples of a pattern's lines from the texts in which it matched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from perflog.matching.matches import AFTER, BEFORE, MOST, Ints, Samples, Texts


class Sampling(Mapping[int, Samples]):
    """Samples of one pattern's matches, by text, taken when one is first asked for: of most patterns nobody asks.

    The texts must be as they were when they were matched until then.
    """

    def __init__(
        self, text: Ints, line: Ints, rank: Ints, offset: Ints, columns: Mapping[str, Any], texts: Sequence[bytes]
    ) -> None:
        """As :func:`samples_of`."""
        self._asked = text, line, rank, offset, columns, texts

    @cached_property
    def _samples(self) -> dict[int, Samples]:
        return samples_of(*self._asked)

    def __getitem__(self, text: int) -> Samples:
        return self._samples[text]

    def __iter__(self) -> Iterator[int]:
        return iter(self._samples)

    def __len__(self) -> int:
        return len(self._samples)

    def __contains__(self, text: object) -> bool:
        return text in self._samples


def samples_of(
    text: Ints, line: Ints, rank: Ints, offset: Ints, columns: Mapping[str, Any], texts: Sequence[bytes]
) -> dict[int, Samples]:
    """Samples of one pattern's matches, by text.

    Args:
        text, line, rank: of each match, (n,); lines from 0 in their text.
        offset: where each match begins in its text, (n,).
        columns: captures by group; those that are no numbers are left out.
        texts: the texts, by index.
    """
    if not len(text):
        return {}
    of_first = rank <= 0  # each text's first rank, or all of its lines where it has none: another text changes nothing
    has_first = np.zeros(int(text[-1]) + 1, dtype=bool)
    has_first[text[of_first]] = True
    rows = np.flatnonzero(of_first | ~has_first[text])
    picks, bounds = _picked(text[rows], rows)
    owners, offsets = text[picks], offset[picks]
    lines = line[picks] + 1
    numbers = {name: column[picks] for name, column in columns.items() if not isinstance(column, list)}
    starts, stops = _borders(owners, texts)
    places = offsets + starts
    earliest, latest = np.maximum(places - BEFORE, starts).tolist(), np.minimum(places + AFTER, stops).tolist()
    rows_of_lines = list(zip(places.tolist(), earliest, latest, strict=True))
    samples = {}
    for (low, high), number in zip(pairwise(bounds), owners[bounds[:-1]].tolist(), strict=True):
        buffer = texts.buffer if isinstance(texts, Texts) else texts[number]
        kept, within = _lines_at(buffer, rows_of_lines[low:high])
        own = {name: column[low:high] for name, column in numbers.items()}
        samples[number] = Samples(lines[low:high], kept, within, own)
    return samples


def _picked(owner: Ints, rows: Ints) -> tuple[Ints, list[int]]:
    """(the matches picked of all texts, text by text; where each text's begin among them, and the end of all).

    Args:
        owner: the text of each match that may be picked, in order, (n,).
        rows: which of all matches each of these is, (n,).
    """
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    count = np.diff(first, append=len(owner))
    kept = np.minimum(count, MOST)
    bounds = np.append(0, np.cumsum(kept))
    turn = np.arange(bounds[-1]) - np.repeat(bounds[:-1], kept)
    spread = turn * np.repeat(count - 1, kept) // np.repeat(np.maximum(kept - 1, 1), kept)
    return rows[np.repeat(first, kept) + spread], bounds.tolist()


def _borders(owners: Ints, texts: Sequence[bytes]) -> tuple[Ints, Ints]:
    """(where the text of each line begins in the bytes that hold it, where it ends), each (k,).

    Args:
        owners: the text of each line, in order, (k,).
    """
    if isinstance(texts, Texts):
        ends = np.array([0, *texts.ends])
        return ends[owners], ends[owners + 1]
    return np.zeros(len(owners), dtype=np.int64), np.array([len(texts[number]) for number in owners.tolist()])


def _lines_at(
    buffer: bytes | bytearray, places: Sequence[tuple[int, int, int]]
) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
    """(the lines at places in a text, cut to what is kept; where the places are in them).

    Args:
        places: of each line in the buffer, the place, the earliest and the latest byte that is kept, (k,).
    """
    kept, within = [], []
    with memoryview(buffer) as view:
        for place, first, last in places:
            begin = buffer.rfind(b"\n", first, place) + 1 or first
            end = buffer.find(b"\n", place, last)
            kept.append(bytes(view[begin : end if end >= 0 else last]))
            within.append(place - begin)
    return tuple(kept), tuple(within)
