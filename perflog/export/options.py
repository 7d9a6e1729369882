"""The options that commands share: what a file's ending means, and the words of recipes of regions.

A recipe is written as on the command line, so that both are learnt once: the flags stand here, and the command line
takes them from here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perflog.errors import UsageError
from perflog.escaping import named
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
    words: list[str] = []
    for name, value in values.items():
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif value is not None:
            texts = [f"{key}={text}" for key, text in value.items()] if isinstance(value, dict) else value
            words += [
                word for text in (texts if isinstance(texts, list) else [texts]) for word in (f"--{name}", str(text))
            ]
    return words


# ----------------------------------------------------------------------------------------------------
# A file's ending in, the format of what is written into it out: one rule for every command that has ``--output``.

#: What a file with this ending holds, in the order in which messages name the endings. Where a command has several of
#: the formats of an ending, the first that it has is meant.
ENDINGS = {
    ".md": ("markdown",),
    ".markdown": ("markdown",),
    ".html": ("html",),
    ".htm": ("html",),
    ".csv": ("csv",),
    ".json": ("json",),
    ".parquet": ("parquet",),
    ".xlsx": ("xlsx",),
    ".tex": ("latex",),
    ".xml": ("junit",),
    ".prom": ("openmetrics",),
    ".svg": ("svg",),
    ".png": ("png",),
    ".pdf": ("pdf",),
    ".diff": ("diff",),
    ".patch": ("diff",),
    ".txt": ("table", "text"),
}
#: The endings that messages offer; the others mean the same.
_SECOND_NAMES = frozenset({".markdown", ".htm", ".patch"})


def format_for(
    output: Path | None, given: str | None, formats: Sequence[str], default: str, *, has_option: bool = True
) -> str:
    """The format of a command's output.

    Args:
        output: the file that is written; None for standard output.
        given: the format that the user named, which counts whatever the file is called; None where none was named.
        formats: the formats that the command has.
        default: the format of standard output, of files without an ending, and of devices.
        has_option: whether the command has ``--format``, which messages then offer.

    Raises:
        UsageError: for a format that the command has not, and for an ending that says another format or none.
        PerflogError: where the package that writes the format is not installed.
    """
    from perflog.files import is_written_into
    from perflog.settings.config import one_of

    if given is not None:
        one_of("format", given, list(formats))
        _require_package(given)
        return given
    if output is None or not output.suffix or is_written_into(output):
        return default
    meant = ENDINGS.get(output.suffix.lower(), ())
    form = next((form for form in meant if form in formats), None)
    if form is None:
        found = f"a file for {meant[0]}" if meant else "an ending that no format has"
        hint = "; --format names the format of a file of any name" if has_option else ""
        raise UsageError(
            f"--output '{named(str(output))}': expected an ending that says what this command writes "
            f"({', '.join(endings_of(formats))}), found {found}{hint}"
        )
    _require_package(form)
    return form


def _require_package(form: str) -> None:
    """Raise PerflogError where what writes a format is not installed: before the work, not after it."""
    if form == "xlsx":
        from perflog.extras import require

        require("xlsxwriter")


def endings_of(formats: Collection[str]) -> list[str]:
    """The endings of files that hold these formats.

    >>> endings_of(["table", "json"])
    ['.json', '.txt']
    """
    return [end for end, meant in ENDINGS.items() if end not in _SECOND_NAMES and not set(meant).isdisjoint(formats)]
