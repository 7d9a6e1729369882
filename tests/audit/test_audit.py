"""Audit: tables as people write them are read, each verdict is shown once, and nothing true is called wrong."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from perflog.audit import Judgement, audit, documents
from perflog.audit.agreement import consistent, rounds_to
from perflog.audit.claims import claims
from perflog.audit.document import read_document
from perflog.audit.report import markdown, pairs
from perflog.audit.words import column, facts_of, missing, printed, unit_of
from perflog.cli import app
from perflog.logs.find import find_logs
from tests.support import CORPUS, FIXTURES, ROOT, SHARED, catalog, needs_corpus, options

LOGS = FIXTURES / "seed004"
#: The report of the synthetic campaign: true in every cell.
REPORT = """\
# MindSpore ResNet50 report
## FP32, batch size = 128
| node_num | gpu_num | samples/s | speedup |
| -------- | ------- | --------- | ------- |
| 1        | 1       | 369.81    | 1       |
| 1        | 2       | 710.68    | 1.92    |
| 1        | 4       | 1418.66   | 3.84    |
| 1        | 8       | 2773.82   | 7.50    |
| 2        | 16      | 5483.22   | 14.83   |
| 4        | 32      | 10731.78  | 29.02   |
## FP16, batch size = 256
| node_num | gpu_num | samples/s |
| -------- | ------- | --------- |
| 1        | 1       | 1116.00   |
| 1        | 8       | 6867.34   |
"""


def audited(folder: Path, *edits: tuple[str, str], logs: Path = LOGS, report: str = REPORT) -> list[Judgement]:
    for old, new in edits:
        assert old in report
        report = report.replace(old, new, 1)
    (folder / "README.md").write_text(report, encoding="utf-8")
    return audit(documents([folder]), find_logs([logs]), catalog(), options())


def only(made: list[Judgement], cell: str) -> Judgement:
    (found,) = [one for one in made if one.claim.text == cell]
    return found


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ("GPU=8,BS=256", {"devices": 8, "batch_size": 256}),
        (
            "V100-单机八卡 bs=96、AMP",
            {"accelerator": "V100", "nodes": 1, "devices": 8, "batch_size": 96, "precision": "amp"},
        ),
        ("4机32卡、FP32", {"nodes": 4, "devices": 32, "precision": "fp32"}),
        ("NGC TensorFlow 1.15", {"framework": "TensorFlow"}),
        ("FP32 and AMP", {"precision": None}),
        (
            "ResNet50_bs256_pure_fp16_DP_N1C8",
            {"batch_size": 256, "precision": "pure_fp16", "nodes": 1, "devices_per_node": 8, "model": "resnet50"},
        ),
        ("2n8g", {"nodes": 2, "devices_per_node": 8}),
        ("a plain sentence about 8 things", {}),
    ],
)
def test_facts_of_words(words: str, facts: dict[str, object]) -> None:
    assert facts_of(words) == facts


@pytest.mark.parametrize(
    ("cell", "value", "decimals", "rest"),
    [
        ("1438.518(O2)", 1438.518, 3, "(O2)"),
        ("<sup>378599</sup>", 378599.0, 0, ""),
        ("[12411.97](./OneFlow)", 12411.97, 2, ""),
        ("15724.70<br>bsz=160", 15724.7, 2, "bsz=160"),
        ("1,516", 1516.0, 0, ""),
        ("**40%**", 40.0, 0, "%"),
        ("1.5e3", 1500.0, -2, ""),
    ],
)
def test_numbers_of_cells(cell: str, value: float, decimals: int, rest: str) -> None:
    found = printed(cell)
    assert found is not None
    assert abs(found.value - value) < 1e-9 and (found.decimals, found.rest) == (decimals, rest)


@pytest.mark.parametrize("cell", ["", "-", "--", "——", "N/A", "OOM", " / "])
def test_missing_cells(cell: str) -> None:
    assert missing(cell)


def test_no_number() -> None:
    assert printed("1n_8g") is None and printed("FP32") is None and not missing("1n_8g")


@pytest.mark.parametrize(
    ("heading", "key", "quantity", "unit"),
    [
        ("卡数", "devices", "", ""),
        ("gpu_num_per_node", "devices_per_node", "", ""),
        ("FP32(BS=256)", "", "", ""),
        ("OneFlow samples/s（max bsz=96）", "", "throughput", "samples/s"),
        ("AMP speedup<br>bsz=256", "", "speedup", ""),
        ("latency(ms)", "", "step_time", ""),
        ("Time2Train(sec)", "", "time_to_train", ""),
        ("Source", "other", "", ""),
        ("参数", "text", "", ""),
    ],
)
def test_columns(heading: str, key: str, quantity: str, unit: str) -> None:
    found = column(heading)
    assert (found.key, found.quantity, found.unit) == (key, quantity, unit)


def test_units_in_text() -> None:
    assert [unit_of(t) for t in ("单位：`images/sec`", "(单位： |tokens/s)", "and/or", "word/sec")] == [
        "images/s",
        "tokens/s",
        "",
        "words/s",
    ]


def test_tables_that_break_the_rules(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "# Paddle ResNet50\n> 单位： samples/sec\n\n   |卡数 | FP32(BS=4) | AMP(BS=4)\n   |:-----:|:-----:|:-----:|:-----:|\n   |8 | 44.39 | - | - |\n"
        "```\n| no | table |\n|--|--|\n| 1 | 2 |\n```\n",
        encoding="utf-8",
    )
    (cell,) = claims(read_document(tmp_path / "README.md"), tmp_path)
    assert (cell.line, cell.text, cell.quantity, cell.unit, cell.reason) == (6, "44.39", "throughput", "samples/s", "")
    assert cell.facts == {
        "devices": 8,
        "precision": "fp32",
        "batch_size": 4,
        "framework": "PaddlePaddle",
        "model": "resnet50",
    }


number = st.floats(0.01, 1e6).flatmap(lambda v: st.integers(0, 3).map(lambda d: f"{v:.{d}f}"))


@given(st.floats(0.01, 1e5), st.integers(0, 3))
def test_a_number_rounds_to_its_own_printing(value: float, decimals: int) -> None:
    shown = printed(f"{value:.{decimals}f}")
    assert shown is not None and rounds_to(value, shown)
    assert not rounds_to(value + 1.6 * 10.0**-decimals, shown)


@given(number, number)
def test_consistency_is_mutual(one: str, other: str) -> None:
    a, b = printed(one), printed(other)
    assert a is not None and b is not None
    assert consistent(a, b) == consistent(b, a) and consistent(a, a)


# ---------------------------------------------------------------- verdicts


def test_a_true_report_is_reproduced(tmp_path: Path) -> None:
    made = audited(tmp_path)
    assert Counter(one.verdict for one in made) == {"reproduced": len(made)} and len(made) == 14
    one = only(made, "10731.78")
    assert one.detail == "the rule dlperf-mindspore gives 10731.78007" and len(one.sources) == 5
    assert only(made, "29.02").detail == "the table's own 10731.78 (line 10) over 369.81 (line 5)"


@pytest.mark.parametrize(
    ("old", "new", "verdict", "words"),
    [
        ("5483.22", "5600.11", "differs", "(+2.13 %)"),
        (
            "5483.22",
            "5438.22",
            "slip",
            "two digits in the wrong order: the rule dlperf-mindspore gives 5483.22, printed is 5438.22",
        ),
        ("5483.22", "5983.22", "slip", "one digit"),
        ("5483.22", "583.22", "slip", "a digit lost"),
        ("5483.22", "548.322", "slip", "the decimal point"),
        ("5483.22", "342.70", "slip", "one device's rate instead of 16 devices'"),
        ("5483.22", "5483.23", "within rounding", "one off in the last digit"),
        ("5483.22", "5480", "within rounding", "rounded to 10s"),
        ("14.83 ", "14.38 ", "slip", "two digits in the wrong order"),
        ("14.83 ", "15.5  ", "differs", "over 369.81 (line 5) is 14.83"),
        ("5483.22", "fast", "not understood", "the cell holds no number: 'fast'"),
        ("5483.22", "12057.38", "slip", "the same number stands at"),
    ],
)
def test_a_wrong_cell(tmp_path: Path, old: str, new: str, verdict: str, words: str) -> None:
    report = REPORT + "| 2        | 16      | 12057.38  |\n"
    made = audited(tmp_path, (old, new), report=report)
    (one,) = [one for one in made if one.claim.line == 9 and one.claim.text == new.strip()]
    assert one.verdict == verdict
    assert words in " ".join((one.detail, *one.suspicions))
    others = [o for o in made if o.claim.line != 9]
    assert all(other.verdict == "reproduced" for other in others)


def test_no_log(tmp_path: Path) -> None:
    made = audited(tmp_path, ("| 4        | 32 ", "| 8        | 64 "))
    assert only(made, "10731.78").verdict == "no log"
    assert "devices=64" in only(made, "10731.78").detail


def test_a_linked_log_that_is_not_there_is_named(tmp_path: Path) -> None:
    made = audited(tmp_path, ("## FP16", "- [4机32卡 FP32 bs=128](./logs/gone_fp32.log)\n## FP16"))
    assert only(made, "10731.78").verdict == "no log"
    assert "its log is not there: ./logs/gone_fp32.log (linked at" in only(made, "10731.78").detail


def test_cells_that_contradict_each_other(tmp_path: Path) -> None:
    again = "## FP32 bs=128 again\n| gpu_num | images/s |\n|--|--|\n| 8 | 2700.5 |\n| 32 | 10731.8 |\n"
    made = audited(tmp_path, report=REPORT + again)
    one = only(made, "2700.5")
    assert one.verdict == "differs" and [cell.text for cell in one.contradicts] == ["2773.82"]
    assert only(made, "2773.82").verdict == "reproduced"
    assert only(made, "10731.8").verdict == "reproduced" and len(pairs(made)) == 1
    without = audited(tmp_path, report=REPORT + again, logs=FIXTURES / "seed000")
    assert only(without, "2700.5").verdict == only(without, "2773.82").verdict == "contradicts"


def test_what_is_left_open_contradicts_only_what_it_cannot_be(tmp_path: Path) -> None:
    """A cell that does not say its GPU may be of either; it contradicts when it is neither's number."""
    table = "\n|卡数 | FP32(BS=96) |\n|--|--|\n|8 | {} |\n"
    body = (
        "# Paddle BERT\n单位：sequences/sec\n## V100" + table.format("1320.939") + "## A100" + table.format("7004.399")
    )
    for value, count in (("1320.94", 0), ("7004.4", 0), ("1288.50", 1)):
        made = audited(
            tmp_path, report=body + "## summary sequences/sec" + table.format(value), logs=FIXTURES / "seed000"
        )
        assert len(pairs(made)) == count


def test_a_reports_own_links_choose_between_logs(tmp_path: Path) -> None:
    """Two logs of one configuration: the linked one is the report's."""
    source = FIXTURES / "seed001" / "GPUx8_time2train_ips-bs8.log"
    for name, rate in (("a_gpu8_bs8.log", "1"), ("b_gpu8_bs8.log", "2")):
        (tmp_path / name).write_text(
            source.read_text(encoding="utf-8").replace("ips: ", f"ips: {rate}"), encoding="utf-8"
        )
    report = "# Paddle\n单位：samples/sec\n|卡数 | BS=8 |\n|--|--|\n|8 | {} |\n- [8卡 BS=8](./a_gpu8_bs8.log)\n"
    verdicts = {}
    for value in ("112.0000", "212.0000"):
        (one,) = audited(tmp_path, report=report.format(value), logs=tmp_path)
        verdicts[value] = one.verdict
        assert all("a_gpu8" in source for source in one.sources)
    assert set(verdicts.values()) <= {"reproduced", "differs", "slip"} and verdicts["212.0000"] != "reproduced"


# ---------------------------------------------------------------- seeds and corpus


@pytest.mark.parametrize(
    ("seed", "count", "more"),
    [
        ("000", 4, []),
        ("001", 9, []),
        ("002", 8, []),
        ("003", 2, ["-s", "devices=32", "-s", "batch_size=16"]),
        ("004", 24, []),
    ],
)
def test_the_seeds_are_true_of_their_logs(seed: str, count: int, more: list[str]) -> None:
    if not (SHARED / "seeds").is_dir():
        pytest.skip("the seeds (../shared/seeds) are not here")
    file = next((SHARED / "seeds").glob(f"{seed}_*"))
    done = CliRunner().invoke(app, ["audit", str(file), "--logs", str(FIXTURES / f"seed{seed}"), "-f", "json", *more])
    assert done.exit_code == 0, done.output
    total = json.loads(done.output)["counts"]
    assert total["reproduced"] + total["within rounding"] == count == sum(total.values())


@needs_corpus
def test_published_cells_of_the_corpus() -> None:
    """Every cell whose value is that of an exact row is reproduced; the rest is told with what its log gives, or that it is not there."""
    folder = CORPUS / "paddle-perf-2.5"
    made = audit(documents([folder]), find_logs([folder]), catalog(), options())
    with (CORPUS / "published.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            row for row in csv.DictReader(file) if row["log"].startswith(f"{folder.name}/") and row["published_value"]
        ]
    exact, logs = 0, 0
    for row in rows:
        cells = [
            one
            for one in made
            if one.claim.number is not None and one.claim.number.value == float(row["published_value"])
        ]
        if row["match"] == "exact":
            assert all(one.verdict == "reproduced" for one in cells), row["log"]
            exact, logs = exact + len(cells), logs + bool(cells)
        else:
            own = [
                one
                for one in cells
                if one.claim.path.parts[-2] in row["log"] and any(row["log"] in source for source in one.sources)
            ]
            assert own and all(one.value is not None and one.value.value for one in own), row["log"]
    assert (exact, logs) == (123, 59)
    newer = [one for one in made if one.claim.facts.get("accelerator") == "A100"]
    assert len(newer) == 68 and {one.verdict for one in newer} == {"no log"}
    assert len(pairs(made)) == 57
    assert Counter(one.verdict for one in made) == {
        "reproduced": 128, "no log": 125, "differs": 37, "contradicts": 20, "within rounding": 6, "slip": 4,
    }  # fmt: skip


@needs_corpus
def test_an_older_log_explains_a_stale_cell() -> None:
    made = audit(
        [CORPUS / "paddle-perf-2.5/README.md"],
        find_logs([CORPUS / "paddle-perf-2.5", CORPUS / "paddle-perf-2.3"]),
        catalog(),
        options(),
    )
    one = only(made, "389.12")
    assert (
        one.verdict == "reproduced"
        and "paddle-perf-2.3" in one.sources[0]
        and "the nearest log does not give it" in one.notes[0]
    )


# ---------------------------------------------------------------- the command


def test_the_command(tmp_path: Path) -> None:
    shutil.copytree(LOGS / "logs_fp32", tmp_path / "logs_fp32")
    (tmp_path / "README.md").write_text(REPORT.split("## FP16")[0], encoding="utf-8")
    true = CliRunner().invoke(app, ["audit", str(tmp_path / "README.md")])
    assert true.exit_code == 0 and true.output == "12 cells: 12 reproduced\n"
    (tmp_path / "README.md").write_text(REPORT.split("## FP16")[0].replace("5483.22", "5438.22"), encoding="utf-8")
    wrong = CliRunner().invoke(app, ["audit", str(tmp_path), "-f", "json"])
    assert wrong.exit_code == 1
    (cell,) = [
        cell
        for cell in json.loads(wrong.output)["cells"]
        if cell["verdict"] == "slip" and cell["quantity"] == "throughput"
    ]
    assert (
        cell["line"] == 9
        and cell["configuration"]["devices"] == 16
        and len(cell["sources"]) == 5
        and cell["suspicions"]
    )
    page = CliRunner().invoke(app, ["audit", str(tmp_path), "-f", "markdown", "-o", str(tmp_path / "out.md")])
    assert page.exit_code == 1 and "| verdict" in (tmp_path / "out.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.md"], "no such file or folder"),
        (["{f}"], "no Markdown file in this folder"),
        (["{f}/parsers.bin"], "not UTF-8 text"),
        (["{f}", "-f", "xml"], "expected one of text"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "parsers.bin").write_bytes(b"\xff\xfe\x00")
    done = CliRunner().invoke(app, ["audit", *(a.format(f=tmp_path) for a in arguments)])
    assert words in str(done.exception)


def test_a_readme_without_results(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("hello | world\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["audit", str(tmp_path)])
    assert (done.exit_code, done.output) == (0, "no table with a number in it found\n")


def test_no_text_of_a_report_breaks_the_page(tmp_path: Path) -> None:
    page = markdown(audited(tmp_path, ("5483.22", "5<b>`x`[y](javascript:z)")), everything=False)
    (row,) = [line for line in page.splitlines() if "README.md:9" in line and "samples/s" in line]
    assert "| 5 xy " in row and len(re.split(r"(?<!\\)\|", row)) == 7


def test_the_page_of_the_documentation_is_true() -> None:
    if not CORPUS.is_dir():
        pytest.skip("the corpus of real logs (../shared/corpus) is not here")
    page = ROOT / "docs/audit-paddle-perf.md"
    done = subprocess.run(
        [sys.executable, "-m", "perflog", "audit", ".", "-f", "markdown"],
        cwd=CORPUS / "paddle-perf-2.5",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and done.stdout == page.read_text(encoding="utf-8")
