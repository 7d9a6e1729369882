"""The main path, end to end: paths → logs → readings → runs → cases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from perflog.cases.case import Case, said_of_all
from perflog.cases.last_resort import APART, cases_of
from perflog.errors import UsageError
from perflog.formats.catalog import Catalog, load_catalog
from perflog.logs.containers import digests
from perflog.logs.find import LogFile, find_logs
from perflog.parts import ENDING
from perflog.processes.pool import helpers
from perflog.processes.worker import Finishing, Look
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs.metadata import indexed_by_device
from perflog.runs.run import Outcome, Run, Skipped, lines_of_skipped
from perflog.settings.options import Options

if TYPE_CHECKING:
    from perflog.cache.cache import Cache
    from perflog.parts.part import Part, Share
    from perflog.runs.sight import Sight

#: Told the number of bytes there are, once, and then the bytes read.
Progress = Callable[[int], None]


@runtime_checkable
class CountsLogs(Protocol):
    """Progress that counts logs too, beside their bytes."""

    def expect_logs(self, count: int) -> None:
        """So many logs are going to be read."""

    def log_read(self) -> None:
        """One more of them has been read."""


@dataclass(slots=True)
class Extraction:
    """Everything extracted: cases with their runs, and the files that are no training logs.

    ``parts``: from how many parts the runs come, whose writer says what the logs said; 0 where logs were read.
    """

    cases: list[Case]
    skipped: list[Skipped]
    options: Options
    parts: int = 0

    @property
    def runs(self) -> list[Run]:
        return [run for case in self.cases for run in case.runs]

    @property
    def notes(self) -> list[str]:
        """What is said once of all cases: which factors of their numbers nothing but names of files tells."""
        return said_of_all(self.cases)

    @property
    def why_none(self) -> str:
        """Why there is no case, as a message of some lines."""
        reasons = ((left_out.log.name, left_out.reason) for left_out in self.skipped)
        lines = lines_of_skipped(reasons, "files; `perflog explain FILE` says why")
        return "\n".join(["no training log found", *lines])

    @property
    def complete(self) -> bool:
        """Whether there is a run, every run has a value, and every file could be read."""
        return (
            any(case.runs for case in self.cases)
            and not any(left_out.failed for left_out in self.skipped)
            and all(run.value is not None for case in self.cases for run in case.runs)
            and all(c.throughput.value is not None for c in self.cases)
            and not any(note.text.startswith(APART) for case in self.cases for note in case.notes)
        )


def extract_logs(
    logs: list[LogFile],
    options: Options,
    catalog: Catalog,
    progress: Progress | None = None,
    sight: Sight[Any] | None = None,
    cache: Cache | None = None,
    named: Sequence[Path] | None = None,
) -> Extraction:
    """Extract from logs already found; ``sight`` sees the measurements of each run before they are let go.

    Where the logs are parts that :func:`part_of` gave, their numbers come from these, and ``sight`` sees nothing. With
    a ``cache`` the logs that have not changed are not read.

    Args:
        named: the places whose parts may be read, with all links resolved; None for all.

    Raises:
        UsageError: where the parts are not all, or not of one whole, or made with other options, or lie elsewhere.
    """
    if any(log.path.endswith(ENDING) for log in logs):
        from perflog.parts.joining import parts_among

        parts = parts_among(logs, named)
        if parts:
            return _of_parts(parts, options, catalog)
    if cache is None:
        look = None if sight is None else sight.see
        growing = sight is not None and sight.growing
        outcomes: Iterable[Outcome] = _outcomes(logs, logs, options, catalog, progress, look, growing=growing)
    else:
        outcomes = _kept_outcomes(cache, logs, logs, options, catalog, progress, sight)
    return _together(_counted(outcomes, len(logs), progress), options, catalog)


def part_of(
    logs: Sequence[LogFile],
    share: Share,
    options: Options,
    catalog: Catalog,
    progress: Progress | None = None,
    cache: Cache | None = None,
) -> Part:
    """What a worker reads: its share of all logs that were found; with a ``cache``, of those that have changed.

    Raises:
        UsageError: when one is a pipe: every worker must find the same logs.
    """
    from perflog.parts.part import is_part, part_from, place_of

    for log in logs:
        if log.pipe is not None:
            raise UsageError(f"{log.name} can be read once only, so there are no shares of it: name files or folders")
        if is_part(log):
            raise UsageError(f"{log.name} is a part of logs already: `perflog merge` puts the parts together")
    own = share.of(logs)
    if cache is None:
        outcomes: Iterable[Outcome] = _outcomes(own, logs, options, catalog, progress, None, True)
    else:
        outcomes = _kept_outcomes(cache, own, logs, options, catalog, progress, hashed=True)
    positions = {log: position for position, log in enumerate(logs)}
    read = zip((positions[log] for log in own), own, _counted(outcomes, len(own), progress), strict=True)
    return part_from(place_of(logs, options, catalog), share, _with_digests(read))


def _with_digests(read: Iterable[tuple[int, LogFile, Outcome]]) -> Iterator[tuple[int, LogFile, Outcome]]:
    """The same logs, in another order where a cache has kept some without a hash of their texts: these are hashed now.

    All others were hashed while they were read.
    """
    lacking: dict[LogFile, tuple[int, list[Run]]] = {}
    for position, log, outcome in read:
        if isinstance(outcome, Skipped) or outcome[0].digest is not None:
            yield position, log, outcome
        else:
            lacking[log] = position, outcome
    for log, digest in digests(list(lacking)).items():
        position, runs = lacking[log]
        for run in runs:
            run.digest = digest
        yield position, log, runs


def _of_parts(paths: Sequence[Path], options: Options, catalog: Catalog) -> Extraction:
    """The extraction that all parts together hold."""
    from perflog.formats.catalog import fingerprint
    from perflog.parts.joining import joined, options_for

    whole = joined(paths)
    if whole.parsers != fingerprint(catalog):
        raise UsageError("these parts were made with other parsers than this command's: name the same --parsers")
    made = options_for(options, whole.options)
    return replace(_together(whole.outcomes, made, catalog), parts=len(paths))


def _together(outcomes: Iterable[Outcome], options: Options, catalog: Catalog) -> Extraction:
    """Cases from what became of all logs."""
    runs: list[Run] = []
    skipped: list[Skipped] = []
    for outcome in outcomes:
        if isinstance(outcome, Skipped):
            skipped.append(outcome)
        else:
            runs.extend(outcome)
    cases, left_out = cases_of(runs, skipped, catalog.path_patterns, options)
    return Extraction(cases, [*skipped, *left_out], options)


def _outcomes(
    logs: Sequence[LogFile],
    among: Sequence[LogFile],
    options: Options,
    catalog: Catalog,
    progress: Progress | None,
    look: Look | None,
    hashed: bool = False,
    growing: bool = False,
) -> Iterator[Outcome]:
    """What becomes of each log; ``among``: all logs whose names may say what a number in its name counts.

    ``hashed``: whether each text is hashed while it is read; ``growing``: whether trainings that have not ended are
    runs, without a number.
    """
    indexed = indexed_by_device(among, catalog.path_patterns)
    finishing = Finishing(catalog, options, indexed, growing)

    def finish_all(readings: Sequence[Reading]) -> list[Outcome]:
        return finishing.outcomes(readings, look)

    def finish(reading: Reading) -> Outcome:
        return finish_all([reading])[0]

    with helpers(logs if look is None else (), catalog, options, indexed, hashed) as elsewhere:
        outcomes: Iterator[Outcome] = read_logs(
            list(logs), catalog, finish, options.as_printed, progress, options, finish_all, elsewhere, hashed
        )
        yield from outcomes


def _kept_outcomes(
    cache: Cache,
    logs: Sequence[LogFile],
    among: Sequence[LogFile],
    options: Options,
    catalog: Catalog,
    progress: Progress | None,
    sight: Sight[Any] | None = None,
    hashed: bool = False,
) -> Iterator[Outcome]:
    """What becomes of each log, as :func:`_outcomes` gives it; those that have not changed are not read."""
    from perflog.cache.printed import with_kept

    look = None if sight is None else sight.see_for_later

    def read(changed: Sequence[LogFile]) -> Iterator[Outcome]:
        if progress is not None:
            total = sum(max(log.size, 0) for log in logs)
            progress(total - sum(max(log.size, 0) for log in changed))
        growing = sight is not None and sight.growing
        return _outcomes(changed, among, options, catalog, progress, look, hashed, growing)

    return with_kept(cache, logs, among, options, catalog, read, sight)


def _counted(outcomes: Iterable[Outcome], count: int, progress: Progress | None) -> Iterator[Outcome]:
    """The same outcomes, ``count`` of them; progress that counts logs is told of each."""
    counter = progress if isinstance(progress, CountsLogs) else None
    if counter is not None:
        counter.expect_logs(count)
    for outcome in outcomes:
        if counter is not None:
            counter.log_read()
        yield outcome


def extract_paths(
    paths: Iterable[str | os.PathLike[str]], options: Options, catalog: Catalog | None = None
) -> Extraction:
    """Find the logs at and below ``paths`` and extract from them.

    Raises:
        UsageError: when a path does not exist.
    """
    return extract_logs(find_logs(paths), options, catalog or load_catalog())
