"""What a person reads first of a comparison, what a gate says, and names that no case has."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from tests.campaigns import write_campaign

EIGHT, ONE = "1n8g/rn50_b128_fp32", "1n1g/rn50_b128_fp32"


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def shifted(folder: Path, hours: dict[int, float]) -> None:
    """Give the runs of a campaign other hours: {repeat: hours after 10:00}."""
    for log in folder.rglob("*.log"):
        later = timedelta(hours=hours[int(log.stem.rsplit("_", 1)[1])])

        def moved(match: re.Match[str], later: timedelta = later) -> str:
            return f"{datetime.fromisoformat(match[0]) + later:%Y-%m-%d %H:%M:%S.%f}"

        text = log.read_text(encoding="utf-8")
        log.write_text(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}", moved, text), encoding="utf-8")


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Two sides of two cases, whose runs were made in turn: one case 5 % slower, one the same."""
    old = write_campaign(tmp_path / "old", {ONE: 130.0, EIGHT: 1000.0}, seed=1)
    new = write_campaign(tmp_path / "new", {ONE: 130.0, EIGHT: 950.0}, seed=2)
    for folder, start in ((old, 0.0), (new, 0.5)):
        shifted(folder, {repeat: start + repeat for repeat in range(1, 6)})
    return old, new


def test_the_first_line_is_what_a_person_needs(sides: tuple[Path, Path]) -> None:
    first = run(*sides).output.splitlines()[0]
    expected = r"2 cases: 1 slower, 1 same within 2 %\. Slower: 8 devices −[45]\.\d % \(−[56]\.\d to −[45]\.\d\)\."
    assert re.fullmatch(expected, first), first
    assert json.loads(run(*sides, "-f", "json").output)["comparisons"][0]["summary"] == [first]


def test_runs_made_in_turn_are_not_warned_of(sides: tuple[Path, Path]) -> None:
    assert json.loads(run(*sides, "-f", "json").output)["comparisons"][0]["warnings"] == []


def test_all_old_runs_before_all_new_ones_is_said_with_what_it_means(sides: tuple[Path, Path]) -> None:
    old, new = sides
    shifted(new, dict.fromkeys(range(1, 6), 20.0))
    (warning,) = json.loads(run(old, new, "-f", "json").output)["comparisons"][0]["warnings"]
    assert warning == (
        "All old runs were made before all new ones: a drift of the machine cannot be told from a change between the "
        "versions. Make the runs of both sides in turn (interleaved), on one machine."
    )
    assert warning in run(old, new).output and warning in run(old, new, "-f", "markdown").output
    (backwards,) = json.loads(run(new, old, "-f", "json").output)["comparisons"][0]["warnings"]
    assert backwards.startswith("All new runs were made before all old ones:")


def test_other_machines_are_said_first(sides: tuple[Path, Path]) -> None:
    for side, name in zip(sides, ("V100", "A100"), strict=True):
        (side / "machine.json").write_text(json.dumps({"gpu": {"name": name}}), encoding="utf-8")
    (warning,) = json.loads(run(*sides, "-f", "json").output)["comparisons"][0]["warnings"]
    assert warning.startswith("The sides ran on machines that differ (gpu.name V100 → A100): what changed may be")


def test_the_gate_says_why_in_one_line(sides: tuple[Path, Path]) -> None:
    old, new = sides
    failed = run(old, new, "--gate")
    assert failed.exit_code == 1 and "The gate failed (exit status 1): 1 of 2 cases slower." in failed.output
    passed = run(old, new, "--gate", "--where", "devices=1")
    assert passed.exit_code == 0
    assert "The gate passed (exit status 0): nothing is slower or nothing-compared among 1 case." in passed.output
    assert run(old, new, "--fail-on", "missing").exit_code == 0, "it was not asked about slower cases"


def test_a_gate_that_could_see_nothing_fails(tmp_path: Path) -> None:
    old, new = (
        write_campaign(tmp_path / name, {EIGHT: 1000.0}, runs=3, seed=seed) for name, seed in (("a", 1), ("b", 2))
    )
    done = run(old, new, "--gate")
    assert done.exit_code == 3 and "no case has enough data for a verdict" in done.output


def test_an_inconclusive_case_fails_a_gate_that_asks_for_it(tmp_path: Path) -> None:
    old, new = (
        write_campaign(tmp_path / name, {EIGHT: 1000.0}, spread=0.03, seed=seed) for name, seed in (("a", 1), ("b", 2))
    )
    assert run(old, new, "--gate").exit_code == 0 and run(old, new, "--fail-on", "inconclusive").exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--where", "devcies=8"], "no case has such a key; did you mean devices?"),
        (["--where", "devices=16"], "--where devices=16: no case has that value"),
        (["--where", "precision=fp23"], "did you mean fp32?"),
        (["--across", "acelerator"], "did you mean accelerator?"),
        (["--fail-on", "slow"], "did you mean slower?"),
    ],
)
def test_names_that_no_case_has_are_errors(sides: tuple[Path, Path], arguments: list[str], words: str) -> None:
    done = run(*sides, *arguments)
    assert done.exit_code != 0 and words in str(done.exception)


def test_a_speedup_carries_the_noise_of_its_baseline(tmp_path: Path) -> None:
    """The eight-device runs agree within 0.2 %, the baseline's spread by 5 %: the interval is as wide as those make it."""
    rows = []
    for base_spread in (0.001, 0.05):
        sides = []
        for seed, name in enumerate((f"old{base_spread}", f"new{base_spread}")):
            write_campaign(tmp_path / name, {ONE: 130.0}, spread=base_spread, seed=seed)
            sides.append(write_campaign(tmp_path / name, {EIGHT: 1000.0}, spread=0.002, seed=10 + seed))
        found = json.loads(run(*sides, "--metric", "speedup", "--where", "devices=8", "-f", "json").output)
        rows.append(found["comparisons"][0]["rows"][0])
    widths = [row["interval"]["high"] - row["interval"]["low"] for row in rows]
    assert widths[0] < 0.02 and widths[1] > 0.08 and rows[1]["verdict"] == "inconclusive"
