"""What the functions of perflog give: short in a console, tables in a notebook, frames, and errors in Python's terms."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import perflog
from perflog.api.options import frame_of, python_terms
from perflog.errors import PerflogError, UsageError
from tests.campaigns import write_run
from tests.support import FIXTURES, ROOT

#: A console's result is one line of at most so many characters.
MOST_CHARACTERS = 400
MODEL = "a<script>b</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sides of one case of eight devices, the new one faster by a tenth, and a README with a stale number."""
    place = tmp_path_factory.mktemp("results")
    for side, factor in (("old", 1.0), ("new", 1.1)):
        for number, rate in enumerate((100.0, 101.0, 102.0, 103.0, 104.0), 1):
            write_run(place / side / "1n8g" / f"rn50_b128_fp32_{number}.log", [round(rate * factor, 2)] * 60)
    (place / "README.md").write_text(
        "# rn50, FP32, batch size 128\n<!-- perflog: table old -r devices --no-notes --digits throughput=%.2f -->\n"
        "| devices | throughput (images/s) |\n|:--|--:|\n| 8 | 130.00 |\n<!-- /perflog -->\n"
    )
    for day, side in enumerate(("old", "new"), 1):
        when = datetime(2026, 1, day, tzinfo=UTC)
        perflog.save(place / side, f"v{day}", date=when, database=place / "history.sqlite")
    return place


#: Every kind of result, with what its one line begins with.
RESULTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "extract": (lambda f: perflog.extract(f / "old"), "<perflog.Extracted: 1 case, 5 runs, 0 files skipped>"),
    "explain": (lambda f: perflog.explain(f / "old"), "<perflog.Explanations: 5 logs, 0 without a number; print() shows them>"),
    "table": (lambda f: perflog.table(f / "old", "devices"), "<perflog.Table: 1 row, 1 column of values; print() shows it>"),
    "plot": (lambda f: perflog.plot(f / "old", "spread"), "<perflog.Picture: svg: "),
    "png": (lambda f: perflog.plot(f / "old", "spread", form="png"), "<perflog.Picture: png: "),
    "report": (lambda f: perflog.report(f / "old", f / "r.html"), "<perflog.Report: r.html: "),
    "readme": (lambda f: perflog.readme(f / "README.md"), "<perflog.Readme: 1 region in 1 file: 1 file differs from its logs>"),
    "compare": (lambda f: perflog.compare(f / "old", f / "new"), "<perflog.Comparison: 1 case: 1 faster"),
    "plan": (lambda f: perflog.plan(f / "old"), "<perflog.Noise: 1 case, spread between runs up to 1.6 %>"),
    "noise": (lambda f: perflog.noise(f / "old"), "<perflog.Noise: 1 case, spread between runs up to 1.6 %>"),
    "audit": (lambda f: perflog.audit(f / "README.md", f / "old"), "<perflog.Audit: 1 cell: 1 differs>"),
    "campaigns": (lambda f: perflog.history(database=f / "history.sqlite"), "<perflog.History: 2 campaigns (v1 to v2)>"),
    "series": (
        lambda f: perflog.history({"devices": 8}, database=f / "history.sqlite"),
        "<perflog.History: 2 campaigns (v1 to v2), 1 series>",
    ),
}  # fmt: skip


@cache
def result(name: str, folder: Path) -> Any:
    """A result of this kind, made once for all tests that only look at it."""
    return RESULTS[name][0](folder)


class Balance(HTMLParser):
    """Which tags of a page are open, and whether one of them acts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag not in ("br", "img"):
            self.open.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.long
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_one_short_line(name: str, folder: Path) -> None:
    text = repr(result(name, folder))
    assert text.startswith(RESULTS[name][1]) and text.endswith(">"), text
    assert len(text) < MOST_CHARACTERS and "\n" not in text


def test_what_a_result_holds_is_short_too(folder: Path) -> None:
    comparison, readme = result("compare", folder), result("readme", folder)
    held = [*result("noise", folder).cases, *comparison.rows, *readme.files, *result("explain", folder)]
    held += [case for row in comparison.rows for case in (row.pair.old, row.pair.new)]
    assert max(len(repr(thing)) for thing in held) < 2_000, max(map(repr, held), key=len)
    assert repr(comparison.rows[0].pair.old).startswith("<Case 'PyTorch rn50 fp32 bs128 8 devices': throughput 1")
    assert repr(comparison.rows[0].pair.old).endswith(" images/s, 5 runs>")


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "report"])
@pytest.mark.long
def test_a_notebook_shows_a_result(name: str, folder: Path) -> None:
    page = result(name, folder)._repr_html_()
    balance = Balance(page)
    assert balance.open == [] and balance.tags <= {"p", "table", "thead", "tbody", "tr", "th", "td", "br", "pre", "img"}
    assert balance.tags & {"table", "pre", "img"}


def test_no_text_of_a_log_acts_in_a_notebook(folder: Path) -> None:
    for result in (
        perflog.extract(folder / "old", set={"model": MODEL}),
        perflog.table(folder / "old", "model", set={"model": MODEL}),
        perflog.explain(folder / "old/1n8g/rn50_b128_fp32_1.log", set={"model": MODEL}),
        perflog.compare(folder / "old", folder / "new", set={"model": MODEL}),
    ):
        page = result._repr_html_()
        assert "<script" not in page and "&lt;script" in page


def test_the_bare_result_of_60_runs_is_short() -> None:
    result = perflog.extract(FIXTURES / "seed004")
    assert len(repr(result)) < 80 and len(result._repr_html_()) < 20_000


# ---------------------------------------------------------------- frames


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in ("plot", "png", "report")])
def test_a_result_has_frames(name: str, folder: Path) -> None:
    frame = result(name, folder).frame
    assert isinstance(frame, pl.DataFrame) and frame.height >= 1
    pandas = result(name, folder).to_pandas()
    assert isinstance(pandas, pd.DataFrame)
    assert (list(pandas.columns), len(pandas)) == (frame.columns, frame.height)


def test_frames_hold_the_numbers(folder: Path) -> None:
    compared = result("compare", folder).frame.row(0, named=True)
    assert compared["ratio"] == pytest.approx(1.1) and compared["verdict"] == "faster" and compared["devices"] == 8
    assert (compared["old_median"], compared["new_median"]) == (pytest.approx(102.0), pytest.approx(112.2))
    audited = result("audit", folder).frame.row(0, named=True)
    assert audited["published"] == 130.0 and audited["difference"] == pytest.approx(130 / 102 - 1)
    changed = result("readme", folder).frame.row(0, named=True)
    assert (changed["old"], changed["new"], changed["line"]) == ("130.00", "102.00", 5)
    assert result("series", folder).frame["value"].to_list() == pytest.approx([102.0, 112.2])
    table = result("table", folder).frame
    assert table["devices"].to_list() == [8] and table["throughput (images/s)"].to_list() == pytest.approx([102.0])
    assert result("extract", folder).to_pandas("runs")["throughput"].tolist() == pytest.approx(
        [100, 101, 102, 103, 104]
    )


def test_a_frame_has_the_columns_of_all_rows() -> None:
    rows: list[dict[str, Any]] = [
        {"case": {"devices": 8}, "old": {"n": 1, "runs": [{"file": "a"}]}, "notes": ["x", "y"]},
        {"case": {"model": "m"}},
    ]
    assert frame_of(rows).to_dicts() == [
        {"devices": 8, "old_n": 1, "notes": "x; y", "model": None},
        {"devices": None, "old_n": None, "notes": None, "model": "m"},
    ]


def test_without_pandas_it_is_said(folder: Path) -> None:
    program = f"""
import sys
sys.modules["pandas"] = None
import perflog
try:
    perflog.extract({str(folder / "old")!r}).to_pandas()
except perflog.errors.PerflogError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "to_pandas() needs the package pandas, which is not installed: pip install pandas\n", (
        done.stderr
    )


# ---------------------------------------------------------------- writing


@pytest.mark.parametrize("name", ["cases.csv", "cases.json", "cases.parquet", "cases.xlsx", "cases.tex", "cases.md"])
def test_an_extraction_is_written_by_its_ending(name: str, folder: Path, tmp_path: Path) -> None:
    result = perflog.extract(folder / "old")
    result.write(tmp_path / name)
    data = (tmp_path / name).read_bytes()
    form = {"md": "markdown", "tex": "latex"}.get(name.partition(".")[2], name.partition(".")[2])
    if form != "xlsx":  # which says when it was made
        expected = result.encoded(form)
        assert data == (expected if isinstance(expected, bytes) else expected.encode())
    begins = {"csv": b"framework,", "json": b'{\n "schema"', "parquet": b"PAR1", "xlsx": b"PK", "markdown": b"| "}
    assert data.startswith(begins.get(form, b"% in the preamble"))
    with pytest.raises(UsageError, match=r"found an ending that no format has$"):
        result.write(tmp_path / "cases.foo")


def test_a_picture_is_written(folder: Path, tmp_path: Path) -> None:
    picture = perflog.plot(folder / "old", "spread", form="png")
    picture.write(tmp_path / "spread.png")
    assert (tmp_path / "spread.png").read_bytes() == picture.data and picture.data.startswith(b"\x89PNG")


# ---------------------------------------------------------------- errors in Python's terms


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: perflog.extract(f, estimator="avg"), "estimator 'avg': expected one of total, mean"),
        (lambda f: perflog.extract(f, warmup="abc"), "warmup 'abc': expected a number of steps"),
        (lambda f: perflog.extract(f).encoded("xml"), "form 'xml': expected one of table"),
        (lambda f: perflog.extract(f).to_pandas("walks"), "what 'walks': expected one of cases, runs, skipped"),
        (lambda f: perflog.table(f, "devices", language="fr"), "language 'fr': expected one of en, zh"),
        (lambda f: perflog.table(f, "devices=x"), "rows 'devices=x': expected fields"),
        (lambda f: perflog.table(f, "devices", style="q"), "style 'q': "),
        (lambda f: perflog.compare(f, f, metric="x"), "metric 'x': expected one of throughput"),
        (lambda f: perflog.audit(f / "README.md", tolerance=7), "tolerance 7: expected a share"),
        (lambda f: perflog.plot(f, "pie"), "kind 'pie': expected one of scaling"),
        (lambda f: perflog.plan(f, "700%"), "detect '700%': expected a share"),
        (lambda f: perflog.save(f / "old", "v1", database=f / "history.sqlite", date=datetime(2025, 1, 1, tzinfo=UTC)), "replace puts"),
    ],
)  # fmt: skip
def test_errors_name_arguments(call: Callable[[Path], Any], message: str, folder: Path) -> None:
    with pytest.raises(PerflogError) as raised:
        call(folder)
    assert message in str(raised.value) and "--" not in str(raised.value)


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("give --set devices=N", "give set={'devices': N}"),
        ("for samples/s give --set batch_size=32", "for samples/s give set={'batch_size': 32}"),
        ("--digits throughput=%.2f is wrong", "digits={'throughput': '%.2f'} is wrong"),
        ("--name 'a'", "names 'a'"),
        ("give --no-notes", "give notes=False"),
        ("(--format json lists them)", "(--format json lists them)"),
        ("a--b and ---x", "a--b and ---x"),
        ("such as -o part1.parquet; found none", "such as part1.parquet; found none"),
        ("see it without -o for the reasons", "see it without -o for the reasons"),
        ("--time-to-train 3", "time_to_train 3"),
    ],
)
def test_options_become_arguments(told: str, meant: str) -> None:
    assert python_terms(told) == meant


def test_a_missing_extra_is_one_sentence(folder: Path) -> None:
    program = f"""
import sys
sys.modules["sqlalchemy"] = None
import perflog
try:
    perflog.save({str(folder / "old")!r}, label="x", database={str(folder / "h.sqlite")!r})
except perflog.errors.PerflogError as error:
    print(error.code, error)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("missing-package the history needs the package sqlalchemy"), done.stderr


# ---------------------------------------------------------------- docstrings


FUNCTIONS = [name for name in perflog.__all__ if name.islower() and name != "__version__"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_is_described(name: str) -> None:
    function = getattr(perflog.api, name)
    text = inspect.getdoc(function) or ""
    described = re.findall(r"^    (\w+): \S", text.partition("Args:\n")[2].partition("\n\n")[0], re.MULTILINE)
    assert described == list(inspect.signature(function).parameters)
    assert "Returns:\n" in text and "Raises:\n" in text


@pytest.mark.parametrize("name", [name for name in perflog.__all__ if name[0].isupper()])
def test_every_method_of_a_result_is_described(name: str) -> None:
    kind = getattr(perflog, name)
    for member, value in inspect.getmembers(kind):
        if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            if value in (getattr(base, member, None) for base in (tuple, object)) or member in ("count", "index"):
                continue
            text = inspect.getdoc(value) or ""
            assert text, f"{name}.{member}"
            if inspect.isfunction(value):
                for argument in list(inspect.signature(value).parameters)[1:]:
                    assert f"{argument}:" in text, f"{name}.{member}({argument})"


def test_every_option_of_extraction_is_described() -> None:
    for option in perflog.api.ExtractionOptions.__annotations__:
        assert f"``{option}``" in (perflog.api.__doc__ or "")
