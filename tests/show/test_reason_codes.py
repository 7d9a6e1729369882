"""The code of each reason: what programs read where people read a sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import perflog
from perflog.show.document import CODES, OTHER, UNREADABLE, reason_code
from tests.campaigns import write_run
from tests.support import ROOT


def codes_of(path: Path, **options: Any) -> list[str | None]:
    """The codes of the throughputs and of the skipped files of a path's logs."""
    document: Any = perflog.extract(path, **options).document()
    runs = [run["metrics"]["throughput"] for case in document["cases"] for run in case["runs"]]
    return [entry["reason_code"] for entry in [*runs, *document["skipped"]]]


def test_runs_with_and_without_a_value(tmp_path: Path) -> None:
    log = tmp_path / "1n8g" / "rn50_b128_fp32_1.log"
    write_run(log, [100.0] * 60)
    assert codes_of(log) == [None]
    assert codes_of(log, warmup=1000) == ["run-too-short"]
    assert codes_of(log, warmup="3epochs") == ["nothing-in-window"]
    assert codes_of(log, estimator="reported") == ["no-summary"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty"),
        (b"nothing that a training prints\n" * 50, "unknown-format"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, "not-text"),
        (b"SQLite format 3\x00" + bytes(4000), "not-text"),
        (b"PK\x03\x04" + bytes(200), UNREADABLE),
    ],
)
def test_files_that_are_no_logs(tmp_path: Path, content: bytes, code: str) -> None:
    file = tmp_path / "some.log"
    file.write_bytes(content)
    assert codes_of(tmp_path) == [code]


def test_a_copy_counts_once(tmp_path: Path) -> None:
    write_run(tmp_path / "1n8g" / "rn50_b128_fp32_1.log", [100.0] * 60)
    (tmp_path / "copy.log").write_bytes((tmp_path / "1n8g" / "rn50_b128_fp32_1.log").read_bytes())
    assert sorted(map(str, codes_of(tmp_path))) == ["None", "counted-already"]


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("OOM: line 7: RuntimeError: CUDA out of memory.", "out-of-memory"),
        ("failed: crash: exit status 1; 5 of 60 steps logged", "training-failed"),
        ("step 5 has different records at lines 7 and 8: several ranks or runs are blended (log one rank, or have the "
         "launcher tag each line)", "blended"),
        ("the log contradicts itself: time per step is 2 s by the measurements and 1 s by the clock", "contradiction"),
        ("internal error while this log was read, please report it: KeyError: 'no measurement'", "internal-error"),
        ("lines of keras, tqdm_bare, but no measurement among them", "no-measurement"),
        ("3 of 5 runs did not reach their target (a, b, c), and MLPerf drops at most 1", "target-not-reached"),
        ("a reason that nobody has thought of", OTHER),
    ],
)  # fmt: skip
def test_sentences(reason: str, code: str) -> None:
    assert reason_code(reason) == code


def test_what_could_not_be_read_says_so_where_no_other_code_is_known() -> None:
    assert reason_code("the member is encrypted", unreadable=True) == UNREADABLE
    assert reason_code("internal error while this log was read", unreadable=True) == "internal-error"
    assert reason_code("") is None


def test_the_documentation_lists_all_codes() -> None:
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8").partition("## Codes of reasons")[2]
    listed = [code for row in re.findall(r"^\| (`.*?) \|", text.partition("\n## ")[0], re.M)
              for code in re.findall(r"`([a-z-]+)`", row)]  # fmt: skip
    assert sorted(listed) == sorted(CODES)
