"""Whether processes are worth their start, and how many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile
from perflog.reading.cores import workers
from perflog.reading.schedule import SMALL
from perflog.runs.device_index import Stem
from perflog.settings.options import Options

if TYPE_CHECKING:
    from perflog.processes.pool import Processes

#: Seconds of processor time for each small log, and for each byte of it: about, on a machine of 2020.
PER_LOG, PER_BYTE = 5e-4, 7e-9
#: Work that takes less, in seconds, is not worth the 0.3 s of processor time that the start of a process takes.
LEAST = 1.5


@contextmanager
def helpers(
    logs: Sequence[LogFile], catalog: Catalog, options: Options, indexed: frozenset[Stem], hashed: bool = False
) -> Iterator[Processes | None]:
    """Processes that read batches of ``logs`` beside this one; None where they are not worth their start.

    Args:
        indexed: the names of logs whose number is a device's.
        hashed: whether each text is hashed while it is read.
    """
    count = workers() - 1
    if count < 1 or seconds_for(logs) < LEAST:
        yield None
        return
    from perflog.processes.messages import Task  # few commands need them
    from perflog.processes.pool import Processes

    with Processes(count, Task(catalog.parsers, catalog.path_patterns, options, indexed, hashed)) as processes:
        yield processes


def seconds_for(logs: Sequence[LogFile]) -> float:
    """About how much processor time the small logs among these take."""
    sizes = [log.size for log in logs if log.size <= SMALL and log.stored is None]
    return PER_LOG * len(sizes) + PER_BYTE * sum(max(size, 0) for size in sizes)
