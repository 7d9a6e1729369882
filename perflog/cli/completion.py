"""What a shell offers behind an option or for an argument: names that there are.

Imported for completion alone. Whatever goes wrong, nothing is offered and nothing is said: a shell waits for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

# ----------------------------------------------------------------------------------------------------
# The names that a shell offers for each option and argument, out of what there is: parsers, cases, the history.
#
# Imported for completion alone; :mod:`perflog.cli.completion` gives them to the shell.

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
    from perflog.show.table import styles

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
    from perflog.show.grid import VALUES

    return VALUES


def _shown(given: Mapping[str, Any], text: str) -> Iterable[str]:
    from perflog.show.fields import OF_CASES

    return dict.fromkeys([*_fields(given, text), *OF_CASES, *_values(given, text)])


def _noise_numbers(given: Mapping[str, Any], text: str) -> Iterable[str]:
    from perflog.compare.noise import SORTED_BY

    return dict.fromkeys([*_fields(given, text), "throughput", *SORTED_BY])


def _noise_columns(given: Mapping[str, Any], text: str) -> Iterable[str]:
    return ["case", *_noise_numbers(given, text), "unit", "interval", "notes"]


def _noise_order(given: Mapping[str, Any], text: str) -> Iterable[str]:
    names = list(_noise_numbers(given, text))
    return [*names, *(f"-{name}" for name in names)]


def _comparison_order(given: Mapping[str, Any], text: str) -> Iterable[str]:
    from perflog.compare.table import SORTED_BY

    names = [*_fields(given, text), *SORTED_BY]
    return [*names, *(f"-{name}" for name in names)]


def _comparison_columns(given: Mapping[str, Any], text: str) -> Iterable[str]:
    from perflog.compare.table import NUMBERS

    return ["case", *_fields(given, text), *NUMBERS]


def metrics(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.compare.rule import METRICS

    return METRICS


def _reasons(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.settings.convention import REASONS

    return REASONS


def _history_reasons(_given: Mapping[str, Any], _text: str) -> Iterable[str]:
    from perflog.history.level_changes import REASONS

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
    from perflog.settings.config import settings
    from perflog.show.extractions import Extractions

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
    ("history", "--fail-on"): _listed(_history_reasons),
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
    "--repeats-over": _listed(_fields),
    "--metric": metrics,
    "--fail-on": _listed(_reasons),
    "--install-completion": _fixed("bash", "zsh", "fish"),
    "--show-completion": _fixed("bash", "zsh", "fish"),
}


#: Every name of a format that some command has; a command's own are those that the help of its option names.
_FORMATS = frozenset({
    "table", "text", "markdown", "html", "csv", "json", "parquet", "xlsx", "latex", "junit", "openmetrics", "svg",
    "png", "pdf", "diff", "github", "atom", "tensorboard", "dlperf",
})  # fmt: skip


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

#: What zsh runs for a Tab. Unlike typer's own it evaluates nothing of what is offered, which may be text of logs and
#: names of files, and leaves no blank behind ``model=``.
ZSH = """
#compdef %(prog_name)s

%(complete_func)s() {
    local offered name
    local -a ended open of_ended of_open
    for offered in "${(@f)$(env _PERFLOG_LINE="${words[1,$CURRENT]}" %(autocomplete_var)s=complete_zsh %(prog_name)s)}"
    do
        name=${offered%%%%$'\t'*}
        [[ -z $name ]] && continue
        if [[ $name == *[=/,] ]]; then
            open+=("$name") of_open+=("${offered/$'\t'/  -- }")
        else
            ended+=("$name") of_ended+=("${offered/$'\t'/  -- }")
        fi
    done
    (( $#ended + $#open )) || { _files; return }
    (( $#ended )) && compadd -d of_ended -a ended
    (( $#open )) && compadd -S '' -d of_open -a open
    return 0
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""
#: Characters of a word that mean nothing to bash.
_HARMLESS = re.compile(r"[^\w@%+=:,./-]")


def use_own_scripts() -> None:
    """Let typer print and install our scripts for bash and zsh."""
    from typer import _completion_shared

    _completion_shared._completion_scripts["bash"] = BASH
    _completion_shared._completion_scripts["zsh"] = ZSH


def read_whole_lines() -> None:
    """Let typer complete the last word of the line as it stands, and answer with plain names.

    Bash is answered with what follows its last ``=``, and zsh with what each name means behind a tab.
    """
    from typer._click.shell_completion import add_completion_class
    from typer._completion_classes import BashComplete, ZshComplete

    class ForBash(BashComplete):
        def get_completion_args(self) -> tuple[list[str], str]:
            return _words_of_line() or super().get_completion_args()  # no line: an older perflog's script asks

        def complete(self) -> str:
            args, text = self.get_completion_args()
            breaks = os.environ.get("_PERFLOG_BREAKS", "")
            behind = max((text.rfind(mark) + 1 for mark in "=:" if mark in breaks), default=0)
            return "\n".join(quoted_for_bash(item.value[behind:]) for item in self.get_completions(args, text))

    class ForZsh(ZshComplete):
        def complete(self) -> str:
            words = _words_of_line()
            if words is None:
                return super().complete()
            offered = self.get_completions(*words)
            return "\n".join(f"{item.value}\t{_in_one_line(item.help)}".strip("\t") for item in offered)

    add_completion_class(ForBash, "bash")
    add_completion_class(ForZsh, "zsh")


def _words_of_line() -> tuple[list[str], str] | None:
    """(the words of the line behind the program's name, the one that is completed); None where no line was given."""
    from typer._click.shell_completion import split_arg_string

    line = os.environ.get("_PERFLOG_LINE")
    if line is None:
        return None
    words = split_arg_string(line)
    last = "" if line.endswith(" ") or len(words) < 2 else words.pop()
    return words[1:], last


def quoted_for_bash(name: str) -> str:
    """A name as it must stand on the line: what bash inserts, it reads like what the user types.

    >>> quoted_for_bash("model=rn50"), quoted_for_bash("$(reboot)")
    ('model=rn50', '\\\\$\\\\(reboot\\\\)')
    """
    return _HARMLESS.sub(lambda found: f"\\{found[0]}", name)


def _in_one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _offer_of(command: str, parameter: Any) -> Offer | None:
    """What is offered for a parameter; None where the shell's own files are the best."""
    option = max(parameter.opts, key=len)
    if option == "--format":
        names = re.findall("[a-z]+", parameter.help or "")
        return lambda _given, _text: [name for name in dict.fromkeys(names) if name in _FORMATS]
    if option == "--value" and command == "history":
        return metrics
    return OF_ARGUMENTS.get((command, option)) or OF_OPTIONS.get(option)


def _guarded(offer: Offer) -> Callable[[Any, Any, str], list[str]]:
    """An offer as the shell's side asks for it: those that begin as the text does, and none where it fails."""

    def complete(context: Any, _parameter: Any, text: str) -> list[str]:
        with suppress(Exception):
            return [name for name in offer(context.params, text) if name.startswith(text)]
        return []

    return complete
