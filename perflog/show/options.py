"""The options that commands share: what a file's ending means, and those of recipes of regions, declared once: their
flags, what the help says of them, and how the words of a recipe are read.

A recipe is written as on the command line, so that both are learnt once; the command line takes its options from here.
What their values are without them is in :mod:`perflog.settings.config`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from perflog.errors import UsageError
from perflog.escaping import named
from perflog.settings.config import DEFAULTS, pairs
from perflog.settings.options import AGGREGATES, ESTIMATORS, VALUES
from perflog.spelling import did_you_mean


class Option(NamedTuple):
    """An option: its flags, what the help calls its value (a switch has none), what the help says it does, and how
    often it is needed."""

    flags: tuple[str, ...]
    value: str
    help: str
    needed: Needed


class Needed(Enum):
    """How often an option is needed: where ``--help`` shows it. ``--help-all`` shows all."""

    OFTEN = "in every command"
    READING = "in the commands that are about the reading of logs"
    RARELY = "in no command"


def _options(*rows: tuple[str, str, str, str] | tuple[str, str, str, str, Needed]) -> Mapping[str, Option]:
    """Options by their names, each given as (name, flags, value, help), and how often it is needed where not OFTEN."""
    return {row[0]: Option(tuple(row[1].split()), row[2], row[3], *(row[4:] or (Needed.OFTEN,))) for row in rows}


_READING, _RARELY = Needed.READING, Needed.RARELY


def choices(names: Iterable[str]) -> str:
    """The names that an option takes, as the help says them: ``median, mean or olympic``.

    They stand in the text, where lines break between words; as an option's type they would be cut in narrow terminals.
    """
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


_KIND = f"What the picture shows: {choices(('scaling', 'spread', 'steps', 'versions'))}."
_PAIR = "KEY=VALUE"
#: Options that decide on the numbers of an extraction, as ``settings`` takes them.
EXTRACTION = _options(
    ("warmup", "--warmup -w", "AMOUNT",
     "Left out at the start: 100 (steps), 2epochs, 10records, 30s, 10%, auto. [default: 20]"),
    ("steps", "--steps -n", "AMOUNT", "Steps (or 25records) after that. [default: all]", _READING),
    ("last", "--last", "AMOUNT", "Take the last so many steps (or 25records) instead.", _RARELY),
    ("estimator", "--estimator -e", "NAME",
     f"How a run becomes one number: {choices(ESTIMATORS)}. [default: total]", _READING),
    ("aggregate", "--aggregate -a", "NAME",
     f"How the runs of a case become one number: {choices(AGGREGATES)}. [default: median]", _RARELY),
    ("baseline", "--baseline", _PAIR,
     "The case that speedups are relative to: devices=8. [default: one device]", _RARELY),
    ("set", "--set -s", _PAIR, "A fact that logs and paths do not tell: batch_size=32."),
    ("as_", "--as", "LINE",
     "What the lines are: 'step {step} … {rate:samples/s}', rate=tokens_per_sec or bar=NAME.", _READING),
    ("parser", "--parser", "NAME", "Use this parser alone (may be repeated).", _RARELY),
    ("parsers", "--parsers", "FOLDER", "A folder of own parsers, or the file of one.", _RARELY),
    ("convention", "--convention -c", "NAME",
     "Make the numbers as a family of published reports did; other options beside it adjust it.", _RARELY),
    ("values", "--values", "NAME",
     f"How running means and clocks are taken: {choices(VALUES)}. [default: differenced]", _RARELY),
    ("without_slow", "--without-slow", "",
     "Leave out the few slow records that rule a run's number, which notes name.", _RARELY),
    ("sampled", "--sampled", "",
     "Take the times of single steps, printed one in several, as a sample of all, with what that may hide.", _RARELY),
)  # fmt: skip
#: Options of tables, pictures and reports: what they show, and where it goes.
SHOWN = _options(
    ("rows", "--rows -r", "FIELDS",
     "Fields of the rows: devices, or nodes,devices=8:32. [default: those that tell the cases apart]"),
    ("columns", "--columns", "FIELDS", "Fields of the columns: precision,batch_size."),
    ("value", "--value -v", "FIELDS", "What the cells hold: throughput,speedup,accuracy …"),
    ("where", "--where", _PAIR, "Only these cases: model=rn50, devices=1:8; repeatable."),
    ("style", "--style", "NAME", "The layout of a family of reports (docs/tables.md), or your own."),
    ("lang", "--lang", "NAME", "Language of headings and words: en or zh."),
    ("templates", "--templates", "FOLDER", "A folder with styles of your own.", _RARELY),
    ("notes", "--notes", "", ""),
    ("digits", "--digits", _PAIR, "A value's digits: throughput=%.2f.", _RARELY),
    ("title", "--title", _PAIR, "A heading: throughput='samples/s(PyTorch)'.", _RARELY),
    ("name", "--name", _PAIR, "Show a value so: fp16=AMP, or PyTorch='[PyTorch](url)'.", _RARELY),
    ("missing", "--missing", "TEXT", "What a cell without a number prints. [default: the style's]", _RARELY),
    ("kind", "--kind", "NAME", _KIND),
)  # fmt: skip
WRITTEN = _options(
    ("output", "--output -o", "FILE", "Write to this file; its ending names the format."),
    ("html", "--html", "", ""),
    ("quiet", "--quiet -q", "", "No progress and no remarks."),
)
OPTIONS: Mapping[str, Option] = {**EXTRACTION, **SHOWN, **WRITTEN}
#: Options that may be repeated; ``--no-notes`` turns ``--notes`` off.
REPEATED = frozenset({"baseline", "set", "as_", "parser", "parsers", "where", "templates", "digits", "title", "name"})
_OFF = {"--no-notes": "notes"}


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
    flags = {flag: name for name in allowed for flag in OPTIONS[name].flags}
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
    if not OPTIONS[name].value:
        if equals:
            raise UsageError(f"the recipe is wrong: {flag} takes no value")
        values[name] = flag not in _OFF
        return
    text = value if equals else next(rest, None)
    if text is None:
        raise UsageError(f"the recipe is wrong: {flag} needs a value")
    if name in REPEATED:
        values.setdefault(name, []).append(text)
    else:
        values[name] = text


def extraction_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options of extraction among a command's or a recipe's, their ``key=value`` texts read.

    Raises:
        UsageError: for a text without ``=``.
    """
    given = {name: values.get(name) for name in EXTRACTION}
    facts = (name for name in EXTRACTION if isinstance(DEFAULTS[name], dict))
    return given | {name: pairs(given[name] or [], name) for name in facts}


def words_of(values: Mapping[str, Any]) -> list[str]:
    """Options of extraction as the words of a recipe or a command."""
    words: list[str] = []
    for name, value in values.items():
        flag = EXTRACTION[name].flags[0]
        if value is True:
            words.append(flag)
        elif value is not None:
            texts = [f"{key}={text}" for key, text in value.items()] if isinstance(value, dict) else value
            words += [word for text in (texts if isinstance(texts, list) else [texts]) for word in (flag, str(text))]
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
    ".jsonl": ("jsonl",),
    ".parquet": ("parquet",),
    ".xlsx": ("xlsx",),
    ".tex": ("latex",),
    ".xml": ("junit",),
    ".atom": ("atom",),
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
