"""The recipes of docs/recipes: each runs as its system would run it, and gives what one machine gives, to the byte."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import ROOT

pytestmark = pytest.mark.long

RECIPES = ROOT / "docs" / "recipes"
SHARES = 2
_NOBODY = ("SLURM_", "JOB_COMPLETION_INDEX", "PERFLOG_")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Repeats of cases, in a folder whose name a careless script would cut in two."""
    source = ROOT / "fixtures" / "campaign" / "short" / "pytorch" / "cnn"
    return Path(shutil.copytree(source, tmp_path / "all logs" / "pytorch" / "cnn")).parents[1]


def run(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command that finds this installation's perflog, and knows nothing of a job that this test may be of."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(_NOBODY)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{known['PATH']}"
    return subprocess.run(
        [str(word) for word in words], cwd=cwd, env={**known, "PATH": path, **(env or {})}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def of_one_machine(logs: Path, folder: Path) -> bytes:
    done = run("perflog", "extract", logs, "--quiet", "-o", "one.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return (folder / "one.json").read_bytes()


@pytest.mark.skipif(shutil.which("parallel") is None, reason="GNU parallel is not installed: its recipe is not run")
def test_parallel(logs: Path, tmp_path: Path) -> None:
    done = run("bash", RECIPES / "parallel.sh", logs, str(SHARES), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "result.json").read_bytes() == of_one_machine(logs, tmp_path)
    # run again after a failure: what is there is not read again, what is missing is
    first, second = (tmp_path / "parts" / f"part{number}.parquet" for number in (1, 2))
    kept = first.stat().st_mtime_ns
    second.unlink()
    again = run("bash", RECIPES / "parallel.sh", logs, str(SHARES), "--jobs", "1", cwd=tmp_path)
    assert (again.returncode, first.stat().st_mtime_ns, second.is_file()) == (0, kept, True), again.stderr


@pytest.mark.skipif(shutil.which("parallel") is None, reason="GNU parallel is not installed: its recipe is not run")
def test_parallel_ends_with_the_failure_of_a_share(tmp_path: Path) -> None:
    done = run("bash", RECIPES / "parallel.sh", "nowhere", "1", "--retries", "1", cwd=tmp_path)
    assert done.returncode != 0
    assert "nowhere" in done.stderr
    assert not (tmp_path / "result.json").exists()


def test_a_task_of_a_slurm_array(logs: Path, tmp_path: Path) -> None:
    """As Slurm runs it: in the folder of submission, with the task's number in the environment."""
    parts = tmp_path / "the parts"
    for number in range(1, SHARES + 1):
        words = (RECIPES / "slurm.sh", logs, str(SHARES), parts)
        done = run("bash", *words, cwd=tmp_path, env={"SLURM_ARRAY_TASK_ID": str(number)})
        assert (done.returncode, done.stderr) == (0, "")
    merged = run("perflog", "merge", parts, "--quiet", "-o", "result.json", cwd=tmp_path)
    assert merged.returncode == 0, merged.stderr
    assert (tmp_path / "result.json").read_bytes() == of_one_machine(logs, tmp_path)


def test_a_slurm_script_that_is_no_task_of_an_array_says_so(logs: Path, tmp_path: Path) -> None:
    done = run("bash", RECIPES / "slurm.sh", logs, str(SHARES), tmp_path / "parts", cwd=tmp_path)
    assert done.returncode != 0
    assert f"submit this script with sbatch --array=1-{SHARES}" in done.stderr


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((RECIPES / name).read_text(encoding="utf-8")))


def container(job: dict[str, Any]) -> dict[str, Any]:
    containers: list[dict[str, Any]] = job["spec"]["template"]["spec"]["containers"]
    return containers[0]


def run_container(job: dict[str, Any], cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What the job's container would run: its command, arguments and variables, of which ``env`` changes some."""
    content = container(job)
    variables = {variable["name"]: variable["value"] for variable in content["env"]}
    return run(*content["command"], *content["args"], cwd=cwd, env={**variables, **env})


def test_an_indexed_job_of_kubernetes(logs: Path, tmp_path: Path) -> None:
    """Each index, which Kubernetes counts from 0, reads one share; the job has as many indexes as there are shares."""
    claim, job = documents("kubernetes.yaml")
    variables = {variable["name"]: variable["value"] for variable in container(job)["env"]}
    assert job["spec"]["completionMode"] == "Indexed"
    assert str(job["spec"]["completions"]) == variables["SHARES"]
    parts = tmp_path / "parts"
    parts.mkdir()
    place = {"LOGS": str(logs), "SHARES": str(SHARES), "PARTS": str(parts)}
    for index in range(SHARES):
        done = run_container(job, tmp_path, {**place, "JOB_COMPLETION_INDEX": str(index)})
        assert (done.returncode, done.stderr) == (0, "")
    (merge,) = documents("kubernetes-merge.yaml")
    merged = run_container(merge, tmp_path, {"PARTS": str(parts)})
    assert (merged.returncode, merged.stderr) == (0, "")
    assert (parts / "result.json").read_bytes() == of_one_machine(logs, tmp_path)
    for one in (job, merge):
        (volume,) = one["spec"]["template"]["spec"]["volumes"]
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        assert container(one)["volumeMounts"] == [{"name": volume["name"], "mountPath": variables["PARTS"]}]


def test_a_merge_in_kubernetes_fails_where_a_part_is_missing(logs: Path, tmp_path: Path) -> None:
    _, job = documents("kubernetes.yaml")
    place = {"LOGS": str(logs), "SHARES": str(SHARES), "PARTS": str(tmp_path)}
    assert run_container(job, tmp_path, {**place, "JOB_COMPLETION_INDEX": "1"}).returncode == 0
    (merge,) = documents("kubernetes-merge.yaml")
    done = run_container(merge, tmp_path, {"PARTS": str(tmp_path)})
    assert done.returncode != 0
    assert "of 2 parts these are missing: 1/2" in done.stderr


@pytest.mark.parametrize("name", ["kubernetes.yaml", "kubernetes-merge.yaml"])
def test_the_manifests_are_what_kubernetes_takes(name: str) -> None:
    """Against the published schemas of the oldest version that the manifest names; no field too many."""
    why = "kubernetes-validate (PyPI) is not installed: the manifests are not held against Kubernetes' schemas"
    validator = pytest.importorskip("kubernetes_validate", reason=why)
    for document in documents(name):
        validator.validate(document, "1.29", strict=True)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed: scripts are not checked")
def test_the_scripts_have_no_fault_that_shellcheck_knows() -> None:
    done = run("shellcheck", *sorted(RECIPES.glob("*.sh")), cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, "")
