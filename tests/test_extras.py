"""Where an extra is not installed, one line says which, and what it is for; the rest works."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from perflog.errors import PerflogError
from perflog.extras import EXTRAS, missing_extra, plain
from tests.support import ROOT

#: Python gives the same error for a package that is not there.
WITHOUT = "import sys; sys.modules.update(dict.fromkeys({packages!r})); from perflog.__main__ import main; main()"


def without(*words: str) -> subprocess.CompletedProcess[str]:
    """``perflog`` where no extra is installed."""
    program = WITHOUT.format(packages=sorted(EXTRAS))
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "PERFLOG_DEBUG"},
    )


@pytest.mark.parametrize(
    ("words", "purpose", "package", "extra"),
    [
        (
            ["save", "fixtures/seed004", "--label", "v1", "--database", "{tmp}/h"],
            "the history",
            "sqlalchemy",
            "history",
        ),
        (["compare", "v1", "v2", "--database", "{tmp}/h"], "the history", "sqlalchemy", "history"),
        (["extract", "s3://bucket/a.log"], "reading logs from a server", "obstore", "s3"),
    ],
)
def test_a_missing_extra_is_one_line(words: list[str], purpose: str, package: str, extra: str, tmp_path: Path) -> None:
    done = without(*(word.format(tmp=tmp_path) for word in words), "--quiet")
    assert done.returncode == 2
    assert done.stderr == (
        f"perflog: {purpose} needs the package {package}, which is not installed: pip install 'perflog[{extra}]'\n"
    )


@pytest.mark.parametrize(
    ("words", "shown", "status"),
    [
        (["extract", "fixtures/seed004/logs_fp32", "-w", "100", "--steps", "100", "-f", "json", "-q"], "369.8", 0),
        (["table", "fixtures/seed004/logs_fp32", "-w", "100", "--steps", "100", "--rows", "devices", "-q"], "369.8", 0),
        (["explain", "fixtures/seed000/pytorch_gpu1_fp32_bs2.txt"], "9.195624819 samples/s", 0),
        (["audit", "fixtures/audit/README.md", "--logs", "fixtures/seed004"], "10 reproduced", 1),
        (["readme", "--check", "README.md"], "", 0),
        (["compare", "fixtures/campaign/releases/2.12.1", "fixtures/campaign/releases/2.13.0"], "1 inconclusive", 0),
        (["report", "fixtures/seed004", "-o", "{tmp}/r.html"], "", 0),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
@pytest.mark.long
def test_the_main_jobs_need_no_extra(words: list[str], shown: str, status: int, tmp_path: Path) -> None:
    done = without(*(word.format(tmp=tmp_path) for word in words))
    assert "needs the package" not in done.stderr and "internal error" not in done.stderr
    assert shown in done.stdout
    assert done.returncode == status, done.stderr


def test_what_a_file_needs_is_asked_for_before_the_logs(tmp_path: Path) -> None:
    """The folder is not there; the first thing that is wrong is that no .xlsx can be written."""
    done = without("extract", "nosuch", "-o", str(tmp_path / "t.xlsx"))
    assert done.returncode == 2 and "pip install 'perflog[xlsx]'" in done.stderr


def test_every_extra_of_the_installation_is_known() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    brought = {
        requirement.partition("[")[0].partition(">")[0]: name
        for name, requirements in extras.items()
        if name not in ("all", "dev", "docs")
        for requirement in requirements
        if not requirement.startswith("perflog")
    }
    assert brought == {package: extra.name for package, extra in EXTRAS.items()}


def test_an_import_that_no_extra_brings_stays_an_error() -> None:
    assert missing_extra(ImportError("no", name="perflog.nothing")) is None

    @plain
    def wrong() -> None:
        raise ImportError("no", name="nothing")

    @plain
    def missing() -> None:
        raise ModuleNotFoundError("no", name="xlsxwriter.workbook")

    with pytest.raises(ImportError, match="no"):
        wrong()
    with pytest.raises(PerflogError, match=r"pip install 'perflog\[xlsx\]'"):
        missing()
