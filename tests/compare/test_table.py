"""What a person reads first of a comparison, what a gate says, and names that no case has."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.show.case_table import numbered_notes
from tests.campaigns import write_campaign, write_run

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
    first = run(old, new).output.splitlines()[0]
    assert first.startswith(f"2 cases: 1 slower, 1 same within 2 %. {warning} Slower: "), (
        "whoever reads one line reads it"
    )
    assert warning in run(old, new, "-f", "markdown").output
    assert run(old, new, "-f", "html").output.count(warning) == 1
    (backwards,) = json.loads(run(new, old, "-f", "json").output)["comparisons"][0]["warnings"]
    assert backwards.startswith("All new runs were made before all old ones:")


@pytest.mark.parametrize(("hours", "said"), [(1.0, False), (2.0, True), (3.0, True)])
def test_nearly_all_old_runs_before_the_new_ones_is_said_too(
    sides: tuple[Path, Path], hours: float, said: bool
) -> None:
    """The first new run is made after two, three or four of the five old ones, the others after all of them."""
    old, new = sides
    shifted(new, {1: hours, **dict.fromkeys(range(2, 6), 20.0)})
    warnings = json.loads(run(old, new, "-f", "json").output)["comparisons"][0]["warnings"]
    meaning = (
        "a drift of the machine cannot be told from a change between the versions. Make the runs of both sides in "
    )
    expected = f"Nearly all old runs were made before the new ones: {meaning}turn (interleaved), on one machine."
    assert warnings == [expected] * said
    first = run(old, new).output.splitlines()[0]
    assert (expected in first) is said


@pytest.mark.parametrize(
    ("day", "words"),
    [
        ("2026-01-05", "The sides are campaigns of one date, which were hardly made in turn: a drift of the machine"),
        ("2026-01-08", "The sides are campaigns of different dates, 3 days apart: a drift of the machine"),
    ],
)
def test_what_the_history_says_of_the_sides_is_in_the_first_line(
    sides: tuple[Path, Path], tmp_path: Path, day: str, words: str
) -> None:
    database = f"--database={tmp_path / 'h.sqlite'}"
    for side, date in zip(sides, ("2026-01-05", day), strict=True):
        saved = CliRunner().invoke(app, ["save", str(side), "--label", side.name, "--date", date, database, "-q"])
        assert saved.exit_code == 0, saved.output
    first = run("old", "new", database).output.splitlines()[0]
    assert first.startswith(f"2 cases: 1 slower, 1 same within 2 %. {words}")


def test_runs_of_both_sides_at_one_time_are_said(sides: tuple[Path, Path]) -> None:
    """Two nodes of a cluster, or two trainings that shared one: the sides were not made in turn either."""
    old, new = sides
    shifted(new, dict.fromkeys(range(1, 6), -0.5))
    (warning,) = json.loads(run(old, new, "-f", "json").output)["comparisons"][0]["warnings"]
    assert warning == (
        "Runs of both sides began at the same time, on one machine or on two: what changed may be the machine. Make the "
        "runs of both sides in turn (interleaved), on one machine."
    )
    shifted(new, {1: 0.5, **dict.fromkeys(range(2, 6), 0.0)})
    assert json.loads(run(old, new, "-f", "json").output)["comparisons"][0]["warnings"] == []


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
    said = (
        "The gate passed (exit status 0) on 1 case: no case is slower; none is missing; none is a copy; at least one case "
        "had enough data.\n"
    )
    assert said in passed.output
    assert run(old, new, "--fail-on", "missing").exit_code == 0, "it was not asked about slower cases"


def test_a_gate_that_could_see_nothing_fails(tmp_path: Path) -> None:
    old, new = (
        write_campaign(tmp_path / name, {EIGHT: 1000.0}, runs=3, seed=seed) for name, seed in (("a", 1), ("b", 2))
    )
    done = run(old, new, "--gate")
    assert done.exit_code == 3 and "no case has enough data for a verdict" in done.output


def test_a_gate_of_more_rows_than_the_runs_carry_says_so(tmp_path: Path) -> None:
    """Of seven cases with four runs a side no single one can be called, whatever its change; the mean of all can."""
    rates = {f"1n{2**power}g/rn50_b128_fp32": 100.0 * 2**power for power in range(7)}
    old = write_campaign(tmp_path / "old", rates, runs=4, spread=0.1, seed=1, turn=0)
    new = write_campaign(tmp_path / "new", {**rates, EIGHT: 600.0}, runs=4, spread=0.1, seed=2, turn=1)
    blind = "the runs are too few for so many cases, and no single changed case could have been called."
    seven = run(old, new, "--gate")
    assert seven.exit_code == 0 and blind in seven.output, "identical versions must not fail it"
    assert "4 runs a side carry a table of 6 rows, and this one counts as 7: 5 a side would do" in seven.output
    assert seven.output.startswith("7 cases: 7 inconclusive. Inconclusive: ")
    assert "No number of runs decides 1 device (a margin of 2 % takes more than 1000 runs a side; " in seven.output
    assert blind in run(old, new, "--fail-on", "inconclusive").output
    one = run(old, new, "--gate", "--where", "devices=8")
    assert one.exit_code == 1 and blind not in one.output, "a table of one row is carried by four runs"
    new = write_campaign(tmp_path / "all", {name: 0.88 * rate for name, rate in rates.items()}, runs=4, spread=0.1,
                         seed=2, turn=1)  # fmt: skip
    lower = run(old, new, "--gate")
    assert lower.exit_code == 1 and "the mean of the 7 cases is slower, though no single one" in lower.output
    assert "Together 7 cases are slower: −" in lower.output and "at 99 %), though no single one" in lower.output
    suite = ElementTree.fromstring(run(old, new, "--gate", "-f", "junit", "--quiet").stdout)
    assert [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None] == [
        "all cases together"
    ]


def test_cases_that_fall_together_in_sides_measured_apart_leave_it_open(tmp_path: Path) -> None:
    rates = {f"1n{2**power}g/rn50_b128_fp32": 100.0 * 2**power for power in range(7)}
    old = write_campaign(tmp_path / "old", rates, runs=4, spread=0.1, seed=1)
    new = write_campaign(
        tmp_path / "new", {name: 0.88 * rate for name, rate in rates.items()}, runs=4, spread=0.1, seed=2
    )
    done = run(old, new, "--gate")
    assert done.exit_code == 3 and "but the sides were measured apart" in done.output


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


def test_equal_notes_are_told_once_and_those_that_differ_in_a_share_with_its_range() -> None:
    rows = [["old: +1.7 % off", "x"], ["old: +1.9 % off"], ["new: −2 % to 3 % off"], ["new: −1 % to 4 % off", "x"]]
    marks, lines = numbered_notes(rows)
    assert lines == ["1. old: +1.7 to +1.9 % off", "2. x", "3. new: −2 to 4 % off"]
    assert marks == ["1,2", "1", "3", "2,3"]


def test_an_efficiency_is_a_speedup_over_the_devices(sides: tuple[Path, Path]) -> None:
    """The ratio, interval and verdict of both are the same; the values differ by the eight devices."""
    rows = {}
    for metric in ("speedup", "efficiency"):
        found = json.loads(run(*sides, "--metric", metric, "-f", "json").output)
        rows[metric] = found["comparisons"][0]["rows"]
    one, eight = rows["efficiency"]
    assert [eight[key] for key in ("ratio", "p", "verdict")] == pytest.approx(
        [rows["speedup"][1][key] for key in ("ratio", "p", "verdict")]
    )
    assert eight["interval"] == pytest.approx(rows["speedup"][1]["interval"])
    assert eight["old"]["median"] == pytest.approx(rows["speedup"][1]["old"]["median"] / 8)
    assert (one["ratio"], one["interval"], one["verdict"]) == (1.0, None, "same")
    assert one["reason"] == "this case is the baseline, whose own value is 1 on both sides by definition"


def test_a_baselines_own_speedup_is_no_finding(tmp_path: Path, sides: tuple[Path, Path]) -> None:
    """It is 1 on both sides whatever the runs say: a gate must not be green for it, nor the mean be drawn to 1."""
    found = json.loads(run(*sides, "--metric", "speedup", "-f", "json").output)["comparisons"][0]
    one, eight = found["rows"]
    assert one["ratio"] == 1.0 and eight["ratio"] < 0.99
    assert found["geometric_mean"] == {
        "value": pytest.approx(eight["ratio"]), "rows": 1, "left_out": 0, "interval": None,
    }  # fmt: skip
    single = [
        write_campaign(tmp_path / name, {ONE: 130.0, EIGHT: 1000.0}, runs=1, seed=n) for n, name in enumerate("ab")
    ]
    done = run(*single, "--metric", "speedup", "--gate")
    assert done.exit_code == 3 and "no case has enough data for a verdict" in done.stderr


def test_an_efficiency_without_devices_says_why(tmp_path: Path) -> None:
    sides = [write_campaign(tmp_path / name, {ONE: 130.0}, seed=seed) for seed, name in enumerate(("a", "b"))]
    found = json.loads(run(*sides, "--metric", "efficiency", "--baseline", "devices=8", "-f", "json").output)
    (row,) = found["comparisons"][0]["rows"]
    assert row["ratio"] is None and any("has no baseline" in note for note in row["notes"])


def test_a_verdict_that_may_be_two_states_is_warned_of(tmp_path: Path) -> None:
    """Four new runs 10 % faster, beside old ones of which half are 2 % slower than the other half."""
    old, new = tmp_path / "old", tmp_path / "new"
    for nth, rate in enumerate((1000.0, 1001, 1000.5, 1020, 1021, 1020.5), 1):
        write_run(old / f"{EIGHT}_{nth}.log", [rate] * 60)
    for nth, rate in enumerate((1110.0, 1112, 1115, 1117), 1):
        write_run(new / f"{EIGHT}_{nth}.log", [rate] * 60)
    comparison = json.loads(run(old, new, "-f", "json").output)["comparisons"][0]
    (row,) = comparison["rows"]
    assert row["verdict"] == "faster"
    assert any("all 4 runs of the new side may be in one of two such states" in note for note in row["notes"])
    (warning,) = (warning for warning in comparison["warnings"] if warning.startswith("Few runs, and two states"))
    assert warning.endswith(
        "8 devices): the verdict on it rests on the few runs of one side, while the other side's fall in two groups. "
        "With 6 runs a side this is told from a change."
    )
    for nth in (5, 6):
        write_run(new / f"{EIGHT}_{nth}.log", [1108.5 + nth] * 60)
    again = json.loads(run(old, new, "-f", "json").output)["comparisons"][0]
    assert not any("two states" in warning for warning in again["warnings"])
