"""Facts that users give: their names must be no misspellings, and their values must fit the facts' forms."""

from __future__ import annotations

from typing import Any

from perflog.errors import UsageError
from perflog.formats.vocabulary import misfit, misspelt


def require_fact(given: str, key: str, value: Any) -> None:
    """Let a fact pass whose name is no misspelling and whose value fits its form.

    Args:
        given: the fact and where it was given, as messages name it.

    Raises:
        UsageError: for another one.
    """
    if meant := misspelt(key):
        raise UsageError(f"{given}: there is no fact {key!r}; did you mean {meant}?")
    if expected := misfit(key, value):
        raise UsageError(f"{given}: {expected}")
