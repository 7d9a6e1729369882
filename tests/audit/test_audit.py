"""Audit: tables as people write them are read, each verdict is shown once, and nothing true is called wrong."""

from __future__ import annotations

import csv
import json
import re
import shutil
import tempfile
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from perflog.api import json_schema
from perflog.audit import CellVerdict, Judgement, audit, documents
from perflog.audit.claims import claims, column, facts_of, missing, printed, unit_of
from perflog.audit.document import HtmlTable, html_parts, read_document
from perflog.audit.judgement import consistent, rounds_to
from perflog.audit.report import markdown, pairs
from perflog.cli import app
from perflog.logs.find import find_logs
from tests.forks import perflog
from tests.support import CORPUS, FIXTURES, ROOT, SHARED, catalog, mostly_long, needs_corpus, options

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
        ("NGC TensorFlow 1.15", {"framework": "TensorFlow", "framework_version": "1.15"}),
        ("NGC PyTorch 20.06, 1.5x", {"framework": "PyTorch"}),
        ("Paddle 版本：2.0.1", {"framework": "PaddlePaddle", "framework_version": "2.0.1"}),
        ("PyTorch 1.7 or PyTorch 1.8", {"framework": "PyTorch", "framework_version": None}),
        ("FP32 and AMP", {"precision": None}),
        ("1438.518(O2)", {"precision": "pure_fp16"}),
        ("AMP-O2", {"precision": "pure_fp16"}),
        ("混合精度 (O1)", {"precision": "amp"}),
        ("FP16 (level O2)", {"precision": "pure_fp16"}),
        ("AMP O1 / AMP O2", {"precision": None}),
        ("FP32 / AMP(O2)", {"precision": None}),
        ("gcc -O2", {}),
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


# ---------------------------------------------------------------- HTML, configuration, recipes


HTML = """\
# Paddle ResNet50
> 单位： images/sec
<p>V100 results</p>
<table border="1">
  <caption>FP32</caption>
  <thead>
    <tr><th rowspan="2">gpu_num</th><th colspan=2>throughput</th><th rowspan="2">logs</th></tr>
    <tr><th>BS=128</th><th>BS=256</th></tr>
  </thead>
  <tr><td>1<td>369.81<td>-<td><a href="./one.log">log</a></tr>
  <tr><td rowspan=2>8</td><td><b>2,773.82</b></td><td><a href="x">2800.5</a></td><td></td></tr>
  <tr><td>2774.5</td><td>n/a</td><td></td></tr>
</table>

| gpu_num | BS=128 |
|--|--|
| 16 | 5483.22 |
"""


@pytest.mark.parametrize("name", ["README.md", "report.html"])
def test_html_tables_are_read(name: str, tmp_path: Path) -> None:
    text = (
        HTML
        if name.endswith(".md")
        else "<html><h1>Paddle ResNet50</h1><p>单位： images/sec</p>" + HTML[HTML.index("<p>") :]
    )
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = claims(read_document(tmp_path / name), tmp_path)
    offset = 0 if name.endswith(".md") else -2
    rows = [
        (one.line - offset, one.column, one.text, one.facts.get("devices"), one.facts["batch_size"]) for one in found
    ]
    assert rows[:4] == [
        (10, 2, "369.81", 1, 128), (11, 2, "2,773.82", 8, 128), (11, 3, "2800.5", 8, 256), (12, 2, "2774.5", 8, 128)
    ]  # fmt: skip
    assert rows[4:] == ([(17, 2, "5483.22", 16, 128)] if name.endswith(".md") else [])
    assert {(one.quantity, one.unit, one.reason) for one in found} == {("throughput", "images/s", "")}
    assert [one.number.value for one in found if one.number][:2] == [369.81, 2773.82]


@pytest.mark.parametrize(
    ("html", "cells"),
    [
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", [["a", "b"], ["1", "2"]]),
        ("<TABLE><TR><TD>a</TD></TR><TR><TD>x<br/>y &amp; z</TD></TR>", [["a"], ["x y & z"]]),
        (
            "<table><tr><td>a<td rowspan=3>b</tr><tr><td>1</tr><tr><td>2</tr></table>",
            [["a", "b"], ["1", "b"], ["2", "b"]],
        ),
        ("<table><tr><td colspan=99999999>a</tr></table>", [["a"] * 1000]),
        ("<table><tr><td>a<table><tr><td>in</table>", [["a"]]),
        ("<table></table>", None),
        ("<table><script>1</script><tr><td>a<script>x</script></table>", [["a"]]),
    ],
)
def test_html_that_people_write(html: str, cells: list[list[str]] | None) -> None:
    tables = [part for part in html_parts(html) if isinstance(part, HtmlTable)]
    found = [[list(texts) for _, texts in table.texts()] for table in tables]
    assert (found[0] if found else None) == cells


@given(st.text(alphabet="<>/abtrdhle ='\"13\n", max_size=80))
def test_no_html_breaks_the_reading(html: str) -> None:
    for part in html_parts("<table><tr><td>" + html):
        if isinstance(part, HtmlTable):
            assert part.texts()


@pytest.mark.parametrize(
    "table",
    [
        "- batch size 如下\n\n| 参数 | PaddlePaddle | NGC PyTorch |\n|--|--|--|\n| GPU=1 | 2 | 3 |\n| GPU=8 | 4 | 4 |\n",
        "## Hyper-parameters\n| 精度 | PaddlePaddle |\n|--|--|\n| FP32 | 5120 |\n",
        "| 精度 | batch_size | use_pure_fp16 |\n|--|--|--|\n| FP32 | 5120 | False |\n| FP16 | 5120 | True |\n",
        "- 结果\n\n| 参数 | PaddlePaddle | NGC PyTorch |\n|--|--|--|\n| FP32 | 2 | 2 |\n| AMP | 96 | 208 |\n",
        "- 结果\n\n| 参数 | PaddlePaddle | NGC PyTorch |\n|--|--|--|\n| GPU=1 | 96 | 96 |\n| GPU=8 | 96 | 96 |\n",
        "| gpu_num | learning_rate | max_steps | num_classes |\n|--|--|--|--|\n| 8 | 0.1 | 500 | 1000 |\n",
    ],
)
def test_tables_of_configuration_are_no_results(table: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"# Paddle BERT\n单位： sequences/sec\n## 8卡\n{table}", encoding="utf-8")
    assert claims(read_document(tmp_path / "README.md"), tmp_path) == []


@pytest.mark.parametrize(
    ("table", "count"),
    [
        ("- batch size 如下\n\n| 参数 | PaddlePaddle |\n|--|--|\n| GPU=1 | 164.9 |\n", 1),  # no whole numbers
        (
            "- FP32, batch size=96\n\n| 参数 | PaddlePaddle |\n|--|--|\n| GPU=1 | 165 |\n",
            1,
        ),  # a size, no heading of sizes
        (
            "- 吞吐\n\n| 参数 | PaddlePaddle | NGC PyTorch |\n|--|--|--|\n| GPU=1 | 96 | 104 |\n| GPU=8 | 792 | 800 |\n",
            4,
        ),
        ("- 配置与吞吐\n\n| 参数 | samples/s |\n|--|--|\n| GPU=8 | 96 |\n", 1),  # the heading names a quantity
        ("- 结果\n\n| 参数 | FP32(BS=32) |\n|--|--|\n| GPU=1 | 64 |\n| GPU=8 | 64 |\n", 2),  # of batch sizes
    ],
)
def test_tables_of_results_with_whole_numbers_are_read(table: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"# Paddle BERT\n单位： sequences/sec\n## 8卡\n{table}", encoding="utf-8")
    assert len(claims(read_document(tmp_path / "README.md"), tmp_path)) == count


@cache
def report_of_the_campaign(words: tuple[str, ...]) -> dict[str, bytes]:
    """The files that ``perflog report`` writes for the synthetic campaign; they name its logs as ``logs``."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(LOGS, Path(folder) / "logs")
        file = Path(folder) / "README.md"
        done = CliRunner().invoke(app, ["report", f"{folder}/logs", "-o", str(file), "-q", *words])
        assert done.exit_code == 0, done.output
        return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}


def reported(folder: Path, *words: str) -> Path:
    """A README that perflog makes of the synthetic campaign."""
    shutil.copytree(LOGS, folder / "logs")
    for name, data in report_of_the_campaign(words).items():
        (folder / name).write_bytes(data)
    return folder / "README.md"


@pytest.mark.parametrize(
    "words",
    [
        ("--warmup", "10records"),
        pytest.param(("--last", "30", "-e", "median"), marks=pytest.mark.long),
        pytest.param(("--lang", "zh"), marks=pytest.mark.long),
    ],
)
@pytest.mark.long
def test_a_report_that_perflog_made_audits_clean(words: tuple[str, ...], tmp_path: Path) -> None:
    file = reported(tmp_path, *words)
    made = audit([file], find_logs([tmp_path / "logs"]), catalog(), options())
    assert Counter(one.verdict for one in made) == {"reproduced": 24}
    assert all(re.match(r"the recipe of line [0-9]+ gives ", one.detail) for one in made)


@pytest.mark.long
def test_what_a_recipe_does_not_give_differs(tmp_path: Path) -> None:
    file = reported(tmp_path, "--warmup", "10records")
    text = file.read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith("| 8 ")]
    file.write_text(text.replace(row, row.replace("2722", "2272").replace("6737", "6777.5")), encoding="utf-8")
    made = audit([file], find_logs([tmp_path / "logs"]), catalog(), options())
    wrong = {one.claim.text: one for one in made if one.verdict != "reproduced"}
    assert {text: one.verdict for text, one in wrong.items()} == {"2272": "slip", "6777.5": "differs"}
    assert wrong["6777.5"].detail.endswith("gives 6737 (+0.601 %)")
    assert "two digits in the wrong order" in wrong["2272"].suspicions[0]


@pytest.mark.long
def test_rows_that_a_recipe_keeps_are_audited_as_others(tmp_path: Path) -> None:
    """Rows of logs that are not there stay in the table, and no recipe gives them."""
    file = reported(tmp_path, "--warmup", "10records")
    shutil.rmtree(tmp_path / "logs/logs_fp32/mindspore/resnet50/bz128/4n8g")
    shutil.rmtree(tmp_path / "logs/logs_fp16/mindspore/resnet50/bz256/4n8g")
    made = audit([file], find_logs([tmp_path / "logs"]), catalog(), options())
    assert {one.claim.facts.get("devices"): one.verdict for one in made if one.verdict != "reproduced"} == {
        32: "no log"
    }


def test_what_no_cell_needs_is_not_read(tmp_path: Path) -> None:
    """Where recipes make every cell, the logs that they name; where there is no cell, none."""
    shutil.copytree(LOGS / "logs_fp32", tmp_path / "logs")
    shutil.copytree(LOGS / "logs_fp16", tmp_path / "others")
    (tmp_path / "logs/words.txt").write_text("no line of a log\n" * 500, encoding="utf-8")
    file = tmp_path / "README.md"
    file.write_text("<!-- perflog: table logs --rows devices -->\n<!-- /perflog -->\n", encoding="utf-8")
    assert CliRunner().invoke(app, ["readme", str(file)]).exit_code == 0
    table = file.read_text(encoding="utf-8")
    totals: list[int] = []

    def counted(total: int) -> AbstractContextManager[None]:
        totals.append(total)
        return nullcontext()

    def size(*places: str) -> int:
        return sum(
            log.size for log in find_logs([tmp_path / place for place in places]) if not log.path.endswith(".md")
        )

    made = audit([file], None, catalog(), options(), progress=counted)
    assert Counter(one.verdict for one in made) == {"reproduced": 6} and all(len(one.candidates) == 1 for one in made)
    whole = size("logs")  # by the recipe and by the rules; none of those that take values as printed is for these logs
    assert totals == [whole, whole]

    totals.clear()
    file.write_text(f"{table}\n| devices | images/s |\n|--|--|\n| 8 | 2773.82 |\n", encoding="utf-8")
    printed = next((FIXTURES / "parsers/paddleclas").glob("*.log"))  # conventions take its values as printed
    shutil.copy(printed, tmp_path / "others")
    audit([file], None, catalog(), options(), progress=counted)
    assert totals == [whole, size("logs", "others"), printed.stat().st_size]

    totals.clear()
    file.write_text("No table.\n", encoding="utf-8")
    assert audit([file], None, catalog(), options(), progress=counted) == [] and totals in ([], [0, 0])


@pytest.mark.long
def test_a_recipe_that_fails_is_said(tmp_path: Path) -> None:
    file = reported(tmp_path)
    file.write_text(file.read_text(encoding="utf-8").replace("--rows devices", "--rows nothing"), encoding="utf-8")
    made = audit([file], find_logs([tmp_path / "logs"]), catalog(), options())
    assert made and all("the recipe of line" in one.notes[0] and "fails:" in one.notes[0] for one in made)


# ---------------------------------------------------------------- rules


#: One rate a line, samples of the job per second, and what the program says of itself behind them.
RATES = [100.0, 400.0, 410.0, 420.0, 430.0, 440.0, 452.0]


def dllogger(folder: Path) -> Path:
    """A log of NVIDIA's with two throughputs of its own: one of them leaves out the loading of data."""
    stamp = "DLL 2023-08-04 05:45:22.407731 -"
    lines = [
        f"{stamp} PARAMETER data : /imagenet  data_backend : dali-cpu  arch : resnet50  batch_size : 256  "
        "optimizer_batch_size : -1  world_size : 8 "
    ]
    lines += [
        f"{stamp} Epoch: 0 Iteration: {number}  train.loss : 6.2 None train.compute_ips : {rate + 7:.2f} images/s "
        f"train.total_ips : {rate:.2f} images/s train.lr : 0.1"
        for number, rate in enumerate(RATES, 1)
    ]
    lines.append(
        f"{stamp} Summary: train.loss : 6.11 None train.compute_ips : 431.77 images/s train.total_ips : 425.12 images/s "
    )
    (folder / "pytorch_gpu8_amp_bs256.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_the_rules_that_are_known(tmp_path: Path) -> None:
    rules = {
        "425.12": "the program's own report",
        "431.77": "the program's own report of compute_ips",
        "378.86": "the mean of all records",  # 2652 / 7
        "425.33": "the mean of all but the first record",  # 2552 / 6
        "430.40": "the mean of all but the first 2 records",  # 2152 / 5
        "420.00": "the median of all records",
        "425.00": "the median of all but the first record",
        "446.00": "the mean of all but the first 5 records",
        "452.00": "the last record",
        "424.6082": "all but the first record",  # work over time: the harmonic mean of six rates
        "427.9": "",
    }
    rows = "".join(f"| 8 | {value} |\n" for value in rules)
    report = f"# NGC PyTorch ResNet50\n单位： images/sec\n| gpu_num | AMP(BS=256) |\n|--|--|\n{rows}"
    for one, rule in zip(audited(tmp_path, report=report, logs=dllogger(tmp_path)), rules.values(), strict=True):
        assert one.verdict == ("reproduced" if rule else "differs"), one.detail
        assert one.detail.startswith(f"{rule} gives " if rule else ""), one.detail


def test_a_number_of_many_rules_may_be_one_by_chance(tmp_path: Path) -> None:
    """Of four digits, and between rules that lie dense, a plain rule is found by chance; a convention is not."""
    report = "# NGC PyTorch ResNet50\n单位： images/sec\n| gpu_num | AMP(BS=256) |\n|--|--|\n| 8 | {} |\n"
    logs = dllogger(tmp_path)
    (near,) = audited(tmp_path, report=report.format("430.4"), logs=logs)
    assert near.verdict == "reproduced"
    text = (tmp_path / "pytorch_gpu8_amp_bs256.txt").read_text(encoding="utf-8")
    for number, rate in enumerate(RATES, 1):
        text = text.replace(f"total_ips : {rate:.2f} ", f"total_ips : {430 + number / 10:.2f} ")
    (tmp_path / "pytorch_gpu8_amp_bs256.txt").write_text(text, encoding="utf-8")
    (dense,) = audited(tmp_path, report=report.format("430.7"), logs=logs)
    assert (dense.verdict, "may agree by chance" in dense.detail) == ("within rounding", True)


def test_the_nearest_candidate_is_the_one_shown(tmp_path: Path) -> None:
    """Of all rules and logs that may be a cell's, the one whose number is nearest."""
    report = "# NGC PyTorch ResNet50\n单位： images/sec\n| gpu_num | AMP(BS=256) |\n|--|--|\n| 8 | {} |\n"
    for value, nearest in (
        ("379.9", "the mean of all records gives 378.8571429"),
        ("433.0", "the program's own report of compute_ips gives 431.77"),
    ):
        (one,) = audited(tmp_path, report=report.format(value), logs=dllogger(tmp_path))
        assert one.verdict == "differs" and one.detail.startswith(nearest), one.detail
        assert "the nearest of" in one.detail


def test_a_farther_log_that_is_nearer_in_number_is_named(tmp_path: Path) -> None:
    """A cell of FP16 has an FP16 log; an AMP log, which reports call FP16 too, gives nearly its number."""
    dllogger(tmp_path)
    text = (tmp_path / "pytorch_gpu8_amp_bs256.txt").read_text(encoding="utf-8")
    slower = re.sub(r"ips : ([0-9.]+)", lambda found: f"ips : {float(found[1]) / 2:.2f}", text)
    (tmp_path / "pytorch_gpu8_fp16_bs256.txt").write_text(slower, encoding="utf-8")
    report = "# NGC PyTorch ResNet50\n单位： images/sec\n| gpu_num | FP16(BS=256) |\n|--|--|\n| 8 | 425.9 |\n"
    (one,) = audited(tmp_path, report=report, logs=tmp_path)
    assert one.verdict == "differs" and "pytorch_gpu8_fp16_bs256.txt" in one.sources[0]
    (note,) = [note for note in one.notes if note.startswith("another log of this configuration is nearer")]
    assert "pytorch_gpu8_amp_bs256.txt" in note


def test_steps_are_no_samples(tmp_path: Path) -> None:
    """A log that tells no batch size gives steps per second: it neither gives nor refutes a number of images."""
    lines = [f"iter {number}: loss 3.1, time 250.00ms, mfu 17.89%" for number in range(60)]
    (tmp_path / "nanogpt_gpu1.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = "# GPT\n| gpu_num | {} |\n|--|--|\n| 1 | {} |\n"
    (images,) = audited(tmp_path, report=report.format("samples/s", "128.25"), logs=tmp_path)
    assert images.verdict == "not understood"
    (steps,) = audited(tmp_path, report=report.format("steps/s", "4.000"), logs=tmp_path)
    assert steps.verdict == "reproduced"


def test_nothing_understood_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("| name | x |\n|--|--|\n| a | 12.5 |\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["audit", str(tmp_path)])
    assert done.exit_code == 1 and "1 not understood" in done.output


def test_cells_without_a_log_are_no_success(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# MindSpore\n## FP16" + REPORT.split("## FP16")[1], encoding="utf-8")
    done = CliRunner().invoke(app, ["audit", str(tmp_path)])
    assert done.exit_code == 1 and done.output.endswith(
        "nothing was checked: no cell has its log among those given (--logs names more)\n"
    )


# ---------------------------------------------------------------- sizes and tolerance


@pytest.mark.long
def test_the_farthest_off_comes_first(tmp_path: Path) -> None:
    """2773.82 printed 1.4 % high, 710.68 printed 2 % high, 1418.66 printed 10 % low."""
    rows = {1: "369.81", 2: "724.89", 4: "1276.79", 8: "2813.72", 16: "5483.22", 32: "10731.78"}
    table = "".join(f"| {devices} | {rate} |\n" for devices, rate in rows.items())
    page = f"# MindSpore ResNet50\n## FP32, batch size = 128\n| gpu_num | samples/s |\n|--|--|\n{table}"
    (tmp_path / "README.md").write_text(page, encoding="utf-8")
    command = ["audit", str(tmp_path / "README.md"), "--logs", str(LOGS)]
    shown = CliRunner().invoke(app, command).output
    assert re.findall(r"md:[0-9]+: samples/s: ([0-9.]+): differs", shown, re.M) == ["1276.79", "724.89", "2813.72"]
    every = CliRunner().invoke(app, [*command, "--all"]).output
    order = ["1276.79", "724.89", "2813.72"]
    assert re.findall(r"md:[0-9]+: samples/s: ([0-9.]+): differs", every, re.M) == order
    cells = json.loads(CliRunner().invoke(app, [*command, "-f", "json"]).output)["cells"]
    assert [cell["text"] for cell in cells] == [*order, "369.81", "5483.22", "10731.78"]
    tests = CliRunner().invoke(app, [*command, "-f", "junit"]).output
    assert re.findall(r'testcase name="samples/s: ([0-9.]+) ', tests)[:3] == order
    annotated = CliRunner().invoke(app, [*command, "-f", "github"]).output
    assert re.findall(r"samples/s: ([0-9.]+): differs", annotated) == order
    sizes = {cell["text"]: cell["difference"] for cell in cells}
    assert sizes["724.89"] == pytest.approx(724.89 / 710.68 - 1, abs=1e-4)
    assert sizes["369.81"] == pytest.approx(0, abs=1e-4)


def test_a_tolerance_forgives_what_is_within_it(tmp_path: Path) -> None:
    edits = (("2773.82", "2800.31"), ("1418.66", "1276.79"))
    made = audited(tmp_path, *edits)
    off = only(made, "2800.31")
    assert off.verdict == "differs" and off.value is not None and off.value.value is not None
    share = 2800.31 / off.value.value - 1
    assert 0.002 < share < 0.01
    for tolerance, verdict in ((share, "within tolerance"), (0.99 * share, "differs"), (0.05, "within tolerance")):
        judged = audit(documents([tmp_path]), find_logs([LOGS]), catalog(), options(), tolerance)
        verdicts = {one.claim.text: one.verdict for one in judged}
        assert (verdicts["2800.31"], verdicts["1276.79"]) == (verdict, "differs")


def test_contradicting_cells_within_the_tolerance_are_one(tmp_path: Path) -> None:
    report = "# MindSpore ResNet50, FP32, batch size = 128\n| gpu_num | samples/s |\n|--|--|\n| 64 | {} |\n"
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a/README.md").write_text(report.format("10000.0"), encoding="utf-8")
    (tmp_path / "b/README.md").write_text(report.format("10020.0"), encoding="utf-8")
    for tolerance, verdict, count in (
        (0.0, "contradicts", 1),
        (0.003, "within tolerance", 0),
        (0.001, "contradicts", 1),
    ):
        made = audit(documents([tmp_path]), find_logs([LOGS]), catalog(), options(), tolerance)
        assert ({one.verdict for one in made}, len(pairs(made))) == ({verdict}, count)


@pytest.mark.long
def test_the_command_takes_a_tolerance_and_refuses_what_is_none(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        REPORT.replace("2773.82", "2800.31").replace("| 7.50 ", "| - "), encoding="utf-8"
    )
    command = ["audit", str(tmp_path), "--logs", str(LOGS), "--tolerance"]
    done = CliRunner().invoke(app, [*command, "1%"])
    assert done.exit_code == 0 and "1 within tolerance" in done.output
    assert CliRunner().invoke(app, [*command, "0.1%"]).exit_code == 1
    wrong = CliRunner().invoke(app, [*command, "5"])
    assert "--tolerance '5': expected a share such as 2% or 0.02" in str(wrong.exception)


# ---------------------------------------------------------------- every shipped style


STYLES = sorted(file.stem for file in (ROOT / "templates").glob("*.toml"))


@pytest.fixture(scope="module")
def two_sizes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the logs of one device and of eight; each test writes its own README beside them."""
    folder = tmp_path_factory.mktemp("sizes")
    for name in ("1n1g", "1n8g"):
        shutil.copytree(LOGS / "logs_fp32/mindspore/resnet50/bz128" / name, folder / "logs/rn50" / name)
    return folder


@pytest.mark.parametrize("style", mostly_long(STYLES, 4))
@pytest.mark.parametrize(("language", "marked"), [("en", False), ("zh", False), ("en", True)])
def test_tables_of_every_style_audit_clean(style: str, language: str, marked: bool, two_sizes: Path) -> None:
    """With the recipe above it and without: every number is held against the logs, and none is called false."""
    words = ["logs", "--rows", "nodes,devices", "--value", "throughput,speedup", "--style", style, "--lang", language]
    made = CliRunner().invoke(app, ["table", str(two_sizes / "logs"), *words[1:]])
    assert made.exit_code == 0, made.output
    marker = ("<!-- perflog: table " + " ".join(words) + " -->\n", "\n<!-- /perflog -->\n") if marked else ("", "")
    page = "# MindSpore ResNet50, FP32, batch size = 128\n\n" + marker[0] + made.output + marker[1]
    (two_sizes / "README.md").write_text(page, encoding="utf-8")
    judged = audit(documents([two_sizes]), find_logs([two_sizes / "logs"]), catalog(), options())
    assert len(judged) >= 2
    assert {one.verdict for one in judged} <= {"reproduced", "within rounding"}, Counter(
        (one.verdict, one.detail) for one in judged if one.verdict not in ("reproduced", "within rounding")
    )


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
@pytest.mark.long
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
    assert len(pairs(made)) == 46
    assert Counter(one.verdict for one in made) == {
        "reproduced": 129, "no log": 127, "differs": 27, "within tolerance": 13, "contradicts": 12,
        "within rounding": 8, "slip": 4,
    }  # fmt: skip


@needs_corpus
@pytest.mark.long
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
    assert (done.exit_code, done.output) == (1, "nothing was checked: no table with a number in it was found\n")


def test_no_text_of_a_report_breaks_the_page(tmp_path: Path) -> None:
    page = markdown(audited(tmp_path, ("5483.22", "5<b>`x`[y](javascript:z)")), everything=False)
    (row,) = [line for line in page.splitlines() if "README.md:9" in line and "samples/s" in line]
    assert "| 5 xy " in row and len(re.split(r"(?<!\\)\|", row)) == 7


@pytest.mark.long
def test_the_list_of_cells_that_was_found_is_true() -> None:
    if not CORPUS.is_dir():
        pytest.skip("the corpus of real logs (../shared/corpus) is not here")
    page = ROOT / "tests/found/audit-paddle-perf.md"
    done = perflog("audit", ".", "-f", "markdown", cwd=CORPUS / "paddle-perf-2.5")
    assert done.returncode == 1 and done.stdout == page.read_text(encoding="utf-8")


def test_the_schema_has_every_verdict_in_the_order_of_reports() -> None:
    schema = json_schema("audit")
    assert list(schema["properties"]["counts"]["properties"]) == [verdict.value for verdict in CellVerdict]
    assert f'"enum": {json.dumps([verdict.value for verdict in CellVerdict])}' in json.dumps(schema)
