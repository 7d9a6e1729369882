"""The campaign level in `compare --history` and `noise --history`, and whose runs were made in turn."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import perflog
from perflog.compare.when import starts_of
from tests.campaigns import write_run
from tests.cli.test_cli import run
from tests.support import extracted

#: The rates of four campaigns of one version, and of two that are compared: by hand, the logarithms' means differ.
EARLIER = {"a": 1000.0, "b": 1030.0, "c": 1010.0, "d": 960.0}
CASE = "1n8g/rn50_b128_fp32"


def write(folder: Path, rate: float, name: str = CASE) -> Path:
    """Five runs about a rate: 0, ±0.1 and ±0.2 %, each with the same steps."""
    for number, deviation in enumerate((0.0, 0.001, -0.001, 0.002, -0.002), 1):
        write_run(folder / f"{name}_{number}.log", [rate * math.exp(deviation)] * 60, decimals=6)
    return folder


def machine(folder: Path, cpu: str) -> None:
    (folder / "machine.json").write_text(json.dumps({"cpu": cpu}))


@pytest.fixture
def history(tmp_path: Path) -> str:
    """Four campaigns of one version, saved."""
    database = str(tmp_path / "history.sqlite")
    for label, rate in EARLIER.items():
        save(write(tmp_path / label, rate), label, database)
    return database


def save(folder: Path, label: str, database: str) -> None:
    done = run("save", str(folder), "--label", label, "--database", database)
    assert done.returncode == 0, done.stderr


def compared(old: Path, new: Path, database: str, *more: str) -> dict[str, Any]:
    done = run("compare", str(old), str(new), "-f", "json", "--database", database, *more)
    assert done.returncode == 0, done.stderr
    (comparison,) = json.loads(done.stdout)["comparisons"]
    return dict(comparison)


@pytest.mark.long
def test_earlier_campaigns_make_the_interval_what_campaigns_differ_by(tmp_path: Path, history: str) -> None:
    old, new = write(tmp_path / "old", 1002), write(tmp_path / "new", 1002 * 1.06)
    (alone,) = compared(old, new, history)["rows"]
    comparison = compared(old, new, history, "--history")
    (row,) = comparison["rows"]
    assert (alone["verdict"], row["verdict"]) == ("faster", "inconclusive")
    means = [math.log(rate) for rate in EARLIER.values()]
    centre = sum(means) / 4
    variance = sum((mean - centre) ** 2 for mean in means) / 3
    half = 3.182446305 * math.sqrt(2 * variance)  # Student's t with 3 degrees of freedom, 97.5 %
    assert row["interval"]["low"] == pytest.approx(1.06 * math.exp(-half), rel=1e-5)
    assert row["interval"]["high"] == pytest.approx(1.06 * math.exp(half), rel=1e-5)
    assert row["interval"]["level"] == pytest.approx(0.95)
    assert (
        f"The history in {history} is taken into account for every case (--no-history leaves it out)."
        in (comparison["notes"])
    )
    assert (row["memory"]["campaigns"], row["memory"]["used"], row["memory"]["apart"]) == (4, False, True)
    assert row["memory"]["reason"] == "it has too few campaigns to know them"
    assert any(
        note.startswith("4 earlier campaigns differ by ") and "3 degrees of freedom" in note for note in row["notes"]
    )
    assert not any("earlier campaigns differ" in note for note in alone["notes"])


@pytest.mark.long
def test_a_campaign_that_is_compared_is_none_of_the_earlier_ones(tmp_path: Path, history: str) -> None:
    comparison = compared(tmp_path / "a", write(tmp_path / "new", 1060), history, "--history")
    assert comparison["rows"][0]["memory"]["campaigns"] == 3


@pytest.mark.long
def test_campaigns_of_other_cases_and_other_machines_do_not_count(tmp_path: Path, history: str) -> None:
    for label, rate in (("e", 500.0), ("f", 2000.0)):
        save(write(tmp_path / label, rate, "1n8g/rn50_b64_fp32"), label, history)
        machine(write(tmp_path / f"{label}-there", rate), "another")
        save(tmp_path / f"{label}-there", f"{label}-there", history)
    old, new = write(tmp_path / "old", 1002), write(tmp_path / "new", 1002 * 1.06)
    for folder in (old, new):
        machine(folder, "this one")
    comparison = compared(old, new, history, "--history")
    assert comparison["rows"][0]["memory"]["campaigns"] == 4


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    database = str(tmp_path / "history.sqlite")
    old, new = write(tmp_path / "old", 1002), write(tmp_path / "new", 1002 * 1.06)
    done = run("compare", str(old), str(new), "--history", "--database", database)
    assert (done.returncode, "no history in" in done.stderr) == (2, True)
    save(write(tmp_path / "a", 1000), "a", database)
    comparison = compared(old, new, database, "--history")
    assert any("no two of them that differ are of one version" in note for note in comparison["notes"])
    assert comparison["rows"][0]["verdict"] == "faster"
    speedups = compared(old, new, database, "--history", "--metric", "speedup")
    assert any("No case is judged with its history: speedup is made of" in note for note in speedups["notes"])


@pytest.mark.long
def test_noise_shows_both_levels_with_their_degrees_of_freedom(tmp_path: Path, history: str) -> None:
    new = write(tmp_path / "new", 1060)
    done = run("noise", str(new), "--history", "--database", history, "-f", "json")
    (case,) = json.loads(done.stdout)["cases"]
    level = case["campaigns"]
    assert (level["campaigns"], level["degrees_of_freedom"], level["run_degrees_of_freedom"]) == (4, 3, 16)
    runs = 0.001**2 * (1 + 1 + 4 + 4) / 4
    assert level["run_spread"] == pytest.approx(math.sqrt(runs), rel=1e-4)
    means = [math.log(rate) for rate in EARLIER.values()]
    variance = sum((mean - sum(means) / 4) ** 2 for mean in means) / 3
    assert level["spread"] == pytest.approx(math.sqrt(variance - runs / 5), rel=1e-4)
    assert perflog.noise(new, history=True, database=history).document()["cases"] == json.loads(done.stdout)["cases"]
    text = run("noise", str(new), "--history", "--database", history).stdout
    assert "between campaigns (df)" in text
    assert "0.16% (16)" in text
    assert "between campaigns" not in run("noise", str(new)).stdout


def journal(folder: Path, starts: dict[str, datetime]) -> None:
    """A campaign's journal and machine.json: each run took a minute."""
    (folder / ".perflog").mkdir(parents=True)
    entries = [
        {"job": job, "ended": (start + timedelta(minutes=1)).isoformat(), "seconds": 60.0}
        for job, start in starts.items()
    ]
    (folder / ".perflog" / "journal.jsonl").write_text("".join(f"{json.dumps(entry)}\n" for entry in entries) + '{"cut')
    machine(folder, "this one")


def bare_runs(folder: Path, first: int = 1001) -> Path:
    """Five runs, each with a rate of its own from the first on, whose lines have no stamps: rates alone, of an EPOCH summary."""
    for number in range(1, 6):
        log = folder / f"{CASE}_{number}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        rate = first + number - 1
        lines = [
            f"Training: -Speed {rate:.2f} samples/sec   Loss 1.0   Epoch: 0   Global Step: {step}   Required: 0 hours"
            for step in range(5, 101, 5)
        ]
        log.write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("in_turn", [True, False])
def test_the_journal_of_a_campaign_tells_when_logs_without_clocks_were_made(tmp_path: Path, in_turn: bool) -> None:
    begin = datetime(2026, 11, 1, 12, tzinfo=UTC)
    for side, first in (("old", 0), ("new", 1 if in_turn else 5)):
        moments = {
            f"{CASE}_{n}": begin + timedelta(minutes=10 * (first + (2 if in_turn else 1) * (n - 1)))
            for n in range(1, 6)
        }
        journal(bare_runs(tmp_path / side, 1001 + first), moments)
    (case,) = extracted(tmp_path / "old").cases
    starts = starts_of(case.runs)
    assert [start.seconds - begin.timestamp() for start in starts if start is not None] == [
        600.0 * (2 if in_turn else 1) * n for n in range(5)
    ]
    done = run("compare", str(tmp_path / "old"), str(tmp_path / "new"), "-f", "json")
    (comparison,) = json.loads(done.stdout)["comparisons"]
    before = "All old runs were made before all new ones (the first new run began at 2026-11-01 12:50"
    assert [warning.startswith(before) for warning in comparison["warnings"]] == ([] if in_turn else [True])


def test_sides_that_were_made_in_turn_need_no_campaign_level(tmp_path: Path, history: str) -> None:
    begin = datetime(2026, 11, 1, 12, tzinfo=UTC)
    for label, rate in (("e", 1003), ("f", 1009)):
        save(bare_runs(tmp_path / label, rate), label, history)
    apart = compared(bare_runs(tmp_path / "x", 1011), bare_runs(tmp_path / "y", 1021), history, "--history")
    assert apart["rows"][0]["memory"]["campaigns"] == 2
    for side, first in (("old", 0), ("new", 1)):
        journal(
            bare_runs(tmp_path / side),
            {f"{CASE}_{n}": begin + timedelta(minutes=10 * (first + 2 * n)) for n in range(1, 6)},
        )
    comparison = compared(tmp_path / "old", tmp_path / "new", history, "--history")
    assert comparison["rows"][0]["memory"] is None
    assert any("runs were made in turn, so that whatever a campaign does" in note for note in comparison["notes"])
