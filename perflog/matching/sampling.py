"""Takes samples of a pattern's lines from the texts in which it matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from perflog.matching.matches import Ints, Texts
from perflog.matching.samples import AFTER, BEFORE, MOST, Samples


def samples_of(
    text: Ints,
    line: Ints,
    rank: Ints,
    offset: Ints,
    columns: Mapping[str, Any],
    texts: Sequence[bytes],
) -> dict[int, Samples]:
    """Samples of one pattern's matches, by text.

    Args:
        text, line, rank: of each match, (n,).
        offset: where each match begins in its text, (n,).
        columns: captures by group; those that are no numbers are left out.
        texts: the texts, by index.
    """
    if not len(text):
        return {}
    rows = np.flatnonzero(rank <= 0) if (rank <= 0).any() else np.arange(len(text))
    owner = text[rows]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    bounds = np.append(first, len(rows)).tolist()
    numbers = {name: column for name, column in columns.items() if not isinstance(column, list)}
    found = {}
    for low, high in pairwise(bounds):
        kept = min(high - low, MOST)
        picks = rows[low + (np.arange(kept) * (high - low - 1)) // max(kept - 1, 1)]
        number = int(text[picks[0]])
        buffer, start, stop = _bounds(texts, number)
        parts = [_line_at(buffer, start, start + place, stop) for place in offset[picks].tolist()]
        found[number] = Samples(
            line[picks],
            tuple(before for before, _ in parts),
            tuple(after for _, after in parts),
            {name: column[picks] for name, column in numbers.items()},
        )
    return found


def _bounds(texts: Sequence[bytes], text: int) -> tuple[bytes | bytearray, int, int]:
    """(the bytes that hold a text, where it begins in them, where it ends)."""
    if isinstance(texts, Texts):
        return texts.buffer, texts.ends[text - 1] if text else 0, texts.ends[text]
    return texts[text], 0, len(texts[text])


def _line_at(buffer: bytes | bytearray, start: int, place: int, stop: int) -> tuple[bytes, bytes]:
    """(the line up to a place in it, the line from there on), both cut to what is kept.

    ``start``, ``stop``: the bounds of the text.
    """
    earliest, latest = max(start, place - BEFORE), min(stop, place + AFTER)
    begin = buffer.rfind(b"\n", earliest, place) + 1 or earliest
    end = buffer.find(b"\n", place, latest)
    return bytes(buffer[begin:place]), bytes(buffer[place : end if end >= 0 else latest])
