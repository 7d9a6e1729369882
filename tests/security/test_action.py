"""The GitHub Action on a hostile pull request: its steps are run as its runner runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.security.hostile import LEAKED, SECRET, PullRequest, files_in, pull_request
from tests.support import ROOT

#: Every recipe by which a pull request would read or write outside its work tree.
RECIPES = (
    "table /proc/self/environ --parsers evil --rows model",
    "table ../outside/secret.log --parsers evil --rows model",
    "table link.log --parsers evil --rows model",
    "table .git/config --parsers evil --rows model",
    "table logs --parsers ../outside/parsers --rows devices",
    "table logs --templates ../outside/styles --style theirs --rows devices",
    "table logs --templates styles --style loop --rows devices",
    "plot logs --kind spread -o ../outside/picture.svg",
    "plot logs --kind spread -o /tmp/perflog-was-here.svg",
    "links /",
    "environment linked",
    "table https://127.0.0.1:9/secret.log --parsers evil --rows model",
    "table s3://bucket/secret.log --parsers evil --rows model",
)
TRUE_REGION = "table logs --rows devices --style dlperf -w 100 -n 100 --no-notes"


def steps() -> list[dict[str, Any]]:
    """The steps of the Action that are scripts, in order."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return [step for step in action["runs"]["steps"] if "run" in step]


def declared_inputs() -> dict[str, dict[str, str]]:
    """The inputs that the Action declares."""
    inputs: dict[str, dict[str, str]] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    return inputs


def environment_of(step: dict[str, Any], given: dict[str, str]) -> dict[str, str]:
    """A step's own environment, with the runner's expressions in it evaluated."""

    def value(found: re.Match[str]) -> str:
        return given[found[1]]

    return {name: re.sub(r"\$\{\{ *([a-z_.-]+) *\}\}", value, text) for name, text in step["env"].items()}


class Runner:
    """Runs steps in a work tree as GitHub's runner does, with its secrets and its command files in the environment."""

    def __init__(self, request: PullRequest, place: Path, python: str = sys.executable) -> None:
        self.request = request
        self.place = place
        self.python = Path(python)
        self.action = place / "commands"  # where the Action's own files lie
        self.home = place / "home"
        self.temporary = place / "temporary"
        for folder in (self.home, self.temporary, place / "tools", place / "commands"):
            folder.mkdir()
        tool = place / "tools/python"
        tool.write_text(f'#!/bin/sh\nexec {python} "$@"\n')
        tool.chmod(0o755)
        names = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")
        self.commands = {name: place / "commands" / name for name in names}
        for file in self.commands.values():
            file.touch()

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("LANG", "LD_LIBRARY_PATH") if name in os.environ}
        files = {name: str(file) for name, file in self.commands.items()}
        path = f"{self.place / 'tools'}:{os.environ['PATH']}"
        # a workflow may set PYTHONPATH so, and with it let a pull request's modules stand before all others
        return {
            **kept, **LEAKED, **files, "PATH": path, "HOME": str(self.home), "GITHUB_ACTIONS": "true", "PYTHONPATH": ".",
            "GITHUB_TOKEN": SECRET, "PGPASSWORD": SECRET, "RUNNER_TEMP": str(self.temporary),
        }  # fmt: skip

    def run(
        self,
        step: dict[str, Any],
        before: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        **inputs: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run a step's script as the runner does: from a file, by ``shell: bash``, in the work tree.

        Args:
            before: words before the command, such as ``strace``.
            variables: what the runner sets beside its own.
            inputs: the Action's, with ``_`` for ``-``; those that are not given are as ``action.yml`` says.
        """
        assert step["shell"] == "bash"
        given = {"github.action_path": str(self.action)}
        given |= {f"inputs.{name}": value.get("default", "") for name, value in declared_inputs().items()}
        given |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        script = self.place / "commands/step.sh"
        script.write_text(step["run"], encoding="utf-8")
        bash = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
        return subprocess.run(
            [*before, *bash], cwd=self.request.tree,
            env={**self.environment(), **(variables or {}), **environment_of(step, given)},
            capture_output=True, text=True, check=False, timeout=900,  # an installation on a busy machine takes minutes
        )  # fmt: skip


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    request = pull_request(tmp_path)
    tree = request.tree
    (tree / "link.log").symlink_to("../outside/secret.log")
    (tree / "linked").symlink_to("../outside/logs")
    (tree / "styles/loop.toml").write_text(
        'row = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"\n'
    )
    (tree / "perflog.toml").write_text('database = "postgresql://evil@127.0.0.1:1/x"\n')
    was_here = "import pathlib; pathlib.Path('was-here').touch()\n"
    for module in ("pip", "perflog", "polars", "typer", "sitecustomize", "usercustomize", "json"):
        (tree / f"{module}.py").write_text(was_here)
    return Runner(request, tmp_path)


def commands_to_the_runner(output: str) -> list[str]:
    """The lines that GitHub's runner takes for commands (actions/runner, ``ActionCommand.cs``)."""
    commands, stopped_by = [], ""
    for line in output.splitlines():
        text = line.strip()
        if stopped_by:
            stopped_by = "" if text == f"::{stopped_by}::" else stopped_by
        elif text.startswith("::stop-commands::"):
            stopped_by = text.removeprefix("::stop-commands::")
        elif text.startswith("::") or "##[" in text:
            commands.append(line)
    return commands


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.long
def test_nothing_outside_is_read_or_written(recipe: str, runner: Runner) -> None:
    """What is printed, and what stands in the files afterwards; where strace is, files opened and servers asked too.

    The kernel sees a file opened whoever opens it: Python, polars or the compiled engine.
    """
    request, trace = runner.request, runner.place / "trace"
    request.readme(recipe)
    tree = files_in(request.tree)
    strace = ["strace", "-f", "-qq", "-e", "trace=%file,connect", "-o", str(trace)] if _may_trace() else []
    done = runner.run(steps()[-1], check="false", before=strace)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "perflog: README.md:1: " in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert request.outside_now() == request.files
    assert files_in(request.tree) == tree, "no secret is written into the work tree either, and no hostile module run"
    assert all(file.read_bytes() == b"" for file in runner.commands.values())
    assert not Path("/tmp/perflog-was-here.svg").exists()
    if strace:
        assert "AF_INET" not in trace.read_text(errors="replace"), "no server is asked, with whatever credentials"
        _check_opened(
            _opened(trace),
            request.outside,
            (str(request.tree), str(runner.home), str(runner.temporary), "/dev/null", "/dev/tty"),
        )


@pytest.mark.parametrize("parsers", ["", "evil"], ids=["of its perflog.toml", "that the workflow names"])
@pytest.mark.long
def test_a_comparison_reads_nothing_outside(parsers: str, runner: Runner) -> None:
    """A side that is a link, and a link among the logs, with parsers of the pull request's that show what they read."""
    request = runner.request
    tree = request.tree
    (tree / "perflog.toml").write_text("" if parsers else 'parsers = "evil"\n')
    (tree / "new").symlink_to("../outside")
    (tree / "among").mkdir()
    (tree / "among/x.log").symlink_to("../../outside/secret.log")
    (tree / "report.md").symlink_to("../outside/README.md")
    for new, output in (("new", ""), ("among", ""), ("logs", "report.md")):
        done = runner.run(steps()[-1], command="compare", sides=f"logs {new}", parsers=parsers, output=output)
        assert done.returncode == 2 and "expected a path inside" in done.stderr, done.stdout + done.stderr
        assert SECRET not in done.stdout + done.stderr
        assert all(SECRET not in file.read_text() for file in runner.commands.values())
    assert request.outside_now() == request.files


@lru_cache(maxsize=1)
def _may_trace() -> bool:
    """Whether strace is here and may be used: containers often forbid it."""
    strace = shutil.which("strace")
    return (
        strace is not None and subprocess.run([strace, "-qq", "true"], capture_output=True, check=False).returncode == 0
    )


def _check_opened(opened: Sequence[tuple[str, str]], outside: Path, writable: tuple[str, ...]) -> None:
    """Nothing outside and no environment was opened, and nothing written but what may be; Python's own cache may."""
    assert any(path.endswith("README.md") for path, _ in opened), "the trace shows what is opened"
    assert [path for path, _ in opened if path.startswith(str(outside)) or path.endswith("/environ")] == []
    written = {path for path, flags in opened if re.search(r"O_WRONLY|O_RDWR|O_CREAT", flags)}
    assert [path for path in written if not path.startswith(writable) and "__pycache__" not in path] == []


@pytest.mark.long
def test_no_module_of_the_pull_request_is_run(runner: Runner) -> None:
    """``python -m pip`` would run the work tree's ``pip.py``."""
    install = steps()[0]
    done = runner.run(install)
    assert done.returncode != 0 and "No such file or directory" in done.stderr, done.stderr
    assert f"{runner.action}/.github/action.txt" in done.stderr, "pip itself looked for what the Action installs"
    runner.request.readme(TRUE_REGION)
    assert runner.run(steps()[-1], check="false").returncode == 0
    assert not (runner.request.tree / "was-here").exists()


@pytest.mark.long
def test_no_line_of_a_readme_commands_the_runner(runner: Runner) -> None:
    """The difference shows lines around a change: they may be commands, which the runner trims before it looks."""
    readme = runner.request.readme(TRUE_REGION)
    hostile = (
        "::add-mask::x",
        "  ::error file=a.py::spoofed",
        "x ##[error]spoofed",
        "::stop-commands::mine",
        "::mine::",
    )
    text = readme.read_text().replace("-->\n<!-- /", "-->\n" + "\n".join(hostile) + "\n<!-- /")
    readme.write_text("\n".join(hostile) + "\n" + text + "\n".join(hostile) + "\n")
    done = runner.run(steps()[-1])
    assert done.returncode == 1 and "spoofed" in done.stdout
    own = commands_to_the_runner(done.stdout)
    assert own and all(line.startswith("::error file=README.md,line=") for line in own), own
    assert not any("spoofed" in line.partition("::error")[0] for line in own)
    assert commands_to_the_runner(done.stderr) == []


@pytest.mark.parametrize(
    ("files", "check", "status"),
    [
        ("README.md", '"; touch made; "', 2), ("$(touch made)", "true", 2), ("--allow / README.md", "true", 2), ("*.md", "true", 2),
        ("", "true", 2), *(pytest.param(*words, 2, marks=pytest.mark.long) for words in
                           (("README.md", "yes"), ("`touch made`", "true"), ("; touch made", "true"))),
    ],
)  # fmt: skip
def test_no_input_is_a_part_of_the_script(files: str, check: str, status: int, runner: Runner) -> None:
    runner.request.readme("table ../outside/secret.log --parsers evil --rows model")
    done = runner.run(steps()[-1], files=files, check=check)
    assert done.returncode == status, done.stdout + done.stderr
    assert not list(runner.place.rglob("made")) and SECRET not in done.stdout + done.stderr


def _opened(trace: Path) -> list[tuple[str, str]]:
    """(path, flags) of each file that was opened."""
    call = re.compile(r'open(?:at)?2?\((?:AT_FDCWD, )?"((?:[^"\\]|\\.)*)", ([^)]*)\) += [0-9]')
    return [(found[1], found[2]) for found in call.finditer(trace.read_text(errors="replace"))]
