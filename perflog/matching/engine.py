"""Which engine matches: the compiled one where it is at hand, else polars. Both give the same, to the last bit."""

from __future__ import annotations

import os

from perflog.errors import UsageError
from perflog.formats.catalog import Catalog
from perflog.matching import library
from perflog.matching.matches import Engine

#: The environment variable that chooses the engine.
VARIABLE = "PERFLOG_ENGINE"
ENGINES = ("compiled", "polars")


def engine_for(catalog: Catalog) -> Engine:
    """The engine for a catalogue's patterns.

    Raises:
        UsageError: when ``PERFLOG_ENGINE`` names no engine, or one that is not to be had here.
    """
    name = "compiled" if use_compiled() else "polars"
    if name not in catalog.derived:  # two threads may both make one: they make the same
        catalog.derived[name] = _compiled(catalog) if name == "compiled" else _polars(catalog)
    engine: Engine = catalog.derived[name]
    return engine


def _compiled(catalog: Catalog) -> Engine:
    from perflog.matching.compiled_engine import CompiledEngine

    return CompiledEngine(catalog)


def _polars(catalog: Catalog) -> Engine:
    from perflog.matching.polars_engine import PolarsEngine

    return PolarsEngine(catalog)


def engine_description() -> str:
    """The engine in use in a few words, and why it is not the compiled one."""
    if use_compiled():
        return "compiled"
    if _asked() == "polars":
        return f"polars ({VARIABLE}=polars)"
    return f"polars ({library.available()})"


def _asked() -> str:
    asked = os.environ.get(VARIABLE, "")
    if asked and asked not in ENGINES:
        raise UsageError(f"{VARIABLE}={asked!r}: expected one of {', '.join(ENGINES)}")
    return asked


def use_compiled() -> bool:
    """Whether the compiled engine is in use.

    Raises:
        UsageError: when ``PERFLOG_ENGINE`` names no engine, or one that is not to be had here.
    """
    asked = _asked()
    if asked == "polars":
        return False
    reason = library.available()
    if asked == "compiled" and reason:
        raise UsageError(f"{VARIABLE}=compiled: the compiled engine is not to be had here: {reason}")
    return not reason
