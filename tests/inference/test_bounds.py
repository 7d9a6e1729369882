"""A log of an unknown format is looked at again from memory: its file is not opened for each reading that is tried."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from perflog.logs import containers
from perflog.logs.archives import Member, members_of
from perflog.logs.containers import Load, blocks_of
from perflog.logs.find import LogFile
from perflog.logs.stored import StoredObject
from perflog.reading import gather as parts
from perflog.reading import schedule
from tests.inference.test_infer import TRUE, extracted, written

NAME = "time beside stamps"


def log_of(folder: Path, name: str = NAME, steps: int = 400) -> tuple[Path, float]:
    line, stamps, every = TRUE[name]
    log, _ = written(folder, line, stamps=stamps, every=every, steps=steps)
    (run,) = extracted(log).runs
    step_time = run.metrics["step_time"].value
    assert run.parser == "inferred" and step_time is not None
    return log, step_time


def test_members_of_an_archive_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, expected = [], []
    names = (NAME, "milliseconds beside stamps", "a bare time in seconds")
    for steps, name in zip((400, 440, 480), names, strict=True):  # of one length they would be taken for copies
        log, step_time = log_of(tmp_path, name, steps)
        texts.append(log.read_bytes())
        expected.append(step_time)
        log.unlink()
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for number, text in enumerate(texts):
            info = tarfile.TarInfo(f"{number}/train.log")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    opened: list[str] = []

    def counted(path: str, stored: StoredObject | None) -> Iterator[Member]:
        opened.append(path)
        return members_of(path, stored)

    monkeypatch.setattr(containers, "members_of", counted)
    runs = sorted(extracted(tmp_path / "a.tar.gz").runs, key=lambda run: run.log.member)
    assert [run.metrics["step_time"].value for run in runs] == expected
    assert [run.log for run in runs] == [
        LogFile(str(tmp_path / "a.tar.gz"), len(t), f"{n}/train.log") for n, t in enumerate(texts)
    ]
    assert all(run.log.text is None for run in runs)  # it is not kept with the run
    assert len(opened) == 1


def test_a_large_log_is_read_for_what_its_beginning_shows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, step_time = log_of(tmp_path)
    monkeypatch.setattr(schedule, "SMALL", 12_000)
    monkeypatch.setattr(parts, "_BEGINNING", 12_000)
    opened: list[str] = []

    def counted(file: LogFile) -> Iterator[Load]:
        opened.append(file.path)
        return blocks_of(file)

    monkeypatch.setattr(schedule, "blocks_of", counted)
    (run,) = extracted(log).runs
    assert run.metrics["step_time"].value == step_time
    assert len(opened) == 3  # once, for the reading that the beginning bears out, and with its lines behind pauses
    opened.clear()
    log.write_text(re.sub(r"step \d+/400", "some steps", log.read_text()))
    assert not extracted(log).runs
    assert len(opened) == 1


@pytest.mark.parametrize("beginning", [1 << 20, 12_000])
def test_of_a_pipe_what_its_beginning_shows_alone_is_inferred(
    beginning: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, step_time = log_of(tmp_path)
    monkeypatch.setattr(parts, "_BEGINNING", beginning)
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["/bin/sh", "-c", "cat train.log > pipe"], cwd=tmp_path):
        runs = extracted(tmp_path / "pipe").runs
    assert [run.metrics["step_time"].value for run in runs] == ([step_time] if beginning > log.stat().st_size else [])
