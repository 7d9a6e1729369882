"""The intervals of speedups and efficiencies, in every output that shows throughput's interval."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.stats.quotient import critical_value
from tests.campaigns import write_run

ONE, EIGHT = "1n1g/rn50_b128_fp32", "1n8g/rn50_b128_fp32"
SLOW, FAST = (130.0, 131.5, 129.4, 130.8), (1001.0, 995.0, 1010.0, 1003.0)


def printed(*arguments: object) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Four runs on one device and four on eight, each with steps of one rate: a run's value is that rate."""
    for name, rates in ((ONE, SLOW), (EIGHT, FAST)):
        for nth, rate in enumerate(rates, 1):
            write_run(tmp_path / "logs" / f"{name}_{nth}.log", [rate] * 60)
    return tmp_path / "logs"


@pytest.fixture
def wanted() -> tuple[float, float]:
    """The interval by hand, but for its critical value, which tests/stats/test_quotient.py holds to its coverage."""
    logs = [np.log(FAST), np.log(SLOW)]
    variances = [float(sample.var(ddof=1)) / len(sample) for sample in logs]
    half = critical_value(variances, [3, 3], 0.95) * sum(variances) ** 0.5
    centre = float(logs[0].mean() - logs[1].mean())
    return float(np.exp(centre - half)), float(np.exp(centre + half))


def cases_of(logs: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(printed("extract", logs, "-f", "json", "-q"))["cases"]
    return found


def test_json(logs: Path, wanted: tuple[float, float]) -> None:
    base, case = cases_of(logs)
    interval, efficiency = case["speedup_interval"], case["efficiency_interval"]
    assert [interval["low"], interval["high"], interval["level"]] == pytest.approx([*wanted, 0.95], rel=1e-6)
    assert [efficiency["low"], efficiency["high"]] == pytest.approx([end / 8 for end in wanted], rel=1e-6)
    assert case["no_interval"] is None
    assert (base["speedup"], base["speedup_interval"], base["efficiency_interval"]) == (1.0, None, None)
    assert base["no_interval"] == "the speedup of the baseline itself is 1 by definition, without an interval"


def test_csv(logs: Path, wanted: tuple[float, float]) -> None:
    base, case = csv.DictReader(io.StringIO(printed("extract", logs, "-f", "csv", "-q")))
    assert [float(case["speedup_low"]), float(case["speedup_high"])] == pytest.approx(wanted, rel=1e-6)
    assert [float(case["efficiency_low"]), float(case["efficiency_high"])] == pytest.approx(
        [end / 8 for end in wanted], rel=1e-6
    )
    assert base["speedup_low"] == base["efficiency_high"] == ""


def test_the_tables_style_that_shows_intervals(logs: Path, wanted: tuple[float, float]) -> None:
    table = printed(
        "table",
        logs,
        "--rows",
        "devices",
        "--value",
        "throughput,speedup,efficiency",
        "--style",
        "intervals",
        "--notes",
        "-q",
    )
    eight = next(line for line in table.splitlines() if line.startswith("| 8 "))
    found = [tuple(map(float, ends)) for ends in re.findall(r"\[([\d.]+), ([\d.]+)\]", eight.replace("\\", ""))]
    assert found[1] == pytest.approx(wanted, rel=5e-4)
    assert found[2] == pytest.approx([end / 8 for end in wanted], rel=5e-4)
    assert found[0] == (min(FAST), max(FAST)) and "87.5%" in eight and eight.count("95%") == 2
    assert "the speedup of the baseline itself is 1 by definition" in table


def test_too_few_runs_are_said(logs: Path) -> None:
    (logs / f"{EIGHT}_4.log").unlink()
    case = cases_of(logs)[1]
    why = "no interval of the speedup: it needs 4 runs of the case and of its baseline"
    assert (case["speedup_interval"], case["no_interval"]) == (None, why)
    assert why in printed("extract", logs, "--notes", "-q")
    assert why not in printed("extract", logs, "-q")


def test_the_panel_of_the_page(logs: Path, wanted: tuple[float, float], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    printed("report", logs, "-o", page, "-q")
    low, high = (f"{end:.4g}" for end in wanted)
    assert f"[{low}, {high}] 95%" in page.read_text(encoding="utf-8")
