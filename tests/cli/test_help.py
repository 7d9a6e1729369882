"""The help: commands in groups, defaults and names said, examples that work, and no wrong name without the near one."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from perflog.cli import COMMANDS, app
from perflog.cli.base import GROUPS, Rare
from perflog.settings.config import DEFAULTS, FORMATS
from tests.forks import on_terminal, perflog
from tests.support import FIXTURES, mostly_long

BZ128 = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128"
#: Commands whose examples need what a test has not: a network, minutes, a database server, or an end by Ctrl-C.
NOT_RUN = (
    "run",
    "watch",
    "--watch",
    "--serve",
    "postgresql://",
    "github",
    "example",
    "--comment",
    "delete",
    " ack ",
    " bisect ",
)


@cache
def whole_command() -> Any:
    """The command line with all commands made, which takes a tenth of a second."""
    return typer.main.get_command(app)


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    group = group or whole_command()
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield (*path, name), command
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def shown_examples() -> list[str]:
    """Every example of every help."""
    return [
        line.strip()
        for _, command in commands()
        for line in (command.epilog or "").splitlines()
        if line.startswith("  perflog ")
    ]


def test_every_command_stands_in_a_group_and_has_an_example() -> None:
    named = [name for names in GROUPS.values() for name in names]
    assert sorted(named) == sorted(name for names in COMMANDS.values() for name in names)
    without = [" ".join(path) for path, command in commands() if path[-1] not in ("parsers",) and not command.epilog]
    assert without == []
    assert not any("·" in command.epilog for _, command in commands() if command.epilog), "one example a line"


def test_the_groups_come_in_the_order_of_use() -> None:
    text = perflog("--help", env={"COLUMNS": "100"}).stdout
    groups = re.findall(r"^(\w[\w ]*):$", text, flags=re.MULTILINE)
    assert groups == ["Options", "Read", "Look", "Publish", "Compare", "Keep", "Run", "Set up"]
    assert text.index("extract") < text.index("table ") < text.index("compare ") < text.index("save ")


@pytest.mark.parametrize("words", mostly_long([" ".join(path) for path, _ in commands()], 3))
def test_help_says_defaults_and_no_type_of_flags(words: str) -> None:
    text = perflog(*words.split(), "--help-all", env={"COLUMNS": "120"}).stdout
    assert "bool" not in text
    assert not re.search(r"--(format|metric|rows|columns|margin|fail-on) TEXT|--(allow|logs) FILE", text)
    parameters = next(command for path, command in commands() if " ".join(path) == words).params
    flat = re.sub(r"\s+", " ", text)
    for parameter in parameters:
        for default in re.findall(r"\[default: ([^\]\\]+)", getattr(parameter, "help", None) or ""):
            assert f"[default: {default}]" in flat, parameter.name
        assert parameter.param_type_name == "argument" or all(name in flat for name in parameter.opts)


def helped(words: tuple[str, ...], option: str) -> list[str]:
    """The lines of a command's help in a terminal of 80 columns."""
    return perflog(*words, option, env={"COLUMNS": "80"}).stdout.splitlines()


@pytest.mark.parametrize("words", [path for path, _ in commands()], ids=" ".join)
def test_help_is_one_screen(words: tuple[str, ...]) -> None:
    lines = helped(words, "--help")
    assert len(lines) <= 40
    assert max(map(len, (line for line in lines if not line.startswith("  perflog ")))) <= 80


@pytest.mark.parametrize("command", ["extract", "compare", "table"])
def test_what_few_need_stands_in_the_whole_help_alone(command: str) -> None:
    short, whole = helped((command,), "--help"), helped((command,), "--help-all")
    first = next(line for line in short if line.startswith(("  -", "      --")))
    assert "--warmup" in first
    rare = {"extract": ("--shard", "--on ", "--cache"), "compare": ("--marker", "--level"), "table": ("--digits",)}
    for option in (*rare[command], "--parser ", "Exit status:" if command != "table" else "--missing"):
        assert not any(option in line for line in short), option
        assert any(option in line for line in whole), option
    count = sum(isinstance(parameter.rich_help_panel, Rare) for parameter in whole_command().commands[command].params)
    assert any(f"also {count} that few need" in line for line in short)


def test_a_rare_option_is_completed() -> None:
    asked = {"_PERFLOG_COMPLETE": "complete_bash", "_PERFLOG_LINE": "perflog extract --sh"}
    assert perflog(env=asked).stdout.split() == ["--shard", "--shards"]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_help_fits_the_terminal_and_cuts_no_word(columns: int) -> None:
    text = perflog("run", "--help-all", env={"COLUMNS": str(columns)}).stdout
    lines = [line for line in text.splitlines() if not line.startswith("  perflog run")]
    assert max(map(len, lines)) <= max(columns, 48) and max(map(len, lines)) <= 100
    assert "…" not in text and "--make-environment NAME" in text and "<" not in text
    flat = " ".join(text.split())
    assert "A case is undecided after so many runs a side. [default: 30] [at least 4]" in flat
    assert "Usage: perflog run [OPTIONS] [CAMPAIGN]" in flat


def test_the_help_of_extract_says_every_default_and_name() -> None:
    flat = re.sub(r"\s+", " ", perflog("extract", "--help-all", env={"COLUMNS": "80"}).stdout)
    for default in ("20", "all", "total", "median", "one device", "differenced", "table"):
        assert f"[default: {default}]" in flat
    assert all(name in flat for name in FORMATS)
    assert "total, mean, median, trimmed, last, reported or since_start" in flat
    options = (option.rstrip("_").replace("_", "-") for option in set(DEFAULTS) - {"database", "aliases"})
    assert all(f"--{option}" in flat for option in options)


@pytest.mark.parametrize("example", shown_examples())
def test_every_example_is_understood(example: str) -> None:
    words = shlex.split(example)[1:]
    command = whole_command()
    while hasattr(command, "commands") and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    command.make_context("perflog", words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples name: logs, two versions, a parser, a README."""
    place = tmp_path_factory.mktemp("examples")
    for name in ("logs", "old", "new", "a", "b", "c", "logs-2.4", "logs-2.5", "v2.4", "v2.5"):
        for devices in ("1n8g", "4n8g"):
            shutil.copytree(BZ128 / devices, place / name / devices)
    (place / "train.log").write_text("".join(f"[z] tick {i} | took 0.{200 + i % 9} s\n" for i in range(99)))
    (place / "README.md").write_text(
        "<!-- perflog: table logs --where precision=fp32 --rows devices --warmup 100 -->\n<!-- /perflog -->\n"
    )
    perflog("save", "logs", "--label", "v2.4", cwd=place, env={"XDG_DATA_HOME": str(place)})
    return place


@pytest.mark.parametrize(
    "example",
    mostly_long(
        [
            text
            for text in shown_examples()
            if text.split()[1]
            in ("extract", "explain", "table", "config", "conventions", "parsers", "doctor", "init", "history")
            and not any(word in text for word in NOT_RUN)
        ],
        3,
    ),
)
def test_examples_of_reading_work(example: str, folder: Path) -> None:
    if "parsers check my_trainer" in example:
        pytest.skip("it needs the parser that another example writes")
    (folder / "logs/perflog.toml").unlink(missing_ok=True)
    done = perflog(*shlex.split(example)[1:], cwd=folder, env={"XDG_DATA_HOME": str(folder)})
    assert done.returncode in (0, 3), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "near"),
    mostly_long(
        [
            ("extrct x", "'extract'"),
            ("extract . --estimator medan", "did you mean median or mean?"),
            ("extract . --format jsn", "did you mean json?"),
            ("extract . --convention mlprf", "did you mean mlperf"),
            ("extract . --parser hf", "did you mean hf_"),
            ("parsers show hf", "did you mean hf_results or hf_trainer"),
            ("extract . --set device=1", "did you mean devices?"),
            ("extract . --where devcies=1", "did you mean devices?"),
            ("extract . --sort throughptu", "did you mean throughput?"),
            ("extract . --columns throughptu", "did you mean throughput?"),
            ("table . --rows devices --style dlprf", "did you mean dlperf"),
            ("plot . --kind step -o x.svg", "did you mean steps?"),
            ("table . --rows devices --lang zhh", "did you mean zh?"),
            ("--install-completion zshh", "did you mean zsh"),
        ],
        3,
    ),
)
def test_a_wrong_name_gets_the_near_one(words: str, near: str) -> None:
    done = perflog(*words.split(), cwd=BZ128, env={"COLUMNS": "200"})
    assert done.returncode == 2, done.stdout
    assert near in re.sub(r"\s+", " ", done.stderr)


def test_no_colour_where_it_is_refused() -> None:
    log = str(FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log")
    for environment, coloured in (
        ({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)
    ):  # fmt: skip
        env = {"PATH": "/usr/bin:/bin", "COLUMNS": "80", **environment}
        done = on_terminal("extract", log, "--warmup", "1000", "--quiet", env=env)
        assert "no value" in done.stdout
        assert ("\x1b[" in done.stdout) == coloured, environment


@pytest.mark.parametrize("columns", [40, *(pytest.param(wide, marks=pytest.mark.long) for wide in (60, 80))])
def test_no_number_and_no_word_of_a_sentence_is_cut_on_a_terminal(columns: int, tmp_path: Path) -> None:
    log = tmp_path / "gpu8.log"
    shutil.copy(FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log", log)
    (tmp_path / "words.txt").write_text("no line of a log\n")
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1"}
    for words in ("extract .", "explain gpu8.log", "extract . --warmup 10x", "config .", "conventions", "extrct"):
        whole = perflog(*words.split(), cwd=tmp_path, env={"COLUMNS": "1000"})
        known = set(re.findall(r"\S+", whole.stdout + whole.stderr))
        done = on_terminal(*words.split(), env=env, cwd=tmp_path)
        for line in done.stdout.replace("\r", "").splitlines():
            assert len(line) <= columns or " " not in line.strip() or "`" in line, (words, line)
            assert words == "extract ." or set(re.findall(r"\S+", line)) <= known, (words, line)


def test_an_encoding_without_the_signs_of_tables_has_plain_ones() -> None:
    words = [sys.executable, "-m", "perflog", "extract", str(BZ128), "--quiet"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    lines = done.stdout.splitlines()
    assert set(lines[2]) == {"-"}
    assert "+-0." in lines[3]
    assert "\\u" not in done.stdout


def test_logs_that_are_named_without_a_command_are_said_to_need_one(tmp_path: Path) -> None:
    (tmp_path / "my logs").mkdir()
    done = perflog("my logs", cwd=tmp_path)
    assert done.returncode == 2
    assert (
        done.stderr.splitlines()[-1]
        == "Error: my logs is no command, but a path. To read it: perflog extract 'my logs'"
    )
    assert perflog("your logs", cwd=tmp_path).stderr.splitlines()[-1] == "Error: No such command 'your logs'."
