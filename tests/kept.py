"""What each command would make anew, and what is the same for all of them: made once in a process and its forks.

These are perflog's own formats, the engine of a set of formats, the processors that the container grants, and the command
line as the library of the command line wants it. To make them costs more than a short command does besides, and they depend on their arguments alone. Commands
that run in the tests' own process, or are forked from one that has done this (:mod:`tests.forks`), share them. What
makes them is tested by itself (``tests/formats/test_prebuilt.py``, ``tests/matching``), and in processes that are
started anew (``tests/cli/test_start.py``, ``tests/test_artefact.py``).
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Parser
from perflog.lazy_regex import _LazyPattern
from perflog.matching.matches import Engine


def keep() -> None:
    """Let this process, and those that it forks, make each of them once."""
    formats, engine, schedule, testing = (
        _module(name)
        for name in ("perflog.formats.catalog", "perflog.matching.engine", "perflog.reading.schedule", "typer.testing")
    )
    formats.own_formats = lru_cache(formats.own_formats)
    schedule.processors_granted = lru_cache(schedule.processors_granted)
    engine._compiled = _by_formats(engine._compiled)
    testing._get_command = lru_cache(testing._get_command)


def compile_regexes(catalog: Catalog) -> None:
    """Compile what modules and formats compile when it is first used, which the processes forked from this share."""
    for regex in (thing for thing in gc.get_objects() if isinstance(thing, _LazyPattern)):
        _ = regex._compiled
    for pattern in catalog.path_patterns:
        if pattern.choices is None:
            _ = pattern.regex


def _by_formats(make: Callable[[Catalog], Engine]) -> Callable[[Catalog], Engine]:
    """A function that makes one engine for all catalogues of the same formats."""
    engines: dict[tuple[int, ...], tuple[tuple[Parser, ...], Engine]] = {}

    def engine_of(catalog: Catalog) -> Engine:
        parsers = tuple(catalog.parsers)
        key = tuple(map(id, parsers))
        if key not in engines:
            engines[key] = parsers, make(catalog)  # the parsers are kept too: no others can have their identities
        return engines[key][1]

    return engine_of


def _module(name: str) -> Any:
    """A module, in which names are replaced."""
    return import_module(name)
