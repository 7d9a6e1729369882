"""A log that was given twice, or copied under another name, counts once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perflog.cases.left_out import runs_by_log, without
from perflog.logs.digest import digests
from perflog.logs.find import LogFile
from perflog.runs.run import Run, Skipped

#: So many copies of a log are named in a note.
MOST_NAMED = 3


def without_copies(runs: Sequence[Run]) -> tuple[list[Run], list[Skipped]]:
    """(the runs without those of logs whose text is another's, the logs left out).

    Logs are compared where their runs have the same numbers on the same lines. The one in the fewest folders counts, as
    it stands before those that were put away, and of them the first in the order of ``runs``, with a note that names
    the others.
    """
    alike: dict[tuple[object, ...], list[LogFile]] = {}
    by_log = runs_by_log(runs)
    for log, of_log in by_log.items():
        alike.setdefault(tuple(_what_is_read(run) for run in of_log), []).append(log)
    groups = [logs for logs in alike.values() if len(logs) > 1]
    text_of = _texts({log: by_log[log][0].digest for logs in groups for log in logs})
    copies: dict[LogFile, LogFile] = {}
    for logs in groups:
        copies |= _copies(logs, text_of)
    if not copies:
        return list(runs), []
    return without(runs, copies, _notes(copies), "the same text as {}: a log counts once")


def _texts(known: Mapping[LogFile, bytes | None]) -> dict[LogFile, bytes | None]:
    """A hash of each log's text: ``known`` from its reading, else made now; None for what can be read no more."""
    return {**known, **digests([log for log, digest in known.items() if digest is None and log.pipe is None])}


def _what_is_read(run: Run) -> tuple[object, ...]:
    metric = run.throughput
    return run.parser, run.lines, run.first_line, run.last_line, metric.value, metric.first_line, metric.used


def _copies(logs: Iterable[LogFile], texts: Mapping[LogFile, bytes | None]) -> dict[LogFile, LogFile]:
    """Of logs that may be one, each that is a copy, with the first of that text (``texts``: a hash of each)."""
    first_of: dict[bytes, LogFile] = {}
    copies: dict[LogFile, LogFile] = {}
    for log in sorted(logs, key=lambda log: log.place.count("/")):
        content = texts[log]
        if content is None:
            continue
        first = first_of.setdefault(content, log)
        if first is not log:
            copies[log] = first
    return copies


def _notes(copies: Mapping[LogFile, LogFile]) -> dict[LogFile, str]:
    """What is to be said of each log that has copies."""
    names: dict[LogFile, list[str]] = {}
    for copy, first in copies.items():
        names.setdefault(first, []).append(copy.name)
    return {
        first: f"{first.name} counts once: the same text is in {', '.join(of_first[:MOST_NAMED])}"
        + (f" and {len(of_first) - MOST_NAMED} more" if len(of_first) > MOST_NAMED else "")
        for first, of_first in names.items()
    }
