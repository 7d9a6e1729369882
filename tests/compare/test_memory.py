"""`compare` with the memory of a case: which campaigns count, what a row says, and what the gate makes of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns import write_run
from tests.cli.test_cli import run

CASE = "1n8g/rn50_b128_fp32"
RATES = (1000.0, 1004.0, 998.0, 1001.0, 996.0, 1003.0)


def write(folder: Path, rate: float, spread: float = 0.001) -> Path:
    for number, deviation in enumerate((0.0, 1.0, -1.0, 1.7, -1.6), 1):
        write_run(folder / f"{CASE}_{number}.log", [rate * math.exp(spread * deviation)] * 60, decimals=6)
    return folder


def save(folder: Path, label: str, database: str, day: int) -> None:
    done = run("save", str(folder), "--label", label, "--database", database, "--date", f"2026-01-{day:02d}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Six campaigns, and a seventh that is 6 % slower."""
    root = tmp_path_factory.mktemp("memory")
    database = str(root / "history.sqlite")
    for day, rate in enumerate(RATES, 1):
        save(write(root / f"w{day}", rate * (1 + 1e-5 * day)), f"w{day}", database, day)
    return root, database


def compared(old: object, new: object, *more: str) -> dict[str, Any]:
    done = run("compare", str(old), str(new), "-f", "json", *more)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout)["comparisons"][0])


def test_a_named_database_is_the_memory_and_no_history_leaves_it_out(kept: tuple[Path, str], tmp_path: Path) -> None:
    _, database = kept
    old, new = write(tmp_path / "old", 1002), write(tmp_path / "new", 940)
    comparison = compared(old, new, "--database", database)
    (row,) = comparison["rows"]
    assert (row["memory"]["campaigns"], row["memory"]["used"], row["memory"]["apart"]) == (6, True, True)
    assert (row["memory"]["degrees_of_freedom"], row["verdict"]) == (5, "slower")
    assert any(note.startswith("judged with 6 campaigns of its history: runs 0.1") for note in row["notes"])
    assert any("is taken into account for every case" in note for note in comparison["notes"])
    (without,) = compared(old, new, "--database", database, "--no-history")["rows"]
    (alone,) = compared(old, new)["rows"]
    assert without == alone
    assert alone["memory"] is None


def test_campaigns_that_are_compared_are_no_memory(kept: tuple[Path, str], tmp_path: Path) -> None:
    root, database = kept
    of_logs = compared(root / "w3", write(tmp_path / "new", 940), "--database", database)
    assert of_logs["rows"][0]["memory"]["campaigns"] == 5
    of_labels = compared("w2", "w6", "--database", database)
    assert of_labels["rows"][0]["memory"] is None  # four are left
    assert any("4 earlier campaigns of it have two runs" in note for note in of_labels["notes"])
    later = compared("w1", "w2", "--database", database)
    assert any("has no earlier campaign of it" in note for note in later["notes"])


def test_the_gate_has_an_answer_where_campaigns_are_known(kept: tuple[Path, str], tmp_path: Path) -> None:
    """Sides out of the history are measured apart: without a memory the gate cannot say what a fall is."""
    _, database = kept
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(Path(database).read_bytes())
    save(write(tmp_path / "w7", 1000.5), "w7", str(copy), 7)
    save(write(tmp_path / "w8", 930), "w8", str(copy), 8)
    args = ("compare", "w7", "w8", "--database", str(copy), "--gate")
    assert run(*args, "--no-history").returncode == 3
    done = run(*args)
    assert done.returncode == 1, done.stderr
    assert "what campaigns of their history differ by is in the intervals" in done.stdout
    assert "cannot be told" not in done.stdout


def test_another_machine_has_no_memory(kept: tuple[Path, str], tmp_path: Path) -> None:
    _, database = kept
    old, new = write(tmp_path / "old", 1002), write(tmp_path / "new", 940)
    for folder, cpu in ((old, "a"), (new, "b")):
        (folder / "machine.json").write_text(json.dumps({"cpu": cpu}))
    comparison = compared(old, new, "--database", database)
    assert comparison["rows"][0]["memory"] is None
    assert any("ran on machines that differ" in note for note in comparison["notes"])


def test_a_history_that_cannot_be_read_is_said_and_changes_nothing(tmp_path: Path) -> None:
    old, new = write(tmp_path / "old", 1002), write(tmp_path / "new", 940)
    (tmp_path / "broken.sqlite").write_text("no database at all, but long enough to be read as one" * 9)
    comparison = compared(old, new, "--database", str(tmp_path / "broken.sqlite"))
    assert any("was not used" in warning for warning in comparison["warnings"])
    assert comparison["rows"][0]["ratio"] == compared(old, new)["rows"][0]["ratio"]


def planned(*words: object) -> dict[str, Any]:
    done = run("plan", *map(str, words), "-f", "json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_plan_starts_from_the_memory(kept: tuple[Path, str], tmp_path: Path) -> None:
    """Six campaigns whose runs spread by 0.13 % and which differ by 0.3 %: 1 % is found with the fewest runs in turn."""
    _, database = kept
    few = tmp_path / "few"
    write_run(few / f"{CASE}_1.log", [1000.0] * 60, decimals=6)
    document = planned(few, "--database", database, "--detect", "3.5%", "--margin", "2%")
    (case,) = document["cases"]
    assert (case["n"], case["remembered"], case["campaigns"]["campaigns"]) == (1, True, 6)
    assert (case["runs_needed"], case["runs_needed_most"], case["runs_apart"]) == (4, 4, None)
    assert planned(few, "--database", database, "--detect", "10%")["cases"][0]["runs_apart"] == 4
    assert any("is taken into account for every case" in note for note in document["notes"])
    table = run("plan", str(few), "--database", database, "--detect", "3.5%").stdout
    assert "none will do" in table
    assert "measure in turn (`perflog run --against`)" in table
    (without,) = planned(few, "--database", database, "--no-history")["cases"]
    assert (without["remembered"], without["campaigns"], without["runs_needed"]) == (False, None, None)
    assert planned(few)["cases"] == [without]


def test_runs_that_are_noisier_than_their_history_are_planned_for_alone(kept: tuple[Path, str], tmp_path: Path) -> None:
    _, database = kept
    wild = write(tmp_path / "wild", 1000, 0.02)
    (case,), (alone,) = (planned(wild, *more)["cases"] for more in (("--database", database), ()))
    assert (case["remembered"], case["campaigns"]["campaigns"]) == (False, 6)
    assert case["runs_needed_most"] == alone["runs_needed_most"] > 10
    assert case["runs_apart"] is None
    assert "noisier than the history" in run("plan", str(wild), "--database", database).stdout


def test_a_plan_says_that_its_history_cannot_be_read(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", 1000)
    (tmp_path / "broken.sqlite").write_text("no database at all, but long enough to be read as one" * 9)
    document = planned(logs, "--database", tmp_path / "broken.sqlite")
    assert any("was not used" in note for note in document["notes"])
    assert document["cases"] == planned(logs)["cases"]
    done = run("plan", str(logs), "--history", "--database", str(tmp_path / "none.sqlite"))
    assert (done.returncode, "no history in" in done.stderr) == (2, True)
