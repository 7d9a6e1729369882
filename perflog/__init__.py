"""perflog: numbers that can be trusted from the training logs of deep-learning frameworks.

>>> import perflog
>>> result = perflog.extract("fixtures/seed004/logs_fp32", warmup=100, steps=100)  # doctest: +SKIP
>>> result.cases  # a polars frame, one row per case  # doctest: +SKIP
>>> perflog.compare("logs-2.4/", "logs-2.5/", warmup=100).rows  # doctest: +SKIP

Every use case is a function; ``help(perflog.api)`` describes them all. Four of them have the name of the package that
they stand for (``audit``, ``compare``, ``history`` and ``view``): these packages can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from perflog._version import __version__

if TYPE_CHECKING:
    from perflog.api import (
        Audit,
        Comparison,
        Explanations,
        Extracted,
        History,
        Measurement,
        Noise,
        Picture,
        Readme,
        Regressions,
        Report,
        Table,
        View,
        audit,
        compare,
        explain,
        extract,
        extract_on,
        extract_share,
        history,
        json_schema,
        measure,
        merge,
        noise,
        plan,
        plot,
        readme,
        records,
        regressions,
        report,
        save,
        table,
        view,
    )

__all__ = [
    "Audit",
    "Comparison",
    "Explanations",
    "Extracted",
    "History",
    "Measurement",
    "Noise",
    "Picture",
    "Readme",
    "Regressions",
    "Report",
    "Table",
    "View",
    "__version__",
    "audit",
    "compare",
    "explain",
    "extract",
    "extract_on",
    "extract_share",
    "history",
    "json_schema",
    "measure",
    "merge",
    "noise",
    "plan",
    "plot",
    "readme",
    "records",
    "regressions",
    "report",
    "save",
    "table",
    "view",
]
#: Functions that have the name of a package.
_PACKAGES = frozenset({"audit", "compare", "history", "view"})


class _CallablePackage(ModuleType):
    """A package that is also the function of its name in :mod:`perflog.api`.

    ``import perflog.compare`` binds the package to ``perflog.compare``, whoever does it and whenever; so that the
    function is never lost, the package itself is called.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function(*arguments, **options)

    @property
    def _function(self) -> Any:
        from perflog import api

        return getattr(api, self.__name__.rpartition(".")[2])

    @property
    def __signature__(self) -> Any:
        import inspect

        return inspect.signature(self._function)


class _FrontDoor(ModuleType):
    """``perflog`` itself: a package of a use case that is bound to it becomes callable."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PACKAGES and isinstance(value, ModuleType):
            value.__class__ = _CallablePackage
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor


def __getattr__(name: str) -> Any:
    import importlib

    if name in _PACKAGES:  # the import binds it to this module
        return importlib.import_module(f"perflog.{name}")
    if name in __all__:  # polars and others are imported only when they are needed
        return getattr(importlib.import_module("perflog.api"), name)
    raise AttributeError(f"module 'perflog' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
