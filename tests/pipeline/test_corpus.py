"""Real logs with published results: every cell that a rule reproduces is reproduced to its last digit."""

from __future__ import annotations

import csv
import math
import re
from functools import lru_cache
from typing import Any

import pytest

from perflog.show.exchange import plain_mean, rounded
from perflog.stats.centre import median, olympic
from tests.support import CORPUS, extracted, needs_corpus

pytestmark = needs_corpus

#: The rule in published.csv and what of perflog reproduces it: a shipped convention.
CONVENTIONS = [
    ("paddleclas", r"trimmed mean\(ips, skip first 10", "paddle-perf-paddleclas-2023"),
    ("paddleclas", r"mean\(ips, skip first 10", "paddle-perf-paddleclas-2022"),
    ("paddlenlp-bert", r"trimmed mean\(ips, skip first 10", "paddle-perf-paddlenlp-bert-2023"),
    ("paddlenlp-bert", r"mean\(ips, skip first 10", "paddle-perf-paddlenlp-bert-2022"),
    ("paddlenlp-transformer", r"trimmed mean\(ips, skip first 5", "paddle-perf-paddlenlp-transformer-2023"),
    ("paddlenlp-transformer", r"mean\(ips, skip first 1\)", "paddle-perf-paddlenlp-transformer-2021"),
    ("paddleseg", r"trimmed mean\(ips, skip first 2", "paddle-perf-paddleseg-2023"),
    ("paddleseg", r"mean\(ips, skip first 5", "paddle-perf-paddleseg-2022"),
    ("mmseg", r"mean\(time, skip first 2 ", "paddle-perf-mmseg-2022-02"),
    ("mmseg", r"mean\(time, skip first 5 ", "paddle-perf-mmseg-2022"),
    ("", r"program summary", "paddle-perf-summary"),
    ("dllogger-pyt-rn50", r"last 90 of", "paddle-perf-ngc-pytorch-rn50-1gpu"),
    ("dllogger-pyt-rn50", r"last 55 of", "paddle-perf-ngc-pytorch-rn50-8gpu"),
    ("dllogger-tf-rn50", r"last 25 of", "paddle-perf-ngc-tf-rn50"),
    ("ngc-transformer-pyt", r"last 3000 of", "paddle-perf-ngc-transformer-1gpu"),
    ("ngc-transformer-pyt", r"last 350 of", "paddle-perf-ngc-transformer-8gpu"),
    ("ngc-bert-tf", r"skip first 10", "paddle-perf-ngc-tf-bert-2022-32gpu"),
    ("ngc-bert-tf", r"skip first 9", "paddle-perf-ngc-tf-bert-2022-32gpu-fp32"),
    ("ngc-bert-tf", r"incl\. warm-up", "paddle-perf-ngc-tf-bert-2023"),
]


@lru_cache(maxsize=1)
def published() -> list[dict[str, str]]:
    if not CORPUS.is_dir():
        return []
    with (CORPUS / "published.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def exact_rows() -> list[dict[str, str]]:
    return [row for row in published() if row["match"] == "exact"]


def cells() -> list[Any]:
    """All cells; of each convention the first is tried by `make test`."""
    rows = [(convention_of(row), row) for row in exact_rows()]
    first = {convention: row["log"] for convention, row in reversed(rows)}
    return [
        pytest.param(row, id=row["log"], marks=[] if first[convention] == row["log"] else [pytest.mark.long])
        for convention, row in rows
    ]


def convention_of(row: dict[str, str]) -> str:
    for family, rule, name in CONVENTIONS:
        if row["family"].startswith(family) and re.search(rule, row["rule"]):
            return name
    raise AssertionError(f"no convention for {row['family']}: {row['rule']}")


def agrees(value: float, printed: str) -> bool:
    """Whether ``value`` rounds or is truncated to the published digits (``42.0`` says no more than ``42``)."""
    text = printed.removesuffix(".0")
    digits = len(text.partition(".")[2])
    unit = 10.0**-digits
    return abs(value - float(printed)) <= unit / 2 + 1e-9 * value or math.floor(
        value / unit + 1e-9
    ) * unit == pytest.approx(float(printed), rel=1e-12)


def reproduced(row: dict[str, str]) -> bool:
    (run,) = extracted(CORPUS / row["log"], convention=convention_of(row)).runs
    value = run.throughput.value
    return value is not None and agrees(value, row["published_value"])


@pytest.mark.parametrize("row", cells())
def test_published_cell(row: dict[str, str]) -> None:
    assert reproduced(row)


def test_how_many_cells_of_how_many_families_are_held() -> None:
    families = [row["family"] for row in exact_rows()]
    assert (len(families), len(set(families))) == (74, 11)


def test_parameter_server_logs_parse() -> None:
    logs = [CORPUS / r["log"] for r in published() if r["family"] == "paddle-ps"]
    runs = extracted(*logs, warmup="0records").runs
    assert len(runs) == len(logs) == 5
    assert all(run.parser == "paddle_ps" and run.throughput.value for run in runs)


def test_dlperf_statistics() -> None:
    """90 cases: averages and speed-ups exactly, medians within 0.01 (ties of x.xx5 were rounded both ways)."""
    with (CORPUS / "dlperf_repeats.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    one = {(r["readme"], r["line"]): rounded(median(_values(r))) for r in rows if r["case"] == "1n1g"}
    for row in rows:
        digits = 4 if len(row["average_printed"].partition(".")[2]) > 2 else 2
        centre = rounded(median(_values(row)))
        assert rounded(plain_mean(_values(row)), digits) == float(row["average_printed"]), row
        assert centre == pytest.approx(float(row["median_printed"]), abs=0.0101), row
        assert rounded(centre / one[row["readme"], row["line"]]) == float(row["speedup_printed"]), row
    assert len(rows) == 90


def _values(row: dict[str, str]) -> list[float]:
    return [float(value) for value in row["values"].split()]


def test_lambda_published_totals() -> None:
    """README of lambda-tensorflow-benchmark: Quadro RTX 8000, one GPU: resnet50 and vgg16."""
    folder = CORPUS / "other/lambda-tensorflow"
    found = {c.key["model"]: c for c in extracted(folder, estimator="reported").cases if c.key["devices"] == 1}
    assert set(found) == {"resnet50", "vgg16"}
    assert all(c.throughput.value and c.throughput.unit == "images/s" for c in found.values())


def test_mlperf_time_to_train_is_the_olympic_mean() -> None:
    for folder in (
        "mlperf-v5.0/1xXE9712x4GB200_retinanet",
        "mlperf-v5.0/ESC_N8_E11_retinanet",
        "mlperf-v2.0/G492-ID0_mxnet_resnet",
    ):
        logs = sorted((CORPUS / "other" / folder).glob("result_*.txt"))
        assert len(logs) == 5
        seconds = [_run_time(log.read_text(encoding="utf-8", errors="replace")) for log in logs]
        (case,) = extracted(CORPUS / "other" / folder, convention="mlperf").cases
        assert case.metrics["time_to_train"].value == pytest.approx(olympic(seconds), rel=1e-12)


def _run_time(text: str) -> float:
    moments: dict[str, Any] = {}
    for key in ("run_start", "run_stop"):
        found = re.search(rf'"time_ms": (\d+), [^\n]*"key": "{key}"', text)
        assert found
        moments[key] = int(found[1])
    return float(moments["run_stop"] - moments["run_start"]) / 1000


def test_traps_of_the_cpu_runs() -> None:
    runs = CORPUS / "cpu-runs"

    def reason(*logs: str) -> list[str]:
        return [
            r.throughput.reason
            for r in extracted(
                *(runs / log for log in logs), warmup="1epochs", set={"batch_size": "16", "devices": "1"}
            ).runs
        ]

    assert all(
        "different records" in r
        for r in reason("mindspore/sink-1.out", "torch/mp/allranks-1.out", "mxnet/mp/launch-local-2.err")
    )
    torch = extracted(*sorted((runs / "torch/repeat5").glob("*.out"))).cases
    assert [round(r.throughput.value or 0) for r in torch[0].runs] == pytest.approx(
        [614, 633, 625, 660, 603], abs=15
    )  # reference/frameworks.md
