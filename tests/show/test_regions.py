"""READMEs: regions are found or refused with their line, all else stays byte for byte, and a kill loses nothing."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from perflog.cli import app
from perflog.errors import PerflogError
from perflog.files import write_atomically
from perflog.show.regions import RegionText, filled, merged, regions, text_of
from tests.support import CAMPAIGN, FIXTURES, ROOT

#: The logs lie outside the folders of these READMEs.
ALLOW = ["--allow", str(FIXTURES)]
RECIPE = f"table {FIXTURES}/seed004/logs_fp32 -w 100 -n 100 --rows nodes,devices --value throughput,speedup --style dlperf --no-notes"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n<!-- perflog: table x -->\n", "R.md:2: the region is never closed"),
        ("<!-- /perflog -->\n", "R.md:1: <!-- /perflog --> closes no region"),
        (
            "<!-- perflog: table x -->\n<!-- perflog: table y -->\n<!-- /perflog -->\n",
            "R.md:2: a region begins inside the one of line 1",
        ),
        ("text <!-- perflog: table x -->\n<!-- /perflog -->\n", "R.md:1: a marker must stand alone"),
        ("<!-- perflog table x -->\n", "R.md:1: a marker must stand alone"),
    ],
)
def test_a_broken_marker_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(PerflogError) as error:
        regions(text.split("\n"), "R.md")
    assert message in str(error.value)


def test_a_wrong_recipe_writes_nothing_to_any_file(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text(f"<!-- perflog: {RECIPE} -->\n<!-- /perflog -->\n")
    bad.write_text("\n<!-- perflog: table nowhere --rows devices -->\nold\n<!-- /perflog -->\n")
    done = CliRunner().invoke(app, ["readme", *ALLOW, str(good), str(bad)])
    assert f"{bad}:2: no such file or folder" in str(done.exception)
    assert (good.read_text().count("\n"), bad.read_text().count("old")) == (2, 1)


@given(st.lists(st.text(alphabet="ab |\r\t<>-`x", max_size=12), max_size=12))
def test_outside_the_regions_every_byte_stays(parts: list[str]) -> None:
    import tempfile

    text = "\n".join(part.replace("```", "") for part in parts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "R.md")
        path.write_bytes(f"{text}\n<!-- perflog: t -->\r\nstale\r\n<!-- /perflog -->\r\n{text}".encode())
        new, _ = filled(text_of(path), str(path), lambda _: RegionText("new\nlines\n", 1))
    assert new == f"{text}\n<!-- perflog: t -->\r\nnew\r\nlines\r\n<!-- /perflog -->\r\n{text}"


def test_rows_without_logs_are_kept_and_named() -> None:
    old = ["| n | v |", "|--:|:--|", "|1 | 5  |", "|4| by hand|", "|8 | 7|"]
    lines, kept = merged(old, ["| n | v |", "|---|---|", "| 1 | 6 |", "| 2 | 9 |", "| 8 | 7 |", "", "n = 5"], 1)
    assert lines == ["| n | v |", "|--:|:--|", "|1 | 6  |", "| 2 | 9 |", "|4| by hand|", "|8 | 7|", "", "n = 5"]
    assert kept == ["4"]


def test_check_shows_the_difference_and_changes_nothing(tmp_path: Path) -> None:
    readme = tmp_path / "R.md"
    readme.write_text(f"# x\n<!-- perflog: {RECIPE} -->\n<!-- /perflog -->\n```\n<!-- perflog: an example -->\n```\n")
    before = readme.read_bytes()
    done = CliRunner().invoke(app, ["readme", *ALLOW, "--check", "-f", "diff", str(readme)])
    assert (done.exit_code, "+| 4        | 32      | 10731.78  | 29.02   |" in done.output, readme.read_bytes()) == (
        1,
        True,
        before,
    )
    assert CliRunner().invoke(app, ["readme", *ALLOW, str(readme)]).exit_code == 0
    assert CliRunner().invoke(app, ["readme", *ALLOW, "--check", str(readme)]).exit_code == 0
    stale = (
        readme.read_text()
        .replace("| 4        | 32      | 10731.78  |", "| 4        | 32      | 10000.00  |")
        .replace("| 2        | 16 ", "| 2        | 17 ")
    )
    readme.write_text(stale)
    assert CliRunner().invoke(app, ["readme", *ALLOW, str(readme)]).exit_code == 0
    assert "--keep '2 17'" in readme.read_text()
    assert CliRunner().invoke(app, ["readme", *ALLOW, "--check", str(readme)]).exit_code == 0


@pytest.mark.parametrize("kills", [8, pytest.param(200 if CAMPAIGN else 40, marks=pytest.mark.long)])
def test_killed_at_any_moment_the_file_is_the_old_or_the_new(kills: int, tmp_path: Path) -> None:
    path = tmp_path / "R.md"
    old, new = "old\n" * 200_000, "new\n" * 200_000
    code = (
        "import sys; from pathlib import Path; from perflog.files import write_atomically\n"
        "print('go', flush=True)\nwhile True:\n for t in ('new\\n', 'old\\n'): write_atomically(Path(sys.argv[1]), t * 200_000)"
    )
    write_atomically(path, old)
    rng = random.Random(1)
    for _ in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", code, str(path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(rng.uniform(0, 0.02))
            child.send_signal(signal.SIGKILL)
        assert path.read_text() in (old, new)


@pytest.mark.parametrize(
    ("lang", "texts"),
    [
        ("en", ["## How to repeat", "- Estimator: total", "## Results", "- Devices: 1, 2, 4, 8, 16, 32", "29.02"]),
        pytest.param(
            "zh", ["## 测试步骤", "- 估计方法: total", "## 测试结果", "- 卡数: 1, 2, 4, 8, 16, 32", "加速比"],
            marks=pytest.mark.long,
        ),
    ],
)  # fmt: skip
@pytest.mark.long
def test_a_report_is_made_of_regions_that_stay_true(lang: str, texts: list[str], tmp_path: Path) -> None:
    out = tmp_path / "REPORT.md"
    done = CliRunner().invoke(
        app, ["report", str(FIXTURES / "seed004/logs_fp32"), "-w", "100", "-n", "100", "--lang", lang, "-o", str(out)]
    )
    assert done.exit_code == 0, done.output
    text = out.read_text(encoding="utf-8")
    assert [t for t in texts if t not in text] == []
    links = re.findall(r"\(([^()]+\.(?:log|svg))\)", text)
    assert len(links) == 30 + 2
    assert [link for link in links if not (tmp_path / link).is_file()] == []
    assert CliRunner().invoke(app, ["readme", *ALLOW, "--check", str(out)]).exit_code == 0
    again = CliRunner().invoke(app, ["report", str(FIXTURES / "seed004/logs_fp32"), "-o", str(out)])
    assert again.exit_code == 2


def test_rows_that_would_be_lost_under_other_headings_are_an_error(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    text = f"<!-- perflog: table {FIXTURES}/seed004/logs_fp32 --rows devices --style dlperf --no-notes -->\n| gpus | img/s |\n|--|--|\n| 1 | 2 |\n| 64 | 9 |\n<!-- /perflog -->\n"
    readme.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["readme", *ALLOW, str(readme)])
    assert "README.md:1: the headings change from '| gpus | img/s |'" in str(done.exception) and "'64'" in str(
        done.exception
    )
    assert readme.read_text(encoding="utf-8") == text


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Results\n")
    with pytest.raises(PerflogError, match=r"^no such file: '.*/READM\.md'; did you mean '.*/README\.md'\?$"):
        text_of(tmp_path / "READM.md")
    with pytest.raises(PerflogError, match=r"is a folder: expected a Markdown file, such as .*/README\.md$"):
        text_of(tmp_path)
