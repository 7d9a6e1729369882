"""Comparing versions: pairing, verdicts, directions, notes, exit statuses, and what may not be compared."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.compare.rows import compared_cases
from perflog.compare.rule import Rule
from perflog.logs.find import LogFile
from perflog.stats.verdict import Verdict
from tests.campaigns import write_campaign, write_run
from tests.support import CORPUS, FIXTURES, needs_corpus
from tests.tools.tables_of_runs import Sides, case_of, normal, table

ONE, EIGHT = "1n1g/rn50_b128_fp32", "1n8g/rn50_b128_fp32"


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def compared(*arguments: object) -> list[dict[str, Any]]:
    done = run(*arguments, "-f", "json")
    comparisons: list[dict[str, Any]] = json.loads(done.output)["comparisons"]
    assert done.exit_code == (0 if any(one["rows"] for one in comparisons) else 3), done.output
    return comparisons


def two(tmp_path: Path, change: float, **more: Any) -> tuple[Path, Path]:
    """Two sides of one case, the new one faster by ``change``."""
    sides = [
        write_campaign(tmp_path / name, {EIGHT: rate}, seed=seed, **{"turn": seed - 1} | more)
        for name, rate, seed in (("old", 1000.0, 1), ("new", 1000.0 * (1 + change), 2))
    ]
    return sides[0], sides[1]


@pytest.mark.parametrize(
    ("change", "spread", "verdict"),
    [(0.05, 0.002, "faster"), (-0.05, 0.002, "slower"), (0.0, 0.002, "same"), (0.02, 0.01, "inconclusive")],
)
def test_verdicts(tmp_path: Path, change: float, spread: float, verdict: str) -> None:
    ((row,),) = (one["rows"] for one in compared(*two(tmp_path, change, spread=spread)))
    assert row["verdict"] == verdict
    assert row["ratio"] == pytest.approx(1 + change, abs=3 * spread)
    assert row["interval"]["low"] <= row["ratio"] <= row["interval"]["high"]
    assert row["interval"]["level"] == 0.95  # of five of each side: one of these spreads twice as much as the other
    assert (row["old"]["n"], row["new"]["n"]) == (5, 5)
    assert (row["p"] <= 0.05) == (not row["interval"]["low"] <= 1 <= row["interval"]["high"])


def test_lower_is_better_for_times(tmp_path: Path) -> None:
    sides = two(tmp_path, 0.05)
    ((row,),) = (one["rows"] for one in compared(*sides, "--metric", "step_time"))
    assert row["verdict"] == "faster" and row["ratio"] == pytest.approx(1 / 1.05, abs=0.005) and row["unit"] == "s"


def test_speedup_is_of_each_sides_own_base(tmp_path: Path) -> None:
    old = write_campaign(tmp_path / "old", {ONE: 130.0, EIGHT: 1000.0}, seed=1)
    new = write_campaign(tmp_path / "new", {ONE: 130.0, EIGHT: 900.0}, seed=2)
    (one,) = compared(old, new, "--metric", "speedup")
    assert [row["verdict"] for row in one["rows"]] == ["same", "slower"]
    assert one["rows"][1]["old"]["median"] == pytest.approx(1000 / 130, rel=0.01)


def test_one_run_a_side_is_a_ratio_and_no_verdict(tmp_path: Path) -> None:
    sides = two(tmp_path, 0.05, runs=1)
    ((row,),) = (one["rows"] for one in compared(*sides))
    assert row["verdict"] == "not enough data" and row["runs_needed"] == 4
    assert row["reason"] == "1 run a side: a confidence of 95 % needs 4 a side"
    assert row["ratio"] == pytest.approx(1.05, abs=0.01) and row["interval"] is None and row["p"] is None


@pytest.mark.parametrize(("change", "runs", "status"), [(0.05, 5, 0), (0.0, 5, 0), (-0.05, 5, 1), (-0.05, 1, 3)])
def test_gate(tmp_path: Path, change: float, runs: int, status: int) -> None:
    sides = two(tmp_path, change, runs=runs)
    assert run(*sides, "--gate").exit_code == status
    assert run(*sides).exit_code == 0


def test_a_copy_of_the_old_logs_fails_the_gate(tmp_path: Path) -> None:
    old, _ = two(tmp_path, 0.0)
    copy = shutil.copytree(old, tmp_path / "copy")
    done = run(old, copy, "--gate")
    assert done.exit_code == 3 and "1 of 1 case with the very same values on both sides" in done.output
    assert run(old, copy, "--fail-on", "slower").exit_code == 0


def test_a_sign_that_rests_on_stalls_is_said(tmp_path: Path) -> None:
    """The new version has no stalls and slower steps: the whole is faster, and each step is not."""
    stalls = np.where(np.arange(120) % 10 == 5, 0.7, 1.0)  # seven tenths of the rate at one step of ten
    old = write_campaign(tmp_path / "old", {EIGHT: 1000.0}, seed=1, turn=0, shape=lambda rates: rates * stalls)
    new = write_campaign(tmp_path / "new", {EIGHT: 988.0}, seed=2, turn=1)
    ((row,),) = (one["rows"] for one in compared(old, new))
    assert row["verdict"] == "faster"
    (note,) = [note for note in row["notes"] if note.startswith("the usual step changed by")]
    assert re.search(r"by −(0\.[7-9]|1\.[0-7]) % \(.*\), the whole by \+(2\.[4-9]|3\.)", note), note
    alike = two(tmp_path / "b", 0.05)
    ((row,),) = (one["rows"] for one in compared(*alike))
    assert not any(note.startswith("the usual step") for note in row["notes"])


def test_usual_steps_are_compared_in_one_unit_where_one_side_prints_rates_and_the_other_times(tmp_path: Path) -> None:
    """Steps of 64 ms and of 70 ms for 64 samples, which the new side prints as times, with a stall at each tenth."""
    rng = np.random.default_rng(3)
    for number in range(1, 6):
        for side in ("old", "new"):
            (tmp_path / side).mkdir(exist_ok=True)
            steps = (0.064 if side == "old" else 0.070) * rng.normal(1, 0.002, 200)
            steps[::10] *= 1 if side == "old" else 1.4
            said = (f"{64 / step:.2f} samples/s" if side == "old" else f"step_time {step:.5f} s" for step in steps)
            lines = [f"step {place} loss 1.0 {text}\n" for place, text in enumerate(said, 1)]
            (tmp_path / side / f"net_{number}.log").write_text("".join(lines))
    facts = ("-s", "batch_size=64", "-s", "devices=1", "-s", "framework=PyTorch")
    ((row,),) = (one["rows"] for one in compared(tmp_path / "old", tmp_path / "new", *facts))
    (note,) = [note for note in row["notes"] if note.startswith("the usual step changed by")]
    assert re.search(r"by −8\.[456] % \(.*\), the whole by −12\.", note), note  # 64 / 70, and 64 / (70 · 1.04)


def test_a_run_without_a_value_fails_the_gate(tmp_path: Path) -> None:
    """The slow case crashed: what is left of it is no reason to be green."""
    old, new = two(tmp_path, 0.0)
    lost = sorted(new.rglob("*.log"))[0]
    lost.write_text("".join(lost.read_text().splitlines(keepends=True)[:3]) + "RuntimeError: out of memory\n")
    done = run(old, new, "--gate")
    assert done.exit_code == 3 and "has no value" in done.output


def test_a_copy_of_an_old_log_among_the_new_ones_is_left_out(tmp_path: Path) -> None:
    """One fast old log among five slow ones would take the verdict away."""
    old, new = two(tmp_path, -0.05)
    first = sorted(old.rglob("*.log"))[0]
    last = sorted(new.rglob("*.log"))[-1]
    shutil.copy(first, last.with_name(last.name.replace("_5.log", "_6.log")))
    ((row,),) = (one["rows"] for one in compared(old, new))
    assert row["verdict"] == "slower" and row["new"]["n"] == 5
    assert any("is left out: it is a copy of the old side's" in note for note in row["notes"])
    assert run(old, new, "--gate").exit_code == 1


def test_slower_sides_that_were_measured_apart_leave_the_question_open(tmp_path: Path) -> None:
    """The first line says that a drift cannot be told from a change: then the gate does not say "slower" either."""
    old, new = two(tmp_path, -0.05, turn=None)
    done = run(old, new, "--gate")
    assert done.exit_code == 3 and "1 of 1 case slower, but the sides were measured apart" in done.output
    assert run(old, new, "--fail-on", "slower").exit_code == 3


def test_a_case_that_is_gone_fails_the_gate(tmp_path: Path) -> None:
    old = write_campaign(tmp_path / "old", {ONE: 130.0, EIGHT: 1000.0}, seed=1)
    new = write_campaign(tmp_path / "new", {EIGHT: 1000.0}, seed=2)
    assert run(old, new, "--gate").exit_code == 3
    assert run(old, new, "--fail-on", "slower").exit_code == 0, "it was not asked to"
    assert run(old, new, "--fail-on", "slower,missing").exit_code == 3
    assert run(old, new, "--fail-on", "missing", "--where", "devices=8").exit_code == 0
    (one,) = compared(old, new)
    assert [u["side"] for u in one["not_compared"]] == ["old"]
    assert one["geometric_mean"]["rows"] == 1 and one["geometric_mean"]["left_out"] == 1


def test_what_else_varies_is_refused_and_named_unless_asked_for(tmp_path: Path) -> None:
    old = write_campaign(tmp_path / "old", {EIGHT: 1000.0}, seed=1)
    new = write_campaign(tmp_path / "new", {"1n8g/rn50_b256_fp32": 1000.0}, seed=2)
    (one,) = compared(old, new)
    assert one["rows"] == []
    reasons = {u["side"]: u["reason"] for u in one["not_compared"]}
    assert reasons["old"] == "not on the new side; nearest: batch_size is 128 and 256, which is other work"
    (one,) = compared(old, new, "--across", "batch_size")
    assert [row["across"] for row in one["rows"]] == [["batch_size is 128 and 256"]]


def test_a_label_of_the_path_tells_cases_apart(tmp_path: Path) -> None:
    """The sides' own folders are no label; what lies below them is."""
    old = write_campaign(tmp_path / "pytorch-nightly", {f"xla/{EIGHT}": 1000.0, f"eager/{EIGHT}": 900.0}, seed=1)
    new = write_campaign(
        tmp_path / "deep" / "er" / "candidate", {f"xla/{EIGHT}": 1000.0, f"eager/{EIGHT}": 900.0}, seed=2
    )
    (one,) = compared(old, new)
    assert [row["verdict"] for row in one["rows"]] == ["same", "same"] and not one["not_compared"]
    shutil.move(new / "eager", new / "dynamo")
    (one,) = compared(old, new)
    assert len(one["rows"]) == 1 and len(one["not_compared"]) == 2


def test_two_alike_on_a_side_are_not_paired(tmp_path: Path) -> None:
    old = write_campaign(tmp_path / "old", {EIGHT: 1000.0}, seed=1)
    new = write_campaign(tmp_path / "new", {f"a/{EIGHT}": 1000.0, f"b/{EIGHT}": 900.0}, seed=2)
    (one,) = compared(old, new, "--across", "label")
    assert not one["rows"]
    assert {u["reason"] for u in one["not_compared"]} == {
        "2 cases on the new side are alike but for label: give the logs of one of them alone, "
        "or --repeats-over label takes each for one repeat, where each is a machine"
    }


def test_many_rows_are_adjusted(tmp_path: Path) -> None:
    cases = {f"1n{n}g/rn50_b128_fp32": 100.0 * n for n in (1, 2, 4, 8)}
    old = write_campaign(tmp_path / "old", cases, seed=1)
    new = write_campaign(
        tmp_path / "new", {name: rate * (1.05 if "1n8g" in name else 1) for name, rate in cases.items()}, seed=2
    )
    (one,) = compared(old, new)
    row = next(row for row in one["rows"] if row["case"]["devices"] == 8)
    assert (
        row["verdict"] == "faster"
        and row["p"] == pytest.approx(2 / 1024)
        and row["adjusted_p"] == pytest.approx(4 * 2 / 1024)
    ), "five runs all above five others: the chance that two states of the machine make that, by four rows"
    assert row["interval"]["level"] == pytest.approx(1 - 2 / 252), "98.75 % asked for"
    assert one["geometric_mean"]["value"] == pytest.approx(1.05**0.25, rel=0.003)


def test_more_sides_are_each_held_against_the_first(tmp_path: Path) -> None:
    sides = [
        write_campaign(tmp_path / name, {EIGHT: rate}, seed=at)
        for at, (name, rate) in enumerate((("a", 1000.0), ("b", 1050.0), ("c", 900.0)))
    ]
    found = compared(*sides)
    assert [(one["old"], one["new"], one["rows"][0]["verdict"]) for one in found] == [
        ("a", "b", "faster"),
        ("a", "c", "slower"),
    ]


def test_a_run_without_a_value_is_not_left_out(tmp_path: Path) -> None:
    old, new = two(tmp_path, 0.05)
    write_run(new / f"{EIGHT}_3.log", [1050.0] * 7)
    ((row,),) = (one["rows"] for one in compared(old, new))
    assert (
        row["verdict"] == "not enough data"
        and row["reason"] == "1 of 5 values of the new side are not positive, finite numbers"
    )
    assert "the run ends after 7 steps, warm-up 20" in row["notes"] and row["new"]["runs"][2]["value"] is None


def test_counts_of_different_kinds_have_no_ratio() -> None:
    keys = "framework,model,precision,batch_size,nodes,devices,accelerator,label,sequence_length,parameters"
    sides = (FIXTURES / "parsers/torchtitan/color.log", FIXTURES / "parsers/mmcv1/mmdet_epoch.log")
    ((row,),) = (
        one["rows"] for one in compared(*sides, "--across", keys, "-w", "1", "-s", "devices=8", "-s", "batch_size=2")
    )
    assert row["ratio"] is None and row["reason"] == "one side counts tokens/s, the other samples/s"


# ---------------------------------------------------------------- notes


def test_notes(tmp_path: Path) -> None:
    ramp = np.linspace(1.0, 0.9, 120)
    old = write_campaign(tmp_path / "old", {EIGHT: 1000.0}, seed=1)
    new = write_campaign(tmp_path / "new", {EIGHT: 1000.0}, seed=2, shape=lambda rates: rates * ramp)
    (old / "machine.json").write_text(
        '{"gpu": {"driver": "535.54", "name": "V100"}, "clocks_before": [1380], "time": 1}', encoding="utf-8"
    )
    (new / "machine.json").write_text(
        '{"gpu": {"driver": "550.90", "name": "V100"}, "clocks_before": [1290], "time": 2}', encoding="utf-8"
    )
    (one,) = compared(old, new)
    assert one["notes"] == ["the machine changed: gpu.driver 535.54 → 550.90, clocks_before.0 1380 → 1290"]
    notes = "\n".join(one["rows"][0]["notes"])
    assert re.search(r"new: step times drift within the window, by \+\d\.\d % in 5 of 5 runs", notes)
    assert "old: step times drift" not in notes


def test_what_would_help_an_inconclusive_row(tmp_path: Path) -> None:
    ((row,),) = (one["rows"] for one in compared(*two(tmp_path, 0.02, spread=0.01)))
    assert row["verdict"] == "inconclusive"
    assert any(
        re.match(r"old: steps account for \d+ % of the variance between runs: more runs help", note)
        for note in row["notes"]
    )


def test_what_a_log_says_against_its_own_number_is_told(tmp_path: Path) -> None:
    """As extract does: of a run whose rates are NaN from the middle on, and of a log that is there twice."""
    old, new = two(tmp_path, 0.0)
    log = new / f"{EIGHT}_3.log"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[60:] = [re.sub(r"total_ips : [\d.]+", "total_ips : nan", line) for line in lines[60:]]
    log.write_text("".join(lines), encoding="utf-8")
    shutil.copy(old / f"{EIGHT}_1.log", old / f"{EIGHT}_6.log")
    ((row,),) = (one["rows"] for one in compared(old, new))
    assert "new: 60 records without a usable number, the first at line 61" in row["notes"]
    assert any(re.match(r"old: \S+_1\.log counts once: the same text is in \S+_6\.log$", note) for note in row["notes"])
    assert not any("no speedup" in note for note in row["notes"])


def test_two_groups_of_runs(tmp_path: Path) -> None:
    old, new = two(tmp_path, 0.0, spread=0.0005, runs=6)
    for repeat in (1, 2, 3):
        write_run(new / f"{EIGHT}_{repeat}.log", [940.0 + repeat / 10] * 120)
    ((row,),) = (one["rows"] for one in compared(old, new))
    assert any("new: the runs fall in two groups, 3 near 940.2 and 3 near" in note for note in row["notes"])


def test_a_coarse_print(tmp_path: Path) -> None:
    """Rates printed as whole numbers near 8: a step of the print is 12 %."""
    old = write_campaign(tmp_path / "old", {EIGHT: 8.4}, seed=1, decimals=0, spread=0.001)
    new = write_campaign(tmp_path / "new", {EIGHT: 8.4}, seed=2, decimals=0, spread=0.001)
    ((row,),) = (one["rows"] for one in compared(old, new))
    assert any(re.match(r"old: printed in steps of 1: rounding may move a run by \d", note) for note in row["notes"])


def test_the_same_logs_on_both_sides(tmp_path: Path) -> None:
    old = write_campaign(tmp_path / "old", {EIGHT: 1000.0}, seed=1)
    shutil.copytree(old, tmp_path / "new")
    (one,) = compared(old, tmp_path / "new")
    assert "both sides have the very same values: are these the same logs?" in one["rows"][0]["notes"]
    assert "Both sides have the very same values: logs compared with themselves never differ." in one["warnings"]


def test_the_same_logs_on_both_sides_are_no_part_of_the_mean(tmp_path: Path) -> None:
    """A copy's ratio of 1 says nothing, and halved the change of the other case."""
    old = write_campaign(tmp_path / "old", {ONE: 500.0, EIGHT: 1000.0}, seed=1)
    new = write_campaign(tmp_path / "new", {ONE: 400.0, EIGHT: 1000.0}, seed=2)
    shutil.rmtree(new / "1n8g")
    shutil.copytree(old / "1n8g", new / "1n8g")
    (one,) = compared(old, new)
    (changed,) = [row["ratio"] for row in one["rows"] if row["ratio"] != 1]
    assert one["geometric_mean"]["value"] == pytest.approx(changed) and one["geometric_mean"]["left_out"] == 1


def test_a_warmup_that_is_not_over_is_noted_and_auto_finds_its_end(tmp_path: Path) -> None:
    slow = np.where(np.arange(200) < 60, 0.9, 1.0)
    old, new = two(tmp_path, 0.0, steps=200, shape=lambda rates: rates * slow)
    ((row,),) = (one["rows"] for one in compared(old, new))
    assert any(
        re.match(
            r"old: warm-up 20 steps, the detector \(MSER-5\) finds 60 steps: the rate then differs by \+[23]\.\d %",
            note,
        )
        for note in row["notes"]
    )
    done = CliRunner().invoke(app, ["extract", str(old), "--warmup", "auto", "-f", "json"])
    (case,) = json.loads(done.output)["cases"]
    assert "warm-up auto: 60 steps left out (MSER-5)" in [note["text"] for note in case["notes"]]
    assert case["metrics"]["throughput"]["value"] == pytest.approx(1000.0, rel=0.01)


def test_auto_says_why_where_it_cannot(tmp_path: Path) -> None:
    write_run(tmp_path / "gpu8_bs128.log", [1000.0] * 12)
    done = CliRunner().invoke(app, ["extract", str(tmp_path), "--warmup", "auto", "-f", "json"])
    (case,) = json.loads(done.output)["cases"]
    assert (
        done.exit_code == 3
        and case["metrics"]["throughput"]["reason"] == "warm-up auto: 12 measurements, MSER-5 needs 20"
    )


# ---------------------------------------------------------------- the history


def test_saved_labels_are_compared_as_their_folders_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_DATABASE", str(tmp_path / "history.sqlite"))
    cases = {f"1n{n}g/rn50_b128_fp32": 100.0 * n for n in (1, 2, 4, 8)}
    old = write_campaign(tmp_path / "old", cases, seed=1)
    new = write_campaign(tmp_path / "new", {name: rate * 1.05 for name, rate in cases.items()}, seed=2)
    (new / "machine.json").write_text('{"driver": "550"}', encoding="utf-8")
    (old / "machine.json").write_text('{"driver": "535"}', encoding="utf-8")
    for folder, label in ((old, "v1"), (new, "v2")):
        assert CliRunner().invoke(app, ["save", str(folder), "--label", label, "--warmup", "10"]).exit_code == 0
    (folders,), (labels,), (mixed,) = compared(old, new, "-w", "10"), compared("v1", "v2"), compared("v1", new)
    for found in (labels, mixed):
        (of_history,) = {note for note in found["notes"] if note.startswith("Without a memory of every case: ")}
        assert found["notes"] == [*folders["notes"][:1], of_history]
        assert folders["notes"][0] == "the machine changed: driver 535 → 550"
        assert found["geometric_mean"] == folders["geometric_mean"]
        for ours, theirs in zip(found["rows"], folders["rows"], strict=True):
            for row in (ours, theirs):  # what is saved does not tell how long a run took
                row["to_decide"] = row["to_decide"] and {**row["to_decide"], "seconds": None, "at_least": False}
            assert {k: v for k, v in ours.items() if k != "notes"} == {k: v for k, v in theirs.items() if k != "notes"}
    wrong = run("v1", new, "-w", "30")
    assert "v1 was saved with estimator total, warm-up 10 steps, which is not estimator total, warm-up 30 steps" in str(
        wrong.exception
    )
    assert json.loads(CliRunner().invoke(app, ["noise", "v1", "-f", "json"]).output)["cases"][0]["n"] == 5
    assert "there are v1, v2" in str(run("v1", "v3").exception) or "v2" in str(run("v1", "v3").exception)


# ---------------------------------------------------------------- outputs


def test_formats(tmp_path: Path) -> None:
    old, new = two(tmp_path, 0.05)
    text = run(old, new).output
    assert re.match(r"1 case: 1 faster\. Faster: \S.* \+[45]\.\d % \(\+[45]\.\d to \+[56]\.\d\)\.\n", text)
    line = r"8 devices\s+5\s+\S+\s+\S+\s+1\.0\d+\s+\+[45]\.\d %\s+\+\d\.\d to \+\d\.\d % \(95 %\)\s+0\.002\s+faster"
    assert re.search(line, text)
    assert (
        "throughput in images/s, higher is better; medians over n runs; ratio new / old (Hodges–Lehmann); margin 2 %, level 95 % for all rows together"
        in text
    )
    page = run(old, new, "-f", "markdown").output
    assert page.startswith(
        "<!-- perflog compare throughput -->\n\n### throughput: new against old\n\n1 case: 1 faster."
    )
    assert "\n\n| case" in page and "| faster" in page
    (row,) = csv.DictReader(io.StringIO(run(old, new, "-f", "csv").output))
    assert row["verdict"] == "faster" and float(row["ratio"]) == pytest.approx(1.05, abs=0.01) and row["devices"] == "8"


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_picture(tmp_path: Path, form: str) -> None:
    old, new = two(tmp_path, 0.05)
    made = []
    for name in ("a", "b"):
        target = tmp_path / f"{name}.{form}"
        assert run(old, new, "-o", target).exit_code == 0
        made.append(target.read_bytes())
    assert made[0] == made[1]
    if form == "svg":
        assert "better to the right" in made[0].decode() and "(n = 5)" in made[0].decode()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{d}"], "name at least two sides"),
        (["{d}", "{d}"], "no training log found"),
        (["{d}/nowhere", "{d}"], "no such file or folder"),
        (["nowhere", "{d}"], "and no saved campaign"),
        (["{d}", "{d}", "--margin", "lots"], "expected a share such as 2% or 0.02"),
        (["{d}", "{d}", "--metric", "loss"], "expected one of throughput"),
        (["{d}", "{d}", "--level", "5"], "between 50 and 100"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = run(*(a.format(d=tmp_path) for a in arguments))
    assert done.exit_code != 0 and words in done.output + str(done.exception)


def test_plan_and_noise(tmp_path: Path) -> None:
    folder = write_campaign(tmp_path / "logs", {ONE: 130.0, EIGHT: 1000.0}, spread=0.01, seed=3)
    write_run(tmp_path / "logs/1n4g/rn50_b128_fp32_1.log", [500.0 + n % 3 for n in range(120)])
    found = json.loads(CliRunner().invoke(app, ["plan", str(folder), "--detect", "6%", "-f", "json"]).output)["cases"]
    assert [case["n"] for case in found] == [5, 1, 5] and [case["pooled"] for case in found] == [False, True, False]
    for case in found:
        assert case["runs_needed"] >= 4 and (case["n"] == 1) == (case["change_seen"] is None)
    text = CliRunner().invoke(app, ["plan", str(folder)]).output
    assert "fewer than 4 runs: from the spread of all cases pooled" in text and "runs a side for 5%" in text
    assert "calls one changed case of 3 (margin 2 %, level 95 %)" in text
    within = CliRunner().invoke(app, ["plan", str(folder), "--detect", "2%"])
    assert "lies within the margin of 2 %" in str(within.exception)
    assert "3. too few runs to say" in CliRunner().invoke(app, ["noise", str(folder)]).output


@needs_corpus
def test_paddle_2_3_against_2_5() -> None:
    (one,) = compared(
        CORPUS / "paddle-perf-2.3",
        CORPUS / "paddle-perf-2.5",
        "--where",
        "framework=PaddlePaddle",
        "--across",
        "nodes,model,label,accelerator",
    )
    assert len(one["rows"]) == 12 and {row["verdict"] for row in one["rows"]} == {"not enough data"}
    same = [row for row in one["rows"] if row["case"]["devices"] == 32]
    assert len(same) == 4 and all(
        "both sides have the very same values: are these the same logs?" in row["notes"] for row in same
    )
    ratios = {
        (row["case"]["precision"], row["case"]["batch_size"], row["case"]["devices"]): row["ratio"]
        for row in one["rows"]
    }
    assert ratios["fp32", 96, 1] == pytest.approx(1.0217, abs=1e-4) and ratios["pure_fp16", 256, 1] == pytest.approx(
        0.9893, abs=1e-4
    )


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("metric", ["throughput", "speedup"])
def test_runs_of_one_log_have_no_verdict(side: str, metric: str) -> None:
    """Runs that stand in one log share whatever that process had: their spread is not that of trainings."""
    (pair,) = table(np.random.default_rng(5), normal, 1, Sides((5, 5), (0.002, 0.002)), [0.1])
    if metric == "speedup":
        pair.old.base, pair.new.base = case_of([50.0, 50.1, 49.9, 50.2, 49.8]), case_of([50.1, 50, 49.8, 50.2, 49.9])
    (row,) = compared_cases([pair], Rule(metric))
    assert row.verdict is Verdict.FASTER
    case = pair.old if side == "old" else pair.new
    for run_of_case in (case if metric == "throughput" or case.base is None else case.base).runs:
        run_of_case.log = LogFile("all.log", 1)
    (row,) = compared_cases([pair], Rule(metric))
    assert row.verdict is Verdict.NOT_ENOUGH_DATA and row.ratio.value is not None and row.ratio.low is None
    assert f"of the {side} side" in row.decision.reason and "one log, all.log" in row.decision.reason
