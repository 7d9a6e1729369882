"""The names that a shell offers for each option and argument, out of what there is: parsers, cases, the history.

Imported for completion alone; :mod:`perflog.cli.completion` gives them to the shell.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

#: Logs of more bytes than this are not read to offer the values of their cases.
MOST_BYTES = 32 << 20
#: Where shells leave the line that is completed.
_LINES = ("_PERFLOG_LINE", "_TYPER_COMPLETE_ARGS", "COMP_WORDS")
#: From what the line has given already, by parameter, and the text of the word, to the names for it.
Offer = Callable[[Mapping[str, Any], str], Iterable[str]]


def _listed(offer: Offer) -> Offer:
    """An offer for one more name of a list with commas."""

    def complete(given: Mapping[str, Any], text: str) -> Iterable[str]:
        begun, comma, _ = text.rpartition(",")
        return [f"{begun}{comma}{name}" for name in offer(given, text) if name not in begun.split(",")]

    return complete


def _ordered(given: Mapping[str, Any], text: str) -> Iterable[str]:
    """Fields to sort by, also turned round."""
    names = [*_fields(given, text), *_values(given, text)]
    return [*names, *(f"-{name}" for name in names)]


def _fixed(*names: str) -> Offer:
    return lambda _given, _text: names


def _estimators(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.settings.options import ESTIMATORS

    return ESTIMATORS


def _aggregates(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.settings.options import AGGREGATES

    return AGGREGATES


def _conventions(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.settings.convention import load_conventions

    return load_conventions()


def _parsers(given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.formats.catalog import load_catalog
    from perflog.settings.config import settings

    folders = settings({"parsers": given.get("parsers")}, given.get("logs") or ()).values["parsers"]
    return sorted(parser.name for parser in load_catalog(folders).parsers)


def _styles(given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.report.style import styles

    return styles(given.get("templates") or ())


def _labels(given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.compare.sides import database_of
    from perflog.history import campaigns
    from perflog.settings.config import settings

    place = database_of(settings({"database": given.get("database")}))
    return [entry.label for entry in campaigns(place)]


def _labels_or_paths(given: Mapping[str, Any], text: str) -> Iterable[str]:
    """Labels of the history, and files and folders: a side of a comparison may be either."""
    from pathlib import Path

    folder, _, begun = text.rpartition("/")
    entries = sorted(Path(folder or ("/" if text.startswith("/") else ".")).iterdir())
    within = text[: len(text) - len(begun)]
    paths = [
        f"{within}{entry.name}{'/' if entry.is_dir() else ''}" for entry in entries if entry.name.startswith(begun)
    ]
    paths = [path for path in paths if begun or not path[len(within) :].startswith(".")]
    with suppress(Exception):
        return [*_labels(given, text), *paths]
    return paths


def _logs(given: Mapping[str, Any]) -> list[str]:
    """The logs that the line names. Behind an option without its value they are no parameters yet: then its paths."""
    from pathlib import Path
    from shlex import split

    named = given.get("logs") or given.get("sides")
    line = next((os.environ[name] for name in _LINES if name in os.environ), "")
    return list(named or [word for word in split(line)[2:] if Path(word).exists()])


def _fields(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.formats.vocabulary import CASE_KEYS

    return CASE_KEYS


def _values(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.report.grid import VALUES

    return VALUES


def _shown(given: Mapping[str, Any], text: str) -> Iterable[str]:
    from perflog.export.case_table import OF_CASES

    return dict.fromkeys([*_fields(given, text), *OF_CASES, *_values(given, text)])


def _noise_numbers(given: Mapping[str, Any], text: str) -> Iterable[str]:
    from perflog.compare.noise_table import NUMBERS

    return dict.fromkeys([*_fields(given, text), "throughput", *NUMBERS])


def _noise_columns(given: Mapping[str, Any], text: str) -> Iterable[str]:
    return ["case", *_noise_numbers(given, text), "unit", "interval", "notes"]


def _noise_order(given: Mapping[str, Any], text: str) -> Iterable[str]:
    names = list(_noise_numbers(given, text))
    return [*names, *(f"-{name}" for name in names)]


def _comparison_order(given: Mapping[str, Any], text: str) -> Iterable[str]:
    from perflog.compare.columns import SORTED_BY

    names = [*_fields(given, text), *SORTED_BY]
    return [*names, *(f"-{name}" for name in names)]


def _comparison_columns(given: Mapping[str, Any], text: str) -> Iterable[str]:
    from perflog.compare.columns import NUMBERS

    return ["case", *_fields(given, text), *NUMBERS]


def metrics(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.compare.rule import METRICS

    return METRICS


def _reasons(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.settings.gate import REASONS

    return REASONS


def _facts(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.formats.vocabulary import FACTS

    return [f"{name}=" for name in FACTS]


def _cases(given: Mapping[str, Any], text: str) -> Iterable[str]:
    """``model=`` for each key, and behind it the values that the cases of the logs have."""
    key, equals, _ = text.partition("=")
    if not equals:
        return [f"{name}=" for name in _fields(given, text)]
    from perflog.logs.addresses import is_address
    from perflog.logs.find import find_logs
    from perflog.report.extractions import Extractions
    from perflog.settings.config import settings

    logs = _logs(given)
    if any(map(is_address, logs)):  # a Tab asks no server
        return ()
    if sum(max(log.size, 0) for log in find_logs(logs)) > MOST_BYTES:
        return ()
    cases = Extractions().of(logs, settings({}, logs)).cases
    return dict.fromkeys(f"{key}={case.key[key]}" for case in cases if key in case.key)


def _saved_cases(given: Mapping[str, Any], text: str) -> Iterable[str]:
    """``model=`` for each key, and behind it the values that the cases of the history have; several with commas."""
    begun, comma, last = text.rpartition(",")
    key, equals, _ = last.partition("=")
    offered: Iterable[str] = [f"{name}=" for name in _fields(given, text)]
    if equals:
        from sqlalchemy import select

        from perflog.compare.sides import database_of
        from perflog.history import schema
        from perflog.history.database import reading
        from perflog.settings.config import settings

        place = database_of(settings({"database": given.get("database")}))
        with reading(place) as connection:
            assert connection is not None  # where it is, there is no history, and nothing is offered
            values = connection.scalars(select(schema.case.c[key]).distinct()).all()
        offered = [f"{key}={value}" for value in values if value is not None]
    return [f"{begun}{comma}{name}" for name in offered]


#: Arguments, and options that mean something else in one command.
OF_ARGUMENTS: Mapping[tuple[str, str], Offer] = {
    ("show", "name"): _parsers,
    ("check", "names"): _parsers,
    ("compare", "sides"): _labels_or_paths,
    ("compare", "--columns"): _listed(_comparison_columns),
    ("compare", "--sort"): _listed(_comparison_order),
    ("delete", "label"): _labels,
    ("extract", "--columns"): _listed(_shown),
    ("save", "--label"): _labels,
    **{(command, "--columns"): _listed(_noise_columns) for command in ("plan", "noise")},
    **{(command, "--sort"): _listed(_noise_order) for command in ("plan", "noise")},
}
OF_OPTIONS: Mapping[str, Offer] = {
    "--estimator": _estimators,
    "--aggregate": _aggregates,
    "--values": _fixed("differenced", "printed"),
    "--warmup": _fixed("auto"),
    "--convention": _conventions,
    "--parser": _parsers,
    "--style": _styles,
    "--lang": _fixed("en", "zh"),
    "--kind": _fixed("scaling", "spread", "steps", "versions"),
    "--set": _facts,
    "--baseline": _cases,
    "--where": _cases,
    "--case": _saved_cases,
    "--sort": _listed(_ordered),
    "--rows": _listed(_fields),
    "--columns": _listed(_fields),
    "--value": _listed(_values),
    "--across": _listed(_fields),
    "--metric": metrics,
    "--fail-on": _listed(_reasons),
    "--install-completion": _fixed("bash", "zsh", "fish"),
    "--show-completion": _fixed("bash", "zsh", "fish"),
}
