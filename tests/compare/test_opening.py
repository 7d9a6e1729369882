"""The first paragraph of a comparison: what would decide the open cases, how long that takes, and the command."""

from __future__ import annotations

import json
import math
import re
import statistics
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import perflog
from perflog.compare.parts import data_part
from perflog.stats.difference import mean_difference
from perflog.stats.power import Table, runs_for_verdict, variation_bounds
from tests.campaigns import write_campaign, write_run
from tests.compare.test_table import run

EIGHT, ONE = "1n8g/rn50_b128_fp32", "1n1g/rn50_b128_fp32"
RATES = {ONE: 130.0, EIGHT: 1000.0}


def sides(folder: Path, changed: float = 0.9, *, turn: bool = True, runs: int = 5, new_runs: int = 5) -> list[Path]:
    """Two sides of two cases whose runs spread by 1.5 %: one is the same, the other changed."""
    rates = {**RATES, EIGHT: RATES[EIGHT] * changed}
    turns = (0, 1) if turn else (None, None)
    return [
        write_campaign(folder / "old", RATES, runs=runs, seed=1, spread=0.015, turn=turns[0]),
        write_campaign(folder / "new", rates, runs=new_runs, seed=2, spread=0.015, turn=turns[1]),
    ]


def found(*arguments: object) -> dict[str, Any]:
    (comparison,) = json.loads(run(*arguments, "-f", "json").output)["comparisons"]
    return dict(comparison)


def spread_of(row: dict[str, Any]) -> tuple[float, int]:
    """The spread of both sides of a row and its degrees of freedom, from the values alone."""
    logs = [[math.log(one["value"]) for one in row[side]["runs"]] for side in ("old", "new")]
    freedom = sum(map(len, logs)) - 2
    squares = sum(statistics.variance(side) * (len(side) - 1) for side in logs)
    return math.sqrt(squares / freedom), freedom


def test_the_open_case_says_how_many_more_runs_decide_it_and_how_long_they_take(tmp_path: Path) -> None:
    comparison = found(*sides(tmp_path))
    one, eight = comparison["rows"]
    needed = runs_for_verdict(variation_bounds(*spread_of(one))[1], Table(2, 0.02))
    assert needed is not None and needed > 5
    assert (one["to_decide"]["old_runs"], one["to_decide"]["new_runs"]) == (needed - 5, needed - 5)
    assert one["to_decide"]["tells"] == [0, 0.04] and eight["to_decide"] is None
    # From the first line to the last: 119 steps of 128 images.
    expected = (needed - 5) * sum(119 * 128 / one[side]["median"] for side in ("old", "new"))
    assert one["to_decide"]["seconds"] == pytest.approx(expected, rel=0.005)
    assert comparison["to_decide"] == {
        "command": None, "seconds": one["to_decide"]["seconds"], "at_least": True, "apart": False,
    }  # fmt: skip
    assert comparison["summary"][0].endswith(
        f"To decide, make {needed - 5} more runs a side of the case 1 device, in turn (more than "
        f"{expected / 3600:.1f} h of training). That tells no change from one of 4 %."
    )


def test_so_many_runs_are_enough_afterwards(tmp_path: Path) -> None:
    (one, _) = found(*sides(tmp_path))["rows"]
    runs = 5 + one["to_decide"]["new_runs"]
    again = found(*sides(tmp_path / "again", runs=runs, new_runs=runs))
    assert [row["verdict"] for row in again["rows"]] == ["same", "slower"] and again["to_decide"] is None
    assert "To decide" not in again["summary"][0]


def test_every_output_has_the_paragraph(tmp_path: Path) -> None:
    both = sides(tmp_path)
    (paragraph,) = found(*both)["summary"]
    assert " ".join(run(*both).output.split()).startswith(paragraph)
    assert paragraph in run(*both, "-f", "markdown").output
    assert paragraph in run(*both, "-f", "html").output
    assert paragraph in run(*both, "-f", "github").output


def test_sides_with_other_numbers_of_runs_each_have_their_own(tmp_path: Path) -> None:
    comparison = found(*sides(tmp_path, new_runs=7))
    one = comparison["rows"][0]["to_decide"]
    assert one["old_runs"] == one["new_runs"] + 2
    words = f"make {one['old_runs']} more old and {one['new_runs']} more new runs of the case 1 device, in turn"
    assert words in comparison["summary"][0]


def test_too_few_runs_for_a_verdict_are_counted_up_to_the_first(tmp_path: Path) -> None:
    assert (
        "To decide, make at least 3 more runs a side, in turn"
        in found(*sides(tmp_path, runs=1, new_runs=1))["summary"][0]
    )


def test_a_case_near_the_margin_is_planned_for_nearer_changes(tmp_path: Path) -> None:
    """Thirty quiet runs tell no change from 4 %; this one is 2 % itself."""
    both = [
        write_campaign(tmp_path / name, {EIGHT: rate}, runs=30, seed=seed, spread=0.005, turn=turn)
        for name, rate, seed, turn in (("old", 1000.0, 1, 0), ("new", 980.0, 2, 1))
    ]
    (row,) = found(*both)["rows"]
    low, high = row["to_decide"]["tells"]
    assert row["verdict"] == "inconclusive" and row["to_decide"]["new_runs"] > 0
    assert 0 < low < 0.02 < high < 0.04 and low + high == pytest.approx(0.04)


def test_sides_measured_apart_are_measured_anew_or_a_history_answers(tmp_path: Path) -> None:
    """No further run of this kind tells a drift of the machine from a change: the slower case is open too."""
    old, _ = sides(tmp_path)
    new = write_campaign(tmp_path / "later", {ONE: 130.0, EIGHT: 900.0}, seed=2, spread=0.015)
    for log in new.rglob("*.log"):
        log.write_text(log.read_text(encoding="utf-8").replace("2026-11-21", "2026-11-25"), encoding="utf-8")
    comparison = found(old, new)
    assert [row["verdict"] for row in comparison["rows"]] == ["inconclusive", "slower"]
    assert {row["to_decide"]["by"] for row in comparison["rows"]} == {"all runs anew, in turn"}
    assert comparison["to_decide"]["apart"] is True
    counts = sorted(row["to_decide"]["new_runs"] for row in comparison["rows"])
    assert (
        f"make {counts[0]} to {counts[1]} runs a side anew, in turn (`perflog run --against`)"
        in comparison["summary"][0]
    )
    assert "; or let a history say what campaigns differ by (--history)." in comparison["summary"][0]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--margin", "0"], 'with a margin of 0 no interval is called "same"'),
        (
            ["--margin", "0.01%"],
            "a margin of 0.01 % takes more than 1000 runs a side; ",
        ),
    ],
)
def test_where_no_number_of_runs_decides_it_is_said_why(tmp_path: Path, options: list[str], reason: str) -> None:
    comparison = found(*sides(tmp_path), *options)
    one = comparison["rows"][0]["to_decide"]
    assert (one["old_runs"], one["seconds"]) == (None, None) and one["reason"].startswith(reason)
    assert f"No number of runs decides 1 device ({reason}" in comparison["summary"][0]


def test_runs_without_any_spread_are_no_matter_of_more_runs(tmp_path: Path) -> None:
    for name, rate in (("old", 1000.0), ("new", 1010.0)):
        for nth in range(1, 6):
            write_run(tmp_path / name / f"{EIGHT}_{nth}.log", [rate] * 60, hour=2 * nth + (name == "new"))
    comparison = found(tmp_path / "old", tmp_path / "new")
    (row,) = comparison["rows"]
    assert row["verdict"] == "not enough data" and row["to_decide"]["reason"] == row["reason"]
    assert f"No number of runs decides it: {row['reason']}." in comparison["summary"][0]


# ---------------------------------------------------------------- campaigns of `perflog run`


def made_by(folder: Path, file: Path, *, seconds: float, start: int, **plan: object) -> None:
    """Leave what ``perflog run`` leaves beside logs: the machine, the journal of each run, and its file."""
    own = folder / ".perflog"
    own.mkdir()
    (folder / "machine.json").write_text(json.dumps({"cpu": "x"}), encoding="utf-8")
    (own / "plan.json").write_text(
        json.dumps({"file": str(file), "asked": [], "against": None, **plan}), encoding="utf-8"
    )
    entries = []
    for nth, log in enumerate(sorted(folder.rglob("*.log"))):
        ended = datetime(2026, 11, 21, tzinfo=UTC) + timedelta(hours=2 * nth + start)
        name = str(log.relative_to(folder)).removesuffix(".log")
        entries.append(json.dumps({"job": name, "ended": ended.isoformat(), "seconds": seconds}))
    (own / "journal.jsonl").write_text("\n".join(entries) + "\n", encoding="utf-8")


def campaigns(tmp_path: Path, *names: str, **plan: object) -> list[Path]:
    both = sides(tmp_path)
    for side, name, seconds, start in zip(both, names, (60.0, 120.0), (0, 1), strict=True):
        (tmp_path / name).write_text("", encoding="utf-8")
        made_by(side, tmp_path / name, seconds=seconds, start=start, **plan)
    return both


def test_the_command_measures_both_files_in_turn_and_the_journal_says_how_long(tmp_path: Path) -> None:
    comparison = found(*campaigns(tmp_path, "old.toml", "new.toml", asked=["--only", "precision=fp32"]))
    to_decide, (one, eight) = comparison["to_decide"], comparison["rows"]
    assert one["to_decide"]["by"] == "all runs anew, in turn" and eight["to_decide"] is None
    most = one["to_decide"]["new_runs"]
    assert to_decide["command"] == (
        f"perflog run {tmp_path}/new.toml --against {tmp_path}/old.toml --only precision=fp32 --logs in-turn --max-runs {most}"
    )
    # It measures both cases: the time of the decided one is in it too.
    assert to_decide["seconds"] > one["to_decide"]["seconds"] == most * 180 and to_decide["at_least"] is False
    hours = to_decide["seconds"] / 3600
    assert (
        f"To decide, run `{to_decide['command']}` to measure in turn until each is decided" in comparison["summary"][0]
    )
    assert f"about {hours:.1f} h of training" in comparison["summary"][0]


@pytest.mark.parametrize("lacks", ["one file", "deleted", "control", "other words", "metric"])
def test_no_command_is_named_that_would_measure_something_else(tmp_path: Path, lacks: str) -> None:
    old, new = campaigns(tmp_path, "a.toml", "a.toml" if lacks == "one file" else "b.toml")
    if lacks == "deleted":
        (tmp_path / "a.toml").unlink()
    plan = new / ".perflog" / "plan.json"
    if lacks == "control":
        plan.write_text(
            json.dumps({"file": str(tmp_path / "b.toml"), "asked": ["\x1b[2J"], "against": None}), encoding="utf-8"
        )
    if lacks == "other words":
        plan.write_text(
            json.dumps({"file": str(tmp_path / "b.toml"), "asked": ["--only", "devices=1n1g"], "against": None}),
            encoding="utf-8",
        )
    comparison = found(old, new, *(["--metric", "step_time"] if lacks == "metric" else []))
    assert comparison["to_decide"]["command"] is None
    assert comparison["rows"][0]["to_decide"]["by"] == "more runs"


def test_a_run_of_which_no_time_is_known_gives_no_time(tmp_path: Path) -> None:
    both = sides(tmp_path)
    for log in (both[1] / "1n1g").glob("*.log"):
        text = log.read_text(encoding="utf-8")
        log.write_text("\n".join(f"DLL {line[31:]}" for line in text.splitlines()) + "\n", encoding="utf-8")
    comparison = found(*both)
    assert comparison["rows"][0]["to_decide"]["new_runs"] and comparison["rows"][0]["to_decide"]["seconds"] is None
    assert comparison["to_decide"]["seconds"] is None and "of training" not in comparison["summary"][0]


# ---------------------------------------------------------------- in which part of a step


LINE = (
    "2022-06-07 {:%H:%M:%S},874 - mmdet - INFO - Epoch [1][{}/7330]\tlr: 1.978e-03, eta: 0:02:27, time: {:.3f}, "
    "data_time: {:.3f}, memory: 3842, loss: 3.1234"
)


def openmmlab(folder: Path, step: float, data: float, seed: int, hour: int, noise: float = 0.001) -> Path:
    """Five logs of mmcv: steps of so many seconds, of which the data take a part."""
    random = np.random.default_rng(seed)
    folder.mkdir()
    for run_number in range(1, 6):
        moment = datetime(2022, 6, 7, 2 * run_number + hour)
        of_run = step + 0.001 * random.standard_normal(), max(0.0, data + noise * random.standard_normal())
        lines = []
        for nth in range(1, 41):
            moment += timedelta(seconds=50 * of_run[0])
            own = [max(0.0, value + 0.0005 * random.standard_normal()) for value in of_run]
            lines.append(LINE.format(moment, 50 * nth, *own))
        text = "\n".join(lines) + "\n"
        (folder / f"1n8g_{run_number}.log").write_text(text, encoding="utf-8")
    return folder


def printed(folder: Path, name: str) -> float:
    """The mean over all runs of what their lines print behind the first: 50 steps each."""
    means = []
    for log in folder.glob("*.log"):
        numbers = [float(number) for number in re.findall(rf" {name}: ([0-9.]+),", log.read_text(encoding="utf-8"))]
        means.append(statistics.mean(numbers[1:]))
    return statistics.mean(means)


def test_a_slower_case_says_that_it_is_in_data_loading(tmp_path: Path) -> None:
    old = openmmlab(tmp_path / "old", 0.300, 0.005, seed=1, hour=0)
    new = openmmlab(tmp_path / "new", 0.320, 0.024, seed=2, hour=1)
    comparison = found(old, new, "-w", "50")
    (row,) = comparison["rows"]
    data, whole = (1000 * (printed(new, name) - printed(old, name)) for name in ("data_time", "time"))
    assert row["verdict"] == "slower" and row["data_part"]["is_cause"] is True
    assert 1000 * row["data_part"]["data"]["value"] == pytest.approx(data, abs=1e-6)
    assert 1000 * row["data_part"]["step"]["value"] == pytest.approx(whole, abs=1e-6)
    assert f", {data:+.1f} ms of {whole:+.1f} ms a step in data loading." in comparison["summary"][0]


def test_a_case_that_is_slower_elsewhere_says_that_it_is_not_in_data_loading(tmp_path: Path) -> None:
    old = openmmlab(tmp_path / "old", 0.300, 0.005, seed=1, hour=0)
    new = openmmlab(tmp_path / "new", 0.320, 0.005, seed=2, hour=1)
    comparison = found(old, new, "-w", "50")
    assert comparison["rows"][0]["data_part"]["is_cause"] is False
    assert ", not in data loading (" in comparison["summary"][0]
    # The same data for another reason than a change: nothing is said of a case that is the same.
    again = found(old, openmmlab(tmp_path / "again", 0.300, 0.005, seed=3, hour=1), "-w", "50")
    assert again["rows"][0]["data_part"] is None and "data loading" not in again["summary"][0]


def test_where_the_data_are_too_noisy_to_say_nothing_is_said(tmp_path: Path) -> None:
    old = openmmlab(tmp_path / "old", 0.300, 0.040, seed=1, hour=0, noise=0.010)
    new = openmmlab(tmp_path / "new", 0.320, 0.044, seed=2, hour=1, noise=0.010)
    comparison = found(old, new, "-w", "50")
    assert comparison["rows"][0]["verdict"] == "slower" and comparison["rows"][0]["data_part"] is None


def test_where_a_run_does_not_print_it_nothing_is_said_of_data(tmp_path: Path) -> None:
    old = openmmlab(tmp_path / "old", 0.300, 0.005, seed=1, hour=0)
    new = openmmlab(tmp_path / "new", 0.320, 0.024, seed=2, hour=1)
    (row,) = perflog.compare(old, new, warmup=50).rows
    assert data_part(row, "throughput", 0.95) is not None and data_part(row, "memory", 0.95) is None
    del row.pair.new.runs[2].metrics["data_time"]
    assert data_part(row, "throughput", 0.95) is None


def test_a_difference_is_welchs() -> None:
    old, new = [0.011, 0.012, 0.010, 0.0115], [0.0, 0.031, 0.029, 0.033, 0.03]
    made = mean_difference(old, new, 0.9)
    expected = stats.ttest_ind(new, old, equal_var=False).confidence_interval(0.9)
    assert made is not None and made.value == pytest.approx(statistics.mean(new) - statistics.mean(old))
    assert (made.low, made.high) == pytest.approx((expected.low, expected.high))
    assert mean_difference([1.0], new) is None and mean_difference([1.0, 1.0], [2.0, 2.0]) is None
