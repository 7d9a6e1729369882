"""Recipes of a pull request's README: they read and write nothing outside its repository (H1, H2 of the findings)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import perflog
from perflog.errors import PerflogError
from tests.security.hostile import INSIDE, SECRET, PullRequest, pull_request, run, special_files


def refused(pr: PullRequest, recipe: str) -> str:
    """Run a recipe with and without ``--check``: refused with its place, nothing printed, nothing outside touched."""
    readme = pr.readme(recipe)
    before = readme.read_bytes()
    messages = set()
    for words in (["--check"], []):
        done = run("readme", *words, "README.md")
        assert isinstance(done.exception, PerflogError), done.output
        messages.add(str(done.exception))
        assert SECRET not in done.output + str(done.exception)
    assert readme.read_bytes() == before
    assert pr.outside_now() == pr.files
    (message,) = messages
    assert message.startswith("README.md:1: ")
    return message


def test_the_hostile_parser_works_where_it_may(request_: PullRequest) -> None:
    """Else the tests below would pass for another reason than the confinement."""
    request_.readme("table ../outside/secret.log --parsers evil --rows model")
    assert SECRET in run("readme", "--check", "--allow", "../outside", "README.md").output


@pytest.mark.parametrize(
    "recipe",
    [
        "table /proc/self/environ --parsers evil --rows model",
        "table /proc/self/../self/environ --parsers evil --rows model",
        "table {outside}/secret.log --parsers evil --rows model",
        "table ../outside/secret.log --parsers evil --rows model",
        "table logs/../../outside/secret.log --parsers evil --rows model",
        "table logs ../outside/secret.log --parsers evil --rows model",
        "table logs --parsers ../outside/parsers --rows devices",
        "table logs --parsers {outside}/parsers --rows devices",
        "table logs --templates ../outside/styles --style theirs --rows devices",
        "plot ../outside/logs --kind spread -o a.svg",
        "plot logs --kind spread -o ../outside/new/x.svg",
        "plot logs --kind spread -o {outside}/picture.svg",
        "environment ../outside/logs",
        "method ../outside/logs",
        "links /",
        "links ..",
        "table /dev/zero --rows devices",
    ],
)
def test_a_path_outside_is_refused_with_its_place(recipe: str, request_: PullRequest) -> None:
    message = refused(request_, recipe.format(outside=request_.outside))
    assert INSIDE in message and "perflog readme --allow" in message


@pytest.mark.parametrize("name", ["../outside/styles/theirs", "styles/../../outside/styles/theirs"])
def test_the_name_of_a_style_is_no_path(name: str, request_: PullRequest) -> None:
    assert "there are changes, dlperf" in refused(
        request_, f"table logs --rows devices --templates styles --style {name}"
    )


@pytest.mark.parametrize("option", ["--convention", "--parser"])
def test_the_name_of_a_convention_or_a_parser_is_no_path(option: str, request_: PullRequest) -> None:
    """Conventions are perflog's own alone; parsers are looked for by their names among those that are read."""
    assert "there is no such" in refused(request_, f"table logs --rows devices {option} ../outside/parsers/theirs")


def test_links_that_lead_out_are_refused(request_: PullRequest) -> None:
    tree = request_.tree
    links = {
        "a.log": "../outside/secret.log",
        "folder": "../outside/logs",
        "deep/logs/b.log": "../../../outside/secret.log",
        "linked": "evil/out",
        "evil/out": "../../outside/logs",
        "formats/theirs.toml": "../../outside/parsers/theirs.toml",
        "looks/theirs.toml": "../../outside/styles/theirs.toml",
        "p.svg": "../outside/picture.svg",
        "pictures": "../outside",
    }
    for name, target in links.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).symlink_to(target)
    for recipe in (
        "table a.log --parsers evil --rows model",
        "table folder --rows devices",
        "table deep --parsers evil --rows model",
        "table linked --rows devices",
        "table logs --parsers formats --rows devices",
        "table logs --templates looks --style theirs --rows devices",
        "plot logs --kind spread -o p.svg",
        "plot logs --kind spread -o pictures/new.svg",
        "table folder/../secret.log --parsers evil --rows model",
    ):
        assert INSIDE in refused(request_, recipe), recipe


@pytest.mark.parametrize("above", [False, True])
def test_facts_beside_the_logs_are_inside_too(above: bool, request_: PullRequest) -> None:
    link = request_.tree / ("machine.json" if above else "logs/machine.json")
    link.symlink_to(request_.outside / "machine.json")
    assert INSIDE in refused(request_, "environment logs")


def test_what_stands_above_the_repository_is_not_read(request_: PullRequest, tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text(f'{{"driver": "{SECRET}"}}')
    (tmp_path / "perflog.toml").write_text(f'warmup = "{SECRET}"\n')
    request_.readme("environment logs")
    done = run("readme", "--check", str(request_.tree / "README.md"))
    # the working folder is the work tree: a perflog.toml above it is the user's own, and is named where it is wrong
    assert SECRET not in done.output
    (tmp_path / "perflog.toml").unlink()
    assert run("readme", "README.md").exit_code == 0
    assert SECRET not in (request_.tree / "README.md").read_text()


@pytest.mark.parametrize("path", [".git/config", ".GIT/config", "logs/../.git", ".git"])
def test_gits_own_folder_is_refused(path: str, request_: PullRequest) -> None:
    """actions/checkout keeps the job's token in .git/config, inside the repository."""
    if path == ".GIT/config":  # one folder to file systems that do not tell letters apart
        (request_.tree / ".GIT").symlink_to(".git")
    assert "may hold credentials" in refused(request_, f"table {path} --parsers evil --rows model")
    assert "may hold credentials" in refused(request_, f"plot logs --kind spread -o {path}/x.svg")


def test_special_files_are_refused_even_where_they_are_allowed(request_: PullRequest) -> None:
    for path in special_files(request_.tree):
        request_.readme(f"table {path.name} --rows devices")
        done = run("readme", "--check", "--allow", "/", "README.md")
        assert "expected a regular file or a folder, found a device" in str(done.exception)
    for place in ("/proc/self/environ", "/proc", "/sys/kernel"):
        request_.readme(f"table {place} --parsers evil --rows model")
        done = run("readme", "--check", "--allow", "/", "README.md")
        assert "expected a regular file or a folder, found a device" in str(done.exception)
        assert SECRET not in done.output


def test_a_readme_that_is_a_link_out_is_refused(request_: PullRequest) -> None:
    (request_.tree / "L.md").symlink_to("../outside/README.md")
    (request_.tree / "docs").symlink_to("../outside")
    for name in ("L.md", "docs/README.md"):
        for words in (["--check"], []):
            done = run("readme", *words, name)
            assert "found a link out of it" in str(done.exception)
            assert SECRET not in done.output
    assert request_.outside_now() == request_.files


def test_a_recipe_reads_no_standard_input(request_: PullRequest) -> None:
    assert "a recipe reads no standard input" in refused(request_, "table - --parsers evil --rows model")


@pytest.mark.long
def test_a_link_to_an_environment_among_logs_is_no_log(request_: PullRequest) -> None:
    """Found below a folder that the user named, for parsers of the repository: `explain` shows lines of what it reads."""
    (request_.tree / "logs/x.log").symlink_to("/proc/self/environ")
    for command in ("extract", "explain"):
        done = run(command, "logs", "--parsers", "evil")
        told = done.output + str(done.exception)
        assert SECRET not in told and "'logs/x.log': expected a path inside" in told


def test_a_zero_byte_is_an_error_with_its_place(request_: PullRequest) -> None:
    assert "which holds no zero byte" in refused(request_, "table 'lo\0gs' --rows devices")


def test_a_marker_of_blanks_takes_no_time(request_: PullRequest) -> None:
    """The regex of the markers tried each way of parting blanks: 2,000 took minutes."""
    readme = request_.tree / "README.md"
    readme.write_text("<!-- perflog:" + " \t" * 50_000 + "x\n")
    assert "a marker must stand alone" in str(run("readme", "--check", "README.md").exception)


# ---------------------------------------------------------------- what normal users do


@pytest.mark.long
def test_paths_inside_the_repository_work_as_ever(request_: PullRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """``..`` inside the repository, links inside it, styles and parsers of its own, a picture in another folder."""
    tree = request_.tree
    (tree / "docs").mkdir()
    (tree / "docs/latest").symlink_to("../logs")
    (tree / "styles/mine.toml").write_text('title = "x"\nextends = "dlperf"\nmissing = "none"\n')
    (tree / "pictures").mkdir()
    (tree / ".venv/bin").mkdir(parents=True)
    (tree / ".venv/bin/python").symlink_to("/usr/bin/python3")  # is not searched for logs
    (tree / "logs/elsewhere").symlink_to("/usr")  # is not followed
    request_.readme(
        "table .. --where devices=1 --rows devices -w 100",
        "table ../logs --rows devices -w 100",
        "table latest --rows devices -w 100",
        "table ../logs --parsers ../evil --templates ../styles --style mine --rows devices",
        f"table {tree}/logs --rows devices",
        "plot ../logs --kind spread -o ../pictures/x.svg",
        name="docs/README.md",
    )
    for folder in (tree, tree / "docs", Path("/")):
        monkeypatch.chdir(folder)
        assert run("readme", str(tree / "docs/README.md")).exit_code == 0, folder
    assert (tree / "pictures/x.svg").read_bytes().startswith(b"<?xml")
    assert run("readme", "--check", str(tree / "docs/README.md")).exit_code == 0


def test_without_git_the_folder_of_the_file_is_the_border(tmp_path: Path) -> None:
    made = pull_request(tmp_path)
    shutil.rmtree(made.tree / ".git")
    made.readme("table ../logs --rows devices", name="docs/README.md")
    with pytest.raises(PerflogError, match=INSIDE):
        perflog.readme(made.tree / "docs/README.md")
    assert not perflog.readme(made.tree / "docs/README.md", allow=made.tree / "logs").up_to_date
    made.readme("table logs --rows devices")
    assert not perflog.readme(made.tree / "README.md").up_to_date


def test_an_audit_keeps_recipes_in_the_repository_too(request_: PullRequest) -> None:
    """An audit makes the tables of recipes, and says what a recipe gives: its words must not come from outside."""
    readme = request_.readme("table ../outside/secret.log --parsers evil --rows model")
    readme.write_text(readme.read_text().replace("-->\n", "-->\n| model | ips |\n|---|---|\n| a | 5 |\n", 1))
    done = run("audit", "README.md", "--all", "--logs", "logs")
    assert SECRET not in done.output
