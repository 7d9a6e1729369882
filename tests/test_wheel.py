"""The wheel holds everything: built, installed into a clean environment, run from another folder."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from perflog.campaign.runner import load_runners
from tests.support import FIXTURES, ROOT

BZ128 = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return next(out.glob("perflog-*.whl"))


def test_wheel_holds_parsers_templates_and_runners(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "perflog/data/parsers/paddleclas.toml",
        "perflog/data/formats.msgpack",
        "perflog/data/parsers/conventions/mlperf.toml",
        "perflog/data/templates/README.md",
        "perflog/data/templates/reports/page.html.j2",
        "perflog/data/templates/reports/page.css",
        "perflog/data/templates/reports/page.js",
        "perflog/data/templates/reports/words.toml",
        "perflog/data/runners/README.md",
        "perflog/history/migrations/env.py",
        "perflog/history/migrations/versions/v0001_campaigns.py",
        "perflog/data/runners/common.py",
        *(f"perflog/data/runners/{runner.name}/runner.toml" for runner in load_runners().values()),
        *(f"perflog/data/runners/{runner.name}/train.py" for runner in load_runners().values()),
    ):
        assert wanted in names
    assert not [name for name in names if ".environments" in name]
    assert not [name for name in names if name.startswith(("fixtures", "tests"))]


def test_main_command_from_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "environment"
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    installed = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert installed.returncode == 0, installed.stderr
    command = [str(place / "bin" / "perflog"), "extract", str(BZ128), "--warmup", "100", "--steps", "100"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    assert "10731.78" in done.stdout
    assert "29.02" in done.stdout
    subprocess.run(
        [str(place / "bin" / "perflog"), "report", str(BZ128), "-w", "100", "-o", "r.html"],
        cwd=tmp_path,
        check=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    save = [str(place / "bin" / "perflog"), "save", str(BZ128), "-w", "100", "--label", "v1", "--database", "h.sqlite"]
    assert subprocess.run(save, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.endswith(
        "6 cases, 30 runs\n"
    )
    listed = subprocess.run(
        [str(place / "bin" / "perflog"), "run", "--list"],
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(tmp_path)},
    ).stdout
    assert listed.startswith(f"environments in {tmp_path}/.cache/perflog/environments\nmindspore  missing")
    assert "perflog report" in (tmp_path / "r.html").read_text(encoding="utf-8")
