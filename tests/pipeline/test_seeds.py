"""The campaigns of the five seeds, synthesised in fixtures/, give the numbers that were published."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from fixtures.generate import FP16, everything
from perflog.extraction import Extraction
from perflog.show.exchange import dlperf_console, dlperf_result
from tests.forks import perflog
from tests.support import FIXTURES, SHARED, extracted

BZ128 = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128"
#: Seed 004, `Result`: case, average, median, speedup.
PUBLISHED = [
    ("1n1g", 370.03, 369.81, 1.0), ("1n2g", 710.28, 710.68, 1.92), ("1n4g", 1418.75, 1418.66, 3.84),
    ("1n8g", 2774.29, 2773.82, 7.5), ("2n8g", 5484.4, 5483.22, 14.83), ("4n8g", 10737.79, 10731.78, 29.02),
]  # fmt: skip


def seed004() -> Extraction:
    return extracted(BZ128, warmup=100, steps=100)


def test_fixtures_are_as_generated() -> None:
    wrong = [name for name, text in everything() if (FIXTURES / name).read_text(encoding="utf-8") != text]
    assert wrong == []


def test_seed_004_medians_averages_and_speedups() -> None:
    result = dlperf_result(seed004())["rn50"]
    found = [(case, row["average_speed"], row["median_speed"], row["speedup"]) for case, row in result.items()]
    assert found == PUBLISHED
    assert {row["batch_size_per_device"] for row in result.values()} == {128}


def test_seed_004_in_dlperfs_own_format() -> None:
    """Line for line what the seed prints, the logs sorted and at this checkout's path."""
    seed = SHARED / "seeds/004_1779641fe78de721.txt"
    if not seed.is_file():
        pytest.skip("the seeds (../shared/seeds) are not here")
    block = seed.read_text(encoding="utf-8").split("输出：\n\n```shell\n")[1].split("\n```")[0].splitlines()
    printed = dlperf_console(seed004(), "./result/bz128_result.json").splitlines()
    assert [line for line in printed if ".log {" not in line] == [line for line in block if ".log {" not in line]
    # the last line of each case holds all its speeds; there their order is the file system's
    theirs = {line.split(" {")[0].rsplit("/", 2)[1]: line for line in block if ".log {" in line}
    ours = {line.split(" {")[0].rsplit("/", 2)[1]: line for line in printed if ".log {" in line}
    for case, line in ours.items():
        speeds = dict(part.split(": ") for part in line.split("{")[1].rstrip("}").split(", "))
        assert speeds == dict(part.split(": ") for part in theirs[case].split("{")[1].rstrip("}").split(", "))
        assert list(speeds) == ["1", "2", "3", "4", "5"]


def test_seed_004_fp16() -> None:
    extraction = extracted(FIXTURES / "seed004/logs_fp16", warmup=100, steps=100)
    medians = {
        f"{c.key['nodes']}n{int(c.key['devices']) // int(c.key['nodes'])}g": round(c.throughput.value or 0, 2)
        for c in extraction.cases
    }
    assert medians == FP16
    assert [f"{c.speedup:.2f}" for c in extraction.cases] == ["1.00", "1.85", "3.65", "6.15", "10.80", "21.67"]


def test_seed_000_table() -> None:
    extraction = extracted(FIXTURES / "seed000")
    found = {(c.key["precision"], c.key["batch_size"]): f"{c.throughput.value:.1f}" for c in extraction.cases}
    assert found == {("fp32", 2): "9.2", ("fp32", 4): "9.8", ("amp", 2): "10.4", ("amp", 4): "12.5"}


def test_seed_001_table() -> None:
    extraction = extracted(FIXTURES / "seed001", baseline={"devices": "1"})
    by_devices = {c.key["devices"]: c for c in extraction.cases}
    assert {d: round(c.throughput.value or 0) for d, c in by_devices.items()} == {1: 17, 8: 96, 32: 272}
    assert [f"{by_devices[d].speedup:.4g}" for d in (8, 32)] == ["5.647", "16"]
    assert by_devices[8].metrics["time_to_train"].value == 82322.66
    assert by_devices[32].metrics["time_to_train"].value == 22300.63
    assert by_devices[8].metrics["accuracy"].value in (0.793, 79.3)


def test_seed_002_two_runs_in_one_log() -> None:
    extraction = extracted(FIXTURES / "seed002", estimator="reported")
    found = {(c.key["precision"], c.key["batch_size"], c.key["devices"]): c.throughput.value for c in extraction.cases}
    assert found == {
        ("fp32", 128, 1): 381.46, ("fp32", 128, 8): 2948.2, ("fp32", 256, 1): 384.72, ("fp32", 256, 8): 2987.9,
        ("fp16", 128, 1): 1316.7, ("fp16", 128, 8): 9500.5, ("fp16", 256, 1): 1412, ("fp16", 256, 8): 10440,
    }  # fmt: skip


def test_seed_003_tables() -> None:
    (case,) = extracted(FIXTURES / "seed003", set={"devices": "32", "batch_size": "16"}).cases
    assert f"{case.throughput.value:.3f}" == "1380.045"
    assert case.metrics["accuracy"].value == 71.199


def test_main_command_as_a_user_types_it(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    logs = "fixtures/seed004/logs_fp32/mindspore/resnet50/bz128"
    done = perflog("extract", logs, "-w", "100", "-n", "100", "--format", "dlperf", "-o", str(out))
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].endswith("1n1g/rn50_b128_fp32_1.log {1: 371.01}")
    assert json.loads(out.read_text())["rn50"]["4n8g"]["speedup"] == 29.02


def test_every_campaign_says_what_it_was_made_from() -> None:
    sides = sorted(FIXTURES.glob("seed00*/**/SOURCE.toml"))
    assert len(sides) == 8
    for side in sides:
        data = tomllib.loads(side.read_text(encoding="utf-8"))
        assert data["synthetic"] is True
        assert data["made_from"].startswith("seed 00")
