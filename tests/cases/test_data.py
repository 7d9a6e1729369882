"""The data that perflog's runners say they trained on: a fact of the run, in tables where it differs, else below them."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.notes import texts
from tests.support import FIXTURES, ROOT, extracted

SHORT = FIXTURES / "campaign/short/pytorch/cnn/bz16/1n1g"
FOLDERS = "image folders at /data/in;|$x$ small"
#: What a runner prints when its data are ready, with the layout that it found.
PRINTING = """
import argparse, sys
sys.path.insert(0, "runners")
import common
given = dict(batch_size=2, steps=3, image_size=4, classes=5, data=None)
common.Batches(argparse.Namespace(**given), 0, 1, {})
"""


def write(log: Path, data: str, source: Path = SHORT / "cnn_b16_fp32_1.log") -> Path:
    """A log of the short campaign, with the line of its data before it, and another text than its source."""
    log.parent.mkdir(parents=True, exist_ok=True)
    line = f"perflog runner: data: {data}\n" if data else ""
    log.write_text(f"{line}{source.read_text()}# {log}\n")
    return log


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """Two batch sizes: the one on made-up data, the other on a folder's."""
    write(tmp_path / "bz16/1n1g/cnn_b16_fp32_1.log", "synthetic")
    write(tmp_path / "bz32/1n1g/cnn_b32_fp32_1.log", FOLDERS)
    return tmp_path


def shown(*words: object) -> str:
    done = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "400"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_what_a_runner_prints_is_read(tmp_path: Path) -> None:
    printed = subprocess.run([sys.executable, "-c", PRINTING], cwd=ROOT, capture_output=True, text=True, check=True)
    log = tmp_path / "bz16/1n1g/cnn_b16_fp32_1.log"
    log.parent.mkdir(parents=True)
    log.write_text(printed.stdout + (SHORT / log.name).read_text())
    (run,) = extracted(log).runs
    assert (run.values["data"], run.metadata.sources["data"]) == ("synthetic", "log")
    assert run.throughput.value == extracted(SHORT / log.name).runs[0].throughput.value


def test_each_framework_of_the_runners_is_told(tmp_path: Path) -> None:
    for log in sorted((FIXTURES / "campaign/short").rglob("cnn_b16_fp32_1.log")):
        write(tmp_path / log.relative_to(FIXTURES / "campaign/short"), FOLDERS, log)
    extraction = extracted(tmp_path)
    assert {run.framework for run in extraction.runs} == {"PyTorch", "PaddlePaddle", "MXNet", "MindSpore"}
    assert {run.values.get("data") for run in extraction.runs} == {FOLDERS}


@pytest.mark.parametrize("line", ["syntheticEpoch 1", "unknown", "image folders at ", "the data: synthetic"])
def test_what_no_runner_prints_is_no_fact(tmp_path: Path, line: str) -> None:
    (run,) = extracted(write(tmp_path / "1n1g/cnn_b16_fp32_1.log", line)).runs
    assert "data" not in run.values


def test_runs_on_other_data_are_no_repeats(tmp_path: Path) -> None:
    for repeat, data in enumerate(["synthetic", "synthetic", FOLDERS], 1):
        log = f"cnn_b16_fp32_{repeat}.log"
        write(tmp_path / "mixed/bz16/1n1g" / log, data, SHORT / log)
        write(tmp_path / "one/bz16/1n1g" / log, "synthetic", SHORT / log)
    assert [len(case.runs) for case in extracted(tmp_path / "one").cases] == [3]
    mixed = extracted(tmp_path / "mixed").cases
    assert [(case.key["data"], len(case.runs)) for case in mixed] == [("synthetic", 1), ("synthetic", 1), (FOLDERS, 1)]
    assert all(any("they say different configurations" in note for note in texts(case.notes)) for case in mixed)


def test_a_start_that_failed_stands_with_the_runs_on_its_data(tmp_path: Path) -> None:
    write(tmp_path / "bz16/1n1g/cnn_b16_fp32_1.log", "synthetic")
    failed = tmp_path / "bz16/1n1g/cnn_b16_fp32_2.log.failed"
    failed.write_text("perflog runner: data: synthetic\nperflog run: OOM: line 1: no memory [PyTorch]\n")
    (case,) = extracted(tmp_path).cases
    assert [run.parser for run in case.runs][1:] == ["perflog_run"]


def test_where_data_differ_the_table_has_them(both: Path) -> None:
    lines = shown("extract", both, "--format", "markdown").splitlines()
    heading = next(line for line in lines if "| data" in line)
    cells = [cell.strip() for cell in heading.split("|")]
    rows = [line.replace(r"\|", "¦").split("|")[cells.index("data")].strip() for line in lines if line[:2] == "| "][1:]
    assert rows == ["synthetic", FOLDERS.replace("|", "¦").replace("$", r"\$")]
    assert "; data " not in "\n".join(lines)
    assert {row["data"] for row in csv.DictReader(io.StringIO(shown("extract", both, "-f", "csv")))} == {
        "synthetic", FOLDERS,
    }  # fmt: skip
    table = shown("table", both, "--rows", "framework", "--columns", "batch_size")
    assert "synthetic for framework=PyTorch, batch\\_size=16" in table
    assert "; data " not in table


def test_where_data_are_one_the_caption_says_which(both: Path, tmp_path: Path) -> None:
    told = "warm-up 20 steps; data synthetic; "
    assert told in shown("extract", both, "--where", "data=synthetic")
    assert told in shown("extract", both / "bz16")
    assert told in shown("table", both, "--where", "data=synthetic", "--rows", "framework", "--columns", "batch_size")
    shown("plot", both / "bz16", "-o", tmp_path / "picture.svg")
    assert told in (tmp_path / "picture.svg").read_text()
    shown("report", both / "bz16", "-o", tmp_path / "report.md")
    assert told in (tmp_path / "report.md").read_text()
    other = write(tmp_path / "none/1n1g/cnn_b16_fp32_1.log", "")
    assert "data" not in shown("extract", other)
    assert "; data " not in shown("extract", both / "bz16", other)  # the one does not say


def test_no_speedup_is_relative_to_other_data(tmp_path: Path) -> None:
    write(tmp_path / "bz16/1n1g/cnn_b16_fp32_1.log", "synthetic")
    write(tmp_path / "bz16/1n2g/cnn_b16_fp32_1.log", FOLDERS)
    one, two = extracted(tmp_path).cases
    assert (one.speedup, two.speedup) == (1.0, None)
    assert any(
        note.text.startswith("no speedup: the baseline (one device) differs in data (synthetic") for note in two.notes
    )


def test_a_comparison_pairs_the_same_data_alone(tmp_path: Path) -> None:
    for side, data in (("old", "synthetic"), ("new", FOLDERS)):
        for repeat in (1, 2, 3, 4):
            write(tmp_path / side / f"bz16/1n1g/cnn_b16_fp32_{repeat}.log", data)
    done = CliRunner().invoke(app, ["compare", str(tmp_path / "old"), str(tmp_path / "new")], env={"COLUMNS": "400"})
    assert f"data is synthetic and {FOLDERS}, which is other work" in done.stdout
    assert f"data is synthetic and {FOLDERS}" in shown(
        "compare", tmp_path / "old", tmp_path / "new", "--across", "data"
    )
