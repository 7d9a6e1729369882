"""What a shell offers behind an option or for an argument: names that there are.

Imported for completion alone. Whatever goes wrong, nothing is offered and nothing is said: a shell waits for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

#: Logs of more bytes than this are not read to offer the values of their cases.
MOST_BYTES = 32 << 20
#: Every name of a format that some command has; a command's own are those that the help of its option names.
_FORMATS = frozenset({
    "table", "text", "markdown", "html", "csv", "json", "parquet", "xlsx", "latex", "junit", "openmetrics", "svg",
    "png", "pdf", "diff", "github", "tensorboard", "dlperf",
})  # fmt: skip
#: Where shells leave the line that is completed.
_LINES = ("_PERFLOG_LINE", "_TYPER_COMPLETE_ARGS", "COMP_WORDS")
_Offer = Callable[[Mapping[str, Any], str], Iterable[str]]


def complete_values(command: Any) -> None:
    """Give every parameter of a command, and of those below it, the names that a shell offers for it."""
    for parameter in command.params:
        offer = _offer_of(command.name, parameter)
        if offer is not None:
            parameter._custom_shell_complete = _guarded(offer)
    for below in getattr(command, "commands", {}).values():
        complete_values(below)


#: What bash runs for a Tab. Unlike typer's own it gives the line as it stands, since bash takes ``=`` and ``:`` for
#: ends of words, and leaves no blank behind ``model=``, where a value follows.
BASH = """
%(complete_func)s() {
    local IFS=$'\\n'
    COMPREPLY=( $( env _PERFLOG_LINE="${COMP_LINE:0:COMP_POINT}" _PERFLOG_BREAKS="$COMP_WORDBREAKS" \\
                   %(autocomplete_var)s=complete_bash $1 ) )
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/,] ]] && compopt -o nospace
    return 0
}

complete -o default -F %(complete_func)s %(prog_name)s
"""


def use_own_script() -> None:
    """Let typer print and install our script for bash."""
    from typer import _completion_shared

    _completion_shared._completion_scripts["bash"] = BASH


def read_whole_lines() -> None:
    """Let typer complete the last word of the line as it stands, and answer bash with what follows its last ``=``."""
    from typer._click.shell_completion import add_completion_class, split_arg_string
    from typer._completion_classes import BashComplete

    class WholeLine(BashComplete):
        def get_completion_args(self) -> tuple[list[str], str]:
            line = os.environ.get("_PERFLOG_LINE")
            if line is None:  # a script that an older perflog has installed
                return super().get_completion_args()
            words = split_arg_string(line)
            last = "" if line.endswith(" ") or len(words) < 2 else words.pop()
            return words[1:], last

        def complete(self) -> str:
            args, text = self.get_completion_args()
            breaks = os.environ.get("_PERFLOG_BREAKS", "")
            behind = max((text.rfind(mark) + 1 for mark in "=:" if mark in breaks), default=0)
            return "\n".join(item.value[behind:] for item in self.get_completions(args, text))

    add_completion_class(WholeLine, "bash")


def _offer_of(command: str, parameter: Any) -> _Offer | None:
    """What is offered for a parameter; None where the shell's own files are the best."""
    option = max(parameter.opts, key=len)
    if option == "--format":
        names = re.findall("[a-z]+", parameter.help or "")
        return lambda _given, _text: [name for name in dict.fromkeys(names) if name in _FORMATS]
    if option == "--value" and command == "history":
        return _metrics
    return _OF_ARGUMENTS.get((command, option)) or _OF_OPTIONS.get(option)


def _guarded(offer: _Offer) -> Callable[[Any, Any, str], list[str]]:
    """An offer as the shell's side asks for it: those that begin as the text does, and none where it fails."""

    def complete(context: Any, _parameter: Any, text: str) -> list[str]:
        with suppress(Exception):
            return [name for name in offer(context.params, text) if name.startswith(text)]
        return []

    return complete


def _listed(offer: _Offer) -> _Offer:
    """An offer for one more name of a list with commas."""

    def complete(given: Mapping[str, Any], text: str) -> Iterable[str]:
        begun, comma, _ = text.rpartition(",")
        return [f"{begun}{comma}{name}" for name in offer(given, text) if name not in begun.split(",")]

    return complete


def _ordered(given: Mapping[str, Any], text: str) -> Iterable[str]:
    """Fields to sort by, also turned round."""
    names = [*_fields(given, text), *_values(given, text)]
    return [*names, *(f"-{name}" for name in names)]


def _fixed(*names: str) -> _Offer:
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
    from perflog.compare.opening import database_of
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


def _metrics(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
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

        from perflog.compare.opening import database_of
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
_OF_ARGUMENTS: Mapping[tuple[str, str], _Offer] = {
    ("show", "name"): _parsers,
    ("check", "names"): _parsers,
    ("compare", "sides"): _labels_or_paths,
    ("delete", "label"): _labels,
    ("extract", "--columns"): _listed(_shown),
    ("save", "--label"): _labels,
}
_OF_OPTIONS: Mapping[str, _Offer] = {
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
    "--metric": _metrics,
    "--fail-on": _listed(_reasons),
    "--install-completion": _fixed("bash", "zsh", "fish"),
    "--show-completion": _fixed("bash", "zsh", "fish"),
}
