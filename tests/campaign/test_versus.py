"""Measurements of two sides until all is decided: order, verdicts, budgets, cuts, failures, and what compare says."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import perflog
from perflog.campaign import RoundObserver
from perflog.campaign.versus import Budget, CaseLook, Versus, plan_measurement, turns
from perflog.compare.rule import Stopping
from perflog.errors import UsageError
from tests.cli.test_cli import run
from tests.support import ROOT

RUNNER = ROOT / "tests" / "campaign" / "paced_runner"
BATCHES = (8, 16, 32)
CASES = [f"paced_runner/logistic/bz{batch}/1n1g/logistic_b{batch}_fp32" for batch in BATCHES]
#: The truth: the same, 10 % faster and 10 % slower.
OLD, NEW = "8=100,16=100,32=100", "8=100,16=110,32=90"


def campaign(folder: Path, name: str, rates: str, *, batches: tuple[int, ...] = BATCHES, steps: int = 20, **environment: str) -> Path:  # fmt: skip
    """A campaign file whose runs have these rates."""
    values: dict[str, object] = {
        "runners": [str(RUNNER)], "frameworks": ["paced_runner"], "models": ["logistic"], "precisions": ["fp32"],
        "batch_sizes": list(batches), "devices": ["1n1g"], "steps": steps, "log_interval": 5, "warmup": 5, "time_limit": 60,
        "logs": "logs",
    }  # fmt: skip
    variables = {"RATES": rates, **environment}
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    lines += ["[environment]", *(f"{key} = {json.dumps(value)}" for key, value in variables.items())]
    file = folder / f"{name}.toml"
    file.write_text("\n".join(lines) + "\n")
    return file


def both(folder: Path, spread: float = 0.003) -> tuple[str, str]:
    """The files of the new and of the old side."""
    new = campaign(folder, "new", NEW, SPREAD=str(spread))
    return str(new), str(campaign(folder, "old", OLD, SPREAD=str(spread)))


def rounds(logs: Path, side: str, case: str) -> list[int]:
    """The numbers of a case's finished runs."""
    return sorted(int(log.stem.rpartition("_")[2]) for log in (logs / side).rglob(f"{Path(case).name}_*.log"))


def finished(logs: Path) -> int:
    """How many logs have ended, of folders that a campaign is at work in."""
    return len([log for side in ("old", "new") for log in (logs / side / "paced_runner").glob("**/*.log")])


def compared(old: object, new: object, *more: str) -> dict[str, Any]:
    done = run("compare", str(old), str(new), "--warmup", "5", "-f", "json", *more)
    assert done.returncode == 0, done.stderr
    (comparison,) = json.loads(done.stdout)["comparisons"]
    return dict(comparison)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A measurement to its end, and what it printed."""
    folder = tmp_path_factory.mktemp("measured")
    new, old = both(folder)
    done = run("run", new, "--against", old, "--seed", "5")
    assert done.returncode == 0, done.stderr
    return folder / "logs", done


@pytest.mark.long
def test_every_case_ends_with_the_verdict_that_is_true(measured: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    logs, done = measured
    verdicts = {line.split()[0]: line.split(maxsplit=1)[1] for line in done.stdout.splitlines()}
    assert list(verdicts) == CASES
    same, faster, slower = verdicts.values()
    assert same.startswith("same within 2 %, ")
    assert faster.startswith("faster, +")
    assert slower.startswith("slower, −")
    for case, words in verdicts.items():
        number = int(words.split(" after ")[1].split()[0])
        assert rounds(logs, "old", case) == rounds(logs, "new", case) == list(range(1, number + 1))
        assert 5 <= number <= 10, "5 is the first look of three cases; such clear ones need no more than 10"
    assert "3 cases: 3 decided; " in done.stderr
    assert f"next: perflog compare {logs}/old {logs}/new --warmup 5" in done.stderr


@pytest.mark.long
def test_the_runs_are_made_in_the_order_of_the_seed(measured: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    logs, done = measured
    made = [
        tuple(line.split(":")[0].split()) for line in done.stderr.splitlines() if line.startswith(("  old ", "  new "))
    ]
    expected = []
    for number in range(1, 11):
        for turn in turns(5, number, CASES):
            expected += [
                (side, f"{turn.case}_{number}") for side in turn.order if number in rounds(logs, side, turn.case)
            ]
    assert made == expected
    assert made[:6] != sorted(made[:6])


def test_the_order_is_random_in_both_ways_and_does_not_depend_on_what_is_decided() -> None:
    orders = [turns(seed, number, CASES) for seed in range(20) for number in range(1, 11)]
    assert turns(3, 2, CASES) == turns(3, 2, CASES)
    assert 60 <= sum(order[0].case == CASES[0] for order in orders) * 200 / len(orders) <= 140 * 2 / 3
    assert 240 <= sum(turn.first == "old" for order in orders for turn in order) <= 360


def test_the_same_call_again_runs_nothing_and_says_the_same(
    measured: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    logs, done = measured
    before = sorted(logs.rglob("*.log"))
    again = run("run", str(logs.parent / "new.toml"), "--against", str(logs.parent / "old.toml"))
    assert (again.returncode, again.stdout, sorted(logs.rglob("*.log"))) == (0, done.stdout, before)


def test_the_function_goes_on_in_the_same_folder_and_has_what_the_command_says(
    measured: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    logs, done = measured
    files = logs.parent / "new.toml", logs.parent / "old.toml"
    told: list[int] = []

    class Counter(RoundObserver):
        def begin_measurement(self, plan: Versus, rule: Stopping, looks: Sequence[CaseLook], cut: int) -> None:  # noqa: ARG002
            told.append(rule.seed)

    result = perflog.measure(*files, observer=Counter())
    assert told == [5]
    rows = result.frame.to_dicts()
    assert [row["case"] for row in rows] == CASES
    assert [row["verdict"] for row in rows] == ["same", "faster", "slower"]
    assert [row["rounds"] for row in rows] == [len(rounds(logs, "old", case)) for case in CASES]
    assert [line.split(maxsplit=1)[1] for line in done.stdout.splitlines()] == [row["sentence"] for row in rows]
    assert rows[1]["low"] < 1.1 < rows[1]["high"]
    assert (result.decided, result.folders) == (True, (logs / "old", logs / "new"))
    assert repr(result) == "<perflog.Measurement: 3 cases: 3 decided>"
    assert "same within 2 %" in result._repr_html_()
    with pytest.raises(UsageError, match=r"begun with margin 2%, and is now asked for with margin 1%"):
        perflog.measure(*files, margin="1%")
    with pytest.raises(UsageError, match=r"nothing to run with only=\{'framework': 'paced'\}"):
        perflog.measure(*files, only={"framework": "paced"})


def test_compare_gives_the_sequential_result_and_says_so(
    measured: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    logs, done = measured
    comparison = compared(logs / "old", logs / "new")
    rows = {row["case"]["batch_size"]: row for row in comparison["rows"]}
    assert [rows[batch]["verdict"] for batch in BATCHES] == ["same", "faster", "slower"]
    assert all(row["in_rounds"] for row in rows.values())
    assert rows[16]["interval"]["level"] == pytest.approx(1 - 0.05 / 3)
    assert f"{100 * (rows[16]['ratio'] - 1):+.1f} %" in done.stdout.splitlines()[1]
    assert any(
        "the runs were stopped by a sequential rule" in note and "3 cases together" in note
        for note in comparison["notes"]
    )
    assert comparison["warnings"] == []
    text = run("compare", str(logs / "old"), str(logs / "new"), "--warmup", "5").stdout
    assert "geometric mean of the rounds" in text and "was decided, and are judged by" not in text
    assert "give --margin 2%" in run("compare", str(logs / "old"), str(logs / "new"), "--margin", "1%").stdout


def test_one_case_of_a_measurement_keeps_the_level_of_all(
    measured: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    logs, _ = measured
    (row,) = compared(logs / "old", logs / "new", "--where", "batch_size=16")["rows"]
    assert row["interval"]["level"] == pytest.approx(1 - 0.05 / 3)


@pytest.mark.long
def test_stopped_runs_against_others_are_warned_of(
    measured: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    logs, _ = measured
    fixed = run("run", str(campaign(tmp_path, "fixed", OLD)), "--logs", str(tmp_path / "old"), "--repeats", "5")
    assert fixed.returncode == 0, fixed.stderr
    comparison = compared(tmp_path / "old", logs / "new")
    assert any("The runs of the new side were stopped by a sequential rule" in text for text in comparison["warnings"])
    assert not any(row["in_rounds"] for row in comparison["rows"])
    speedups = compared(logs / "old", logs / "new", "--metric", "speedup", "--where", "batch_size=16")
    assert any("speedup has no value of its own in each round" in text for text in speedups["warnings"])


def test_saved_campaigns_keep_their_rounds(
    measured: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    logs, _ = measured
    database = str(tmp_path / "history.sqlite")
    for side in ("old", "new"):
        saved = run("save", str(logs / side), "--label", side, "--database", database, "--warmup", "5")
        assert saved.returncode == 0, saved.stderr
    done = run("compare", "old", "new", "-f", "json", "--database", database)
    (comparison,) = json.loads(done.stdout)["comparisons"]
    assert sorted(row["verdict"] for row in comparison["rows"]) == ["faster", "same", "slower"]
    assert all(row["in_rounds"] for row in comparison["rows"])
    assert comparison["warnings"] == [], "made in turn, though saved at different moments"


def test_the_history_says_how_many_rounds_are_expected(tmp_path: Path) -> None:
    """Five campaigns of three runs that spread by 0.3 %, of one case of two: nothing is run, no budget is changed."""
    database = str(tmp_path / "history.sqlite")
    file = str(campaign(tmp_path, "aa", OLD, batches=(8, 16), SPREAD="0.003"))
    for day in range(1, 6):
        only = str(campaign(tmp_path, f"w{day}", f"8={99 + 0.2 * day}", batches=(8,), SPREAD="0.003"))
        folder = tmp_path / f"w{day}" / "old"
        done = run("run", only, "--logs", str(folder), "--repeats", "3", "--quiet")
        assert done.returncode == 0, done.stderr
        place = "--label", f"w{day}", "--date", f"2026-01-0{day}", "--database", database, "--warmup", "5"
        saved = run("save", str(folder), *place)
        assert saved.returncode == 0, saved.stderr
    command = "run", file, "--against", file, "--dry-run", "--database", database
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert f"{CASES[0]}: its runs spread by 0." in done.stderr
    assert "in 5 campaigns: decided by round " in done.stderr
    assert "without a memory of 1 case: " in done.stderr
    assert "at most 120 runs" in done.stdout, "the budget is as ever"
    assert "decided by round" not in run(*command, "--no-history").stderr
    assert run(*command, "--no-history").stdout == done.stdout
    noisy = run(*command, "--margin", "0.3%", "--max-runs", "10")
    assert "10 runs a side may leave it undecided: --max-runs " in noisy.stderr
    missing = "run", file, "--against", file, "--dry-run", "--history", "--database", str(tmp_path / "none.sqlite")
    assert (run(*missing).returncode, "no history in" in run(*missing).stderr) == (2, True)
    assert "is for measurements with --against" in run("run", file, "--dry-run", "--history").stderr


def test_watch_shows_what_is_decided(measured: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    logs, _ = measured
    done = run("watch", str(logs), "--once")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(f"new/{CASES[1]}")]
    number = len(rounds(logs, "new", CASES[1]))
    assert f"{number} of {number}" in line
    assert "faster, +" in line


@pytest.mark.long
def test_killed_it_goes_on_to_the_same_end(
    measured: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """Every run has the rate that its name gives it, so that the verdicts of a cut measurement must be the very same."""
    _, whole = measured
    new, old = both(tmp_path)
    command = [sys.executable, "-m", "perflog", "run", new, "--against", old, "--seed", "5", "--quiet"]
    logs = tmp_path / "logs"
    for wanted in (3, 11):
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 120
        while finished(logs) < wanted and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert finished(logs) >= 11
    done = run("run", new, "--against", old, "--quiet")
    assert (done.returncode, done.stdout) == (0, whole.stdout), done.stderr
    assert not list(logs.rglob("*.running"))


@pytest.mark.long
def test_the_budget_of_runs_ends_it_undecided_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    file = str(campaign(tmp_path, "aa", OLD, batches=(8,), SPREAD="0.012"))
    first = run("run", file, "--against", file, "--max-runs", "4", "--seed", "1")
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith(f"{CASES[0]}  undecided, ")
    assert " after 4 rounds" in first.stdout
    assert "1 undecided when the budget was spent (a larger --max-runs goes on where this stopped)" in first.stderr
    comparison = compared(tmp_path / "logs/old", tmp_path / "logs/new")
    (row,) = comparison["rows"]
    assert (row["verdict"], row["old"]["n"], row["in_rounds"]) == ("inconclusive", 4, True)
    # What `compare` names goes on where this stopped, and decides it.
    command = comparison["to_decide"]["command"]
    rounds = 4 + row["to_decide"]["new_runs"]
    assert command == f"perflog run {file} --against {file} --logs {tmp_path}/logs --max-runs {rounds}"
    assert comparison["to_decide"]["seconds"] > 0 and comparison["to_decide"]["at_least"] is False
    assert f"To decide, run `{command}` to go on until each case is decided (" in comparison["summary"][0]
    more = run(*shlex.split(command)[1:])
    assert "4 rounds of the cases are there; going on" in more.stderr
    assert more.stdout.startswith(f"{CASES[0]}  same within 2 %, "), more.stdout


def test_hours_that_are_spent_end_it(tmp_path: Path) -> None:
    file = str(campaign(tmp_path, "aa", OLD, batches=(8,)))
    done = run("run", file, "--against", file, "--max-hours", "0")
    assert (done.returncode, list((tmp_path / "logs").rglob("*.log"))) == (0, [])
    assert "1 undecided when the budget was spent (a larger --max-hours" in done.stderr
    assert "round 1" not in done.stderr, "no round begins that there are no hours for"


def test_one_round_alone_is_a_round_to_compare_too(tmp_path: Path) -> None:
    """The number in the name of a log that is alone counts no repeats, but it is the number of its round."""
    file = str(campaign(tmp_path, "aa", OLD, batches=(8,)))
    done = run("run", file, "--against", file, "--max-hours", "0.0000001", "--seed", "1")
    assert " after 1 round\n" in done.stdout
    (row,) = compared(tmp_path / "logs/old", tmp_path / "logs/new")["rows"]
    assert (row["old"]["n"], row["verdict"], row["in_rounds"]) == (1, "inconclusive", True)
    assert f", {100 * (row['ratio'] - 1):+.1f} % after" in done.stdout.replace("−", "-")


@pytest.mark.long
def test_compare_with_the_margin_of_the_run_says_what_the_run_said(tmp_path: Path) -> None:
    """A change of 10 % is none that matters within 30 %, so the verdict of the run needs its margin in `compare`."""
    file = str(campaign(tmp_path, "new", NEW, batches=(16,), SPREAD="0.003"))
    old = str(campaign(tmp_path, "old", OLD, batches=(16,), SPREAD="0.003"))
    done = run("run", file, "--against", old, "--margin", "30%", "--seed", "1")
    assert done.stdout.startswith(f"{CASES[1]}  same within 30 %, "), done.stdout
    suggested = done.stderr.rsplit("next: perflog ", 1)[1].split()
    assert suggested[-2:] == ["--margin", "30%"]
    (row,) = json.loads(run(*suggested, "-f", "json").stdout)["comparisons"][0]["rows"]
    assert (row["verdict"], row["in_rounds"]) == ("same", True)
    assert f", {100 * (row['ratio'] - 1):+.1f} % (" in done.stdout.replace("−", "-")


@pytest.mark.long
def test_a_failed_run_ends_its_case_alone(tmp_path: Path) -> None:
    old = str(campaign(tmp_path, "old", OLD, batches=(8, 16)))
    new = campaign(tmp_path, "new", NEW, batches=(8, 16), FAILS="new/logistic_b16_fp32_2")
    done = run("run", str(new), "--against", old, "--seed", "2")
    assert done.returncode == 3
    assert "same within 2 %" in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[1] == f"{CASES[1]}  failed: run 2 of the new side failed"
    assert "1 failed (--retry-failed runs them again)" in done.stderr
    verdicts = {
        row["case"]["batch_size"]: row["verdict"]
        for row in compared(tmp_path / "logs/old", tmp_path / "logs/new")["rows"]
    }
    assert verdicts[16] == "not enough data", "no run is left out in silence"
    campaign(tmp_path, "new", NEW, batches=(8, 16))
    again = run("run", str(new), "--against", old, "--retry-failed")
    assert again.returncode == 0, again.stderr
    assert "faster, +" in again.stdout.splitlines()[1]


def test_dry_run_prints_the_first_round_and_makes_nothing(tmp_path: Path) -> None:
    new, old = both(tmp_path)
    done = run("run", new, "--against", old, "--dry-run", "--seed", "5", "--max-runs", "9", "--max-hours", "2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("# 3 cases, in each round one run of either side")
    assert "when 9 runs a side are made, or 2 hours of training are spent: at most 54 runs" in lines[0]
    assert "the order within the rounds is that of --seed 5" in lines[1]
    named = [line.split()[1] for line in lines[2:] if line.startswith("# ")]
    assert named == [f"{side}/{turn.case}_1.log" for turn in turns(5, 1, CASES) for side in turn.order]
    assert f"RATES={NEW}" in done.stdout
    assert f"RATES={OLD}" in done.stdout
    assert not (tmp_path / "logs").exists()


def test_another_rule_or_other_logs_in_the_folder_are_refused(measured: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path) -> None:  # fmt: skip
    logs, _ = measured
    shutil.copytree(logs, tmp_path / "logs")
    new, old = both(tmp_path)
    for more, text in (
        (["--margin", "1%"], "was begun with --margin 2%, and is now asked for with --margin 1%;"),
        (["--seed", "6"], "was begun with --seed 5, and is now asked for with --seed 6;"),
        (["--only", "batch_size=8"], f"asked for with the cases {CASES[0]};"),
    ):
        done = run("run", new, "--against", old, *more)
        assert (done.returncode, text in done.stderr) == (2, True), done.stderr
    for machine in (tmp_path / "logs").rglob("machine.json"):
        machine.unlink()
    done = run("run", new, "--against", old)
    assert "its logs are of no measurement with --against; use another folder (--logs)" in done.stderr


def test_the_rule_stays_in_the_folder_when_a_plain_campaign_adds_to_it(measured: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path) -> None:  # fmt: skip
    logs, _ = measured
    shutil.copytree(logs / "new", tmp_path / "new")
    file = campaign(tmp_path, "more", NEW, batches=(64,)).read_text().replace(NEW, f"{NEW},64=100")
    (tmp_path / "more.toml").write_text(file)
    done = run("run", str(tmp_path / "more.toml"), "--logs", str(tmp_path / "new"), "--repeats", "1")
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "new" / "machine.json").read_text())
    assert (facts["sequential"]["seed"], facts["sequential"]["side"]) == (5, "new")


def test_the_old_side_may_be_an_environment(tmp_path: Path) -> None:
    file = campaign(tmp_path, "new", NEW, batches=(8,))
    environment = tmp_path / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    plan = plan_measurement(file, environment)
    assert plan.sides["old"].campaign.pythons == {"paced_runner": str(environment / "bin" / "python")}
    assert plan.sides["new"].campaign.pythons == {}
    assert {side: schedule.campaign.logs for side, schedule in plan.sides.items()} == {
        "old": tmp_path / "logs" / "old", "new": tmp_path / "logs" / "new",
    }  # fmt: skip


def test_cases_of_one_side_alone_are_named(tmp_path: Path) -> None:
    new = campaign(tmp_path, "new", NEW, batches=(8, 16))
    plan = plan_measurement(new, campaign(tmp_path, "old", OLD, batches=(8, 32)))
    assert (plan.cases, plan.alone) == ((CASES[0],), {CASES[2]: "old", CASES[1]: "new"})
    done = run("run", str(new), "--against", str(tmp_path / "old.toml"), "--dry-run")
    assert f"not measured: {CASES[2]} is on the old side alone" in done.stderr


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    new = campaign(tmp_path, "new", NEW, batches=(8,))
    with pytest.raises(UsageError, match="have no case in common"):
        plan_measurement(new, campaign(tmp_path, "other", OLD, batches=(16,)))
    with pytest.raises(UsageError, match=r"steps = 25, and .*new.toml has steps = 20"):
        plan_measurement(new, campaign(tmp_path, "longer", OLD, batches=(8,), steps=25))
    with pytest.raises(UsageError, match=r"expected a campaign file .*, the folder of a Python environment"):
        plan_measurement(new, tmp_path / "nothing")
    for words, text in (
        (["--against", str(new), "--repeats", "3"], "--repeats has no meaning with --against"),
        (["--against", str(new), "--slurm"], "--slurm has no meaning with --against"),
        (["--max-runs", "5"], "--max-runs is for measurements with --against OLD"),
        (["--seed", "5"], "--seed is for measurements with --against OLD"),
        (["--against", str(new), "--margin", "x"], "expected a share such as 2%"),
    ):
        done = run("run", str(new), *words)
        assert (done.returncode, " ".join(done.stderr.split())) == (2, " ".join(done.stderr.split()))
        assert text in " ".join(done.stderr.replace("│", " ").split()), done.stderr


def test_a_smaller_budget_than_what_is_there_changes_no_verdict(measured: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path) -> None:  # fmt: skip
    logs, done = measured
    shutil.copytree(logs, tmp_path / "logs")
    new, old = both(tmp_path)
    assert plan_measurement(new, old, budget=Budget(4)).budget.runs == 4
    again = run("run", new, "--against", old, "--max-runs", "4", "--quiet")
    assert again.stdout == done.stdout
