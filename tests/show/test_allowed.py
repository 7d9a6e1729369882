"""A report on logs that lie elsewhere says how its regions are made again."""

from __future__ import annotations

import shutil
from pathlib import Path

from typer.testing import CliRunner

from perflog.cli import app
from tests.support import FIXTURES

LOGS = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g"


def commands(folder: Path, logs: str) -> list[str]:
    """The commands that a report tells its readers to run."""
    done = CliRunner().invoke(app, ["report", logs, "-o", str(folder / "README.md")])
    assert done.exit_code == 0, done.output
    text = (folder / "README.md").read_text()
    return [line.partition("   #")[0] for line in text.splitlines() if line.startswith("perflog readme")]


def test_a_report_beside_its_logs_needs_no_leave(tmp_path: Path) -> None:
    shutil.copytree(LOGS, tmp_path / "logs")
    assert commands(tmp_path, str(tmp_path / "logs")) == [
        "perflog readme README.md",
        "perflog readme --check README.md",
    ]


def test_a_report_on_logs_elsewhere_names_them(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    shutil.copytree(LOGS, tmp_path / "logs")
    assert commands(tmp_path / "out", str(tmp_path / "logs"))[1] == "perflog readme --check --allow ../logs README.md"
    readme = str(tmp_path / "out/README.md")
    assert CliRunner().invoke(app, ["readme", "--check", "--allow", str(tmp_path / "logs"), readme]).exit_code == 0
    refused = CliRunner().invoke(app, ["readme", "--check", readme])
    assert "README.md:49: the log" in str(refused.exception) and "perflog readme --allow" in str(refused.exception)
