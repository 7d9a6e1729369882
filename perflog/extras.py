"""What perflog can do where a package is installed that the plain installation does not bring."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import NamedTuple, ParamSpec, TypeVar

from perflog.errors import PerflogError

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Extra(NamedTuple):
    """An extra of the installation (``pip install 'perflog[NAME]'``), and what needs it."""

    name: str
    purpose: str


#: The extra that brings a package, by the package's name in an import.
EXTRAS = {
    "sqlalchemy": Extra("history", "the history"),
    "alembic": Extra("history", "the history"),
    "psycopg": Extra("postgresql", "a history in PostgreSQL"),
    "lz4": Extra("lz4", "reading .lz4"),
    "xlsxwriter": Extra("xlsx", "writing .xlsx"),
    "obstore": Extra("s3", "reading logs from a server"),
    "ray": Extra("ray", "reading logs on a cluster"),
}


def missing_extra(error: ImportError) -> PerflogError | None:
    """The sentence for a package that is not installed; None where no extra brings it."""
    package = (error.name or "").partition(".")[0]
    return None if package not in EXTRAS else _missing(package)


def require(package: str) -> None:
    """Raise PerflogError, with the command that installs it, where a package of an extra is not there.

    For what would be needed only at the end of long work.
    """
    if find_spec(package) is None:
        raise _missing(package)


def _missing(package: str) -> PerflogError:
    extra = EXTRAS[package]
    problem = PerflogError(
        f"{extra.purpose} needs the package {package}, which is not installed: pip install 'perflog[{extra.name}]'"
    )
    problem.code = "missing-package"
    return problem


def plain(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Let a function raise PerflogError, with the command that installs it, where a package of an extra is missing."""

    @wraps(function)
    def call(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        try:
            return function(*arguments, **options)
        except ImportError as error:
            if (problem := missing_extra(error)) is None:
                raise
            raise problem from None

    return call
