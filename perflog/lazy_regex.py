"""Regexes that are compiled when they are first used.

A command uses few of the regexes that the modules it imports define, and to compile all of them takes longer than to
read a small log.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, AnyStr, Generic, cast


class _LazyPattern(Generic[AnyStr]):
    """Stands for a compiled regex: what is asked of it, the compiled one gives, and is kept."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._source: AnyStr = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self._source, self._flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python asks of every object is no matter of the regex
            raise AttributeError(name)
        value = getattr(self._compiled, name)
        setattr(self, name, value)  # so that the next call is as quick as of the regex itself
        return value


def lazy_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regex for a module's constant: it has the methods and attributes of a compiled one.

    What is wrong with ``pattern`` is raised when it is first used (``tests/test_lazy_regex.py`` compiles all).
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
