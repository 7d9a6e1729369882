"""Hostile names and contents through every command and every format: nothing acts where it comes out.

The logs lie under folders with hostile names, and say a hostile model; every command that prints or writes anything of
them is run as ``perflog`` runs it, in GitHub Actions' environment, and what it prints and writes is looked at.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from perflog import __main__
from tests.support import FIXTURES
from tests.test_escaping import from_exact

SOURCE = FIXTURES / "campaign/releases/2.13.0/pytorch/cnn/bz16"
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
#: Parts of names and contents; a name has no slash, a content no quote.
NASTY = ["\x1b]0;PWNED\x07", "\x1b[2J", "\x1b\x1b[31m]0;x\x07", "\x9b31m", "\x85", "\u202e", "\u2066", "\u2028", "\r", "\t", "\x7f", "=1+1", "@SUM(A1)", "+1", "-2+3", "|", "`", "<b onload=x>", "<script>alert(1)<script>", "$x$", "\\", "&amp;", "[a](b)", "-->", "<!-- perflog -->", "##[error]x", "::error::x", "a", "rn50", " ", "{{1}}", "[red]", "[/x]", "%s", "é中"]  # fmt: skip
IN_NAMES = [*NASTY, "\n", "\n::error::x", "\udcff", "\udc9b", "\\xff", "'", '"', "*"]
CONTENT = st.lists(st.sampled_from(NASTY), min_size=1, max_size=4).map("".join)
NAME = st.lists(st.sampled_from(IN_NAMES), min_size=1, max_size=4).map("".join)
#: Commands; {logs} and {other} are folders of logs, {out} a folder for what is written, {db} a database.
COMMANDS = """
extract {logs}
extract {logs} -f markdown
extract {logs} -f csv
extract {logs} -f json
extract {logs} -f dlperf -o {out}/dlperf.json
extract {logs} -f csv -o {out}/t.csv
extract {logs} -f parquet -o {out}/t.parquet
extract {logs} -f latex -o {out}/t.tex
extract {logs} -f openmetrics -o {out}/t.prom
extract {logs} -o {out}/t.xlsx
table {logs} --rows label,model -f latex
extract {logs}-none
explain {logs}
config {logs}
table {logs} --rows label,model --value throughput,speedup
table {logs} --rows label --columns model --style dlperf
table {logs} --rows model --where model=none
plot {logs} -o {out}/spread.svg --kind spread
plot {logs} -o {out}/steps.svg --kind steps
plot {logs} -o {out}/scaling.svg
report {logs} -o {out}/report.md
report {logs} -o {out}/report.html --lang zh
readme {out}/report.md --check
readme {out}/report.md
compare {logs} {other}
compare {logs} {other} -f markdown
compare {logs} {other} -f csv
compare {logs} {other} -f json
compare {logs} {other} -o {out}/compare.svg
compare {logs} {other} -o {out}/compare.html --explain-verdicts
compare {logs} {other} -o {out}/gate.xml --fail-on inconclusive
compare {logs} {other} --alias {name}=x
compare {logs} {other} --marker {name}
plan {logs}
noise {logs} -f markdown
noise {logs} -f json
save {logs} --label v1 --database {db}
save {other} --label v2 --database {db}
save {other} --label {name} --database {db}
history --database {db}
history --database {db} -f csv
history --database {db} --case devices=1
history --database {db} --case devices=1 -f csv
history --database {db} --case devices=1 -f json
history --database {db} --case devices=1 -o {out}/history.svg
history --database {db} --case model={name}
history --database {db} --regressions
history --database {db} --regressions -f csv
history --database {db} --regressions -f json
history --database {db} --regressions -o {out}/history.xml
history --database {db} --regressions -o {out}/history.atom
history --database {db} --regressions --since {name}
history --database {db} -o {out}/site/
history delete {name} --database {db}
compare v1 v2 --database {db}
audit {out}/report.md --logs {logs} --all
audit {out}/report.md --logs {logs} --all -f markdown
audit {out}/report.md --logs {logs} --all -f json
audit {out}/report.md --logs {logs} --all -f junit -o {out}/audit.xml
parsers check --parsers {logs}
parsers show {name}
parsers new x --from {logs} -o {out}
watch {logs} --once
run {logs}/{name}.toml --dry-run
extract {logs} --parser {name}
extract {logs} --warmup {name}
{name}
--{name}
"""


@contextmanager
def environment() -> Iterator[None]:
    """What a command changes of its process is put back; the environment is that of GitHub Actions."""
    import gc

    before = sys.argv, sys.stdout, sys.stderr, gc.get_threshold()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_ACTIONS", "true")
        patch.setenv("COLUMNS", "200")
        try:
            yield
        finally:
            sys.argv, sys.stdout, sys.stderr = before[:3]
            gc.set_threshold(*before[3])


def perflog(words: Sequence[str]) -> tuple[int, str, str]:
    """A command's status, and what it prints on both streams; it ends by itself and without an internal error."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with environment():
        sys.argv, sys.stdout, sys.stderr = ["perflog", *words], out, err
        status = __main__._status()
    printed, said = (stream.detach().getvalue().decode("utf-8") for stream in (out, err))
    return status, printed, said


def without_colours(text: str) -> str:
    """The text without the colours that typer and rich give their own words in GitHub Actions."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def lay(folder: Path, name: str, model: str, logs: int = 2) -> Path:
    """Logs of one and of two devices under a folder with a hostile name, which say a hostile model."""
    for source in sorted(SOURCE.glob("1n[12]g")):
        place = folder / name / source.name
        place.mkdir(parents=True)
        for log in sorted(source.glob("*.log"))[:logs]:
            lines = log.read_text(encoding="utf-8").split("\n")
            lines[0] = f"=> creating model '{model}'"
            (place / f"{name}{log.name}"[-200:]).write_text("\n".join(lines), encoding="utf-8", newline="")
    return folder / name


def check_text(text: str, what: str) -> None:
    """Nothing in a text acts."""
    found = ACTS.search(text)
    assert found is None, f"{what}: {found[0]!r} in {text[max(0, found.start() - 60) : found.start() + 60]!r}"


def check_csv(text: str, what: str) -> None:
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            number = re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?|-", cell)
            assert not re.match(r"\s*[=+\-@]", cell) or number, f"{what}: {cell!r}"


def check_latex(text: str, what: str) -> None:
    """No text of a log begins a comment, behind perflog's own in the first line, or a formula."""
    assert not re.search(r"(?<!\\)%", text.partition("\n")[2]), what
    assert not re.search(r"(?<!\\)\$x", text), what


def check_workbook(file: Path) -> None:
    """Text is text: no cell of a workbook is computed."""
    import openpyxl

    cells = [cell for sheet in openpyxl.load_workbook(file) for row in sheet.iter_rows() for cell in row]
    assert cells and not [cell.value for cell in cells if cell.data_type == "f"]
    for cell in cells:
        check_text(str(cell.value), file.name)


def check_file(file: Path) -> None:
    if file.suffix == ".xlsx":
        check_workbook(file)
    if file.suffix in (".parquet", ".db", ".xlsx"):
        return
    text = file.read_text(encoding="utf-8")
    check_text(text, file.name)
    if file.suffix == ".csv":
        check_csv(text, file.name)
    if file.suffix == ".tex":
        check_latex(text, file.name)
    if file.suffix in (".svg", ".xml", ".atom"):
        ET.fromstring(text)
    if file.suffix == ".html":
        assert "<script>alert" not in text and "<b onload" not in text and text.count("<script") <= 2


def check_json(text: str, logs: Path) -> None:
    """The names of the files come back exactly."""
    document = json.loads(text)
    cases = document.get("cases", ())
    listed = cases if isinstance(cases, list) else []  # elsewhere it is their number
    named = {run["source"]["file"] for case in listed for run in case.get("runs", ())}
    there = {str(path) for path in logs.rglob("*.log")}
    assert {from_exact(name) for name in named} <= there
    if document.get("schema") == "perflog/extraction/2":
        assert len(named) == len(there)


@pytest.mark.long
def test_nothing_acts_in_any_output() -> None:
    check_all_outputs("\x1b]0;p\x07\n::error::\udcff", "=1+1\x1b\x1b[31m]0;PWNED\x07\u202e")


@pytest.mark.long
@settings(max_examples=int(os.environ.get("PERFLOG_HOSTILE", "1")), suppress_health_check=list(HealthCheck))
@given(name=NAME, model=CONTENT)
@example(name="=cmd|' /C calc'!A0", model="-->|`<b onload=x>$x$")
def test_nothing_acts_in_any_output_whatever_the_names(name: str, model: str) -> None:
    check_all_outputs(name.replace("/", ""), model)


def check_all_outputs(name: str, model: str) -> None:
    """Every command on logs of this name that say this model."""
    with TemporaryDirectory() as folder:
        base = Path(folder)
        out = base / "out"
        out.mkdir()
        logs, other = lay(base / "a", name, model), lay(base / "b", name, f"{model}2")
        places = {"logs": str(logs), "other": str(other), "out": str(out), "db": str(out / "h.db"), "name": name}
        ends = []
        for line in COMMANDS.strip().splitlines():
            words = [word.format(**places) for word in line.split()]
            status, printed, said = perflog(words)
            ends.append(status)
            assert status != 70, f"{line}: {said}"
            for text in map(without_colours, (printed, said)):
                check_text(text, line)
                assert not re.search(r"(?m)^\s*::\w|##\[", text), f"{line}: {text}"
            if " -f csv" in line and printed:
                check_csv(printed, line)
            if " -f json" in line and printed:
                check_json(printed, logs)
        for file in (path for path in out.rglob("*") if path.is_file()):
            check_file(file)
        import polars as pl

        pl.read_parquet(out / "t.parquet")
        assert ends.count(0) >= 20, "most commands have something to show"
