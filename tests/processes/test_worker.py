"""A worker served in this process, through streams in memory."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from perflog.formats.catalog import fingerprint
from perflog.logs.find import LogFile
from perflog.processes.worker import GREETING, NO_LOG, answer, asked, receive, send, serve
from perflog.runs.run import Metric, Skipped
from tests.processes.support import task

LINES = "".join(f"iter {n}: loss 3.0, time 250.00ms, mfu 17.89%\n" for n in range(60))


def test_a_worker_answers_until_its_source_ends(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(LINES)
    logs = [LogFile(str(tmp_path / "a.log"), len(LINES)), LogFile(str(tmp_path / "gone.log"), 5)]
    source, sink = BytesIO(), BytesIO()
    send(source, task())
    send(source, asked(logs))
    send(source, asked([LogFile("/large.log", 5_000_000)]))
    source.seek(0)
    serve(source, sink)
    sink.seek(0)
    assert sink.read(len(GREETING)) == GREETING
    assert receive(sink) is True
    runs, none = receive(sink)
    assert [(run.throughput.value, run.log) for run in runs] == [(4.0, NO_LOG)]
    assert isinstance(none, Skipped)
    assert (none.log, none.failed) == (NO_LOG, True)
    assert receive(sink) == [None]
    with pytest.raises(EOFError):
        receive(sink)


@pytest.mark.parametrize("error", [OSError(28, "full"), BaseException("a panic"), KeyboardInterrupt()])
def test_a_batch_that_fails_as_a_whole_is_the_asking_processs(error: BaseException) -> None:
    def read(_: object) -> list[None]:
        raise error

    assert answer(read, asked([])) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0, 5, 8, 20])
def test_a_message_that_is_cut_is_the_end(size: int) -> None:
    stream = BytesIO()
    send(stream, ["a message", 1])
    with pytest.raises(EOFError):
        receive(BytesIO(stream.getvalue()[:size]))
    assert receive(BytesIO(stream.getvalue())) == ["a message", 1]


def test_what_outcomes_share_is_shared_again() -> None:
    """Of 100,000 runs each text would take memory of its own otherwise."""
    stream = BytesIO()
    metrics = [Metric(f"m{number}", 1.5, "images/s", "total", excluded={"warm-up": 20}) for number in range(2)]
    metrics[1].excluded = metrics[0].excluded
    send(stream, metrics)
    stream.seek(0)
    first, second = receive(stream)
    assert [first, second] == metrics
    assert first.excluded is second.excluded
    assert first.unit is second.unit


def test_a_task_brings_the_formats_and_nothing_that_is_kept_on_them() -> None:
    """Other threads keep what they have read of names there: what is sent must not look at it."""
    given, stream = task(), BytesIO()
    given.path_patterns.facts_of_part("resnet50_bs64_gpu8.log", "file")
    assert given.path_patterns._known
    send(stream, given)
    came = receive(BytesIO(stream.getvalue()))
    assert fingerprint(came.catalog()) == fingerprint(given.catalog())
    assert [parser.file for parser in came.parsers] == [parser.file for parser in given.parsers]
    assert (came.options, came.indexed, came.hashed) == (given.options, given.indexed, given.hashed)
    assert not came.path_patterns._known
