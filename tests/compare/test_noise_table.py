"""The table of noise and plans: which cases, in which order, with which columns."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import perflog
from perflog.cli import app
from tests.campaigns import write_run

#: Rates of the runs of each case: the spread of the first is the larger one by far.
RATES = {"1n1g": (100.0, 104.0, 96.0, 102.0, 98.0), "1n8g": (800.0, 801.0, 799.0, 800.5, 799.5)}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for place, rates in RATES.items():
        for number, rate in enumerate(rates, 1):
            write_run(tmp_path / "logs" / place / f"rn50_b128_fp32_{number}.log", [rate] * 60)
    return tmp_path / "logs"


def printed(*words: object) -> str:
    done = CliRunner().invoke(app, [*map(str, words), "--quiet"])
    assert done.exit_code == 0, done.output
    return done.stdout


def lines(*words: object) -> list[list[str]]:
    """The cells of a table's headings and rows, where no cell has a blank."""
    text = printed(*words).partition("spread between")[0]
    return [line.split() for line in text.splitlines() if line and not line.startswith("─")]


def test_where_takes_cases_and_the_table_counts_them_alone(logs: Path) -> None:
    text = printed("noise", logs, "--where", "devices=8")
    assert "calls one changed case alone" in text and "calls one changed case of 2" in printed("noise", logs)
    (case,) = json.loads(printed("noise", logs, "--where", "devices=8", "--format", "json"))["cases"]
    assert case["case"]["devices"] == 8
    assert [own["case"]["devices"] for own in perflog.noise(logs, where={"devices": 8})._rows()] == [8]
    assert len(perflog.plan(logs, where={"devices": 1}).cases) == 1


@pytest.mark.parametrize(
    ("order", "devices"),
    [("spread", ["8", "1"]), ("-spread", ["1", "8"]), ("-devices", ["8", "1"]), ("-throughput", ["8", "1"])],
)
def test_sort(logs: Path, order: str, devices: list[str]) -> None:
    _, *rows = lines("noise", logs, "--sort", order, "--columns", "devices,spread")
    assert [row[0] for row in rows] == devices
    written = json.loads(printed("plan", logs, "--sort", order, "--format", "json"))["cases"]
    assert [str(case["case"]["devices"]) for case in written] == devices


def test_columns_and_wide(logs: Path) -> None:
    assert lines("noise", logs, "--columns", "n,devices,unit") == [
        ["n", "devices", "unit"], ["5", "1", "images/s"], ["5", "8", "images/s"]
    ]  # fmt: skip
    headings = printed("plan", logs, "--wide").splitlines()[0]
    assert "precision" in headings and "devices" in headings and "case" not in headings.split()
    rows = list(csv.DictReader(io.StringIO(printed("plan", logs, "--columns", "devices,pooled", "--format", "csv"))))
    assert rows == [{"devices": "1", "pooled": "false"}, {"devices": "8", "pooled": "false"}]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--columns", "spraed"], "--columns 'spraed': no case has such a field; did you mean spread?"),
        (["--sort", "spraed"], "--sort 'spraed': no case has such a field; did you mean spread?"),
        (["--columns", "pooledd", "--format", "csv"], "did you mean pooled?"),
        (["--where", "devices=2"], "--where devices=2: no case has that value; there are 1, 8"),
    ],
)
def test_wrong_names(logs: Path, words: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["noise", str(logs), *words])
    assert message in str(done.exception)


def test_runs_needed_is_no_column_where_nothing_is_planned(logs: Path) -> None:
    done = CliRunner().invoke(app, ["noise", str(logs), "--columns", "runs_needed"])
    assert "--columns 'runs_needed': no case has such a field" in str(done.exception)
    assert lines("plan", logs, "--columns", "devices,runs_needed")[1:][1][0] == "8"
