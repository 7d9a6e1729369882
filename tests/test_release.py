"""What is published: the sdist and the wheels as an index and a user find them, and the workflow that makes them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from perflog._version import __version__
from tests.support import ROOT
from tests.tools import release

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("artefacts") / "dist"
    release.build(folder)
    return folder


@pytest.mark.long
def test_they_are_whole_tagged_and_hardened(dist: Path) -> None:
    assert list(release.faults(dist)) == []


@pytest.mark.long
def test_a_wheel_that_is_not_is_refused(dist: Path, tmp_path: Path) -> None:
    """One machine's library under the other's name, a stray library, and an archive that is not there."""
    for name in (release.SDIST, *release.WHEELS):
        (tmp_path / name).write_bytes((dist / name).read_bytes())
    (tmp_path / release.WHEELS[0]).write_bytes((dist / release.WHEELS[1]).read_bytes())
    with zipfile.ZipFile(tmp_path / release.WHEELS[2], "a") as packed:
        packed.writestr("perflog/other.so", b"")
    told = list(release.faults(tmp_path))
    assert f"{release.WHEELS[0]}: {release.SCANNER} is for aarch64: expected x86_64" in told
    assert f"{release.WHEELS[2]}: holds perflog/other.so" in told
    (tmp_path / release.SDIST).unlink()
    assert [fault.partition(": expected")[0] for fault in release.faults(tmp_path)] == [
        f"{tmp_path} holds {', '.join(sorted(release.WHEELS))}"
    ]


@pytest.mark.long
def test_the_sdist_builds_without_an_index(dist: Path, tmp_path: Path) -> None:
    """With hatchling and msgspec at hand, which its pyproject.toml asks for, and no way to any other package."""
    python = release.empty_environment(tmp_path)
    site = next((tmp_path / "environment").glob("lib/python*/site-packages"))
    (site / "these.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    nowhere = {**os.environ, "PIP_CONFIG_FILE": os.devnull, "PYTHONPATH": "", "https_proxy": "http://127.0.0.1:9"}
    options = ("--no-index", "--no-build-isolation", "--no-deps", "--ignore-installed")
    done = release.installed(python, str(dist / release.SDIST), *options, environment=nowhere)
    assert done.returncode == 0, done.stderr
    said = subprocess.run(
        [python, "-I", "-m", "perflog", "--version"], capture_output=True, text=True, check=True
    ).stdout
    where = [str(python), "-I", "-c", "import perflog; print(perflog.__file__)"]
    assert said.startswith(f"perflog {__version__}, engine: compiled")
    assert Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout).is_relative_to(tmp_path)


@pytest.mark.long
def test_each_that_fits_this_machine_does_the_main_jobs(dist: Path) -> None:
    assert list(release.faults_of_trial(dist)) == []


@pytest.mark.long
def test_the_bill_of_materials_names_what_is_installed(dist: Path) -> None:
    release.write_sbom(dist)
    told = json.loads(dist.with_name("sbom.cdx.json").read_text(encoding="utf-8"))
    listed = {part["name"]: part["version"] for part in told["components"]}
    assert told["bomFormat"] == "CycloneDX" and listed["perflog"] == __version__
    assert {"polars", "numpy", "scipy", "matplotlib", "sqlalchemy"} <= {name.lower() for name in listed}


@pytest.mark.long
def test_the_sdist_holds_no_compiled_file(tmp_path: Path) -> None:
    """The scanner that a developer's checkout holds was compiled for one machine, by nobody knows what."""
    release._build(ROOT, tmp_path, "--sdist", {})
    with tarfile.open(tmp_path / release.SDIST) as packed:
        names = [member.name.partition("/")[2] for member in packed]
    assert "perflog/matching/scan.c" in names and "pyproject.toml" in names
    assert not [name for name in names if release._is_stray(name)]


@pytest.mark.parametrize("tag", ["v0.0.0", __version__, f"v{__version__}rc1", f"v{__version__}\n", ""])
def test_a_tag_of_another_version_is_refused(tag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(["tag", tag]) == 1
    assert capsys.readouterr().err.strip().endswith(f"expected the tag v{__version__}")


def test_the_tag_of_this_version_is_taken() -> None:
    assert release.main(["tag", f"v{__version__}"]) == 0


# ------------------------------------------------------------------------------------------------ the workflows


def workflow(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))
    return read


def runs(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_only_what_was_built_and_tried_is_published() -> None:
    jobs = workflow("release.yml")["jobs"]
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "build": None, "try": "build", "attest": "try", "publish": "attest",
    }  # fmt: skip
    order = [command.split()[3] for command in runs(jobs["build"]) if "tests.tools.release" in command]
    assert order == ["tag", "build", "check", "sbom"]
    assert not runs(jobs["attest"]) + runs(jobs["publish"]), "no code of the repository runs where something is signed"


def test_each_job_may_do_no_more_than_it_does() -> None:
    told = workflow("release.yml")
    assert told["permissions"] == {} == workflow("ci.yml")["permissions"]
    assert {name: job["permissions"] for name, job in told["jobs"].items()} == {
        "build": {"contents": "read"},
        "try": {"contents": "read"},
        "attest": {"id-token": "write", "attestations": "write", "contents": "read"},
        "publish": {"id-token": "write"},
    }
    assert told["jobs"]["publish"]["environment"] == "pypi"
    assert [job["permissions"] for job in workflow("ci.yml")["jobs"].values()] == [{"contents": "read"}] * 3


def test_every_action_is_named_by_its_hash() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in [*WORKFLOWS, ROOT / "action.yml"])
    named = re.findall(r"^ *- (?:name: .*\n *)?uses: (\S+)(.*)$", text, re.MULTILINE)
    named = [(action, note) for action, note in named if not action.startswith("...")]
    assert len(named) > 15
    assert [action for action, note in named if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", action)] == []
    assert [action for action, note in named if not re.fullmatch(r" # v[\d.]+", note)] == [], (
        "whose version nobody sees"
    )
    hashes = {(action.partition("@")[0], action.partition("@")[2]) for action, _ in named}
    assert len(hashes) == len(dict(hashes)), "one action by two hashes"


def test_whatever_builds_a_release_is_held_to_its_hash() -> None:
    wanted = (ROOT / ".github" / "release.in").read_text(encoding="utf-8")
    locked = (ROOT / ".github" / "release.txt").read_text(encoding="utf-8")
    packages = re.findall(r"^([a-z][\w-]*)", wanted, re.MULTILINE)
    assert len(packages) >= 8
    assert [name for name in packages if not re.search(rf"^{name}==\S+ ", locked, re.MULTILINE)] == []
    check_hashes(locked)
    for job in ("release.yml", "ci.yml"):
        installs = [run for j in workflow(job)["jobs"].values() for run in runs(j) if "pip install" in run]
        assert installs and all("--require-hashes -r .github/release.txt" in run for run in installs)


def check_hashes(locked: str) -> None:
    for entry in re.split(r"\n(?=\S)", locked.strip()):
        assert re.match(r"[\w.-]+==", entry) and "--hash=sha256:" in entry, entry.splitlines()[0]


@pytest.mark.parametrize(("name", "extras"), [("action", ()), ("action-extras", ("all",))])
def test_whatever_the_action_installs_is_held_to_its_hash(name: str, extras: tuple[str, ...]) -> None:
    """Each package that pyproject.toml asks for is there, in a version that it allows."""
    locked = (ROOT / ".github" / f"{name}.txt").read_text(encoding="utf-8")
    check_hashes(locked)
    versions: dict[str, list[str]] = {}
    for package, version in re.findall(r"^([\w.-]+)==(\S+)", locked, re.MULTILINE):
        versions.setdefault(canonicalize_name(package), []).append(version)
    wanted = list(requirements(extras))
    assert len(wanted) > 10
    for requirement in wanted:
        found = versions.get(canonicalize_name(requirement.name), [])
        assert found and all(version in requirement.specifier for version in found), (requirement, found)


def requirements(extras: Sequence[str]) -> Iterator[Requirement]:
    """Of perflog, of its building, and of extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    optional = project["project"]["optional-dependencies"]
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    wanted += [text for extra in extras for text in optional[extra]]
    while wanted:
        requirement = Requirement(wanted.pop(0))
        if requirement.name == "perflog":
            wanted += [text for extra in requirement.extras for text in optional[extra]]
        else:
            yield requirement


@pytest.mark.long
@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_is_well_formed_and_without_known_weakness(file: Path) -> None:
    """By GitHub's schema, and by zizmor, which looks for scripts that take text of strangers, rights, and hashes."""
    for command in (
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(file)],
        ["zizmor", "--offline", "--quiet", "--format", "plain", str(file)],
    ):
        program = Path(sys.executable).with_name(command[0])
        done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_no_page_names_an_address_of_the_project() -> None:
    """A fork has one line to change, pyproject.toml's: nowhere else is an owner named, nor a place for one left."""
    address = re.compile(
        r"\bOWNER\b|<owner>|(?:github|gitlab)\.com/[\w.-]+/perflog\b|perflog\.readthedocs|pypi\.org/p\w*/perflog"
    )
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pages = [name for name in listed.split("\0") if name and not name.startswith(("fixtures/", "tests/"))]
    pages = [
        name for name in pages if not (ROOT / name).is_symlink() and (ROOT / name).suffix not in (".gz", ".zst", ".png")
    ]
    assert len(pages) > 500
    assert [name for name in pages if address.search((ROOT / name).read_text(encoding="utf-8", errors="replace"))] == []
