"""The GitHub Action: its inputs are what the README says, and its commands do what they should."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import FIXTURES, ROOT


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


def ran(folder: Path, files: str, check: str) -> subprocess.CompletedProcess[str]:
    """Run the last step as GitHub's runner does: its script in a file, its inputs in the environment."""
    step = action()["runs"]["steps"][-1]
    assert set(step["env"]) == {"FILES", "CHECK"}
    script = folder / "step.sh"
    script.write_text(step["run"], encoding="utf-8")
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tools / "python").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "FILES": files,
        "CHECK": check,
    }
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_it_is_a_composite_action_that_installs_itself() -> None:
    found = action()
    assert {name: given["default"] for name, given in found["inputs"].items()} == {
        "files": "README.md",
        "check": "true",
        "python-version": "3.12",
    }
    assert found["runs"]["using"] == "composite"
    python, install, last = found["runs"]["steps"]
    assert re.fullmatch(r"actions/setup-python@[0-9a-f]{40}", python["uses"]), "a tag may be moved, a hash may not"
    assert install["env"]["ACTION_PATH"] == "${{ github.action_path }}" and "pip install" in install["run"]
    assert all("${{" not in step["run"] for step in (install, last)), (
        "an input in a script could be read as a part of it"
    )


def test_its_command_checks_and_regenerates(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "seed004/logs_fp32", tmp_path / "logs")
    recipe = "table logs -w 100 -n 100 --rows devices --value throughput --no-notes"
    one, two = tmp_path / "README.md", tmp_path / "docs.md"
    for file in (one, two):
        file.write_text(f"<!-- perflog: {recipe} -->\n<!-- /perflog -->\n")
    stale = ran(tmp_path, "README.md\n  docs.md\n", "true")
    assert (stale.returncode, stale.stderr) == (1, "2 regions in 2 files: 2 files differ from their logs\n")
    assert ran(tmp_path, "README.md docs.md", "false").returncode == 0
    assert "10732" in two.read_text()
    assert ran(tmp_path, "README.md docs.md", "true").returncode == 0


@pytest.mark.parametrize(
    ("files", "check", "status"), [("README.md", "yes", 2), ("$(touch made)", "true", 2), ("--help", "true", 2)]
)
def test_odd_inputs_fail_and_run_nothing(files: str, check: str, status: int, tmp_path: Path) -> None:
    assert ran(tmp_path, files, check).returncode == status
    assert not (tmp_path / "made").exists()
