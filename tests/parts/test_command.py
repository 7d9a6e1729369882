"""`perflog extract --shard` and `perflog merge` as their users meet them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.forks import perflog
from tests.support import FIXTURES

LOGS = str(FIXTURES / "campaign" / "short")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    for number in (1, 2):
        done = perflog("extract", LOGS, "--shard", f"{number}/2", "-o", str(folder / f"part{number}.parquet"))
        assert done.returncode == 0, done.stderr
        assert f"part {number}/2: " in done.stderr and " of 24 logs written to " in done.stderr
    return folder


@pytest.mark.long
@pytest.mark.parametrize("form", ["json", "csv", "table", "markdown"])
def test_merge_prints_what_extract_prints(parts: Path, form: str) -> None:
    merged, extracted = perflog("merge", str(parts), "-f", form, "-q"), perflog("extract", LOGS, "-f", form, "-q")
    assert merged.stdout == extracted.stdout
    assert merged.returncode == extracted.returncode


@pytest.mark.long
@pytest.mark.parametrize("words", [("table", "{}"), ("plan", "{}"), ("noise", "{}")])
def test_other_commands_take_parts_in_place_of_logs(parts: Path, words: tuple[str, ...]) -> None:
    of_parts = perflog(*(word.format(parts) for word in words), "-q")
    of_logs = perflog(*(word.format(LOGS) for word in words), "-q")
    from_parts = " from 2 parts, whose logs were not read here;"
    assert (from_parts in of_parts.stdout) == (words[0] == "table")
    assert of_parts.stdout.replace(str(parts), LOGS).replace(from_parts, "") == of_logs.stdout
    assert of_parts.returncode == of_logs.returncode == 0


@pytest.mark.long
def test_a_report_of_parts_shows_all_but_step_times(parts: Path, tmp_path: Path) -> None:
    documents: list[str] = []
    for place in (LOGS, str(parts)):
        folder = tmp_path / str(len(documents))
        folder.mkdir()
        done = perflog("report", place, "-o", str(folder / "report.md"), "-q")
        assert done.returncode == 0, done.stderr
        documents.append((folder / "report.md").read_text(encoding="utf-8"))
    of_logs, of_parts = ([line for line in text.splitlines() if line.startswith("|")] for text in documents)
    assert of_logs == of_parts and len(of_logs) > 4
    assert ["--kind steps" in text for text in documents] == [True, False]


def test_compare_takes_parts_of_folders_with_names_of_their_own(parts: Path, tmp_path: Path) -> None:
    shutil.copytree(LOGS, tmp_path / "newer")
    (tmp_path / "of newer").mkdir()
    perflog("extract", str(tmp_path / "newer"), "--shard", "1/1", "-o", str(tmp_path / "of newer" / "1.parquet"))
    of_logs = perflog("compare", LOGS, str(tmp_path / "newer"), "-f", "json", "-q")
    of_parts = perflog("compare", str(parts), str(tmp_path / "of newer"), "-f", "json", "-q")
    one, other = (json.loads(done.stdout)["comparisons"][0] for done in (of_logs, of_parts))
    assert [(row["label"], row["ratio"]) for row in one["rows"]] == [
        (row["label"], row["ratio"]) for row in other["rows"]
    ]
    assert len(one["rows"]) == 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("extract", LOGS, "--shard", "3/2", "-o", "x.parquet"), "such as 3/10"),
        (("extract", LOGS, "--shard", "1/2"), "expected the file for this part, such as -o part1.parquet; found none"),
        (("extract", LOGS, "--shard", "1/2", "-o", "x.json"), "such as -o part1.parquet; found x.json"),
        (("extract", LOGS, "--on", "slurm"), "expected ray, or ray://HOST:PORT"),
        (
            ("extract", "{parts}", "--shard", "1/2", "-o", "x.parquet"),
            "is a part of logs already: `perflog merge` puts the parts together",
        ),
        (
            ("explain", "{parts}"),
            "part1.parquet is a part of logs that were read elsewhere, and holds none of their lines: name the log itself",
        ),
        (("merge", LOGS), "expected a part that `perflog extract --shard` wrote, found no Parquet file"),
        (("merge", "{parts}/part2.parquet"), "of 2 parts these are missing: 1/2"),
        (
            ("merge", "s3://bucket/parts/"),
            "s3://bucket/parts/: parts are read from this machine's disk: copy them here",
        ),
        (("merge", "https://host/p.parquet?sign=SECRET"), "https://host/p.parquet?…: parts are read from this machine"),
        (("extract", "{parts}", "--warmup", "3"), "made with other options than this command's (window)"),
    ],
)
def test_what_is_wrong_is_said(parts: Path, words: tuple[str, ...], message: str) -> None:
    done = perflog(*(word.format(parts=parts) for word in words))
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "SECRET" not in done.stderr


def test_a_folder_that_is_missing_is_said_before_a_log_is_read(tmp_path: Path) -> None:
    done = perflog("extract", str(tmp_path / "no logs"), "--shard", "1/2", "-o", str(tmp_path / "parts" / "1.parquet"))
    assert done.returncode == 2
    assert f"there is no folder '{tmp_path / 'parts'}'; make it first, with mkdir -p" in done.stderr


def test_a_pipe_among_parts_is_not_waited_for(parts: Path, tmp_path: Path) -> None:
    for part in parts.iterdir():
        (tmp_path / part.name).symlink_to(part)
    os.mkfifo(tmp_path / "part3.parquet")
    for words in (("merge",), ("table",)):
        done = perflog(*words, str(tmp_path))
        assert done.returncode == 2
        assert "part3.parquet: expected a part that `perflog extract --shard` wrote, found no regular" in done.stderr
