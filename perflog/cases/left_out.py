"""Logs that tell what another log tells: left out with a reason, and named in a note of the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from perflog.logs.find import LogFile
from perflog.notes import Note
from perflog.runs.run import Run, Skipped


def runs_by_log(runs: Sequence[Run]) -> dict[LogFile, list[Run]]:
    """The runs of each log, in their order."""
    by_log: dict[LogFile, list[Run]] = {}
    for run in runs:
        by_log.setdefault(run.log, []).append(run)
    return by_log


def without(
    runs: Sequence[Run], counted: Mapping[LogFile, LogFile], notes: Mapping[LogFile, str], reason: str
) -> tuple[list[Run], list[Skipped]]:
    """(the runs of the logs that count, the logs left out).

    Args:
        counted: each log to be left out, with the one that counts in its place.
        notes: what is said of each log that counts so.
        reason: why logs are left out; ``{}`` stands for the name of the one that counts.
    """
    kept = [
        replace(run, notes=[*run.notes, Note(notes[run.log])]) if run.log in notes else run
        for run in runs
        if run.log not in counted
    ]
    return kept, [Skipped(log, reason.format(other.name)) for log, other in counted.items()]
