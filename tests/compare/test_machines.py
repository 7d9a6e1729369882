"""Machines as repeats: ``perflog compare --repeats-over``, where runs of one machine never count as repeats."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

import perflog
from perflog.cli import app
from perflog.compare.rule import KEY, Stopping
from perflog.show import schemas
from tests.campaigns import write_campaign, write_run

CASE = "1n8g/rn50_b128_fp32"
#: How far five machines are from their middle, spread by 3 %; each machine's runs lie within 0.1 %.
MACHINES = (-0.045, -0.02, 0.0, 0.02, 0.045)
RUNS = 5


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def compared(*arguments: object) -> dict[str, Any]:
    done = run(*arguments, "-f", "json")
    (one,) = json.loads(done.output)["comparisons"]
    return dict(one)


def write_side(
    folder: Path, level: float, names: str = "ABCDE", machines: Sequence[float] = MACHINES, turn: int = 0,
    case: str = CASE,
) -> Path:  # fmt: skip
    """A side of several machines, a folder each."""
    for number, (name, deviation) in enumerate(zip(names, machines, strict=True)):
        write_campaign(
            folder, {f"node{name}/{case}": level * float(np.exp(deviation))}, runs=RUNS, spread=0.0005,
            seed=10 * number + turn, turn=turn,
        )  # fmt: skip
    return folder


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Ten machines, five of either side; the new side's are slower by 5 %, within what these machines differ by."""
    return write_side(tmp_path / "old", 1000.0), write_side(tmp_path / "new", 950.0, "FGHIJ", turn=1)


def test_without_the_option_nothing_is_paired_and_it_is_offered(sides: tuple[Path, Path]) -> None:
    nothing = compared(*sides)
    assert not nothing["rows"] and "Give --repeats-over label where each label is a machine" in nothing["summary"][0]
    found = compared(*sides, "--across", "label")
    assert not found["rows"]
    for one in (*nothing["not_compared"], *found["not_compared"]):
        assert "--repeats-over label takes each for one repeat" in one["reason"]
        assert "pairs them" not in one["reason"], "--across label does not"


def test_the_spread_that_counts_is_that_between_machines(sides: tuple[Path, Path], tmp_path: Path) -> None:
    found = compared(*sides, "--repeats-over", "label")
    (row,) = found["rows"]
    assert not found["not_compared"] and (row["old"]["n"], row["new"]["n"]) == (5, 5)
    assert row["verdict"] == "inconclusive"
    assert row["interval"]["low"] < 0.93 and row["interval"]["high"] > 1.0, "machines differ by 3 %"
    assert (
        "each of 5 old and 5 new values is a machine's centre (median of its 5 runs), and counts as one run: "
        "--repeats-over label" in row["notes"]
    )
    # the same 25 runs as repeats of one another, which they are not: all in one folder
    flat = []
    for side in sides:
        logs = sorted(side.rglob("*.log"))
        flat.append(tmp_path / f"flat-{side.name}")
        (flat[-1] / "1n8g").mkdir(parents=True)
        for number, log in enumerate(logs, 1):
            (flat[-1] / f"{CASE}_{number}.log").write_bytes(log.read_bytes())
    (wrong,) = compared(*flat)["rows"]
    assert wrong["old"]["n"] == 25 and wrong["verdict"] == "slower", "pseudo-replication"


def test_a_change_beyond_what_machines_differ_by_is_seen(tmp_path: Path) -> None:
    old, new = write_side(tmp_path / "old", 1000.0), write_side(tmp_path / "new", 800.0, "FGHIJ", turn=1)
    (row,) = compared(old, new, "--repeats-over", "label")["rows"]
    assert row["verdict"] == "slower" and row["ratio"] == pytest.approx(0.8, rel=0.005)


def test_a_machines_value_is_the_centre_of_its_runs(sides: tuple[Path, Path]) -> None:
    document = json.loads(run(*sides, "--repeats-over", "label", "-f", "json").output)
    jsonschema.validate(document, json.loads(schemas_text()))
    side = document["comparisons"][0]["rows"][0]["old"]
    assert [one["name"] for one in side["machines"]] == [f"node{name}" for name in "ABCDE"]
    assert len(side["runs"]) == 25 and side["n"] == 5
    for machine in side["machines"]:
        own = [one["value"] for one in side["runs"] if f"/{machine['name']}/" in one["file"]]
        assert len(own) == machine["runs"] == RUNS and machine["value"] == pytest.approx(statistics.median(own))
    assert side["median"] == pytest.approx(statistics.median(one["value"] for one in side["machines"]))
    own = [one["value"] for one in side["runs"] if "/nodeA/" in one["file"]]
    (mean,) = perflog.compare(*sides, repeats_over=["label"], aggregate="mean").rows
    assert mean.old[0] == pytest.approx(statistics.fmean(own)) and mean.old[0] != pytest.approx(statistics.median(own))
    assert any("(mean of its 5 runs)" in note for note in mean.notes)


def schemas_text() -> str:
    return (Path(next(iter(schemas.__path__))) / "comparison.schema.json").read_text(encoding="utf-8")


def test_one_machine_on_a_side_is_one_repeat_however_many_runs_it_has(tmp_path: Path) -> None:
    old = write_side(tmp_path / "old", 1000.0)
    new = write_campaign(tmp_path / "new", {f"nodeF/{CASE}": 950.0}, runs=9, seed=3, turn=1)
    (row,) = compared(old, new, "--repeats-over", "label")["rows"]
    assert (row["old"]["n"], row["new"]["n"], row["verdict"]) == (5, 1, "not enough data")


def test_where_nothing_is_joined_it_is_said_first(tmp_path: Path) -> None:
    old = write_campaign(tmp_path / "old", {CASE: 1000.0}, seed=1)
    new = write_campaign(tmp_path / "new", {CASE: 900.0}, seed=2, turn=1)
    found = compared(old, new, "--repeats-over", "label")
    assert any(text.startswith("--repeats-over label joins nothing: no two cases") for text in found["warnings"])
    assert found["rows"][0]["verdict"] == "not enough data"


def test_labels_that_may_be_runs_of_one_machine_are_said_first(tmp_path: Path) -> None:
    for turn, (side, nodes) in enumerate((("old", "AB"), ("new", "CD"))):
        for number, place in enumerate(f"node{node}/{day}" for node in nodes for day in ("monday", "friday")):
            write_campaign(tmp_path / side, {f"{place}/{CASE}": 1000.0}, seed=10 * number + turn, turn=turn)
    found = compared(tmp_path / "old", tmp_path / "new", "--repeats-over", "label")
    (said,) = [text for text in found["warnings"] if "count as machines" in text]
    assert "4 labels (nodeA/friday, nodeA/monday, nodeB/friday and 1 more)" in said
    assert "in 2 folders (nodeA, nodeB)" in said


def test_runs_that_a_sequential_rule_stopped_are_not_judged_by_their_rounds(sides: tuple[Path, Path]) -> None:
    for word, side in zip(("old", "new"), sides, strict=True):
        stopping = Stopping("one", word, 1, ("rn50",), 0.02, 0.95)
        (side / "machine.json").write_text(json.dumps({KEY: stopping.facts()}), encoding="utf-8")
    found = compared(*sides, "--repeats-over", "label")
    assert [(row["in_rounds"], row["old"]["n"]) for row in found["rows"]] == [(False, 5)]
    assert any("a machine's centre has no value of its own in each round" in text for text in found["warnings"])


def test_other_machines_are_no_warning_where_the_interval_holds_their_spread(tmp_path: Path) -> None:
    old, new = write_side(tmp_path / "old", 1000.0), write_side(tmp_path / "new", 950.0, turn=1)
    for side in (old, new):
        for node in side.iterdir():
            gpu = {"name": "V100", "serial": f"{side.name} {node.name}"}
            (node / "machine.json").write_text(json.dumps({"gpu": gpu}), encoding="utf-8")
    differ = "The sides ran on machines that differ"
    assert any(differ in text for text in compared(old, new)["warnings"])
    joined = compared(old, new, "--repeats-over", "label")
    assert not any(differ in text for text in joined["warnings"])
    assert "the runs of the old side are of 5 machines" in joined["notes"]


def test_machines_on_both_sides_are_said_to_compare_more_sharply_one_by_one(tmp_path: Path) -> None:
    old, new = write_side(tmp_path / "old", 1000.0), write_side(tmp_path / "new", 950.0, turn=1)
    joined = compared(old, new, "--repeats-over", "label")
    assert joined["notes"] == [
        "5 machines stand on both sides (nodeA, nodeB, nodeC and 2 more): without --repeats-over label each is compared "
        "with itself, which sees smaller changes"
    ]
    assert [row["verdict"] for row in joined["rows"]] == ["inconclusive"]
    assert {row["verdict"] for row in compared(old, new)["rows"]} == {"slower"}


def test_a_run_without_a_value_is_said_with_its_machine_and_fails_a_gate(sides: tuple[Path, Path]) -> None:
    write_run(sides[1] / f"nodeG/{CASE}_3.log", [950.0] * 7)
    (row,) = compared(*sides, "--repeats-over", "label")["rows"]
    assert row["new"]["n"] == 5 and None in [one["value"] for one in row["new"]["runs"]]
    assert all(one["value"] for one in row["new"]["machines"])
    assert any("median of its 4 to 5 runs" in note for note in row["notes"])
    assert "new: 1 of 5 runs has no value: the run ends after 7 steps, warm-up 20 (nodeG)" in row["notes"]
    gate = run(*sides, "--repeats-over", "label", "--fail-on", "missing")
    assert gate.exit_code != 0 and run(*sides, "--repeats-over", "label", "--gate").exit_code != 0


def test_a_machine_without_any_value_leaves_the_row_open(sides: tuple[Path, Path]) -> None:
    for number in range(1, RUNS + 1):
        write_run(sides[1] / f"nodeG/{CASE}_{number}.log", [950.0 + number] * 7)
    (row,) = compared(*sides, "--repeats-over", "label")["rows"]
    assert row["verdict"] == "not enough data"
    assert row["reason"] == "1 of 5 values of the new side are not positive, finite numbers"
    assert [one["name"] for one in row["new"]["machines"] if one["value"] is None] == ["nodeG"]


def test_a_machine_of_copies_is_no_machine(tmp_path: Path) -> None:
    """The logs of an old machine among the new ones: they are left out there, and the machine with them."""
    old, new = write_side(tmp_path / "old", 1000.0), write_side(tmp_path / "new", 950.0, "FGHIJ", turn=1)
    for log in sorted((old / "nodeA").rglob("*.log")):
        (new / "nodeF" / "1n8g" / log.name).write_bytes(log.read_bytes())
    (row,) = compared(old, new, "--repeats-over", "label")["rows"]
    assert [one["name"] for one in row["new"]["machines"]] == [f"node{name}" for name in "GHIJ"]
    assert row["new"]["n"] == 4 and any("is left out: it is a copy" in note for note in row["notes"])


def test_cases_that_differ_in_anything_else_stay_apart(tmp_path: Path) -> None:
    sides = []
    for turn, (name, nodes) in enumerate((("old", "ABCDE"), ("new", "FGHIJ"))):
        sides.append(write_side(tmp_path / name, 1000.0, nodes, turn=turn))
        write_side(tmp_path / name, 2000.0, nodes, turn=turn, case="1n8g/rn50_b256_fp32")
    rows = compared(*sides, "--repeats-over", "label")["rows"]
    assert [(row["case"]["batch_size"], row["old"]["n"], row["new"]["n"]) for row in rows] == [(128, 5, 5), (256, 5, 5)]
    assert [row["old"]["median"] for row in rows] == pytest.approx([1000.0, 2000.0], rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--repeats-over", "acelerator"], "did you mean accelerator?"),
        (["--repeats-over", "batch_size"], "cases that differ in batch_size are no repeats of one another"),
        (["--repeats-over", "label,framework_version"], "framework_version are no repeats"),
        (["--repeats-over", "label", "--metric", "speedup"], "speedup is made of a case and its baseline"),
        (["--repeats-over", "label", "--metric", "efficiency"], "efficiency is made of a case and its baseline"),
        (["--repeats-over", "label", "--history"], "--repeats-over label with --history"),
    ],
)
def test_what_cannot_be_repeats_is_refused(sides: tuple[Path, Path], arguments: list[str], words: str) -> None:
    done = run(*sides, *arguments)
    assert done.exit_code != 0 and words in str(done.exception)


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "html", "junit", "github"])
def test_every_format_takes_machines(sides: tuple[Path, Path], form: str) -> None:
    done = run(*sides, "--repeats-over", "label", "-f", form)
    assert done.exit_code == 0 and "inconclusive" in done.output


def test_python_has_it_too(sides: tuple[Path, Path]) -> None:
    (row,) = perflog.compare(*sides, repeats_over=["label"]).rows
    assert len(row.old) == len(row.new) == 5
