"""The wheel holds everything: built, installed into a clean environment, run from another folder."""

from __future__ import annotations

import re
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


@pytest.mark.long
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
        "perflog/export/schemas/extraction.schema.json",
        "perflog/data/example/short/machine.json",
        "perflog/data/example/releases/2.12.1/machine.json",
        *(f"perflog/data/runners/{runner.name}/runner.toml" for runner in load_runners().values()),
        *(
            f"perflog/data/runners/{name}/train.py"
            for name, runner in load_runners().items()
            if not runner.prerequisites
        ),
    ):
        assert wanted in names
    assert not [name for name in names if ".environments" in name]
    assert not [name for name in names if name.startswith(("fixtures", "tests"))]


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the plain installation, without any extra."""
    place = tmp_path_factory.mktemp("clean") / "environment"
    venv.create(place, with_pip=True)
    _install(place, str(wheel))
    return place


def _install(environment: Path, requirement: str) -> None:
    python = environment / "bin" / "python"
    words = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _perflog(environment: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(environment / "bin" / "perflog"), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )


@pytest.mark.long
def test_the_plain_installation_reads_logs_and_says_what_is_missing(environment: Path, tmp_path: Path) -> None:
    done = _perflog(environment, tmp_path, "extract", str(BZ128), "--warmup", "100", "--steps", "100")
    assert done.returncode == 0 and "10731.78" in done.stdout and "29.02" in done.stdout, done.stderr
    done = _perflog(environment, tmp_path, "example", "try")
    assert done.returncode == 0 and "try/logs (24 logs)" in done.stdout, done.stderr
    (tmp_path / "try/README.md").write_text("<!-- perflog: table logs --rows framework -->\n<!-- /perflog -->\n")
    assert _perflog(environment, tmp_path, "table", "try/logs", "--rows", "framework", "--columns", "devices").stdout
    done = _perflog(environment, tmp_path, "compare", "try/2.12.1", "try/2.13.0", "--quiet")
    assert (done.returncode, done.stderr) == (
        2,
        "perflog: comparing versions needs the package scipy, which is not installed: pip install 'perflog[compare]'\n",
    )
    listed = _perflog(environment, tmp_path, "run", "--list").stdout
    assert listed.startswith(f"environments in {tmp_path}/.cache/perflog/environments\nmindspore ")
    assert re.search(r"^mindspore +missing", listed, flags=re.MULTILINE)


@pytest.mark.long
def test_with_all_extras_everything_works(wheel: Path, environment: Path, tmp_path: Path) -> None:
    _install(environment, f"perflog[all] @ {wheel.as_uri()}")
    done = _perflog(environment, tmp_path, "report", str(BZ128), "-w", "100", "-o", "r.html")
    assert done.returncode == 0, done.stderr
    assert "perflog report" in (tmp_path / "r.html").read_text(encoding="utf-8")
    saved = _perflog(environment, tmp_path, "save", str(BZ128), "-w", "100", "--label", "v1", "--database", "h.sqlite")
    assert saved.stdout.endswith("6 cases, 30 runs\n"), saved.stderr
    _perflog(environment, tmp_path, "example", "try")
    done = _perflog(environment, tmp_path, "compare", "try/2.12.1", "try/2.13.0", "--quiet")
    assert done.returncode == 0 and "1 case: 1 inconclusive" in done.stdout, done.stderr
