"""A log that was given twice, or copied under another name, counts once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from perflog.cases.left_out import runs_by_log, without
from perflog.logs.digest import digests
from perflog.logs.find import LogFile
from perflog.runs.run import Run, Skipped

#: Gives a hash of the text of each log, or None.
TextsOf = Callable[[Sequence[LogFile]], Mapping[LogFile, bytes | None]]
#: So many copies of a log are named in a note.
MOST_NAMED = 3


def without_copies(runs: Sequence[Run], texts: TextsOf = digests) -> tuple[list[Run], list[Skipped]]:
    """(the runs without those of logs whose text is another's, the logs left out).

    ``texts`` gives a hash of each log's text, None where it is not known.

    Logs are compared where their runs have the same numbers on the same lines. The first in the order of ``runs``
    counts, with a note that names the others.
    """
    alike: dict[tuple[object, ...], list[LogFile]] = {}
    for log, of_log in runs_by_log(runs).items():
        alike.setdefault(tuple(_what_is_read(run) for run in of_log), []).append(log)
    groups = [logs for logs in alike.values() if len(logs) > 1]
    text_of = texts([log for logs in groups for log in logs]) if groups else {}
    copies: dict[LogFile, LogFile] = {}
    for logs in groups:
        copies |= _copies(logs, text_of)
    if not copies:
        return list(runs), []
    return without(runs, copies, _notes(copies), "the same text as {}: a log counts once")


def _what_is_read(run: Run) -> tuple[object, ...]:
    metric = run.throughput
    return run.parser, run.lines, run.first_line, run.last_line, metric.value, metric.first_line, metric.used


def _copies(logs: Iterable[LogFile], texts: Mapping[LogFile, bytes | None]) -> dict[LogFile, LogFile]:
    """Of logs that may be one, each that is a copy, with the first of that text (``texts``: a hash of each)."""
    first_of: dict[bytes, LogFile] = {}
    copies: dict[LogFile, LogFile] = {}
    for log in logs:
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
