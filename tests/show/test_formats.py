"""Exports for other programs, each read back by a program that is not ours, and texts of logs that would act there."""

from __future__ import annotations

import dataclasses
import io
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import openpyxl
import polars as pl
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from typer.testing import CliRunner

import perflog
from perflog.cli import app
from perflog.errors import PerflogError, UsageError
from perflog.escaping import latex
from perflog.logs.loggers import text_of_events
from perflog.logs.streams import Stream
from perflog.show.encoding import encoded, to_html, to_latex, to_xlsx
from perflog.show.exchange import Annotation, commands, junit, records_to_tensorboard, to_openmetrics, to_tensorboard
from perflog.show.exchange import Test as JunitTest
from perflog.show.options import ENDINGS, endings_of, format_for
from perflog.show.text import TextTable
from tests.campaigns import write_run
from tests.support import FIXTURES, extracted

#: A model's name that every format could take for something else.
HOSTILE = '=cmd|"/c calc"!A1 & <b>{x}$\\'


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A case of five runs whose rates are 100 to 104 images/s, and one of two runs, of 13 and 14."""
    for number, rate in enumerate((100.0, 101.0, 102.0, 103.0, 104.0), 1):
        write_run(tmp_path / "logs" / "1n8g" / f"rn50_b128_fp32_{number}.log", [rate] * 60)
    for number, rate in enumerate((13.0, 14.0), 1):
        write_run(tmp_path / "logs" / "1n1g" / f"rn50_b128_fp32_{number}.log", [rate] * 60)
    return tmp_path / "logs"


# ---------------------------------------------------------------- endings


@pytest.mark.parametrize(
    ("name", "given", "form"),
    [
        ("out.json", None, "json"),
        ("out.CSV", None, "csv"),
        ("out.tex", None, "latex"),
        ("out.txt", None, "table"),
        ("out", None, "table"),
        ("out.json", "csv", "csv"),
        ("out.anything", "csv", "csv"),
        ("/dev/stdout", None, "table"),
        (None, None, "table"),
        (None, "json", "json"),
    ],
)
def test_the_format_of_a_file(name: str | None, given: str | None, form: str) -> None:
    output = None if name is None else Path(name)
    assert format_for(output, given, ["table", "json", "csv", "latex"], "table") == form


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("out.xlsx", None, r"--output 'out.xlsx': expected an ending that says what this command writes \(.csv, .json, .txt\), found a file for xlsx"),
        ("out.foo", None, "found an ending that no format has; --format names the format"),
        ("out.csv", "xml", "--format 'xml': expected one of table, json, csv"),
    ],
)  # fmt: skip
def test_endings_that_are_refused(name: str, given: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        format_for(Path(name), given, ["table", "json", "csv"], "table")


def test_every_ending_that_is_offered_is_taken() -> None:
    every = sorted({form for meant in ENDINGS.values() for form in meant})
    for form in every:
        assert any(format_for(Path(f"x{end}"), None, [form], "none") == form for end in endings_of([form]))


# ---------------------------------------------------------------- LaTeX


def test_a_table_as_latex() -> None:
    table = TextTable(
        ["devices", "samples/s", "speedup", "notes"],
        [["1", "369.81", "1", "a_b"], ["8", "2773.8", "no value", "100%"], ["16", "1,234", "-0.5", ""]],
        [False, True, True, False],
        ["1. a note"],
        "How & what",
    )
    assert (
        to_latex(table)
        == r"""% in the preamble: \usepackage{booktabs,siunitx}
\begin{table}
  \centering
  \caption{How \& what}
  \begin{tabular}{lS[table-format=4.2]S[table-format=+1.1]l}
    \toprule
    {devices} & {samples/s} & {speedup} & {notes} \\
    \midrule
    1 & 369.81 & 1 & a\_b \\
    8 & 2773.8 & {no value} & 100\% \\
    16 & {1,234} & -0.5 &  \\
    \bottomrule
  \end{tabular}
  \par\smallskip
  {\footnotesize
  1. a note\par
  }
\end{table}
"""
    )


def test_what_is_true_of_all_rows_is_said_in_every_format() -> None:
    extraction = extracted(FIXTURES / "seed004/logs_fp32", warmup=100, steps=100)
    for form in ("table", "latex"):
        text = encoded(extraction, form)
        assert isinstance(text, str)
        assert "batch/device 128, n 5, throughput in samples/s" in text and "fp32" in text
    heading = TextTable(["a"], [["1"]], [True], caption="c", heading="b < 2")
    assert to_html(heading).startswith("<p>b &lt; 2</p>\n<table>")
    assert r"\caption{b \textless{} 2; c}" in to_latex(heading)


def test_an_empty_table_as_latex() -> None:
    assert r"\begin{tabular}{lr}" in to_latex(TextTable(["a", "b"], [], [False, True]))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("a & b % c # d_e $f$ ^~", r"a \& b \% c \# d\_e \$f\$ \textasciicircum{}\textasciitilde{}"),
        ("a\nb\\\\", r"a\textbackslash{}nb\textbackslash{}\textbackslash{}"),
        ("--a--", "-{}-a-{}-"),
        ("[4] * \"q\" 'r'", "{[}4{]} {*} {\\char34}q{\\char34} {\\char39}r{\\char39}"),
        ("rn50 8×V100", "rn50 8×V100"),
    ],
)
def test_texts_in_latex(text: str, escaped: str) -> None:
    assert latex(text) == escaped


def test_no_text_of_a_log_is_a_command_of_latex(logs: Path) -> None:
    made = perflog.extract(logs, set={"framework": HOSTILE}).encoded("latex")
    assert isinstance(made, str)
    body = made.split("\\midrule")[1].split("\\bottomrule")[0]
    for command in re.findall(r"\\[a-zA-Z]+", body):
        assert command in ("\\textbar", "\\char", "\\textless", "\\textgreater", "\\textbackslash")
    columns = {len(re.findall(r"(?<!\\)&", line)) for line in body.strip().splitlines()}
    assert len(columns) == 1


def test_a_reports_table_as_latex_has_no_escapes_of_markdown(logs: Path) -> None:
    table = perflog.table(logs, "model,devices", set={"model": "a_b*c"}, notes=False)
    assert "a\\_b\\*c" in table.text
    text = table.encoded("latex")
    assert isinstance(text, str) and "a\\_b{*}c" in text and "\\textbackslash" not in text


# ---------------------------------------------------------------- xlsx


def sheets(data: str | bytes) -> dict[str, list[list[Any]]]:
    """All cells of a workbook, as another program reads them."""
    assert isinstance(data, bytes)
    book = openpyxl.load_workbook(io.BytesIO(data))
    return {sheet.title: [[cell.value for cell in row] for row in sheet.iter_rows()] for sheet in book.worksheets}


def test_a_workbook_holds_cases_runs_and_skipped_files(logs: Path) -> None:
    (logs / "notes.md").write_text("no log\n")
    extracted = perflog.extract(logs, warmup=10)
    book = sheets(extracted.encoded("xlsx"))
    assert list(book) == ["cases", "runs", "skipped"]
    head, *rows = book["cases"]
    cases = [dict(zip(head, row, strict=True)) for row in rows]
    assert {(case["devices"], round(case["throughput"], 6), case["n"]) for case in cases} == {
        (8, 102.0, 5),
        (1, 13.5, 2),
    }
    assert len(book["runs"]) == 8 and [row[0] for row in book["skipped"]][1:] == [str(logs / "notes.md")]


def test_no_text_is_a_formula_in_a_workbook(logs: Path) -> None:
    texts = [HOSTILE, "=1+1", "@SUM(A1)", "+1", "-x", "https://evil.example/", "12", "{=1}"]
    data = to_xlsx({"sheet": pl.DataFrame({"=head": texts})})
    book = openpyxl.load_workbook(io.BytesIO(data))
    cells = [row[0] for row in book.worksheets[0].iter_rows(min_row=2)]
    assert [cell.value for cell in cells] == texts
    assert {cell.data_type for cell in cells} == {"s"} and not any(cell.hyperlink for cell in cells)
    # what would become a formula once somebody edits the cell has the mark that it stays a text
    assert [bool(cell.quotePrefix) for cell in cells] == [True, True, True, False, True, False, False, False]
    assert HOSTILE in str(sheets(perflog.extract(logs, set={"framework": HOSTILE}).encoded("xlsx")))


def test_what_a_sheet_cannot_hold() -> None:
    long = "x" * 40_000
    (column,) = sheets(to_xlsx({"s": pl.DataFrame({"a": [long]})}))["s"][1]
    assert len(column) == 32_767 and column.endswith("…")
    with pytest.raises(PerflogError, match="the sheet s would have 1048576 rows: expected fewer"):
        to_xlsx({"s": pl.DataFrame({"a": pl.repeat(1, 1_048_576, eager=True)})})
    empty = pl.DataFrame({"a": [None, float("nan"), 1.5]}, strict=False)
    assert sheets(to_xlsx({"s": empty}))["s"] == [["a"], [None], [None], [1.5]]


def test_a_workbook_needs_a_file(logs: Path, tmp_path: Path) -> None:
    refused = CliRunner().invoke(app, ["extract", str(logs), "-f", "xlsx"])
    assert refused.exit_code == 2 and "xlsx is not text" in re.sub(r"\s+", " ", refused.output)
    done = CliRunner().invoke(app, ["extract", str(logs), "-q", "-o", str(tmp_path / "cases.xlsx")])
    assert done.exit_code == 0 and "cases" in sheets((tmp_path / "cases.xlsx").read_bytes())


# ---------------------------------------------------------------- OpenMetrics


def families(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """All samples by family, as Prometheus' own reader reads them."""
    return {
        family.name: [(dict(sample.labels), sample.value) for sample in family.samples]
        for family in text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    }


def test_openmetrics_are_read_by_prometheus(logs: Path) -> None:
    text = perflog.extract(logs, warmup=10).encoded("openmetrics")
    assert isinstance(text, str) and text.endswith("# EOF\n")
    read = families(text)
    by_devices = {labels["devices"]: (value, labels) for labels, value in read["perflog_throughput"]}
    assert {devices: value for devices, (value, _) in by_devices.items()} == {
        "8": pytest.approx(102.0),
        "1": pytest.approx(13.5),
    }
    labels = by_devices["8"][1]
    assert (labels["model"], labels["precision"], labels["unit"]) == ("rn50", "fp32", "images/s")
    assert [value for _, value in read["perflog_speedup"]] == pytest.approx([1.0, 102 / 13.5])
    assert sorted(value for _, value in read["perflog_runs"]) == [2.0, 5.0]
    assert sorted(value for _, value in read["perflog_throughput_low"]) == pytest.approx([13.0, 100.0])
    names = set(re.findall("# TYPE (.*) gauge", text))
    assert set(re.findall("# HELP (.*?) .", text)) == names, "promtool check metrics wants a help for each"


def test_hostile_labels_of_openmetrics(logs: Path) -> None:
    hostile = 'a"} 1\n# EOF\\'
    text = to_openmetrics(perflog.extract(logs, set={"framework": hostile, "strange key": "x"}).extraction)
    frameworks = {labels["framework"] for labels, _ in families(text)["perflog_throughput"]}
    assert frameworks == {'a"} 1\\n# EOF\\'}
    assert text.count("# EOF") == 1 + text.count("\\n# EOF")


# ---------------------------------------------------------------- JUnit


def test_junit_counts_and_tells() -> None:
    tests = [
        JunitTest("fine", "group", lines=["all is well"]),
        JunitTest("bad", "group", failure="slower by 3 %", kind="slower", lines=["line <1>"]),
        JunitTest("gone", "other", skipped="no partner", file="README.md", line=3),
    ]
    root = ElementTree.fromstring(junit("perflog compare", tests))
    (suite,) = root
    counts = {"name": "perflog compare", "tests": "3", "failures": "1", "errors": "0"}
    assert suite.attrib == {**counts, "skipped": "1"} and root.attrib == counts  # Jenkins' schema has no more there
    fine, bad, gone = suite.findall("testcase")
    assert fine.attrib == {"name": "fine", "classname": "group"} and fine.findtext("system-out") == "all is well"
    failure = bad.find("failure")
    assert failure is not None and failure.attrib == {"message": "slower by 3 %", "type": "slower"}
    assert failure.text == "line <1>" and bad.find("system-out") is None
    assert gone.attrib == {"name": "gone", "classname": "other", "file": "README.md", "line": "3"}
    assert gone.find("skipped").attrib == {"message": "no partner"}  # type: ignore[union-attr]


def test_junit_holds_any_text() -> None:
    """Control characters, halves of pairs and what XML has no form for, none of which an XML reader takes."""
    text = 'a\x00b\x1b[31m\udc80\ud83d\uffff<x attr="&">]]>'
    (case,) = ElementTree.fromstring(junit(text, [JunitTest(text, text, failure=text, lines=[text])])).iter("testcase")
    assert case.attrib["name"] == 'a\\x00b\\x1b[31m\\x80\\ud83d\\uffff<x attr="&">]]>'


def test_an_audit_as_junit(logs: Path) -> None:
    page = logs.parent / "README.md"
    rows = "".join(f"| {devices} | {value} |\n" for devices, value in ((8, "102.00"), (1, "14.75"), (64, "500.5")))
    page.write_text(f"# rn50, FP32, batch size 128\n| devices | images/s |\n|---|---|\n{rows}")
    done = CliRunner().invoke(
        app, ["audit", str(page), "--logs", str(logs), "-q", "-o", str(logs.parent / "audit.xml")]
    )
    assert done.exit_code == 1
    (suite,) = ElementTree.parse(logs.parent / "audit.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["skipped"]) == ("3", "1", "1")
    (failed,) = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert "14.75" in failed.attrib["name"] and failed.attrib["line"] == "5"
    noted = CliRunner().invoke(app, ["audit", str(page), "--logs", str(logs), "-q", "-f", "github"])
    assert re.fullmatch(r"::error file=\S+README.md,line=5,title=perflog audit::images/s: 14.75: .*\n", noted.output)


# ---------------------------------------------------------------- annotations, HTML


def test_annotations_hold_any_text() -> None:
    text = commands(
        [Annotation("50% off\n::error::x", "a,b:c.md", 3, "t:1", "warning"), Annotation("whole", level="notice")]
    )
    assert text == (
        "::warning file=a%2Cb%3Ac.md,line=3,title=t%3A1::50%25 off\\n::error::x\n::notice title=perflog::whole\n"
    )


def test_an_html_table_escapes_and_says_what_it_leaves_out() -> None:
    table = TextTable(["<a>", "n"], [["<script>", "1"], ["b", "2"], ["c", "3"]], [False, True], ["x & y"], "made")
    html = to_html(table, most_rows=2)
    assert html == (
        '<table>\n<thead><tr><th style="text-align: left">&lt;a&gt;</th><th style="text-align: right">n</th></tr></thead>\n'
        '<tbody>\n<tr><td style="text-align: left">&lt;script&gt;</td><td style="text-align: right">1</td></tr>\n'
        '<tr><td style="text-align: left">b</td><td style="text-align: right">2</td></tr>\n</tbody>\n</table>\n'
        "<p>1 row more, not shown here.<br>made<br>x &amp; y</p>\n"
    )


def test_tensorboards_event_files(logs: Path) -> None:
    """perflog's reader of event files, which was made for those of others, finds every run's numbers in them."""
    extraction = perflog.extract(logs, warmup=10).extraction
    files = to_tensorboard(extraction)
    assert len(files) == len(extraction.cases)
    for (path, data), case in zip(files.items(), extraction.cases, strict=True):
        folder, _, name = path.rpartition("/")
        assert "tfevents" in name and re.fullmatch(r"[\w.-]+", folder)
        assert data[:8] == (24).to_bytes(8, "little"), "the first event: nine bytes of time and brain.Event:2"
        stream = text_of_events(Stream(io.BytesIO(data).read))
        lines = b"".join(iter(partial(stream.read, 1 << 20), b"")).decode()
        found = re.findall(r"tag=throughput step=(\d+) value=(\S+)", lines)
        assert [int(step) for step, _ in found] == list(range(1, len(case.runs) + 1))
        values = [run.throughput.value for run in case.runs]
        assert [float(value) for _, value in found] == pytest.approx(values, rel=1e-6)


def test_cases_of_one_name_have_folders_of_their_own(logs: Path) -> None:
    extraction = perflog.extract(logs, warmup=10).extraction
    twice = dataclasses.replace(extraction, cases=[extraction.cases[0], extraction.cases[0]])
    first, second = to_tensorboard(twice)
    assert second == first.replace("/", "~2/")


#: Records as `perflog records` gives them: two ranks of one log, and a log of another name that reads alike.
RECORDS = pl.DataFrame({
    "log": ["logs/a b.log"] * 4 + ["logs/a-b.log"], "run": [1] * 5, "rank": [0, 0, 1, 1, 0],
    "step": [10.0, 20.0, 10.0, 20.0, 10.0], "epoch": [0] * 5, "first_line": [1, 2, 3, 4, 1],
    "last_line": [1, 2, 3, 4, 1], "covers": [10.0] * 5, "work": [320.0] * 5, "time": [2.0, 4.0, 2.5, None, 8.0],
    "rate": [160.0, 80.0, 128.0, None, 40.0], "unit": ["samples/s"] * 5, "in_window": [False, True, True, True, True],
    "why_left_out": ["warm-up", "", "", "", ""], "loss": [2.5, 1.25, None, float("nan"), 3.0],
})  # fmt: skip
#: What TensorBoard must show of them: by run and tag (step, value, seconds).
SHOWN = {
    ("logs/a-b.log/run1/rank0", "perflog/rate samples per second"): [(10, 160.0, 2.0), (20, 80.0, 6.0)],
    ("logs/a-b.log/run1/rank0", "perflog/step_time"): [(10, 0.2, 2.0), (20, 0.4, 6.0)],
    ("logs/a-b.log/run1/rank0", "loss"): [(10, 2.5, 2.0), (20, 1.25, 6.0)],
    ("logs/a-b.log/run1/rank1", "perflog/rate samples per second"): [(10, 128.0, 2.5)],
    ("logs/a-b.log/run1/rank1", "perflog/step_time"): [(10, 0.25, 2.5)],
    ("logs/a-b.log/run1/rank0~2", "perflog/rate samples per second"): [(10, 40.0, 8.0)],
    ("logs/a-b.log/run1/rank0~2", "perflog/step_time"): [(10, 0.8, 8.0)],
    ("logs/a-b.log/run1/rank0~2", "loss"): [(10, 3.0, 8.0)],
}


def test_records_become_series_of_tensorboard() -> None:
    found: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for path, data in records_to_tensorboard(RECORDS).items():
        stream = text_of_events(Stream(io.BytesIO(data).read))
        lines = b"".join(iter(partial(stream.read, 1 << 20), b"")).decode()
        for tag, step, value, seconds in re.findall(r"tag=([^=]*) step=(\d+) value=(\S+) wall_time=(\S+)", lines):
            found.setdefault((path.rpartition("/")[0], tag), []).append((int(step), float(value), float(seconds)))
    assert found.keys() == SHOWN.keys()
    for key, points in SHOWN.items():
        assert [p for point in found[key] for p in point] == pytest.approx([p for point in points for p in point])


def test_tensorboard_shows_the_series(tmp_path: Path) -> None:
    accumulators = pytest.importorskip(
        "tensorboard.backend.event_processing.event_multiplexer",
        reason="tensorboard is not installed: pip install tensorboard",
    )
    for path, data in records_to_tensorboard(RECORDS).items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(data)
    read = accumulators.EventMultiplexer().AddRunsFromDirectory(str(tmp_path))
    read.Reload()
    tags = {(run, tag) for run, kinds in read.Runs().items() for tag in kinds["scalars"]}
    assert tags == SHOWN.keys()
    for (run, tag), points in SHOWN.items():
        shown = [p for event in read.Scalars(run, tag) for p in (event.step, event.value, event.wall_time)]
        assert shown == pytest.approx([p for point in points for p in point])


def test_latex_compiles(logs: Path, tmp_path: Path) -> None:
    """A document with the table is set by TeX, where there is one, without a complaint."""
    pdflatex = shutil.which("pdflatex")
    if pdflatex is None or shutil.which("kpsewhich") is None:
        pytest.skip("there is no TeX (apt install texlive-latex-recommended texlive-science)")
    table = perflog.extract(logs, warmup=10, set={"model": "r_50 & 100% #1 {x} ~^\\\\ $y$"}).encoded("latex")
    assert isinstance(table, str)
    packages = r"\usepackage[a2paper,landscape]{geometry}\usepackage{booktabs,siunitx}"
    text = f"\\documentclass{{article}}{packages}\\begin{{document}}{table}\\end{{document}}"
    (tmp_path / "page.tex").write_text(text, encoding="utf-8")
    command = [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-1500:]
    assert (tmp_path / "page.pdf").stat().st_size > 1000
    assert "Undefined control sequence" not in done.stdout and "Warning: Missing" not in done.stdout
