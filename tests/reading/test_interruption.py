"""Ctrl-C ends the reading at once: what other threads have begun is not waited for."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest

from perflog.logs.find import find_logs
from perflog.reading import schedule
from perflog.reading.reading import Reading
from tests.support import catalog


def test_what_is_still_read_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "BATCH_LOGS", 1)  # each log is a batch of its own
    for number in range(1, 9):
        (tmp_path / f"train_{number}.log").write_text("no line of a log\n", encoding="utf-8")
    may_end = Event()

    def finish(reading: Reading) -> str:
        if not reading.log.name.endswith("_1.log"):
            may_end.wait(60)
        return reading.log.name

    outcomes = schedule.read_logs(find_logs([tmp_path]), catalog(), finish)
    assert next(outcomes).endswith("train_1.log")
    closing = Thread(target=outcomes.close)  # type: ignore[attr-defined]
    closing.start()
    closing.join(20)
    waited = closing.is_alive()
    may_end.set()
    closing.join()
    assert not waited
