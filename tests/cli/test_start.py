"""What starts fast must say the same: one command's module alone, help without rich, no threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from perflog.cli import COMMANDS, app, app_for
from perflog.matching.engine import engine_description
from tests.support import ROOT

#: The help and errors with all commands made, and errors said by typer.
PLAIN = "import sys; from perflog.cli import app; app(prog_name='perflog')"
FAST = "from perflog.__main__ import main; main()"


def python(program: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


def test_every_command_has_its_module() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    listed = {name: command.callback for name, command in group.commands.items()}
    assert sorted(name for names in COMMANDS.values() for name in names) == sorted(listed)
    for module, names in COMMANDS.items():
        for name in names:
            callback = listed[name]
            if callback is not None:  # a group without a command of its own has none
                assert callback.__module__ == f"perflog.cli.{module}", name


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        [],
        ["extract", "--help"],
        ["history", "-h"],
        ["parsers"],
        ["parsers", "show", "--help"],
        ["run", "--help"],
        ["extract"],
        ["extract", "--warmpu", "3"],
        ["extrct"],
        ["plan", "--help"],
    ],
    ids=" ".join,
)
def test_help_and_errors_are_those_of_typer(words: list[str]) -> None:
    looks = [("80", ""), ("120", "1")]
    for columns, color in looks if words[:1] == ["extract"] else looks[len(words) % 2 :][:1]:
        fast = python(FAST, *words, COLUMNS=columns, FORCE_COLOR=color)
        plain = python(PLAIN, *words, COLUMNS=columns, FORCE_COLOR=color)
        assert (fast.returncode, fast.stdout, fast.stderr) == (plain.returncode, plain.stdout, plain.stderr)
        assert len(fast.stdout + fast.stderr) > 100


def test_help_imports_nothing_heavy() -> None:
    program = f"import atexit, sys; atexit.register(lambda: print(sorted(sys.modules), file=sys.stderr)); {FAST}"
    loaded = set(eval(python(program, "--help").stderr))
    assert "perflog.cli.reports" in loaded
    heavy = {
        "msgspec",
        "numpy",
        "polars",
        "jinja2",
        "scipy",
        "tomllib",
        "rich",
        "perflog.extraction",
    }
    assert not loaded & heavy


@pytest.mark.skipif(not engine_description().startswith("compiled"), reason="the polars engine imports polars")
def test_extracting_imports_neither_polars_nor_masked_arrays() -> None:
    """Together they take longer to import than thirty logs to read."""
    program = f"import atexit, sys; atexit.register(lambda: print(sorted(sys.modules), file=sys.stderr)); {FAST}"
    done = python(program, "extract", str(ROOT / "fixtures/campaign/releases"), "--quiet", "--format", "json")
    loaded = set(eval(done.stderr.splitlines()[-1]))
    assert "perflog.matching.compiled" in loaded and done.stdout.startswith("{")
    assert not loaded & {"polars", "numpy.ma", "scipy", "jinja2", "matplotlib", "sqlalchemy", "rich", "secrets"}
    later = ("audit", "campaign", "compare", "history", "api")
    assert not {name for name in loaded if name.startswith(tuple(f"perflog.{package}." for package in later))}
    shown = {name.rpartition(".")[2] for name in loaded if name.startswith("perflog.show.")}
    assert shown == {"document", "extractions", "options"}  # and nothing of tables, pictures and reports


@pytest.mark.skipif(not engine_description().startswith("compiled"), reason="the polars engine imports polars")
@pytest.mark.parametrize("command", [["explain"], ["view", "-o", "page.html"]], ids=" ".join)
def test_a_loop_of_one_s_own_imports_no_masked_arrays_either(command: list[str], tmp_path: Path) -> None:
    log = tmp_path / "own.log"
    log.write_text(
        "".join(f"[epoch {e} batch {b}/90] {700 + b % 7}.5 img/s\n" for e in (1, 2) for b in range(10, 91, 10))
    )
    program = f"import atexit, sys; atexit.register(lambda: print(sorted(sys.modules), file=sys.stderr)); {FAST}"
    words = [*command[:-1], str(tmp_path / command[-1])] if command[1:] else command
    done = python(program, *words, str(log))
    loaded = set(eval(done.stderr.splitlines()[-1]))
    assert "perflog.inference.infer" in loaded and done.returncode == 0, done.stderr
    assert not loaded & {"polars", "numpy.ma", "scipy", "matplotlib", "sqlalchemy"}


#: Records on the way of extraction that need what only dataclasses have: fields that equality leaves out, or
#: ``dataclasses.fields`` of what the history keeps.
DATACLASSES = {
    "Amount", "Case", "Catalog", "Extraction", "LogFile", "Machine", "Metadata", "Metric", "Options", "QuotientInterval",
    "Run", "Settings", "Skipped", "Summary", "Texts", "Verdict", "Window", "Witness",
}  # fmt: skip


def test_the_records_of_extraction_are_structs() -> None:
    """To define a dataclass takes a millisecond, forty times what a Struct takes: a hundred were a fifth of a start."""
    program = (
        "import atexit, sys; atexit.register(lambda: print([c.__name__ for m in list(sys.modules.values()) "
        "if getattr(m, '__name__', '').startswith('perflog.') for c in vars(m).values() "
        f"if isinstance(c, type) and c.__module__ == m.__name__ and hasattr(c, '__dataclass_fields__')], file=sys.stderr)); {FAST}"
    )
    done = python(program, "extract", str(ROOT / "fixtures/campaign/releases"), "--quiet", "--format", "json")
    records = set(eval(done.stderr.splitlines()[-1]))
    assert "Options" in records and done.stdout.startswith("{")
    assert records <= DATACLASSES


def test_only_the_command_that_is_called_is_made() -> None:
    """Its neighbours' options take as long to make as some logs to read."""
    made = typer.main.get_command(app_for(["explain", "logs"]))
    assert isinstance(made, typer.core.TyperGroup) and list(made.commands) == ["explain"]
    group = typer.main.get_command(app_for(["parsers", "list"]))
    assert isinstance(group, typer.core.TyperGroup) and list(group.commands) == ["parsers"]
    every = typer.main.get_command(app_for(["extrct"]))
    assert isinstance(every, typer.core.TyperGroup) and {"extract", "explain"} < set(every.commands)


def test_a_command_imports_its_module_alone() -> None:
    program = f"import atexit, sys; atexit.register(lambda: print(sorted(sys.modules), file=sys.stderr)); {FAST}"
    done = python(program, "conventions")
    loaded = {name for name in eval(done.stderr) if name.startswith("perflog.cli.")}
    assert "dlperf-mindspore" in done.stdout
    assert "perflog.cli.logs" in loaded
    assert not loaded & {f"perflog.cli.{module}" for module in COMMANDS if module != "logs"}


@pytest.mark.parametrize("given", [None, "3"])
def test_the_environment_of_what_a_command_starts_is_the_users(given: str | None) -> None:
    """numpy is imported with one thread of linear algebra, and the trainings that are started know nothing of it."""
    program = (
        "import os, sys; from perflog.cli.progress import extractions; extractions(True); "
        "print('numpy' in sys.modules, os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )
    assert (done.stdout, done.stderr) == (f"True {given}\n", "")


def test_windows_is_told_in_one_line_what_to_do() -> None:
    """Before anything is imported that Windows lacks; the artefact's own trial there: .github/workflows/ci.yml."""
    windows = "import sys, signal; sys.platform = 'win32'; del signal.SIGPIPE; sys.modules['fcntl'] = None; "
    done = python(windows + FAST, "extract", "logs")
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        "perflog: expected Linux or macOS, found Windows: run it in WSL, which is Linux (`wsl --install`)\n",
    )
