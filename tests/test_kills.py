"""Every command that writes, killed a few times; ``python -m tests.tools.kills`` does it a hundred times each."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support import ROOT

EVERY = ["readme", "extract", "report", "plot", "save"]


@pytest.mark.parametrize(("kills", "names"), [(1, ["extract"]), pytest.param(2, EVERY, marks=pytest.mark.long)])
def test_a_killed_command_leaves_the_old_or_the_new_and_the_next_one_cleans_up(kills: int, names: list[str]) -> None:
    command = [sys.executable, "-m", "tests.tools.kills", *names, "--kills", str(kills)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[2:]]
    assert [(row[0], row[2], row[5]) for row in rows] == [(name, str(kills), "0") for name in names]
