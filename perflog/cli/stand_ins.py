"""Modules that typer imports whenever it prints help, and perflog never uses: imported when something of them is.

``typer.rich_utils`` imports rich's Markdown and tracebacks, which bring a Markdown parser, pygments and attrs: half of
the time of ``perflog --help``. For the command's own process only, since it changes what ``import`` gives.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_MODULES = ("rich.markdown", "rich.traceback")


class _Class(type):
    """A class that stands for one of a module that is not imported yet: whatever is asked of it, the real one does."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        return cls._real()(*arguments, **options)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls._real(), name)

    def _real(cls) -> Any:
        sys.modules.pop(cls.__module__, None)
        return getattr(import_module(cls.__module__), cls.__name__)


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Class(name, (), {"__module__": self.__name__})


def put_stand_ins() -> None:
    """Let the modules that are not imported yet stand for themselves."""
    for name in _MODULES:
        sys.modules.setdefault(name, _Module(name))
