"""Facts that users give: their names must be no misspellings, and counts must be whole numbers."""

from __future__ import annotations

from typing import Any

from perflog.errors import UsageError
from perflog.formats.vocabulary import INTEGERS, misspelt, normal


def require_fact(given: str, key: str, value: Any) -> None:
    """Let a fact pass whose name is no misspelling and whose count is a whole number.

    Args:
        given: the fact and where it was given, as messages name it.

    Raises:
        UsageError: for another one.
    """
    if meant := misspelt(key):
        raise UsageError(f"{given}: there is no fact {key!r}; did you mean {meant}?")
    if key in INTEGERS and normal(key, value) is None:
        raise UsageError(f"{given}: expected a whole number above 0 of at most 9 digits")
