"""A log that could not be read is never left out of what is published, shown or judged without a word."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from perflog.errors import PerflogError
from perflog.show.extractions import Extractions
from perflog.show.regenerate import regenerate
from tests.forks import perflog
from tests.support import FIXTURES

LOGS = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g"
WHY = "the gzip data are damaged or cut short"
REGION = "<!-- perflog: table logs --rows devices --value throughput -->\nold\n<!-- /perflog -->\n"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Five logs that can be read, and one of which nobody knows what it says."""
    shutil.copytree(LOGS, tmp_path / "logs")
    (tmp_path / "logs/rn50_b128_fp32_6.log.gz").write_bytes(b"\x1f\x8b\x08\x00" + b"\x07" * 200)
    return tmp_path / "logs"


def test_a_readme_is_not_made_of_the_other_logs(logs: Path) -> None:
    readme = logs.parent / "README.md"
    readme.write_text(REGION)
    with pytest.raises(
        PerflogError, match=rf"README\.md:1: .*/logs/rn50_b128_fp32_6\.log\.gz: {WHY}.*nothing is published"
    ):
        regenerate([readme], Extractions())
    (logs / "rn50_b128_fp32_6.log.gz").unlink()
    assert "2.839" in regenerate([readme], Extractions()).files[0].new


@pytest.mark.parametrize(
    "words",
    [
        "extract logs", "table logs --rows devices", "plot logs --kind spread -o p.svg", "report logs -o r.md",
        "compare logs logs2", "compare logs logs2 --gate", "noise logs", "plan logs",
    ],
)  # fmt: skip
def test_every_other_command_gives_what_there_is_and_says_what_is_missing(words: str, logs: Path) -> None:
    shutil.copytree(LOGS, logs.with_name("logs2"))
    done = perflog(*words.split(), cwd=logs.parent)
    assert done.returncode == 3, done.stderr
    assert f"skipped logs/rn50_b128_fp32_6.log.gz: {WHY}" in done.stderr
    assert done.stdout or list(logs.parent.glob("[pr].*"))
    for file in (logs / "rn50_b128_fp32_6.log.gz", *logs.parent.glob("r.md")):
        file.unlink()
    again = perflog(*words.split(), cwd=logs.parent)
    assert again.returncode == (3 if "--gate" in words else 0), "the gate fails on copies"
