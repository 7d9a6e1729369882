"""Two texts in, what differs between them out, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

#: From so many lines on, lines are not matched with each other: a README of repeated lines would take minutes, or days.
MOST_MATCHED = 4_000


def differences(old: str, new: str, old_name: str, new_name: str) -> Iterator[str]:
    """The lines of a unified difference; of long texts, all between the first and the last change as one change."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if len(before) + len(after) <= MOST_MATCHED:
        yield from difflib.unified_diff(before, after, old_name, new_name)
        return
    head = _same(before, after)
    tail = _same(before[head:][::-1], after[head:][::-1])
    left_out, put_in = before[head : len(before) - tail], after[head : len(after) - tail]
    yield f"--- {old_name}\n"
    yield f"+++ {new_name}\n"
    yield f"@@ -{head + 1},{len(left_out)} +{head + 1},{len(put_in)} @@\n"
    yield from (f"-{line}" for line in left_out)
    yield from (f"+{line}" for line in put_in)


def _same(one: list[str], other: list[str]) -> int:
    """How many lines two texts begin with that are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (line, against) in pairs if line != against), min(len(one), len(other)))
