"""What regeneration changes, cell by cell: the places, the shares, and what `perflog readme --check` says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.show.regenerate import Change, changes, per_cent
from tests.campaigns import write_run
from tests.forks import perflog

#: The marker of line 3, a table of two columns whose rows are named by the first, and a note.
OLD = """# Results

<!-- perflog: table logs --rows devices -->
| devices | fp32 throughput | fp32 speedup |
|---------|-----------------|--------------|
| 1       | 10.00           | 1            |
| 8       | 43.21           | 4.3          |

median over n runs; n = 5
<!-- /perflog -->
tail
"""


def found(old: str, new: str, keys: int = 1) -> list[str]:
    """The changes of a file as texts, each with its line."""
    return [f"{change.line} {change}" for change in changes(old, new, "README.md", [keys])]


def test_a_cell_is_told_by_its_row_and_column_with_its_share() -> None:
    new = OLD.replace("43.21", "41.04").replace("| 1            |", "| -            |")
    assert found(OLD, new) == ["6 devices=1 fp32 speedup 1 → -", "7 devices=8 fp32 throughput 43.21 → 41.04 (−5.0 %)"]
    (_, cell) = changes(OLD, new, "README.md", [1])
    assert (cell.kind, cell.row, cell.column) == ("cell", {"devices": "8"}, "fp32 throughput")
    assert cell.difference == pytest.approx(41.04 / 43.21 - 1)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("10,000", "12,500.5", "(+25.0 %)"),
        ("**43.21**", "41.04", "(−5.0 %)"),
        ("95.0%", "96.9%", "(+2.0 %)"),
        ("0", "4", "→ 4"),  # no share of nought
        ("1,00", "2", "→ 2"),  # no number
        ("1e3", "2e3", "(+100 %)"),
    ],
)
def test_the_share_of_numbers_as_tables_print_them(old: str, new: str, told: str) -> None:
    (text,) = found(OLD.replace("43.21", old), OLD.replace("43.21", new))
    assert text.startswith(f"7 devices=8 fp32 throughput {old} → {new}") and text.endswith(told)


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (
            OLD.replace("| 8       |", "| 4       | 22.2 | 2.2 |\n| 8       |"),
            ["6 new row devices=4: 22.2 | 2.2"],
        ),
        (OLD.replace("n = 5", "n = 4"), ["9 median over n runs; n = 5 → median over n runs; n = 4"]),
        (OLD.replace("n = 5\n", "n = 5\n1. a doubt\n"), ["9 (nothing) → 1. a doubt"]),
        (
            OLD.replace("fp32 speedup", "speedup").replace("10.00", "11.00"),
            [
                "4 headings devices | fp32 throughput | fp32 speedup → devices | fp32 throughput | speedup",
                "6 devices=1 fp32 throughput 10.00 → 11.00 (+10.0 %)",
            ],
        ),
        (
            OLD.replace("devices -->", "devices --keep 8 -->"),
            ["3 recipe table logs --rows devices → table logs --rows devices --keep 8"],
        ),
        (OLD.replace("| 43.21 ", "|43.21 "), ["7 | 8       | 43.21           | 4.3          | → | 8       |43.21           | 4.3          |"]),
    ],
    ids=["row", "note", "new note", "headings", "recipe", "blanks"],
)  # fmt: skip
def test_what_is_no_cell(new: str, told: list[str]) -> None:
    assert found(OLD, new) == told


def test_a_row_that_stands_twice_goes() -> None:
    twice = OLD.replace("| 8       |", "| 1       | 10.00           | 1            |\n| 8       |")
    assert found(twice, OLD.replace("43.21", "43.22")) == [
        "7 row devices=1 10.00 | 1 → (nothing)",
        "8 devices=8 fp32 throughput 43.21 → 43.22 (+0.023 %)",
    ]


def test_lines_of_a_list_are_told_one_by_one() -> None:
    old = "<!-- perflog: environment logs -->\n- Version: 1\n- Nodes: 2\n- Runs: 5\n<!-- /perflog -->\n"
    assert found(old, old.replace("Version: 1", "Version: 2").replace("- Nodes: 2\n", ""), keys=0) == [
        "2 - Version: 1 → - Version: 2",
        "3 - Nodes: 2 → (nothing)",
    ]


def test_many_lines_are_told_in_time() -> None:
    """Lines that repeat are matched in quadratic time: of long texts all from the first change on are one."""
    body = "x\n" * 30_000
    old = f"<!-- perflog: links logs -->\n{body}end\n<!-- /perflog -->\n"
    assert found(old, old.replace("end\n", "END\n"), keys=0) == ["30002 end → END"]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (-0.0502, "−5.0 %"),
        (0.0001041, "+0.01 %"),
        (0.00941, "+0.94 %"),
        (0.00951, "+1.0 %"),
        (0.9951, "+100 %"),
        (-0.5, "−50.0 %"),
    ],
)
def test_shares_as_people_read_them(share: float, text: str) -> None:
    assert per_cent(share) == text


def test_a_change_without_texts() -> None:
    assert str(Change(1, "line", "", "new")) == "(nothing) → new"


# ---------------------------------------------------------------- the command


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A README whose one number, 102.00 images/s, is the logs'."""
    for number, rate in enumerate((100.0, 101.0, 102.0, 103.0, 104.0), 1):
        write_run(tmp_path / "logs" / "1n8g" / f"rn50_b128_fp32_{number}.log", [rate] * 60)
    file = tmp_path / "README.md"
    file.write_text(
        "# R\n\n<!-- perflog: table logs -r devices --no-notes --digits throughput=%.2f -->\n<!-- /perflog -->\n"
    )
    done = CliRunner().invoke(app, ["readme", str(file)])
    assert done.exit_code == 0 and "1 region in 1 file: 1 file was rewritten" in done.output
    assert "102.00" in file.read_text()
    return file


def test_check_says_what_the_logs_say(page: Path) -> None:
    true = CliRunner().invoke(app, ["readme", "--check", str(page)])
    assert (true.exit_code, true.stdout) == (0, "") and "all are what their logs say" in true.stderr
    page.write_text(page.read_text().replace("102.00", "120.00"))
    stale = CliRunner().invoke(app, ["readme", "--check", str(page)])
    assert (stale.exit_code, stale.stdout) == (
        1,
        f"{page}:6 devices=8 throughput (images/s) 120.00 → 102.00 (−15.0 %)\n",
    )
    assert "1 region in 1 file: 1 file differs from its logs" in stale.stderr
    assert "120.00" in page.read_text()


def test_check_as_json_markdown_and_diff(page: Path) -> None:
    page.write_text(page.read_text().replace("102.00", "120.00"))
    document = json.loads(CliRunner().invoke(app, ["readme", "--check", "-f", "json", str(page)]).stdout)
    assert (document["up_to_date"], document["pictures"]) == (False, [])
    (file,) = document["files"]
    (change,) = file["changes"]
    assert (file["file"], file["regions"], change.pop("difference")) == (str(page), 1, pytest.approx(102 / 120 - 1))
    assert change == {
        "line": 6, "kind": "cell", "row": {"devices": "8"}, "column": "throughput (images/s)", "old": "120.00",
        "new": "102.00",
    }  # fmt: skip
    summary = CliRunner().invoke(app, ["readme", "--check", "-f", "markdown", str(page)]).stdout
    assert "| devices=8 throughput (images/s) | 120.00 | 102.00 | −15.0 % |" in summary.replace("\\_", "_")
    diff = CliRunner().invoke(app, ["readme", "--check", "-f", "diff", str(page)]).stdout.splitlines()
    assert [line.replace(" ", "") for line in diff if line.startswith(("-|", "+|"))] == ["-|8|120.00|", "+|8|102.00|"]


def test_annotations_reach_github_and_no_text_of_a_file_is_a_command(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream that makes commands harmless lets those through that perflog makes, and none that a file holds."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    stale = page.read_text().replace("102.00", "1::stop-commands::x, 5%")
    page.write_text(stale)
    done = perflog("readme", "--check", "--format", "github", "README.md", cwd=page.parent)
    assert done.returncode == 1
    assert done.stdout == (
        "::error file=README.md,line=6,title=perflog::"
        "devices=8 throughput (images/s) 1::stop-commands::x, 5%25 → 102.00\n"
    )
    as_text = perflog("readme", "--check", "README.md", cwd=page.parent)
    assert not as_text.stdout.startswith("::")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("# nothing\n", False),
        ("<!-- perflgo: table logs --rows devices -->\n<!-- /perflgo -->\n", True),
        ("<!-- prettier-ignore -->\n<!-- TODO: x -->\n", False),
    ],
)
def test_no_region_is_said_and_no_success(tmp_path: Path, text: str, hint: bool) -> None:
    file = tmp_path / "README.md"
    file.write_text(text)
    done = CliRunner().invoke(app, ["readme", "--check", "-q", str(file)])
    assert done.exit_code == 2 and done.stderr.startswith(f"no region in {file}: expected <!-- perflog: table")
    assert ("may be a misspelt marker" in done.stderr) is hint
    changed = CliRunner().invoke(app, ["readme", str(file)])
    assert changed.exit_code == 0 and changed.stderr.startswith("no region in ")
    noted = CliRunner().invoke(app, ["readme", "--check", "-f", "github", str(file)])
    assert noted.exit_code == 2 and noted.stdout.startswith("::error file=")
