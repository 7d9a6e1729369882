"""A fault of perflog itself, once the logs are read: the other logs' numbers stay, and one plain line says what failed.

The fault is put into the command's own process before it starts: a function of the program raises for some of the logs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT

#: Lets a function fail where a condition on its first argument holds, and runs the command.
PROGRAM = """
import sys
from importlib import import_module

def put_fault(module, name, fails, error):
    real = getattr(import_module(module), name)
    def faulty(first, *rest, **options):
        if fails(first):
            raise error
        return real(first, *rest, **options)
    setattr(import_module(module), name, faulty)

{fault}
sys.argv[0] = "perflog"
from perflog.__main__ import main
main()
"""
LINE = "[{step}/40] images/s: {rate}.0\n"
PARSER = """
title = "Mine"
source = "here"
[[pattern]]
name = "step"
role = "step"
literal = "images/s: "
regex = '\\[(?P<step>{I})/{I}\\] images/s: (?P<rate>{N})'
[[pattern.value]]
group = "rate"
quantity = "rate"
unit = "images/s"
[[pattern.sample]]
line = "[1/40] images/s: 10.0"
expect = { step = 1, rate = 10.0 }
"""
OF_ONE = """
put_fault("perflog.cases.build", "_case", lambda runs: any(run.log.path.endswith("b.log") for run in runs),
          IndexError("list index out of range"))
"""
OF_ALL = """
put_fault("perflog.cases.last_resort", "settled", lambda runs: len({run.log for run in runs}) > 1, KeyError("rank"))
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Three logs of 10, 20 and 30 images a second."""
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "mine.toml").write_text(PARSER)
    for name, rate in (("a", 10), ("b", 20), ("c", 30)):
        folder = tmp_path / "logs" / f"model_{name}"
        folder.mkdir(parents=True)
        (folder / f"{name}.log").write_text("".join(LINE.format(step=step, rate=rate) for step in range(1, 41)))
    return tmp_path


def perflog(folder: Path, fault: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name != "PERFLOG_DEBUG"}
    environment["PYTHONPATH"] = str(ROOT)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(fault=fault), *words, "--parsers", "formats"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def rates(document: dict[str, Any]) -> dict[str, float]:
    runs = [run for case in document["cases"] for run in case["runs"]]
    return {Path(run["source"]["file"]).name: round(run["metrics"]["throughput"]["value"], 9) for run in runs}


def test_a_case_that_cannot_be_built_takes_its_own_log_alone(logs: Path) -> None:
    done = perflog(logs, OF_ONE, "extract", "logs", "-f", "json")
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    document = json.loads(done.stdout)
    assert rates(document) == {"a.log": 10.0, "c.log": 30.0}
    (left_out,) = document["skipped"]
    assert left_out["file"].endswith("b.log")
    assert left_out["reason"] == (
        "internal error while its cases were built, please report it: "
        "IndexError: list index out of range (PERFLOG_DEBUG=1 shows where)"
    )


def test_cases_that_cannot_be_built_together_stand_alone(logs: Path) -> None:
    done = perflog(logs, OF_ALL, "extract", "logs", "-f", "json")
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    document = json.loads(done.stdout)
    assert rates(document) == {"a.log": 10.0, "b.log": 20.0, "c.log": 30.0}
    for case in document["cases"]:
        assert case["notes"][-1]["text"] == (
            "internal error while the cases of all logs were built, please report it: each log stands alone, "
            "and none is compared with others (KeyError: 'rank')"
        )


@pytest.mark.parametrize(
    ("form", "place", "error"),
    [
        ("json", '"perflog.show.document", "_case"', 'ValueError("two\\nlines")'),
        ("csv", '"perflog.show.encoding", "encoded"', '__import__("polars").exceptions.PanicException("two lines")'),
        pytest.param(
            "json", '"perflog.show.document", "_case"', '__import__("polars").exceptions.PanicException("two lines")',
            marks=pytest.mark.long,
        ),
        pytest.param("csv", '"perflog.show.encoding", "encoded"', 'ValueError("two\\nlines")', marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_an_output_that_cannot_be_made_is_one_line_and_leaves_the_old_file(
    logs: Path, error: str, form: str, place: str
) -> None:
    (logs / "out").write_text("old")
    fault = f"put_fault({place}, lambda _: True, {error})"
    done = perflog(logs, fault, "extract", "logs", "-f", form, "-o", "out")
    assert done.returncode == 70
    first, second = done.stderr.splitlines()
    name = error.partition("(")[0] if "import" not in error else "PanicException"
    assert first == f"perflog: internal error, please report it: {name}" + (": two lines" if "lines" in error else "")
    assert second.startswith("  (the logs are as they were, and no file is half written; `perflog extract LOGS` or ")
    assert (logs / "out").read_text() == "old"
    if form == "json":
        assert json.loads(done.stdout)["error"]["exit_status"] == 70
    else:
        assert done.stdout == ""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("MemoryError()", "there is not enough memory"),
        ("OSError(28, 'No space left on device', 'x')", "No space left on device: 'x'"),
        ("""RuntimeError("can't start new thread")""", "the system lets no further thread start"),
    ],
)
def test_what_the_system_refuses_is_one_line_and_no_internal_error(logs: Path, error: str, said: str) -> None:
    (logs / "out").write_text("old")
    fault = f'put_fault("perflog.show.encoding", "encoded", lambda _: True, {error})'
    done = perflog(logs, fault, "extract", "logs", "-f", "csv", "-o", "out")
    assert done.returncode == 2
    assert done.stderr.startswith(f"perflog: {said}") and done.stderr.count("\n") == 1
    assert (logs / "out").read_text() == "old"


def test_cases_for_which_memory_lacks_are_not_made_apart(logs: Path) -> None:
    """Which cases there are does not depend on how much memory there is."""
    done = perflog(logs, OF_ALL.replace('KeyError("rank")', "MemoryError()"), "extract", "logs", "-f", "json")
    assert (done.returncode, "each log stands alone" in done.stdout) == (2, False)
    assert done.stderr.startswith("perflog: there is not enough memory")


def test_an_error_is_seen_whole_where_that_is_asked_for(logs: Path) -> None:
    fault = 'import os; os.environ["PERFLOG_DEBUG"] = "1"\n' + OF_ONE
    done = perflog(logs, fault, "extract", "logs")
    assert "IndexError: list index out of range" in done.stderr
    assert "Traceback (most recent call last)" in done.stderr
