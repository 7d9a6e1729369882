"""Completion of values: what the shells are given, and what real ones make of it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.forks import perflog, words
from tests.support import FIXTURES, ROOT

RELEASES = "fixtures/campaign/releases/2.12.1"


def offered(line: str, breaks: str = "", **environment: str) -> list[str]:
    """What bash is given for a Tab at the end of a line."""
    asked = {"_PERFLOG_COMPLETE": "complete_bash", "_PERFLOG_LINE": line, "_PERFLOG_BREAKS": breaks}
    return perflog(env={**asked, **environment}, cwd=ROOT).stdout.split()


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("perflog extract --format j", ["json"]),
        ("perflog explain x --format ", ["text", "json"]),
        ("perflog extract --estimator m", ["mean", "median"]),
        ("perflog extract --aggregate o", ["olympic"]),
        ("perflog extract --convention mlp", ["mlperf"]),
        ("perflog extract --parser hf", ["hf_results", "hf_trainer"]),
        ("perflog parsers show hf", ["hf_results", "hf_trainer"]),
        ("perflog table x --style dlperf-b", ["dlperf-bsz"]),
        ("perflog table x --lang z", ["zh"]),
        ("perflog plot x --kind sc", ["scaling"]),
        ("perflog extract x --sort devices,-thr", ["devices,-throughput"]),
        ("perflog extract x --columns devices,thr", ["devices,throughput"]),
        ("perflog table x --rows devices,acc", ["devices,accelerator"]),
        ("perflog extract x --set dev", ["devices=", "devices_per_node="]),
        (f"perflog extract {RELEASES} --where mod", ["model="]),
        (f"perflog extract {RELEASES} --where model=", ["model=cnn"]),
        ("perflog compare a b --metric step", ["step_time"]),
        ("perflog compare fixtures/camp", ["fixtures/campaign/"]),
        ("perflog expl", ["explain"]),
        ("perflog extract --convention nosuch", []),
        ("perflog history --regressions --fail-on ", ["slower", "inconclusive", "missing", "nothing-compared"]),
    ],
)
def test_names_are_offered(line: str, expected: list[str]) -> None:
    assert offered(line) == expected


def test_bash_is_given_what_follows_the_last_mark_that_ends_its_words() -> None:
    assert offered(f"perflog extract {RELEASES} --where model=", breaks=" =:") == ["cnn"]
    assert offered(f"perflog extract {RELEASES} --where mod", breaks=" =:") == ["model="]


def test_labels_and_cases_of_the_history_are_offered(tmp_path: Path) -> None:
    home = {"XDG_DATA_HOME": str(tmp_path)}
    assert perflog("save", RELEASES, "--label", "v2.12", cwd=ROOT, env=home).returncode == 0
    assert offered("perflog history delete v", **home) == ["v2.12"]
    assert offered("perflog compare v2", **home) == ["v2.12"]
    assert offered("perflog history --case model=", **home) == ["model=cnn"]
    assert offered("perflog history --case model=cnn,dev", **home) == ["model=cnn,devices="]


def script(shell: str, tmp_path: Path) -> tuple[Path, str]:
    """(the file with a shell's completion, the folder in which ``perflog`` is found)."""
    (tmp_path / "perflog").write_text(f'#!/bin/sh\nexec {shlex.join(words())} "$@"\n')
    (tmp_path / "perflog").chmod(0o755)
    file = tmp_path / f"completion.{shell}"
    file.write_text(perflog("--show-completion", shell).stdout)
    return file, str(tmp_path)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(tmp_path: Path) -> None:
    file, folder = script("bash", tmp_path)
    program = (
        f'PATH={folder}:$PATH; source {file}; compopt() {{ :; }}; COMP_WORDBREAKS=" ="; COMP_LINE="$1"; '
        "COMP_POINT=${#COMP_LINE}; COMP_WORDS=(x); COMP_CWORD=0; "
        '_perflog_completion perflog; echo "${COMPREPLY[*]}"'
    )
    for line, reply in (("perflog extract --format cs", "csv"), (f"perflog extract {RELEASES} --where model=c", "cnn")):
        done = subprocess.run(
            ["bash", "-c", program, "bash", line], capture_output=True, text=True, check=False, cwd=ROOT
        )
        assert (done.stdout.strip(), done.stderr) == (reply, "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes(tmp_path: Path) -> None:
    file, folder = script("fish", tmp_path)
    program = f"set -gx PATH {folder} $PATH; source {file}; complete -C 'perflog extract --format cs'"
    assert subprocess.run(["fish", "-c", program], capture_output=True, text=True, check=False).stdout == "csv\n"


#: An interactive zsh on a terminal of its own: ``$2`` and a Tab are typed; then a key writes the line to the file ``$3``
#: and ends the shell. ``$1`` is what loads the completion.
_ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "autoload -Uz compinit; $1; shown() { print -rn -- \"\$BUFFER\" > $3; exit }; zle -N shown; \
bindkey '^X' shown; bindkey '^I' complete-word; unsetopt beep"
zpty -w -n shell "$2"$'\t'$'\x18'
while zpty -r shell out; do :; done
"""


def zsh_line(tmp_path: Path, text: str, *, installed: bool = False, cwd: Path = ROOT) -> str:
    """What stands on the line of a zsh behind a text and a Tab.

    Args:
        installed: whether zsh finds the completion in its folder of functions, as ``--install-completion`` leaves it.
    """
    file, folder = script("zsh", tmp_path)
    load = f"compinit -u -d {tmp_path}/dump; source {file}"
    if installed:
        (tmp_path / "functions").mkdir()
        shutil.copy(file, tmp_path / "functions" / "_perflog")
        load = f"fpath+=({tmp_path}/functions); compinit -u -d {tmp_path}/dump"
    line = tmp_path / "line"
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    subprocess.run(
        ["zsh", "-fc", _ZSH, "zsh", load, text, str(line)], env=environment, cwd=cwd, check=False, timeout=60
    )
    return line.read_text()


needs_zsh = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")


@needs_zsh
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("perflog extract --format cs", "perflog extract --format csv "),
        pytest.param(
            f"perflog extract {RELEASES} --where mod",
            f"perflog extract {RELEASES} --where model=",
            marks=pytest.mark.long,
        ),
        (f"perflog extract {RELEASES} --where model=", f"perflog extract {RELEASES} --where model=cnn "),
        pytest.param("perflog compare fixtures/camp", "perflog compare fixtures/campaign/", marks=pytest.mark.long),
        pytest.param("perflog expl", "perflog explain ", marks=pytest.mark.long),
    ],
)
def test_zsh_completes(tmp_path: Path, text: str, line: str) -> None:
    assert zsh_line(tmp_path, text) == line


@needs_zsh
def test_zsh_completes_at_the_first_tab_where_it_is_installed(tmp_path: Path) -> None:
    assert zsh_line(tmp_path, "perflog extract --format cs", installed=True) == "perflog extract --format csv "


HOSTILE = "old$(touch hacked)"


@needs_zsh
def test_zsh_runs_nothing_that_names_of_files_say(tmp_path: Path) -> None:
    (tmp_path / "logs" / HOSTILE).mkdir(parents=True)
    line = zsh_line(tmp_path, "perflog compare ol", cwd=tmp_path / "logs")
    assert line == r"perflog compare old\$\(touch\ hacked\)/"
    assert [path.name for path in (tmp_path / "logs").iterdir()] == [HOSTILE]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_is_given_words_that_run_nothing(tmp_path: Path) -> None:
    (tmp_path / HOSTILE).mkdir()
    asked = {"_PERFLOG_COMPLETE": "complete_bash", "_PERFLOG_LINE": "perflog compare ol"}
    reply = perflog(env=asked, cwd=tmp_path).stdout
    assert reply == "old\\$\\(touch\\ hacked\\)/\n"
    shown = subprocess.run(
        ["bash", "-c", f"printf %s {reply}"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert shown.stdout == f"{HOSTILE}/"
    assert [path.name for path in tmp_path.iterdir()] == [HOSTILE]


def test_a_shell_named_is_the_shell_installed(tmp_path: Path) -> None:
    done = perflog("--install-completion", "zsh", env={"HOME": str(tmp_path), "SHELL": "/bin/bash"})
    assert (done.returncode, (tmp_path / ".zfunc/_perflog").is_file()) == (0, True)
    assert not (tmp_path / ".bashrc").exists()
    assert str(FIXTURES) not in done.stdout
