"""Errors for machines: where a command was asked for JSON, its error is a JSON document too (docs/json.md)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest

SCHEMA = "perflog/error/1"
#: The options that name a format or a file, and what asks for JSON there.
_FORMAT, _OUTPUT = ("-f", "--format"), ("-o", "--output")


def asks_for_json(words: Sequence[str]) -> bool:
    """Whether the words of a command line ask for JSON: by the format, or by the ending of the output's name.

    >>> asks_for_json(["extract", "logs", "-f", "json"]), asks_for_json(["extract", "logs", "--format=csv"])
    (True, False)
    """
    forms = [value.lower() for value in _values(words, _FORMAT)]
    if forms:
        return forms[-1] == "json"
    return any(value.lower().endswith(".json") for value in _values(words, _OUTPUT))


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
