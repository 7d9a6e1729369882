"""Faults at the n-th call, and damaged databases: a sample; ``make faults`` tries them all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import perflog.history as history
from perflog.errors import PerflogError
from tests.extractions import campaign
from tests.support import ROOT


def ended(tool: str, *words: str) -> tuple[list[list[str]], str]:
    """The rows of the table that a tool of these tests prints, and what it found wrong."""
    command = [sys.executable, "-m", f"tests.faults.{tool}", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[2:]]
    wrong = "\n".join(line for line in done.stderr.splitlines() if " s {" not in line)
    assert done.returncode in (0, 1), done.stderr
    assert (done.returncode == 1) == bool(wrong), done.stderr
    return rows, wrong


#: Commands, and the calls that are struck.
SAMPLE = [
    ("rename,malloc", ("extract -o json",)),
    pytest.param("write,fsync,rename", ("extract -o json", "save"), marks=pytest.mark.long),
    pytest.param("read,write,thread,malloc", ("extract",), marks=pytest.mark.long),
    pytest.param("read", ("extract packed",), marks=pytest.mark.long),
    # A complete log that cannot be read is no failed training.
    pytest.param("read,malloc", ("run",), marks=pytest.mark.long),
]


@pytest.mark.skipif(sys.platform != "linux", reason="the shim is for Linux")
@pytest.mark.parametrize(("kinds", "commands"), SAMPLE)
def test_a_call_that_fails_is_one_line_and_leaves_the_old_or_the_new(
    kinds: str, commands: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")  # then Python itself loses what a short write leaves
    most = "1" if "," in kinds else "30"
    rows, wrong = ended("nth", *commands, "--kinds", kinds, "--most", most, "--mallocs", "1")
    assert wrong == ""
    assert {(row[0], row[1]) for row in rows} == {(name, kind) for name in commands for kind in kinds.split(",")}
    assert sum(int(row[3]) for row in rows) >= min(8, 2 * len(rows))


@pytest.mark.long
def test_a_damaged_database_is_one_line_or_no_matter() -> None:
    rows, wrong = ended("damaged", "--files", "2")
    assert wrong == ""
    assert len(rows) == 7


def test_a_history_whose_schema_is_no_text(tmp_path: Path) -> None:
    """SQLite's message quotes the schema, and Python's driver cannot decode it then."""
    file = tmp_path / "h.sqlite"
    history.save(str(file), campaign(1, 1), "v1")
    data = file.read_bytes()
    file.write_bytes(data.replace(b"CREATE TABLE perflog_case", b"CREATE TABLE ``rflog_case"))
    with pytest.raises(PerflogError, match=r"h\.sqlite: the file is damaged$"):
        history.campaigns(str(file))  # SQLite's message has the whole schema, on several lines
    assert b"tableperflog_case" in data and b"CREATE TABLE perflog_case" in data
    damaged = data.replace(b"tableperflog_case", b"table\xfferflog_case").replace(
        b"CREATE TABLE perflog_case", b"CREATE TABLX perflog_case"
    )
    file.write_bytes(damaged)
    with pytest.raises(PerflogError, match=r"h\.sqlite: the file is damaged$"):
        history.campaigns(str(file))
