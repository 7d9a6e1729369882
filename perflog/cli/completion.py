"""What a shell offers behind an option or for an argument: names that there are.

Imported for completion alone. Whatever goes wrong, nothing is offered and nothing is said: a shell waits for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from perflog.cli.offers import OF_ARGUMENTS, OF_OPTIONS, Offer, metrics

#: Every name of a format that some command has; a command's own are those that the help of its option names.
_FORMATS = frozenset({
    "table", "text", "markdown", "html", "csv", "json", "parquet", "xlsx", "latex", "junit", "openmetrics", "svg",
    "png", "pdf", "diff", "github", "tensorboard", "dlperf",
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
