"""A worker: a process that reads one batch of logs after the other, until the process that started it is gone.

It is started clean, by a command of its own, never forked and never through the user's ``__main__``.
"""

from __future__ import annotations

import copyreg
import os
import pickle
import signal
from collections.abc import Callable, Sequence
from dataclasses import fields
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from perflog.evidence.witness import Verdict, Witness
from perflog.formats.catalog import Catalog
from perflog.formats.parser import Parser
from perflog.formats.paths import PathPattern, PathPatterns
from perflog.inference.infer import inferred_outcome
from perflog.logs.find import RUNNING, LogFile
from perflog.processes import settle
from perflog.reading.reading import Reading
from perflog.reading.schedule import batch_reader
from perflog.runs.build import RunBuilder, without_number
from perflog.runs.metadata import Metadata, Stem
from perflog.runs.run import Metric, Outcome, Run, Skipped
from perflog.settings.options import Options

# ----------------------------------------------------------------------------------------------------
# What a process and its workers say to each other: pickled objects, each behind its length, through pipes.
#
# Nothing but these two processes writes to the pipes, so what is unpickled is perflog's own.

#: What a worker says first, so that another program in its place is told from it.
GREETING = b"perflog worker\n"
#: Stands for the log in an answer.
NO_LOG = LogFile("", 0)
_LENGTH = 8


class Task(Struct, frozen=True):
    """What a worker needs to know before it reads its first batch."""

    parsers: tuple[Parser, ...]
    path_patterns: PathPatterns
    options: Options
    indexed: frozenset[Stem]
    hashed: bool = False

    def catalog(self) -> Catalog:
        """The catalogue of the parsers in force."""
        return Catalog(self.parsers, self.path_patterns)


class Asked(Struct, frozen=True):
    """The logs of a batch: path, size, member of an archive, and the path that the user gave."""

    logs: list[tuple[str, int, str, str]]

    def log_files(self) -> list[LogFile]:
        """The logs as the worker opens them."""
        return [LogFile(path, size, member, given) for path, size, member, given in self.logs]


#: What became of each log, without the log itself; None for one that is too large for a batch. In place of all, None
#: where the batch failed as a whole.
Answer = list["Outcome | None"] | None


def _by_fields(record: type) -> Callable[[Any], tuple[Any, ...]]:
    """What packs a record as its type and the values of its fields."""
    values = attrgetter(*(field.name for field in fields(record)))
    return lambda packed: (record, values(packed))


#: The formats of a task.
_Formats = tuple[tuple[Parser, ...], tuple[PathPattern, ...]]


def _packed_task(task: Task) -> tuple[Any, ...]:
    """A task by the fields of its formats alone: what is kept on these while logs are read, other threads change."""
    from msgspec import msgpack

    formats: _Formats = task.parsers, tuple(task.path_patterns)
    return _task, (msgpack.encode(formats, enc_hook=os.fsencode), task.options, task.indexed, task.hashed)


def _task(formats: bytes, options: Options, indexed: frozenset[Stem], hashed: bool) -> Task:
    from msgspec import msgpack

    def path_of(_: type, name: bytes) -> Path:  # a path is all that msgpack does not know
        return Path(os.fsdecode(name))

    parsers, patterns = msgpack.decode(formats, type=_Formats, dec_hook=path_of)
    return Task(parsers, PathPatterns(patterns), options, indexed, hashed)


#: How records are packed: sooner than by the names of their fields; and what they share is shared again.
_PACKED: dict[type, Callable[[Any], Any]] = {
    **copyreg.dispatch_table,
    Task: _packed_task,
    **{record: _by_fields(record) for record in (Run, Metric, Metadata, Verdict, Witness, Skipped)},
}


def without_logs(outcomes: Sequence[Outcome | None]) -> Answer:
    """Outcomes from which the logs were taken, which the process that asked has; the outcomes given are changed."""
    for outcome in outcomes:
        for record in [outcome] if isinstance(outcome, Skipped) else outcome or ():
            record.log = NO_LOG
    return list(outcomes)


def asked(logs: Sequence[LogFile]) -> Asked:
    """A batch, to be read by a worker."""
    return Asked([(log.path, log.size, log.member, log.given) for log in logs])


def send(stream: BinaryIO, message: Any) -> None:
    """Write a message.

    Raises:
        OSError, ValueError: where the other process is gone, or the stream is closed.
    """
    content = BytesIO()
    pickler = pickle.Pickler(content, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _PACKED
    pickler.dump(message)
    stream.write(content.tell().to_bytes(_LENGTH, "big") + content.getbuffer())
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """The next message.

    Raises:
        EOFError: at the end, or where a message is cut: the other process is gone.
        OSError, ValueError: where the stream cannot be read.
    """
    length = int.from_bytes(_exactly(stream, _LENGTH), "big")
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


# ----------------------------------------------------------------------------------------------------
# What becomes of finished readings: the same function in this process and in those that help it.


#: Why a log that grows has no number.
NOT_ENDED = "its training has not ended (`perflog watch` shows it)"
#: Sees what became of a log, with the reading and the formats that it comes of, from a reading thread.
Look = Callable[[LogFile, Reading, Outcome, Catalog], None]


class Finishing:
    """Makes outcomes of readings, under one catalogue and one set of options. Threads may share it."""

    def __init__(self, catalog: Catalog, options: Options, indexed: frozenset[Stem], growing: bool = False) -> None:
        """Make one.

        Args:
            indexed: the names of logs whose number is a device's.
            growing: whether trainings that have not ended are runs, without a number, or are left out.
        """
        self._catalog, self._options, self._growing = catalog, options, growing
        self._builder = RunBuilder(catalog, options, indexed)

    def outcome(self, reading: Reading) -> Outcome:
        """What becomes of one reading.

        Raises:
            ParserError: when a parser that matched does not read its own samples as it promises.
        """
        return self.outcomes([reading])[0]

    def outcomes(self, readings: Sequence[Reading], look: Look | None = None) -> list[Outcome]:
        """What becomes of each reading, in their order.

        Args:
            look: sees each outcome with the reading and the formats that it comes of.

        Raises:
            ParserError: when a parser that matched does not read its own samples as it promises.
        """
        taken = [reading for reading in readings if self._growing or not _grows(reading.log)]
        built = iter(self._builder.build_all(taken))
        outcomes: list[Outcome] = []
        for reading in readings:
            outcome: Outcome = Skipped(reading.log, NOT_ENDED)
            measured, catalog = reading, self._catalog
            if self._growing or not _grows(reading.log):
                judged = inferred_outcome(reading, next(built), self._catalog, self._options)
                outcome, measured, catalog = judged.outcome, judged.reading, judged.catalog
            if _grows(reading.log) and not isinstance(outcome, Skipped):
                outcome = [without_number(run, NOT_ENDED) for run in outcome]
            if look is not None:
                look(reading.log, measured, outcome, catalog)
            if reading.hashed is not None and not isinstance(outcome, Skipped):
                for run in outcome:
                    run.digest = reading.hashed.digest()
            outcomes.append(outcome)
        return outcomes


def _grows(log: LogFile) -> bool:
    """Whether a log's training has not ended."""
    return log.path.endswith(RUNNING)


# ----------------------------------------------------------------------------------------------------
# The process itself.

#: What reads a batch: what became of each log, None for one that is too large.
Read = Callable[[Sequence[LogFile]], "list[Outcome | None]"]


def main() -> None:
    """Serve the process at the other end of standard input and output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the process that asks, and its end is the pipe's end
    settle()
    with os.fdopen(0, "rb", closefd=False) as source, _own_output() as sink:
        serve(source, sink)


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Say who this is, take a task, say that all is ready, and answer until the source ends."""
    try:
        sink.write(GREETING)
        sink.flush()
        task: Task = receive(source)
        catalog = task.catalog()
        finishing = Finishing(catalog, task.options, task.indexed)
        read = batch_reader(catalog, finishing.outcome, task.options, finishing.outcomes, task.hashed)
        send(sink, True)
        while True:
            batch: Asked = receive(source)
            send(sink, answer(read, batch))
    except (EOFError, BrokenPipeError):
        return


def answer(read: Read, batch: Asked) -> Answer:
    """What became of a batch; None where it fails as a whole: the process that asked meets the error itself."""
    try:
        return without_logs(read(batch.log_files()))
    except BaseException:  # polars panics with what is no Exception
        return None


def _own_output() -> BinaryIO:
    """The pipe to the process that asks; what else is printed goes where errors go."""
    own = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(own, "wb")
