"""The commands and functions: view and records."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import msgspec
import polars as pl
import pytest

import perflog as library
from perflog.errors import UsageError
from tests.forks import perflog
from tests.support import FIXTURES

LOGS = str(FIXTURES / "campaign" / "short" / "mindspore")


def test_every_format_holds_the_same_records(tmp_path: Path) -> None:
    printed = perflog("records", LOGS, "--quiet")
    assert printed.returncode == 0
    frames = [pl.read_csv(BytesIO(printed.stdout.encode()), infer_schema_length=None)]
    for name in ("r.parquet", "r.jsonl", "r.csv"):
        assert perflog("records", LOGS, "-o", str(tmp_path / name), "--quiet").returncode == 0
    frames += [pl.read_parquet(tmp_path / "r.parquet"), pl.read_csv(tmp_path / "r.csv", infer_schema_length=None)]
    lines = [msgspec.json.decode(line) for line in (tmp_path / "r.jsonl").read_bytes().splitlines()]
    frames.append(library.records(LOGS))
    frames.append(library.extract(LOGS).records)
    for frame in frames:
        assert frame["time"].to_list() == [line["time"] for line in lines]
        assert frame["last_line"].to_list() == [line["last_line"] for line in lines]
        assert frame["in_window"].to_list() == [line["in_window"] for line in lines]


def test_where_chooses_the_runs_and_a_wrong_one_is_an_error() -> None:
    chosen = pl.read_csv(BytesIO(perflog("records", LOGS, "--where", "devices=2", "-q").stdout.encode()))
    assert {"1n2g" in log for log in chosen["log"]} == {True}
    wrong = perflog("records", LOGS, "--where", "devices=3")
    assert (wrong.returncode, "devices" in wrong.stderr) == (2, True)


def test_series_for_tensorboard_are_files_below_a_folder(tmp_path: Path) -> None:
    done = perflog("records", LOGS, "--format", "tensorboard", "-o", str(tmp_path / "runs"))
    assert done.returncode == 0 and f"wrote {tmp_path / 'runs'}" in done.stderr
    assert len(list((tmp_path / "runs").rglob("*tfevents*"))) == library.extract(LOGS).runs.height


@pytest.mark.parametrize("form", ["parquet", "tensorboard"])
def test_what_is_no_text_needs_a_file(form: str) -> None:
    done = perflog("records", LOGS, "--format", form)
    assert done.returncode == 2 and f"{form} is not text" in done.stderr


def test_a_page_is_written_and_served_or_written_but_not_both(tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    done = perflog("view", LOGS, "-o", str(page))
    assert (done.returncode, done.stderr) == (0, f"wrote {page}: 6 runs\n")
    library.view(LOGS).write(tmp_path / "q.html")
    assert (tmp_path / "q.html").read_bytes() == page.read_bytes()
    assert repr(library.view(LOGS)) == "<View: 6 runs; .write() writes it>"
    both = perflog("view", LOGS, "-o", str(page), "--serve")
    assert both.returncode == 2 and "served or written" in both.stderr


def test_parts_have_no_records(tmp_path: Path) -> None:
    library.extract_share(LOGS, "1/1", tmp_path / "1.parquet")
    with pytest.raises(UsageError, match="these numbers come from parts"):
        _ = library.merge(tmp_path / "1.parquet").records


def test_chinese_and_a_log_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "notes.log").write_text("nothing\n")
    text = library.view([LOGS, str(tmp_path)], language="zh").page.decode()
    assert "各次训练随时间的变化" in text and "notes.log" in text
