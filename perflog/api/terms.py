"""Messages in Python's terms: what the command line calls ``--estimator`` is the argument ``estimator`` here."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from perflog.errors import PerflogError
from perflog.extras import plain

_P = ParamSpec("_P")
_R = TypeVar("_R")
#: Options that arguments have other names for.
_NAMES = {
    "alias": "aliases", "lang": "language", "title": "titles", "name": "names", "all": "everything",
    "confidence": "level",
}  # fmt: skip
#: Options that take ``key=value`` on the command line, and a mapping here.
_MAPPINGS = frozenset({"set", "baseline", "where", "digits", "title", "name", "case", "alias", "only"})
#: Options of the command line alone; sentences about them stay as they are.
_NO_ARGUMENTS = frozenset({"format", "quiet", "check", "verbose", "help", "wide", "watch", "from"})
_PAIR = re.compile(r"--([a-z]+(?:-[a-z]+)*)[ =]([A-Za-z_]\w*)=('[^']*'|\"[^\"]*\"|[^\s,;:)`]+)")
_FILE = re.compile(r"(?<!\S)-o (?=[\w./-]+\.\w)")
_NEGATED = re.compile(r"--no-([a-z]+)\b")
_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?:(?<!')=(?=\S))?")


def python_terms(text: str) -> str:
    """A message with options as arguments.

    >>> python_terms("--estimator 'avg': expected one of total, mean")
    "estimator 'avg': expected one of total, mean"
    >>> python_terms("give --set devices=N, or --lang zh")
    "give set={'devices': N}, or language zh"
    """
    text = _PAIR.sub(_pair, text)
    text = _FILE.sub("", text)
    text = _NEGATED.sub(r"\1=False", text)
    return _OPTION.sub(_option, text)


def _pair(match: re.Match[str]) -> str:
    option, key, value = match[1], match[2], match[3].strip("'\"")
    if option not in _MAPPINGS:
        return match[0]
    shown = value if value == "N" or value.isdecimal() else repr(value)
    return f"{_NAMES.get(option, option)}={{{key!r}: {shown}}}"


def _option(match: re.Match[str]) -> str:
    option = match[1]
    if option in _NO_ARGUMENTS:
        return match[0]
    equals = "=" if match[0].endswith("=") else ""
    return _NAMES.get(option, option).replace("-", "_") + equals


def in_python_terms(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function whose errors of perflog are worded in Python's terms; they keep their classes and tracebacks.

    A package that an extra of the installation brings, and that is missing, is such an error too.
    """

    installed = plain(function)

    @wraps(function)
    def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
        try:
            return installed(*arguments, **options)
        except PerflogError as error:
            error.args = tuple(python_terms(part) if isinstance(part, str) else part for part in error.args)
            raise

    return call
