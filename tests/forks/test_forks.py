"""A forked command says, and ends, as one that is started anew."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forks import perflog, words
from tests.support import FIXTURES, ROOT

LOG = FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["extract", str(LOG), "-f", "json"], 0),
        (["extract", "no/such/place"], 2),
        (["extract", str(LOG), "--warmup", "100000"], 3),
        (["table", "--help"], 0),
    ],
    ids=["extract", "wrong usage", "no value", "help"],
)
def test_it_is_as_one_that_is_started(arguments: list[str], status: int, tmp_path: Path) -> None:
    variables = {"COLUMNS": "70", "HOME": str(tmp_path)}
    forked = perflog(*arguments, cwd=tmp_path, env=variables)
    started = subprocess.run(
        [sys.executable, "-W", "error", "-m", "perflog", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert forked.returncode == started.returncode == status
    assert (forked.stdout, forked.stderr) == (started.stdout, started.stderr)


def test_shells_see_its_output_and_status(tmp_path: Path) -> None:
    command = shlex.join(words())
    script = f"{command} extract {LOG} -f csv | {command} extract nowhere; echo $?"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("2\n", "perflog: no such file or folder: 'nowhere'\n")


@pytest.mark.parametrize("target", ["| true", ">/dev/full"])
def test_what_cannot_be_written_ends_it_as_one_that_is_started(target: str) -> None:
    ends = []
    for command in (words(), [sys.executable, "-m", "perflog"]):
        script = f"({shlex.join(command)} extract {LOG} -f csv; echo status $? >&2) {target}"
        done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
        ends.append((done.stdout, done.stderr))
    assert ends[0] == ends[1]
