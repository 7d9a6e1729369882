"""What fails while one log is read is that log's reason; every other log is read as before."""

from __future__ import annotations

import gzip
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from polars.exceptions import PanicException

from perflog.errors import ParserError
from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile, find_logs
from perflog.logs.streams import RefusedError, UnreadableError, stream_of_descriptor
from perflog.matching import Batch, Engine, engine_for
from perflog.reading import schedule
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from tests.reading.support import STEPS, formats, steps
from tests.support import extracted

SIMPLE = formats(STEPS)
GOOD, BAD = steps(1, 2, 3).encode(), b"explode\n" + steps(1, 2, 3).encode()
#: Errors that nobody foresaw; a panic of polars is no :class:`Exception`.
UNFORESEEN = (OverflowError("too large"), MemoryError(), RecursionError("too deep"), PanicException("inner panic"))
#: What the system refuses is no error of the program, and is said as it is.
NO_MEMORY = "could not be read to its end: there is not enough memory"


@pytest.fixture(autouse=True)
def no_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PERFLOG_DEBUG", raising=False)


class ExplodingEngine:
    """The real engine, but for texts that hold a word, on which it fails."""

    def __init__(self, error: BaseException) -> None:
        self._engine, self._error = engine_for(SIMPLE), error

    def match(self, texts: Sequence[bytes], at_end: bool) -> Batch:
        if any(b"explode" in bytes(text) for text in texts):
            raise self._error
        return self._engine.match(texts, at_end)


def exploding(error: BaseException) -> Callable[[Catalog], Engine]:
    engine: Engine = ExplodingEngine(error)
    return lambda _: engine


def read(folder: Path) -> dict[str, tuple[str, bool, int]]:
    """By the logs' names, their problems, whether they failed, and their lines."""

    def finish(reading: Reading) -> tuple[str, tuple[str, bool, int]]:
        return reading.log.name.rpartition("/")[2], (reading.problem, reading.failed, reading.lines)

    return dict(read_logs(find_logs([folder]), SIMPLE, finish))


@pytest.mark.parametrize("error", UNFORESEEN, ids=lambda error: type(error).__name__)
def test_a_log_on_which_the_engine_fails(error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1.log").write_bytes(GOOD)
    (tmp_path / "2.log").write_bytes(BAD)
    (tmp_path / "3.log").write_bytes(GOOD + b"#" * (schedule.SMALL + 1) + b"\n" + BAD)
    with zipfile.ZipFile(tmp_path / "4.zip", "w") as archive:
        archive.writestr("a.log", BAD)
        archive.writestr("b.log", GOOD)
    (tmp_path / "5.log").write_bytes(GOOD)
    monkeypatch.setattr(schedule, "engine_for", exploding(error))
    found = read(tmp_path)
    bad = {name for name, (_, failed, _) in found.items() if failed}
    assert bad == {"2.log", "3.log", "4.zip!a.log"}
    assert {found[name] for name in found.keys() - bad} == {("", False, 3)}
    for name in bad:
        if isinstance(error, MemoryError):
            assert found[name][0] == NO_MEMORY
            continue
        assert found[name][0].startswith(
            f"internal error while this log was read, please report it: {error_name(error)}"
        )
        assert found[name][0].endswith("(PERFLOG_DEBUG=1 shows where)")


def error_name(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@pytest.mark.parametrize("error", UNFORESEEN, ids=lambda error: type(error).__name__)
def test_a_log_whose_runs_cannot_be_made(error: BaseException, tmp_path: Path) -> None:
    for name in ("1.log", "2.log", "3.log"):
        (tmp_path / name).write_bytes(GOOD)

    def finish(reading: Reading) -> tuple[str, str]:
        if reading.log.path.endswith("2.log") and not reading.problem:
            raise error
        return Path(reading.log.path).name, reading.problem[:14]

    found = list(read_logs(find_logs([tmp_path]), SIMPLE, finish))
    said = NO_MEMORY[:14] if isinstance(error, MemoryError) else "internal error"
    assert found == [("1.log", ""), ("2.log", said), ("3.log", "")]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), ParserError("x.toml: no regex")])
def test_what_is_no_matter_of_one_log_ends_the_command(error: BaseException, tmp_path: Path) -> None:
    (tmp_path / "1.log").write_bytes(GOOD)

    def finish(_: Reading) -> None:
        raise error

    with pytest.raises(type(error)):
        list(read_logs(find_logs([tmp_path]), SIMPLE, finish))


def test_the_error_itself_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1.log").write_bytes(BAD)
    monkeypatch.setattr(schedule, "engine_for", exploding(OverflowError("too large")))
    monkeypatch.setenv("PERFLOG_DEBUG", "1")
    with pytest.raises(OverflowError, match="too large"):
        read(tmp_path)


def test_a_file_that_could_not_be_read_leaves_the_extraction_incomplete(tmp_path: Path) -> None:
    """Exit status 3: a damaged container may be a training's log; a file of another kind is none."""
    text = "".join(f"iter {n}: loss 3.0, time 250.00ms, mfu 17.89%\n" for n in range(60))
    (tmp_path / "good.log").write_text(text)
    (tmp_path / "README.md").write_text("no log\n")
    assert extracted(tmp_path).complete
    (tmp_path / "cut.log.gz").write_bytes(gzip.compress(text.encode())[:9])
    extraction = extracted(tmp_path)
    assert [(Path(left_out.log.path).name, left_out.failed) for left_out in extraction.skipped] == [
        ("README.md", False), ("cut.log.gz", True),
    ]  # fmt: skip
    assert not extraction.complete
    assert [run.throughput.value for run in extraction.runs] == [4.0]


def test_what_a_folder_holds_beside_logs_leaves_it_complete(tmp_path: Path) -> None:
    """A pipe in a folder is no log; a link in a circle may be one's name."""
    text = "".join(f"iter {n}: loss 3.0, time 250.00ms, mfu 17.89%\n" for n in range(60))
    (tmp_path / "good.log").write_text(text)
    os.mkfifo(tmp_path / "pipe")
    extraction = extracted(tmp_path)
    assert (extraction.complete, [left_out.failed for left_out in extraction.skipped]) == (True, [False])
    (tmp_path / "a.log").symlink_to(tmp_path / "b.log")
    (tmp_path / "b.log").symlink_to(tmp_path / "a.log")
    extraction = extracted(tmp_path)
    assert (extraction.complete, [left_out.failed for left_out in extraction.skipped]) == (False, [True, True, False])
    assert [run.throughput.value for run in extraction.runs] == [4.0]


def test_of_what_the_system_reads_no_further_nothing_counts(tmp_path: Path) -> None:
    """There is more of it than was read; of a damaged file there is not."""
    descriptor = os.open(tmp_path, os.O_RDONLY)  # of a folder the system reads nothing
    try:
        with pytest.raises(RefusedError) as refused:
            stream_of_descriptor(descriptor).read(10)
    finally:
        os.close(descriptor)
    found = {}
    for name, error in (("refused", refused.value), ("damaged", UnreadableError("it is damaged"))):
        reading = Reading(LogFile(name, 100))
        reading.end_early(error)
        found[name] = (reading.problem, reading.notes)
    assert found == {
        "refused": ("could not be read to its end: Is a directory", []),
        "damaged": ("", ["it is damaged"]),
    }
