"""What a report of a real folder shows: sections by model and unit, whose rows and columns tell all cases apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perflog.cases.choosing import chosen, sections
from perflog.cli import app
from perflog.errors import UsageError
from perflog.show.contents import MOST_PANELS, Choice, contents, environment, listed
from perflog.show.steps import MOST_RUNS
from tests.show.made import extraction, run
from tests.support import CORPUS, FIXTURES, extracted, needs_corpus

SEED = FIXTURES / "seed004"


def test_models_and_units_are_sections_and_spellings_are_one() -> None:
    runs = [
        run({"framework": "A", "model": "ResNet-50", "devices": 1}, 1.0, "images/s"),
        run({"framework": "B", "model": "resnet50", "devices": 1}, 1.0, "samples/s"),
        run({"framework": "A", "model": "resnet50", "devices": 2}, 1.0, "tokens/s"),
        run({"framework": "A", "model": "bert", "devices": 1}, 1.0, "tokens/s"),
        run({"framework": "A", "devices": 1}, 1.0, "tokens/s"),
    ]
    parts = sections(extraction(runs).cases)
    assert [(part.model, part.unit, len(part.cases)) for part in parts] == [
        ("bert", "tokens/s", 1), ("ResNet-50", "images/s, samples/s", 2), ("resnet50", "tokens/s", 1), ("", "tokens/s", 1),
    ]  # fmt: skip
    shown = contents(extraction(runs))
    assert [dict(section.where) for section in shown.sections] == [
        {"model": "bert"},
        {"model": "ResNet-50:resnet50", "unit": "images/s:samples/s"},
        {"model": "resnet50", "unit": "tokens/s"},
        {"model": "unknown"},
    ]
    cases = extraction(runs).cases
    assert [len(chosen(cases, section.where)) for section in shown.sections] == [1, 2, 1, 1]


def test_rows_are_frameworks_and_devices_and_columns_are_not_sparse() -> None:
    facts = [(f, p, b, d) for f in ("A", "B") for p, b in (("fp32", 128), ("fp16", 256)) for d in (1, 2)]
    full = [
        run({"framework": f, "model": "m", "precision": p, "batch_size": b, "devices": d}, d) for f, p, b, d in facts
    ]
    (section,) = contents(extraction(full)).sections
    assert (section.rows, section.columns) == ("framework,devices", "precision,batch_size")
    sparse = [run({"framework": "A", "model": "m", "batch_size": 2 * d, "devices": d}, d) for d in (1, 2, 4, 8)]
    (section,) = contents(extraction(sparse)).sections
    assert (section.rows, section.columns) == ("batch_size,devices", "")
    (section,) = contents(extraction(full), Choice(rows="precision,devices", columns="framework")).sections
    assert (section.rows, section.columns) == ("precision,devices", "framework")


def test_facts_stand_by_framework_and_what_is_missing_is_said_once() -> None:
    runs = [
        run({"framework": "A", "framework_version": "1.2", "model": "m", "devices": 1}, 1.0),
        run({"framework": "B", "model": "m", "devices": 2}, 1.0),
    ]
    text = listed(environment(extraction(runs), "en"))
    assert "- A\n  - Version: 1.2\n" in text
    assert "- B\n  - Model: m\n  - Devices: 2\n" in text
    assert "- Not said by the logs: Version, Accelerator, Precision, Batch size per device, Nodes\n" in text
    assert "- All\n  - Runs per case: 1\n" in text
    one = listed(environment(extraction(runs[:1]), "en"))
    assert one.startswith("- Framework: A\n- Version: 1.2\n- Accelerator: not said by the logs\n")


def test_a_title_names_few_models_and_counts_many() -> None:
    few = contents(extraction([run({"framework": "A", "model": m, "devices": 1}, 1.0) for m in "xyz"]))
    many = contents(extraction([run({"framework": f, "model": m, "devices": 1}, 1.0) for m in "wxyz" for f in "AB"]))
    assert few.title("en") == "A x, y, z: training performance"
    assert many.title("en") == "A, B · 4 models: training performance"
    assert many.title("zh") == "A, B · 4 个模型 训练性能"
    one_framework = contents(extraction([run({"framework": "A", "model": m, "devices": 1}, 1.0) for m in "wxyz"]))
    assert one_framework.title("en") == "A · 4 models: training performance"


def test_a_report_draws_so_many_panels_and_says_what_it_does_not() -> None:
    runs = [run({"framework": "A", "model": f"m{n}", "devices": d}, d) for n in range(MOST_PANELS) for d in (1, 2)]
    shown = contents(extraction(runs))
    assert sum(section.scaling for section in shown.sections) == MOST_PANELS // 2
    assert shown.undrawn == MOST_PANELS - MOST_PANELS // 2


def test_step_times_are_drawn_of_as_many_runs_as_one_picture_holds() -> None:
    facts: dict[str, str | int] = {"framework": "A", "model": "m", "devices": 1}
    made = [run({**facts, "repeat": repeat}, 1.0) for repeat in range(1, MOST_RUNS + 2)]
    with_steps = [
        replace(bare, metrics={**bare.metrics, "step_time": replace(bare.throughput, name="step_time", unit="s")})
        for bare in made
    ]
    assert not contents(extraction(with_steps)).steps, "`perflog plot --kind steps` refuses so many"
    assert contents(extraction(with_steps[:-1])).steps


def test_cases_are_chosen_and_a_name_that_is_none_is_told() -> None:
    cases = extracted(SEED, warmup=100, steps=100).cases
    assert len(chosen(cases, {"devices": "1:8"})) == 4
    assert len(chosen(cases, {"precision": "FP16", "unit": "samples/s"})) == 6
    assert len(chosen(cases, {"accelerator": "unknown"})) == len(cases)
    for where, message in (
        ({"modle": "x"}, "no case has a field 'modle'; did you mean model"),
        ({"precision": "fp8"}, "precision=fp8: no case has that value; there are fp16, fp32"),
        ({"devices": "1:3"}, "devices=3: no case has that value"),
    ):
        with pytest.raises(UsageError, match=message):
            chosen(cases, where)


@pytest.mark.parametrize(
    ("arguments", "ending", "expected"),
    [
        (["plot"], ".csv", ".svg, .png, .pdf"),
        (["plot"], ".gif", ".svg, .png, .pdf"),
        (["report"], ".xlsx", ".md, .html"),
        (["table", "--rows", "devices", "--columns", "precision"], ".json", ".md, .html, .csv, .xlsx, .tex"),
    ],
)
def test_an_ending_that_a_command_does_not_write_is_refused(
    arguments: list[str], ending: str, expected: str, tmp_path: Path
) -> None:
    out = tmp_path / f"out{ending}"
    done = CliRunner().invoke(app, [arguments[0], str(SEED / "logs_fp32"), *arguments[1:], "-o", str(out)])
    assert (done.exit_code, out.exists()) != (0, True)
    assert f"what this command writes ({expected})" in str(done.exception)


@pytest.mark.parametrize("form", ["pdf", "png", "svg"])
@pytest.mark.long
def test_an_ending_is_believed(form: str, tmp_path: Path) -> None:
    beginnings = {"pdf": b"%PDF-", "png": b"\x89PNG", "svg": b"<?xml"}
    out = tmp_path / f"out.{form}"
    done = CliRunner().invoke(app, ["plot", str(SEED / "logs_fp32"), "-w", "100", "-o", str(out), "-q"])
    assert done.exit_code == 0, done.exception
    first = out.read_bytes()
    assert first.startswith(beginnings[form])
    CliRunner().invoke(app, ["plot", str(SEED / "logs_fp32"), "-w", "100", "-o", str(out), "-q"])
    assert out.read_bytes() == first


@pytest.mark.long
def test_a_report_of_chosen_cases_has_recipes_that_choose_them(tmp_path: Path) -> None:
    out = tmp_path / "R.md"
    arguments = ["report", str(SEED), "-w", "100", "-n", "100", "--where", "precision=fp32", "--rows", "nodes,devices"]
    done = CliRunner().invoke(app, [*arguments, "-o", str(out)])
    assert done.exit_code == 0, done.exception
    text = out.read_text(encoding="utf-8")
    assert "--where precision=fp32 --rows nodes,devices --value throughput,speedup" in text
    assert "| 4 " in text and "10732" in text.replace(",", "") and "fp16" not in text
    checked = CliRunner().invoke(app, ["readme", "--check", "--allow", str(SEED), str(out)])
    assert checked.exit_code == 0, checked.output


@needs_corpus
@pytest.mark.long
def test_a_folder_of_many_models_and_units_is_one_report(tmp_path: Path) -> None:
    out = tmp_path / "R.md"
    done = CliRunner().invoke(app, ["report", str(CORPUS / "paddle-perf-2.5"), "-o", str(out), "-q"])
    assert done.exit_code == 0, done.exception
    text = out.read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("### ")]
    assert len(headings) == len(set(headings)) > 10
    assert "### ResNet50 · images/s" in headings
    lines = text.splitlines()
    tables = [above for above, line in pairwise(lines) if line.startswith("|:")]
    assert len(tables) == len(headings)
    assert [line for line in tables if " - " in line or len(line) > 400] == []
