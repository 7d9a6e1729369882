"""The main path, end to end: paths → logs → readings → runs → cases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from perflog.cases.build import build_cases
from perflog.cases.case import Case, said_of_all
from perflog.cases.copies import without_copies
from perflog.cases.repeats import of_first_ranks, settled
from perflog.formats.catalog import Catalog, load_catalog
from perflog.inference.known import inferred_runs
from perflog.logs.find import RUNNING, LogFile, find_logs
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs.build import RunBuilder
from perflog.runs.device_index import indexed_by_device
from perflog.runs.run import Outcome, Run, Skipped
from perflog.settings.options import Options

#: Told the number of bytes there are, once, and then the bytes read.
Progress = Callable[[int], None]


@runtime_checkable
class CountsLogs(Protocol):
    """Progress that counts logs too, beside their bytes."""

    def expect_logs(self, count: int) -> None:
        """So many logs are going to be read."""

    def log_read(self) -> None:
        """One more of them has been read."""


#: Sees a log's reading and what became of it, from a reading thread.
Look = Callable[[Reading, Outcome], None]


@dataclass(slots=True)
class Extraction:
    """Everything extracted: cases with their runs, and the files that are no training logs."""

    cases: list[Case]
    skipped: list[Skipped]
    options: Options

    @property
    def runs(self) -> list[Run]:
        return [run for case in self.cases for run in case.runs]

    @property
    def notes(self) -> list[str]:
        """What is said once of all cases: which factors of their numbers nothing but names of files tells."""
        return said_of_all(self.cases)

    @property
    def complete(self) -> bool:
        """Whether there is a run, every run has a value, and every file could be read."""
        runs = self.runs
        return (
            bool(runs)
            and not any(left_out.failed for left_out in self.skipped)
            and all(run.throughput.value is not None for run in runs)
            and all(c.throughput.value is not None for c in self.cases)
        )


def extract_logs(
    logs: list[LogFile], options: Options, catalog: Catalog, progress: Progress | None = None, look: Look | None = None
) -> Extraction:
    """Extract from logs already found; ``look`` sees each reading with its runs before the reading is let go."""
    builder = RunBuilder(catalog, options, indexed_by_device(logs, catalog.path_patterns))

    def finish_all(readings: Sequence[Reading]) -> list[Outcome]:
        finished = (reading for reading in readings if not _grows(reading.log))
        built = iter(builder.build_all(list(finished)))
        outcomes: list[Outcome] = []
        for reading in readings:
            outcome = _of_growing(reading.log) if _grows(reading.log) else next(built)
            if isinstance(outcome, Skipped) and not reading.problem and not _grows(reading.log):
                outcome = inferred_runs(reading, catalog, options) or outcome
            outcomes.append(outcome)
        for reading, outcome in zip(readings, outcomes, strict=True):
            if look is not None:
                look(reading, outcome)
        return outcomes

    def finish(reading: Reading) -> Outcome:
        return finish_all([reading])[0]

    runs: list[Run] = []
    skipped: list[Skipped] = []
    outcomes = read_logs(logs, catalog, finish, options.as_printed, progress, options, finish_all)
    for outcome in _counted(outcomes, len(logs), progress):
        if isinstance(outcome, Skipped):
            skipped.append(outcome)
        else:
            runs.extend(outcome)
    runs, copies = without_copies(runs)
    runs, other_ranks = of_first_ranks(runs, catalog.path_patterns)
    skipped += [*copies, *other_ranks]
    return Extraction(build_cases(settled(runs, catalog.path_patterns), options), skipped, options)


def _counted(outcomes: Iterable[Outcome], count: int, progress: Progress | None) -> Iterator[Outcome]:
    """The same outcomes, ``count`` of them; progress that counts logs is told of each."""
    counter = progress if isinstance(progress, CountsLogs) else None
    if counter is not None:
        counter.expect_logs(count)
    for outcome in outcomes:
        if counter is not None:
            counter.log_read()
        yield outcome


def _grows(log: LogFile) -> bool:
    """Whether a log's training has not ended."""
    return log.path.endswith(RUNNING)


def _of_growing(log: LogFile) -> Skipped:
    return Skipped(log, "its training has not ended (`perflog watch` shows it)")


def extract_paths(
    paths: Iterable[str | os.PathLike[str]], options: Options, catalog: Catalog | None = None
) -> Extraction:
    """Find the logs at and below ``paths`` and extract from them.

    Raises:
        UsageError: when a path does not exist.
    """
    return extract_logs(find_logs(paths), options, catalog or load_catalog())
