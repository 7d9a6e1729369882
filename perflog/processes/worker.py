"""A worker: a process that reads one batch of logs after the other, until the process that started it is gone.

It is started clean, by a command of its own, never forked and never through the user's ``__main__``.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from typing import BinaryIO

from perflog.logs.find import LogFile
from perflog.processes.finishing import Finishing
from perflog.processes.messages import GREETING, Answer, Asked, Task, receive, send, without_logs
from perflog.processes.own import settle
from perflog.reading.schedule import batch_reader
from perflog.runs.run import Outcome

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
