"""Errors for machines: where a command was asked for JSON, its error is a JSON document too (docs/json.md)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest

SCHEMA = "perflog/error/1"
#: The option that names a format.
_FORMAT = ("-f", "--format")


def asks_for_json(words: Sequence[str]) -> bool:
    """Whether the words of a command line ask for JSON. The ending of a file's name does not: that asks for a file.

    >>> asks_for_json(["extract", "logs", "-f", "json"]), asks_for_json(["extract", "logs", "-o", "cases.json"])
    (True, False)
    """
    return [value.lower() for value in _values(words, _FORMAT)][-1:] == ["json"]


def print_error(words: Sequence[str], code: str, message: str, status: int) -> None:
    """Print an error on standard output in place of the document that was asked for; nothing where none was.

    Args:
        words: the command line.
        code: what kind of error it is.
        message: the same text as on standard error.
        status: the exit status.
    """
    if not asks_for_json(words):
        return
    from perflog._version import __version__
    from perflog.escaping import json_text

    error = {"code": code, "message": message, "exit_status": status}
    with suppress(Exception):  # standard output may be what failed
        sys.stdout.write(json_text({"schema": SCHEMA, "perflog": __version__, "error": error}) + "\n")
        sys.stdout.flush()


def _values(words: Sequence[str], flags: tuple[str, str]) -> list[str]:
    """The values of an option, in any of the ways that it may be written."""
    short, long = flags
    values = []
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if word == "--":
            break
        if word in flags:
            values.append(following)
        elif word.startswith(f"{long}="):
            values.append(word.removeprefix(f"{long}="))
        elif word.startswith(short) and not word.startswith("--"):
            values.append(word.removeprefix(short))
    return values
