"""The GitHub Action: its inputs are the commands' options, and its commands do what they should, run as its runner does.

What a hostile pull request cannot do with it: ``tests/security/test_action.py``.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from perflog.cli import app
from tests.campaigns import write_campaign
from tests.compare.test_outputs import TOKEN, _GitHub, github
from tests.security.hostile import SECRET, pull_request
from tests.security.test_action import Runner, commands_to_the_runner, declared_inputs, steps
from tests.support import FIXTURES, ROOT

__all__ = ["github"]
RECIPE = "table logs -w 100 -n 100 --rows devices --value throughput --no-notes"
ONE, EIGHT = "1n1g/rn50_b128_fp32", "1n8g/rn50_b128_fp32"
#: Inputs that are the Action's own: what is run, what it is run on, a secret, what is installed, and Python's version.
OWN = {"command", "files", "sides", "token", "extras", "python-version"}
#: Options of no use in a workflow: the help, silence, a comment, which a token asks for, and the cache of a machine.
LEFT_OUT = {"help", "quiet", "comment", "cache", "view"}


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    request = pull_request(tmp_path)
    shutil.rmtree(request.tree / "logs")
    return Runner(request, tmp_path)


@pytest.fixture
def sides(runner: Runner) -> str:
    """Two sides of two cases in the work tree: 5 % slower on eight devices, the same on one."""
    tree = runner.request.tree
    write_campaign(tree / "old", {ONE: 130.0, EIGHT: 1000.0}, seed=1, turn=0)
    write_campaign(tree / "new", {ONE: 130.0, EIGHT: 950.0}, seed=2, turn=1)
    return "old new"


def script() -> dict[str, Any]:
    return steps()[-1]


def options_of(command: str) -> set[str]:
    """The names of a command's options."""
    parameters = get_command(app).commands[command].params  # type: ignore[attr-defined]
    return {name.removeprefix("--") for p in parameters for name in p.opts if name.startswith("--")}


def test_it_is_a_composite_action_that_installs_itself() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert action["runs"]["using"] == "composite"
    python, install, last = action["runs"]["steps"]
    assert python["uses"].startswith("actions/setup-python@")
    assert install["env"]["ACTION_PATH"] == "${{ github.action_path }}" and "pip install" in install["run"]
    assert all("${{" not in step["run"] for step in (install, last)), "an input could be read as a part of a script"
    assert all("python -I -m" in step["run"] for step in (install, last)), "a module of the work tree could be run"


def test_its_inputs_are_the_options_of_the_three_commands() -> None:
    options = options_of("readme") | options_of("audit") | options_of("compare")
    assert set(declared_inputs()) == OWN | (options - LEFT_OUT)
    installed = {"extras", "python-version"}  # what the steps before it take
    variables = {name: f"INPUT_{name.upper().replace('-', '_')}" for name in declared_inputs() if name not in installed}
    assert script()["env"] == {variable: f"${{{{ inputs.{name} }}}}" for name, variable in variables.items()}
    unused = [
        variable
        for name, variable in variables.items()
        if variable not in script()["run"] and name not in script()["run"]
    ]
    assert unused == []


# ---------------------------------------------------------------- readme and audit


@pytest.mark.long
def test_readme_checks_and_regenerates(runner: Runner) -> None:
    shutil.copytree(FIXTURES / "seed004/logs_fp32", runner.request.tree / "logs")
    runner.request.readme(RECIPE)
    other = runner.request.readme(RECIPE, name="docs.md")
    stale = runner.run(script(), files="README.md\n  docs.md\n")
    assert stale.returncode == 1 and "2 regions in 2 files: 2 files differ from their logs" in stale.stderr
    own = commands_to_the_runner(stale.stdout)
    assert {line.split(",")[0] for line in own} == {"::error file=README.md", "::error file=docs.md"}
    assert "docs.md" in runner.commands["GITHUB_STEP_SUMMARY"].read_text()
    assert runner.run(script(), files="README.md docs.md", check="false").returncode == 0
    assert "10732" in other.read_text()
    true = runner.run(script(), files="README.md docs.md")
    assert true.returncode == 0 and commands_to_the_runner(true.stdout) == []


@pytest.mark.long
def test_audit_holds_a_table_against_its_logs(runner: Runner) -> None:
    tree = runner.request.tree
    shutil.copytree(FIXTURES / "seed004/logs_fp32", tree / "logs")
    runner.request.readme(f"{RECIPE.removesuffix(' --no-notes')}")
    assert runner.run(script(), check="false").returncode == 0
    text = re.sub(r"<!--.*?-->\n?", "", (tree / "README.md").read_text())
    (tree / "README.md").write_text(text.replace("10732", "99999"))
    done = runner.run(script(), command="audit", logs="logs\n")
    assert done.returncode == 1, done.stdout + done.stderr
    assert any("99999" in line for line in commands_to_the_runner(done.stdout)), done.stdout
    assert "99999" in runner.commands["GITHUB_STEP_SUMMARY"].read_text()


# ---------------------------------------------------------------- compare


@pytest.mark.long
def test_compare_fails_where_a_case_is_slower_and_says_so_everywhere(runner: Runner, sides: str) -> None:
    done = runner.run(script(), command="compare", sides=sides)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "The gate failed (exit status 1): 1 of 2 cases slower." in done.stderr
    own = commands_to_the_runner(done.stdout)
    assert [line.split(" ")[0] for line in own] == ["::error", "::error", "::notice"]
    assert "8 devices is slower: −" in own[1]
    summary = runner.commands["GITHUB_STEP_SUMMARY"].read_text()
    assert summary.startswith("<!-- perflog compare throughput -->\n") and "| 8 devices" in summary
    assert "| 8 devices" in done.stdout, "the log has the table too"
    assert not list(runner.temporary.iterdir()), "what it wrote for itself is gone"


@pytest.mark.parametrize(
    ("inputs", "status"),
    [
        ({"gate": "false"}, 0), *(
            pytest.param(inputs, status, marks=pytest.mark.long)
            for inputs, status in [
                ({"where": "devices=1\n"}, 0), ({"fail_on": "missing"}, 0), ({"margin": "10%"}, 0),
                ({"metric": "step_time", "warmup": "10", "level": "90", "set": "a=b\n\n  c=d"}, 1),
            ]
        ),
        ({"where": "devices=16"}, 2), ({"gate": "yes"}, 2), ({"margin": "--help"}, 2), ({"files": "README.md"}, 2),
        ({"command": "run"}, 2), ({"command": "readme"}, 2), ({"metric": "$(touch made)"}, 2), ({"marker": "--> x"}, 2),
        ({"alias": "; touch made"}, 2), ({"sides": "old"}, 2), ({"allow": "/"}, 2), ({"sides": "old --gate"}, 2),
    ],
)  # fmt: skip
@pytest.mark.long
def test_inputs_mean_what_the_options_mean(inputs: dict[str, str], status: int, runner: Runner, sides: str) -> None:
    done = runner.run(script(), (), None, **{"command": "compare", "sides": sides, **inputs})
    assert done.returncode == status, done.stdout + done.stderr
    assert not list(runner.place.rglob("made")) and SECRET not in done.stdout + done.stderr


@pytest.mark.long
def test_another_format_is_printed_or_written(runner: Runner, sides: str) -> None:
    done = runner.run(script(), command="compare", sides=sides, format="json", gate="false")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("::stop-commands::") and lines[-1] == f"::{lines[0].rsplit('::', 1)[1]}::"
    assert json.loads("\n".join(lines[1:-1]))["schema"] == "perflog/comparison/1"
    runner.run(script(), command="compare", sides=sides, format="html", output="page.html")
    assert (runner.request.tree / "page.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.long
def test_a_comment_is_written_where_a_token_is_given_and_nowhere_else(
    runner: Runner, sides: str, github: tuple[str, type[_GitHub]]
) -> None:
    address, held = github
    workflow = {"GITHUB_API_URL": address, "GITHUB_REPOSITORY": "a/b", "GITHUB_REF": "refs/pull/5/merge"}
    without = runner.run(script(), variables=workflow, command="compare", sides=sides)
    assert without.returncode == 1 and held.asked == [], "the job's own token is not taken unasked"
    done = runner.run(script(), variables=workflow, command="compare", sides=sides, token=TOKEN)
    assert done.returncode == 1 and "posted the comment on pull request 5" in done.stderr
    again = runner.run(script(), variables=workflow, command="compare", sides=sides, token=TOKEN, gate="false")
    assert again.returncode == 0 and "replaced the comment on pull request 5" in again.stderr
    (comment,) = held.comments
    assert comment["body"].startswith("<!-- perflog compare throughput -->\n\n### ")
    assert TOKEN not in done.stdout + done.stderr + again.stdout + again.stderr
    wrong = runner.run(script(), variables=workflow, command="readme", token=TOKEN)
    assert wrong.returncode == 2 and "--comment" in re.sub(r"\x1b\[[0-9;]*m", "", wrong.stderr)


@pytest.mark.long
def test_names_of_logs_command_nothing(runner: Runner) -> None:
    tree = runner.request.tree
    for side, seed in (("old", 1), ("new", 2)):
        rates = {ONE: 130.0, EIGHT: 100.0 / seed}
        write_campaign(tree / side / "::error::spoofed ##[error]x", rates, seed=seed, turn=seed - 1)
    done = runner.run(script(), command="compare", sides="old new")
    own = commands_to_the_runner(done.stdout)
    assert done.returncode == 1 and all("##[" not in line for line in own)
    assert [line for line in own if not re.match(r"::(?:error|warning|notice) title=perflog compare", line)] == []
    assert commands_to_the_runner(done.stderr) == []
