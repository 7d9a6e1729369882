"""The options that recipes of regions and commands share: their names, and how the words of a recipe are read.

A recipe is written as on the command line, so that both are learnt once: the flags stand here, and the command line
takes them from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perflog.errors import UsageError
from perflog.settings.config import pairs
from perflog.spelling import did_you_mean

#: Options that decide on the numbers of an extraction, as ``settings`` takes them.
EXTRACTION: Mapping[str, tuple[str, ...]] = {
    "warmup": ("--warmup", "-w"), "steps": ("--steps", "-n"), "last": ("--last",), "estimator": ("--estimator", "-e"),
    "aggregate": ("--aggregate", "-a"), "baseline": ("--baseline",), "set": ("--set", "-s"), "parser": ("--parser",),
    "parsers": ("--parsers",), "convention": ("--convention", "-c"), "values": ("--values",),
    "without_slow": ("--without-slow",),
}  # fmt: skip
#: Options of tables, pictures and reports.
DOCUMENTS: Mapping[str, tuple[str, ...]] = {
    "rows": ("--rows", "-r"), "columns": ("--columns",), "value": ("--value", "-v"), "where": ("--where",),
    "style": ("--style",), "lang": ("--lang",), "templates": ("--templates",), "notes": ("--notes",),
    "digits": ("--digits",), "title": ("--title",), "name": ("--name",), "missing": ("--missing",),
    "kind": ("--kind",), "output": ("--output", "-o"), "html": ("--html",), "quiet": ("--quiet", "-q"),
}  # fmt: skip
FLAGS: Mapping[str, tuple[str, ...]] = {**EXTRACTION, **DOCUMENTS}
#: Options that may be repeated, and those that take no value; ``--no-notes`` turns ``--notes`` off.
_REPEATED = frozenset({"baseline", "set", "parser", "parsers", "where", "templates", "digits", "title", "name"})
_SWITCHES = frozenset({"notes", "html", "quiet", "without_slow"})
_OFF = {"--no-notes": "notes"}
#: The options of extraction whose values are ``key=value`` texts.
_PAIRS = ("baseline", "set")


def read_words(words: Sequence[str], allowed: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """The logs and the options among the words of a recipe.

    Args:
        allowed: names of the options that the recipe may hold.

    Returns:
        The words that are no options, and by name the options that were given: a text, a list of texts for one that
        may be repeated, a bool for a switch.

    Raises:
        UsageError: for an option that is not allowed or lacks its value, or a recipe without logs.
    """
    flags = {flag: name for name in allowed for flag in FLAGS[name]}
    flags |= {flag: name for flag, name in _OFF.items() if name in allowed}
    logs: list[str] = []
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if word == "--":
            logs += rest
        elif word.startswith("-") and len(word) > 1:
            _read_option(word, rest, flags, values)
        else:
            logs.append(word)
    if not logs:
        raise UsageError("the recipe is wrong: it names no logs")
    return logs, values


def _read_option(word: str, rest: Iterator[str], flags: Mapping[str, str], values: dict[str, Any]) -> None:
    """Put one option into ``values``, its value taken from the word itself or from the rest."""
    flag, equals, value = word.partition("=")
    if not word.startswith("--") and flag not in flags:  # -w100
        flag, equals, value = word[:2], word[2:], word[2:]
    if flag not in flags:
        raise UsageError(f"the recipe is wrong: there is no option {flag}{did_you_mean(flag, flags, most=1)}")
    name = flags[flag]
    if name in _SWITCHES:
        if equals:
            raise UsageError(f"the recipe is wrong: {flag} takes no value")
        values[name] = flag not in _OFF
        return
    text = value if equals else next(rest, None)
    if text is None:
        raise UsageError(f"the recipe is wrong: {flag} needs a value")
    if name in _REPEATED:
        values.setdefault(name, []).append(text)
    else:
        values[name] = text


def extraction_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options of extraction among a command's or a recipe's, their ``key=value`` texts read.

    Raises:
        UsageError: for a text without ``=``.
    """
    given = {name: values.get(name) for name in EXTRACTION}
    return given | {name: pairs(given[name] or [], name) for name in _PAIRS}


def words_of(values: Mapping[str, Any]) -> list[str]:
    """Options of extraction as the words of a recipe or a command."""
    return [word for name, value in values.items() for word in _words(name, value)]


def _words(name: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        return [word for key, text in value.items() for word in (f"--{name}", f"{key}={text}")]
    if isinstance(value, list):
        return [word for text in value for word in (f"--{name}", str(text))]
    if value is True:
        return [f"--{name.replace('_', '-')}"]
    return [] if value is None else [f"--{name}", str(value)]
