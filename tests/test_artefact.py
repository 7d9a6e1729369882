"""What is published, used as its users use it: the wheel, the GitHub Action and the pre-commit hook.

Each is installed into an environment with nothing else in it, so that a package that the tests' own environment has
cannot hide that it is missing there. What the Action does with hostile input: ``tests/security/test_action.py``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from perflog.campaign.runner import load_runners
from tests.campaigns import write_campaign
from tests.compare.test_outputs import TOKEN, _GitHub, github
from tests.security.hostile import pull_request
from tests.security.test_action import Runner, commands_to_the_runner, steps
from tests.support import FIXTURES, ROOT
from tests.test_docs import printed_by, sessions
from tests.tools.pythons import copy_of_the_tree

__all__ = ["github"]
pytestmark = pytest.mark.long
BZ128 = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128"
ONE, EIGHT = "1n1g/rn50_b128_fp32", "1n8g/rn50_b128_fp32"
NO_HISTORY = "perflog: the history needs the package sqlalchemy, which is not installed: pip install 'perflog[history]'"
TABLE = "table logs -w 100 -n 100 --rows devices --value throughput --no-notes"
PLOT = "plot logs -w 100 -n 100 -o docs/scaling.svg"
#: A format that perflog does not know, as a parser of the repository's own describes it.
OWN_PARSER = """
title = "Ours"
source = "https://example.org"
framework = "PyTorch"
priority = 50

[[pattern]]
name = "step"
role = "step"
literal = "went"
regex = '^tick (?P<step>{I}) went (?P<seconds>{N}) secs$'

[[pattern.value]]
group = "seconds"
quantity = "step_time"
unit = "s"
scope = "job"

[[pattern.sample]]
line = "tick 7 went 0.250 secs"
expect = { step = 7, seconds = 0.25 }
"""


#: A loop that nobody wrote for perflog; beside its log it writes by its own clock what it did after 100 steps.
OWN_LOOP = """
import sys, time
began = before = time.perf_counter()
for step in range(1, 301):
    time.sleep(0.004)
    now = time.perf_counter()
    if step == 100:
        began = now
    if step % 10 == 0:
        print(f"{time.strftime('%H:%M:%S')} step {step}/300 | loss {3 / step:.4f} | {640 / (now - before):.2f} samples/s")
        before = now
print(64 * 200 / (now - began), file=sys.stderr)
"""
README = """# My net
<!-- perflog: table logs -w 100 --rows model --value throughput -->
<!-- /perflog -->
"""


# ---------------------------------------------------------------- environments


def empty_environment(place: Path) -> Path:
    """An environment with Python and pip alone; its folder."""
    venv.create(place, with_pip=True)
    return place


def install(environment: Path, requirement: str) -> None:
    words = [str(environment / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*words, requirement], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def around(environment: Path, home: Path) -> dict[str, str]:
    """The variables of a shell in which an environment is active, and that knows nothing of the tests'."""
    return {"PATH": f"{environment}/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "TMPDIR": str(home)}


def pip_variables() -> dict[str, str]:
    """What tells pip here where packages are, and where it keeps them."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")}
    return {"PIP_CACHE_DIR": str(Path.home() / ".cache/pip"), **kept}


def perflog(environment: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(environment / "bin/perflog"), *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=around(environment, folder)
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return next(out.glob("perflog-*.whl"))


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the plain installation, without any extra."""
    place = empty_environment(tmp_path_factory.mktemp("plain") / "environment")
    install(place, str(wheel))
    return place


@pytest.fixture(scope="module")
def complete(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with all that users may install together."""
    place = empty_environment(tmp_path_factory.mktemp("complete") / "environment")
    install(place, f"perflog[all] @ {wheel.as_uri()}")
    return place


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This repository as others fetch it: its files and no others, with a tag."""
    place = copy_of_the_tree(tmp_path_factory.mktemp("checkout") / "perflog")
    git(place, "init", "--quiet")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", "all")
    assert git(place, "tag", "v0.1.0").returncode == 0
    return place


def git(folder: Path, *words: str, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """``git`` without the user's configuration."""
    who = {f"GIT_{role}_{what}": f"{what}@x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    environment = {**os.environ, **alone, **who, **(variables or {})}
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


# ---------------------------------------------------------------- the wheel


def test_wheel_holds_parsers_templates_and_runners(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "perflog/data/parsers/paddleclas.toml",
        "perflog/data/formats.msgpack",
        "perflog/data/parsers/conventions/mlperf.toml",
        "perflog/data/templates/README.md",
        "perflog/data/templates/reports/page.html.j2",
        "perflog/data/templates/reports/page.css",
        "perflog/data/templates/reports/page.js",
        "perflog/data/templates/reports/words.toml",
        "perflog/data/runners/README.md",
        "perflog/history/migrations/env.py",
        "perflog/history/migrations/versions/v0001_campaigns.py",
        "perflog/data/runners/common.py",
        "perflog/show/schemas/extraction.schema.json",
        "perflog/data/example/seed004/logs_fp32/mindspore/resnet50/bz128/1n8g/rn50_b128_fp32_1.log",
        "perflog/data/example/campaign/short/machine.json",
        "perflog/data/example/campaign/releases/2.12.1/machine.json",
        *(f"perflog/data/runners/{runner.name}/runner.toml" for runner in load_runners().values()),
        *(
            f"perflog/data/runners/{name}/train.py"
            for name, runner in load_runners().items()
            if not runner.prerequisites
        ),
    ):
        assert wanted in names
    assert not [name for name in names if ".environments" in name]
    assert not [name for name in names if name.startswith(("fixtures", "tests"))]


def test_the_plain_installation_does_the_main_jobs(plain: Path, tmp_path: Path) -> None:
    found = perflog(plain, tmp_path, "doctor").stdout
    assert f"in {plain}" in found and "MISSING" not in found, found
    assert re.findall(r"^  (\w+) +not installed", found, flags=re.MULTILINE) == [
        "history", "postgresql", "lz4", "xlsx", "s3", "ray",
    ]  # fmt: skip
    done = perflog(plain, tmp_path, "extract", str(BZ128), "--warmup", "100", "--steps", "100")
    assert done.returncode == 0 and "10731.78" in done.stdout and "29.02" in done.stdout, done.stderr
    for kind, beginning in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        done = perflog(plain, tmp_path, "plot", str(BZ128), "-o", f"p.{kind}", "--quiet")
        assert done.returncode == 0 and (tmp_path / f"p.{kind}").read_bytes().startswith(beginning), done.stderr
    done = perflog(plain, tmp_path, "report", str(BZ128), "-w", "100", "-o", "r.html")
    assert done.returncode == 0 and "<svg" in (tmp_path / "r.html").read_text(encoding="utf-8"), done.stderr
    listed = perflog(plain, tmp_path, "run", "--list").stdout
    assert listed.startswith(f"environments in {tmp_path}/.cache/perflog/environments\nmindspore ")
    assert re.search(r"^mindspore +missing", listed, flags=re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md", "tutorial.md", "tutorial.zh.md"])
def test_the_plain_installation_prints_what_the_pages_show(page: str, plain: Path, tmp_path: Path) -> None:
    """All but the history, which says what it needs."""
    session = sessions()[page]
    assert len(session) > 5
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")  # the README's first example is on logs of the repository
    for command, shown in session:
        needs_history = command.startswith(("perflog save ", "perflog history"))
        expected = [NO_HISTORY] if needs_history else shown
        assert [printed_by(command, tmp_path, around(plain, tmp_path))] * len(expected) == expected, command


def test_with_the_extras_the_whole_tutorial_is_true(complete: Path, tmp_path: Path) -> None:
    for command, shown in sessions()["tutorial.md"]:
        assert [printed_by(command, tmp_path, around(complete, tmp_path))] * len(shown) == shown, command
    found = perflog(complete, tmp_path, "doctor").stdout
    assert re.findall(r"^  (\w+) +not installed", found, flags=re.MULTILINE) == ["ray"]


# ---------------------------------------------------------------- docs/ci.md


def page_blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def workflow_inputs(page: str) -> dict[str, str]:
    """The inputs that a page's workflow gives the Action, by the names of the tests' runner."""
    (text,) = page_blocks(page, "yaml")
    jobs: dict[str, Any] = yaml.safe_load(text)["jobs"]
    (job,) = jobs.values()
    inputs = job["steps"][-1]["with"]
    return {name.replace("-", "_"): str(value).replace("${{ github.token }}", TOKEN) for name, value in inputs.items()}


def test_the_commands_of_the_page_on_ci_pass_where_all_is_well(plain: Path, tmp_path: Path) -> None:
    for seed, folder in enumerate(("logs/main", "logs/branch", "old", "new")):
        write_campaign(tmp_path / folder, {ONE: 130.0, EIGHT: 1000.0}, seed=seed)
    region = "<!-- perflog: table logs/main --rows devices -->\n<!-- /perflog -->\n"
    (tmp_path / "README.md").write_text(region)
    assert perflog(plain, tmp_path, "readme", "README.md").returncode == 0
    text = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\| [^|]*\| `(perflog [^`]*)` \|", text, flags=re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["compare", "readme", "audit"]
    blocks = page_blocks("ci.md", "sh")
    assert len(blocks) == 1 and blocks[0].startswith("pip install perflog\n")
    for command in [*commands, *blocks]:
        words = ["bash", "-e", "-o", "pipefail", "-c", command]
        variables = {**pip_variables(), **around(plain, tmp_path)}
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=variables)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    assert (tmp_path / "gate.xml").read_text().startswith("<?xml")


# ---------------------------------------------------------------- the Action


@pytest.fixture(scope="module")
def action_python(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python as actions/setup-python gives it, into which the Action's own step has installed perflog."""
    return set_up(checkout, tmp_path_factory.mktemp("action")).python


def set_up(checkout: Path, place: Path, **inputs: str) -> Runner:
    """A runner after the Action's first steps."""
    python = empty_environment(place / "python") / "bin/python"
    runner = Runner(pull_request(place), place, str(python))
    runner.action = checkout
    for step in steps()[:-1]:
        done = runner.run(step, variables=pip_variables(), **inputs)
        assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    return runner


@pytest.fixture
def runner(action_python: Path, tmp_path: Path) -> Runner:
    """A runner on a repository without logs, after the Action's first steps."""
    request = pull_request(tmp_path)
    shutil.rmtree(request.tree / "logs")
    return Runner(request, tmp_path, str(action_python))


def run(
    runner: Runner, variables: Mapping[str, str] | None = None, /, **inputs: Any
) -> subprocess.CompletedProcess[str]:
    """The Action's last step, which gives no output to other steps and sets no variable of theirs."""
    done = runner.run(steps()[-1], variables=variables, **inputs)
    files = ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH")
    assert [runner.commands[name].read_text() for name in files] == ["", "", ""]
    return done


def test_the_action_checks_tables_and_pictures(runner: Runner) -> None:
    tree, summary = runner.request.tree, runner.commands["GITHUB_STEP_SUMMARY"]
    shutil.copytree(FIXTURES / "seed004/logs_fp32", tree / "logs")
    (tree / "docs").mkdir()
    readme = runner.request.readme(TABLE, PLOT)
    written = run(runner, check="false")
    assert written.returncode == 0 and (tree / "docs/scaling.svg").is_file(), written.stderr
    assert run(runner, **workflow_inputs("ci.md")).returncode == 0 and summary.read_text() == ""
    readme.write_text(readme.read_text().replace("10732", "99999"))
    (tree / "docs/scaling.svg").write_text("<svg/>")
    stale = run(runner, **workflow_inputs("ci.md"))
    assert stale.returncode == 1, stale.stderr
    own = commands_to_the_runner(stale.stdout)
    assert [line.split(",")[0] for line in own] == ["::error file=docs/scaling.svg", "::error file=README.md"]
    assert "99999" in summary.read_text() and "docs/scaling.svg" in summary.read_text()


def test_the_action_compares_and_comments(runner: Runner, github: tuple[str, type[_GitHub]]) -> None:
    """As the workflow of docs/compare.md asks it to."""
    address, held = github
    workflow = {"GITHUB_API_URL": address, "GITHUB_REPOSITORY": "a/b", "GITHUB_REF": "refs/pull/5/merge"}
    for side, rate, seed in (("base", 1000.0, 1), ("head", 950.0, 2)):
        write_campaign(runner.request.tree / "logs" / side, {ONE: 130.0, EIGHT: rate}, seed=seed, turn=seed - 1)
    inputs = workflow_inputs("compare.md")
    assert inputs["command"] == "compare" and inputs["token"] == TOKEN
    done = run(runner, workflow, **inputs)
    assert done.returncode == 1 and "The gate failed (exit status 1): 1 of 2 cases slower." in done.stderr, done.stderr
    assert any("8 devices is slower: −" in line for line in commands_to_the_runner(done.stdout))
    (comment,) = held.comments
    summary = runner.commands["GITHUB_STEP_SUMMARY"].read_text()
    assert comment["body"].startswith("<!-- perflog compare resnet -->\n") and "| 8 devices" in comment["body"]
    assert "| 8 devices" in summary and TOKEN not in done.stdout + done.stderr + summary
    (runner.request.tree / "logs/head").rename(runner.request.tree / "logs/slow")
    shutil.copytree(runner.request.tree / "logs/base", runner.request.tree / "logs/head")
    copied = run(runner, workflow, **inputs)
    assert "replaced the comment on pull request 5" in copied.stderr and len(held.comments) == 1, copied.stderr


def test_the_action_reads_a_format_of_the_repository(runner: Runner) -> None:
    tree = runner.request.tree
    (tree / "formats").mkdir()
    (tree / "formats/ours.toml").write_text(OWN_PARSER)
    for side, seconds in (("old", 0.250), ("new", 0.300)):
        (tree / side).mkdir()
        for repeat in (1, 2, 3, 4, 5):
            times = (seconds + 0.001 * ((step * repeat) % 5) for step in range(1, 101))
            lines = [f"tick {step} went {time:.3f} secs\n" for step, time in enumerate(times, start=1)]
            (tree / side / f"net_b32_1gpu_{repeat}.log").write_text("".join(lines))
    inputs = {"command": "compare", "sides": "old new", "metric": "step_time"}
    done = run(runner, parsers="formats\n", **inputs)
    assert done.returncode == 1 and "1 of 1 case slower" in done.stderr, done.stdout + done.stderr


def test_the_action_compares_campaigns_of_a_history(
    runner: Runner, checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Without the extra it says in plain words what is missing; ``database`` has its steps install it."""
    inputs = {"command": "compare", "sides": "v1 v2"}
    without = run(runner, {"PERFLOG_DATABASE": "h.sqlite"}, **inputs)
    assert (without.returncode, without.stderr) == (2, f"{NO_HISTORY}\n")
    runner = set_up(checkout, tmp_path_factory.mktemp("history"), database="h.sqlite")
    tree = runner.request.tree
    for label, rate in (("v1", 1000.0), ("v2", 900.0)):
        write_campaign(tree / label, {EIGHT: rate})
        saved = perflog(
            runner.python.parents[1], tree, "save", label, "--label", label, "--database", "h.sqlite", "--quiet"
        )
        assert saved.returncode == 0, saved.stderr
        shutil.rmtree(tree / label)
    done = run(runner, database="h.sqlite", **inputs)
    apart = "1 of 1 case slower, but the sides were measured apart"
    assert done.returncode == 3 and apart in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("extras", ["lz4] @ https://127.0.0.1:9/x", "../x", "--index-url=x", "$(touch made)"])
def test_extras_are_names_alone(extras: str, runner: Runner) -> None:
    done = runner.run(steps()[0], extras=extras)
    assert (done.returncode, done.stdout) == (2, "") and "extras: expected names such as s3,xlsx" in done.stderr
    assert not list(runner.place.rglob("made"))


# ---------------------------------------------------------------- the pre-commit hook


def test_pre_commit_runs_the_hook(checkout: Path, tmp_path: Path) -> None:
    """pre-commit itself fetches the hook's repository, installs it, and runs it at each commit."""
    tools = empty_environment(tmp_path / "tools")
    install(tools, "pre-commit")
    tree = tmp_path / "tree"
    shutil.copytree(FIXTURES / "seed004/logs_fp32", tree / "logs")
    (tree / "docs").mkdir()
    (tree / "CHANGES.md").write_text("no region\n")
    (tree / "README.md").write_text(
        f"<!-- perflog: {TABLE} -->\n<!-- /perflog -->\n<!-- perflog: {PLOT} -->\n<!-- /perflog -->\n"
    )
    (tree / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {checkout}\n    rev: v0.1.0\n    hooks: [{{id: perflog-readme}}]\n"
    )
    variables = {
        **pip_variables(), "HOME": str(tmp_path), "PRE_COMMIT_HOME": str(tmp_path / "hooks"), "PYTHONPATH": "",
        "PATH": f"{tools}/bin:/usr/bin:/bin",
    }  # fmt: skip

    def commit(message: str) -> tuple[int, str]:
        git(tree, "add", "--all")
        done = git(tree, "commit", "--message", message, variables=variables)
        return done.returncode, done.stdout + done.stderr

    git(tree, "init", "--quiet")
    subprocess.run([str(tools / "bin/pre-commit"), "install"], cwd=tree, check=True, capture_output=True)
    status, said = commit("empty regions")
    assert status == 1 and "README.md:2 (nothing) → " in said and "docs/scaling.svg" in said, said
    (made,) = (tmp_path / "hooks").glob("repo*/py_env-*")
    assert perflog(made, tree, "readme", "README.md").returncode == 0
    assert commit("all is as the logs say")[0] == 0
    (tree / "CHANGES.md").write_text("a page without a region\n")
    assert commit("another page")[0] == 0
    (tree / "README.md").write_text((tree / "README.md").read_text().replace("10732", "99999"))
    status, said = commit("a number of somebody's own")
    assert status == 1 and "99999 → 10732" in said, said
    git(tree, "checkout", "HEAD", "README.md")
    shutil.rmtree(next((tree / "logs").rglob("1n8g")))
    status, said = commit("logs alone")
    assert status == 1 and "README.md" in said, said


# ---------------------------------------------------------------- a new user


def test_a_newcomer_comes_from_the_wheel_to_a_view_and_a_checked_readme(wheel: Path, tmp_path: Path) -> None:
    """``pytest -m long tests/test_artefact.py -k newcomer -s`` prints each step with its output and its time."""
    began = time.monotonic()

    def done(command: str) -> str:
        made = subprocess.run(
            ["bash", "-ec", command], cwd=tmp_path, capture_output=True, text=True, check=False,
            env=around(tmp_path / "venv", tmp_path) | pip_variables(),
        )  # fmt: skip
        print(f"$ {command}\n{made.stdout}{made.stderr}[{time.monotonic() - began:.1f} s since the beginning]\n")
        assert made.returncode == 0, made.stderr
        return made.stdout

    (tmp_path / "train.py").write_text(OWN_LOOP, encoding="utf-8")
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    done(f"python3 -m venv venv && venv/bin/pip install -q --disable-pip-version-check {wheel}")
    done("mkdir logs; for run in 1 2 3; do python3 train.py > logs/mynet_$run.log 2> truth_$run; done")
    read = done("perflog extract logs -w 100")
    done("perflog view logs -w 100 -o view.html")
    assert b"mynet_3.log" in (tmp_path / "view.html").read_bytes()
    done("perflog readme README.md")
    done("perflog readme --check README.md")
    truths = sorted(float((tmp_path / f"truth_{run}").read_text()) for run in (1, 2, 3))
    found = json.loads(done("perflog extract logs -w 100 -f json"))
    ((value, unit),) = {
        (c["metrics"]["throughput"]["value"], c["metrics"]["throughput"]["unit"]) for c in found["cases"]
    }
    assert (f"{value:.2f}" in read, unit) == (True, "samples/s")
    assert value == pytest.approx(truths[1], rel=1e-3)  # of two digits behind the point, at 20 records
