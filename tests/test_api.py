"""Every use case as a Python function: hand-made truths, and the same as what its command prints."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import perflog
from perflog.cli import app
from perflog.errors import UsageError
from tests.campaigns import write_run
from tests.support import FIXTURES, ROOT

SEED = FIXTURES / "seed004/logs_fp32"
BZ128 = SEED / "mindspore/resnet50/bz128"
#: Use cases that have the name of a package.
PACKAGES = sorted(set(perflog.__all__) & {file.stem for file in (ROOT / "perflog").iterdir()})
#: Rates of the five runs of a side; those of the other side are a tenth higher.
RATES = (100.0, 101.0, 102.0, 103.0, 104.0)
WINDOW: Any = {"warmup": 100, "steps": 100}
WORDS = ["--warmup", "100", "--steps", "100"]


def printed(*words: object, status: int = 0) -> str:
    """What a command prints on stdout."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == status, done.output
    return done.stdout


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Two sides of one case with constant rates, the new one faster by a tenth."""
    for side, factor in (("old", 1.0), ("new", 1.1)):
        for number, rate in enumerate(RATES, 1):
            write_run(tmp_path / side / "1n8g" / f"rn50_b128_fp32_{number}.log", [round(rate * factor, 2)] * 60)
    return tmp_path / "old", tmp_path / "new"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


# ---------------------------------------------------------------- the front door


#: A process forks for each name before it imports any of perflog: what another name imports changes nothing.
EACH_NAME = """
import importlib, inspect, os, sys
import msgspec, numpy
assert not any(name.startswith("perflog") for name in sys.modules)
for name in {names}:
    if os.fork():
        assert os.wait()[1] == 0, name
        continue
    exec({before!r}.format(name=name))
    import perflog
    from perflog import api
    function = getattr(perflog, name)
    assert callable(function)
    assert inspect.signature(function) == inspect.signature(getattr(api, name))
    package = importlib.import_module("perflog." + name)
    assert package is sys.modules["perflog." + name] and callable(getattr(perflog, name))
    try:
        getattr(perflog, name)(no_such_option=1)
    except TypeError:
        print(name, flush=True)
        os._exit(0)
"""


@pytest.mark.parametrize("before", ["", "import perflog.{name} as package", "from perflog import {name}"])
def test_a_function_is_there_whoever_imported_its_package(before: str) -> None:
    program = EACH_NAME.format(names=PACKAGES, before=before)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (PACKAGES, "")


def test_modules_of_a_package_are_reached_through_it() -> None:
    program = "import perflog.compare.rows, perflog; print(perflog.compare.rows.Comparison.__name__, perflog.compare.__doc__[:15])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("Comparison Two extractions\n", "")


def test_importing_perflog_is_cheap() -> None:
    program = "import perflog, sys; print(sorted({'polars', 'numpy', 'matplotlib', 'typer', 'scipy'} & set(sys.modules)), dir(perflog)[-1])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[] view\n", "")


def test_every_name_is_there_and_described() -> None:
    for name in perflog.__all__:
        assert getattr(perflog, name) is not None
        assert name == "__version__" or getattr(perflog.api, name).__doc__


def test_an_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="there is no option warmpu "):
        perflog.extract(BZ128, warmpu=5)  # type: ignore[call-arg]


# ---------------------------------------------------------------- logs


def test_extract_is_what_the_command_extracts(sides: tuple[Path, Path]) -> None:
    extracted = perflog.extract(sides[0], warmup=10)
    assert extracted.cases["throughput"].to_list() == [pytest.approx(102.0)]
    assert extracted.runs["throughput"].to_list() == pytest.approx(list(RATES))
    assert extracted.document() == json.loads(printed("extract", sides[0], "--warmup", 10, "--format", "json"))


def test_explain_is_what_the_command_explains() -> None:
    explanations = perflog.explain(FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log", warmup=100000)
    (explanation,) = explanations
    assert not explanation.complete and "400 steps, warm-up 100000" in explanation.text
    words = "explain", explanation.log, "--warmup", 100000
    assert f"{explanation.text}\n" == printed(*words, status=3)
    assert explanations.document() == json.loads(printed(*words, "--format", "json", status=3))
    (everything,) = perflog.explain(explanation.log, why_not="all", warmup=100000)
    assert f"{everything.text}\n" == printed(*words, "--why-not", "all", status=3) != printed(*words, status=3)


def test_table_is_the_commands(sides: tuple[Path, Path]) -> None:
    table = perflog.table(
        sides[0], "devices", value="throughput,n", digits={"throughput": "%.1f"}, titles={"throughput": "speed"}
    )
    assert (table.table.header, table.table.rows, table.table.keys) == (
        ["devices", "speed", "n"],
        [["8", "102.0", "5"]],
        1,
    )
    words = [
        "--rows",
        "devices",
        "--value",
        "throughput,n",
        "--digits",
        "throughput=%.1f",
        "--title",
        "throughput=speed",
    ]
    assert table.text == printed("table", sides[0], *words)


def test_plot_is_the_commands_picture(tmp_path: Path) -> None:
    picture = perflog.plot(BZ128, "scaling", form="svg", **WINDOW)
    printed("plot", BZ128, *WORDS, "-o", tmp_path / "scaling.svg")
    assert picture.data == (tmp_path / "scaling.svg").read_bytes()
    assert picture.described.startswith("Throughput and speedup against devices of MindSpore rn50 fp32: ")


def test_drawing_leaves_the_backend_and_the_settings_alone() -> None:
    program = f"""
import matplotlib, perflog
matplotlib.use("pdf")
before = dict(matplotlib.rcParams)
perflog.plot({str(BZ128)!r}, "spread")
assert matplotlib.get_backend() == "pdf" and dict(matplotlib.rcParams) == before
print("left alone")
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("left alone\n", "")


@pytest.mark.parametrize("name", ["README.md", "report.html"])
@pytest.mark.long
def test_report_is_the_commands_and_is_written_on_demand(name: str, tmp_path: Path) -> None:
    (tmp_path / "python").mkdir()
    (tmp_path / "shell").mkdir()
    report = perflog.report(BZ128, tmp_path / "python" / name, **WINDOW)
    assert not (tmp_path / "python" / name).exists()
    report.write()
    printed("report", BZ128, *WORDS, "-o", tmp_path / "shell" / name)
    written = {file.name: file.read_bytes() for file in (tmp_path / "shell").iterdir()}
    assert {file.name: file.read_bytes() for file in (tmp_path / "python").iterdir()} == written
    assert {file.name for file in report.files} == set(written) and name in written
    if name == "README.md":
        with pytest.raises(UsageError, match="makes its regions true; name another file"):
            perflog.report(BZ128, tmp_path / "python" / name)


def test_a_table_takes_values_as_printed() -> None:
    log = FIXTURES / "parsers/paddleclas/static.log"
    made = perflog.table(log, "framework", value="throughput", values="printed", estimator="mean", set={"devices": 8})
    words = ["--rows", "framework", "--values", "printed", "-e", "mean", "-s", "devices=8"]
    assert made.text == printed("table", log, *words)
    assert made.text != perflog.table(log, "framework", estimator="mean", set={"devices": 8}).text


def test_readme_says_what_differs_and_writes_on_demand(sides: tuple[Path, Path]) -> None:
    page = sides[0].parent / "R.md"
    page.write_text(
        "<!-- perflog: table old -r devices --digits 'throughput=%.0f' --no-notes -->\nstale\n<!-- /perflog -->\n"
    )
    regenerated = perflog.readme(page)
    assert not regenerated.up_to_date and "stale" in page.read_text()
    regenerated.write()
    assert page.read_text().splitlines()[1:4] == [
        "| devices   |   throughput (images/s) |",
        "|:----------|------------------------:|",
        "| 8         |                     102 |",
    ]
    assert perflog.readme(page).up_to_date


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("table old", "R.md:1: the recipe is wrong: a table needs --rows"),
        ("table --rows devices", "R.md:1: the recipe is wrong: it names no logs"),
        ("table old --rowz devices", "there is no option --rowz; did you mean --rows?"),
        ("plot old --rows devices", "there is no option --rows"),
        ("table old --rows", "--rows needs a value"),
        ("table old -r devices --notes=no", "--notes takes no value"),
        ("plot old", "a picture needs a file: -o scaling.svg"),
        ("chart old", "a region holds a table, plot, environment, method or links"),
        ("table 'old", "the recipe cannot be read: No closing quotation"),
    ],
)
def test_a_wrong_recipe_is_refused_with_its_place(recipe: str, message: str, sides: tuple[Path, Path]) -> None:
    page = sides[0].parent / "R.md"
    page.write_text(f"<!-- perflog: {recipe} -->\n<!-- /perflog -->\n")
    with pytest.raises(perflog.errors.PerflogError) as raised:
        perflog.readme(page)
    assert message in str(raised.value)


def test_options_of_a_recipe_are_read_as_on_the_command_line(sides: tuple[Path, Path]) -> None:
    page = sides[0].parent / "R.md"
    texts = []
    for words in (
        "old --rows devices --warmup 10 --set seed=1",
        "old -rdevices -w10 -s seed=1",
        "--rows=devices --warmup=10 -sseed=1 -- old",
    ):
        page.write_text(f"<!-- perflog: table {words} -->\n<!-- /perflog -->\n")
        texts.append(perflog.readme(page).files[0].new.splitlines()[1:])
    assert texts[0] == texts[1] == texts[2] and any("warm-up 10 steps" in line for line in texts[0])


# ---------------------------------------------------------------- two sides


def test_compare_gives_the_ratio_that_the_logs_were_made_with(sides: tuple[Path, Path]) -> None:
    comparison = perflog.compare(*sides, margin="5%", warmup=10)
    (row,) = comparison.rows
    assert (comparison.comparison.old, comparison.comparison.new, comparison.comparison.rule.margin) == (
        "old",
        "new",
        0.05,
    )
    assert list(row.old) == pytest.approx(list(RATES))
    assert list(row.new) == pytest.approx([110.0, 111.1, 112.2, 113.3, 114.4])
    assert row.ratio.value == pytest.approx(1.1, abs=1e-9) and row.verdict == "faster" and row.unit == "images/s"
    words = ["--margin", "5%", "--warmup", 10, "--format", "json"]
    assert comparison.document() == json.loads(printed("compare", *sides, *words))


def test_compare_refuses_what_is_no_level(sides: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match="a level lies between 50 and 100 per cent, not 9500"):
        perflog.compare(*sides, level=95)
    with pytest.raises(UsageError, match=r"expected a share such as 2% or 0\.02"):
        perflog.compare(*sides, margin=2)


def test_plan_and_noise_are_the_commands(sides: tuple[Path, Path]) -> None:
    plan, noise = perflog.plan(sides[0], "5%"), perflog.noise(sides[0])
    # the standard deviation of ln 100 … ln 104, by hand
    assert plan.cases[0].coefficient_of_variation == pytest.approx(0.0155028, abs=1e-6)
    assert (plan.detect, noise.detect, noise.cases[0].runs_needed) == (0.05, None, None)
    assert plan.document() == json.loads(printed("plan", sides[0], "--detect", "5%", "--format", "json"))
    assert noise.document() == json.loads(printed("noise", sides[0], "--format", "json"))


def test_saved_campaigns_are_listed_followed_and_compared(sides: tuple[Path, Path], database: Path) -> None:
    saved = perflog.save(sides[0], "v1", date=datetime(2026, 1, 2, tzinfo=UTC), database=database)
    assert (saved.label, saved.cases, saved.runs, saved.done) == ("v1", 1, 5, "saved")
    perflog.save(sides[1], "v2", date=datetime(2026, 1, 3, tzinfo=UTC), database=database)
    history = perflog.history({"devices": 8}, database=database)
    assert [entry.label for entry in history.campaigns] == ["v1", "v2"]
    (series,) = history.series
    assert [point.summary.value for point in series.points] == pytest.approx([102.0, 112.2])
    campaigns = perflog.history(database=database)
    assert campaigns.series == ()
    listed = "history", "--database", database, "--format", "json"
    assert campaigns.document() == json.loads(printed(*listed))
    assert history.document() == json.loads(printed(*listed, "--case", "devices=8"))
    (row,) = perflog.compare("v1", "v2", database=database).rows
    assert row.ratio.value == pytest.approx(1.1, abs=1e-9)
    with pytest.raises(UsageError, match="no campaign 'v9'"):
        perflog.compare("v1", "v9", database=database)


@pytest.mark.long
def test_audit_is_the_commands(sides: tuple[Path, Path]) -> None:
    page = sides[0].parent / "README.md"
    page.write_text(
        "| model | devices | batch size | precision | images/s |\n|---|---|---|---|---|\n| rn50 | 8 | 128 | fp32 | 555.55 |\n"
    )
    audit = perflog.audit(page, sides[0])
    document = json.loads(printed("audit", page, "--logs", sides[0], "--format", "json", status=1))
    assert audit.failing
    assert [(j.claim.text, j.verdict) for j in audit.judgements] == [
        (c["text"], c["verdict"]) for c in document["cells"]
    ]
    assert ("555.55", "differs") in [(j.claim.text, j.verdict) for j in audit.judgements]
