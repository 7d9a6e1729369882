"""extract --watch on a real terminal and on a pipe, and the progress of long reading."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perflog.cli.cases import View
from perflog.cli.progress import _Bar
from perflog.errors import UsageError
from perflog.extraction import CountsLogs, extract_paths
from perflog.settings.options import Options
from tests.support import FIXTURES

ONE = FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log"
BZ128 = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128"
#: Seconds after which a test gives up.
PATIENCE = 120


class Reader:
    """Reads what a process prints until a text is there."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor, self.text = descriptor, ""

    def until(self, wanted: str, times: int = 1) -> None:
        end = time.monotonic() + PATIENCE
        while self.text.count(wanted) < times:
            assert time.monotonic() < end, self.text
            self.text += os.read(self.descriptor, 65536).decode(errors="replace")


@pytest.mark.parametrize("stays", [False, True])
def test_watch_ends_with_the_last_run_and_goes_on_where_it_is_to_stay(stays: bool) -> None:
    ours, theirs = pty.openpty()
    words = [
        sys.executable,
        "-m",
        "perflog",
        "watch",
        str(FIXTURES / "campaign/short"),
        *(["--stay", "--every", "0.1"] * stays),
    ]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(words, stdout=theirs, stderr=subprocess.PIPE, env=environment, text=True) as process:
        os.close(theirs)
        reader = Reader(ours)
        reader.until("finished: all runs have ended or have all their steps (24 finished)")
        if stays:
            reader.until("--stay: Ctrl-C ends it", 6)
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        os.close(ours)
    assert process.returncode == (-signal.SIGINT if stays else 0)


@pytest.mark.parametrize("terminal", [True, False])
def test_the_table_is_shown_anew_when_a_log_grows_until_the_user_ends_it(terminal: bool, tmp_path: Path) -> None:
    log = tmp_path / "gpu8.log"
    lines = ONE.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:40]))
    ours, theirs = pty.openpty() if terminal else os.pipe()
    words = [sys.executable, "-m", "perflog", "extract", str(tmp_path), "--watch"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(words, stdout=theirs, stderr=subprocess.PIPE, env=environment, text=True) as process:
        os.close(theirs)
        reader = Reader(ours)
        reader.until("Ctrl-C ends it")
        with log.open("a") as file:
            file.write("".join(lines[40:]))
        reader.until("time_to_train")
        reader.until("Ctrl-C ends it", 2)
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=PATIENCE)[1]
        os.close(ours)
    assert (process.returncode, error) == (-signal.SIGINT, "perflog: interrupted\n")
    assert ("\x1b[" in reader.text) == terminal, "on a terminal the table takes the place of the one before"
    assert "82322.66 s" in reader.text[reader.text.index("Ctrl-C ends it") :], "the last table stays"


def test_a_view_chooses_and_orders_cases() -> None:
    extraction = extract_paths([BZ128], Options())
    view = View({"devices": "1:8:32"}, "-devices")
    assert [case.key["devices"] for case in view.of(extraction).cases] == [32, 8, 1]
    assert len(extraction.cases) == 6, "the extraction is as it was"
    assert view.of(extraction).cases[0].speedup == extraction.cases[5].speedup, "the baseline need not be shown"
    with pytest.raises(UsageError, match="did you mean devices"):
        View({"devcies": "1"}).of(extraction)


def test_progress_counts_bytes_and_files(monkeypatch: pytest.MonkeyPatch) -> None:
    bar = _Bar(1000)
    assert isinstance(bar, CountsLogs)
    bar.expect_logs(4)
    bar.log_read()
    bar(250)
    monkeypatch.setenv("TERM", "xterm")
    bar._show()  # as the timer does after a second
    (task,) = bar._drawn.tasks
    assert (task.completed, task.total, task.fields["files"]) == (250, 1000, "1 of 4 files")
    bar.log_read()
    assert bar._drawn.tasks[0].fields["files"] == "2 of 4 files"
    bar.end()


def test_progress_that_ends_early_is_never_shown() -> None:
    bar = _Bar(10)
    bar.wait()
    bar.end()
    bar._show()  # a timer that was late
    assert bar._drawn is None
