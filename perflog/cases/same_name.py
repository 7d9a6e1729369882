"""Logs whose names differ in nothing but their endings tell of one training, which counts once.

``run_2.log`` beside ``run_2.out`` (what a logger wrote, and what the terminal showed), ``run_2.log.gz`` (packed before
the training was done again) or ``run_2.log.bak``: their texts differ, so that they are no copies, and no repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perflog.cases.identity import identity
from perflog.cases.left_out import runs_by_log, without
from perflog.logs.find import UNFINISHED, LogFile
from perflog.runs.run import Run, Skipped

#: The endings of logs, in the order in which one counts before another; a backup counts behind all.
_ENDINGS = (".log", ".out", ".txt", ".err")
_BACKUP = ".bak"
#: How a log is chosen among those of one name: it has a number, is no backup, is not packed, by its ending.
_Choice = tuple[bool, bool, bool, int]


def without_same_names(runs: Sequence[Run]) -> tuple[list[Run], list[Skipped]]:
    """(the runs, without those of logs that have another's name and configuration, the logs left out).

    The names are compared without their endings; a log with a number that is neither packed nor a backup counts.
    """
    by_log = runs_by_log(runs)
    named: dict[str, list[tuple[_Choice, LogFile]]] = {}
    for log, of_log in by_log.items():
        name, choice = _name_and_choice(log, any(run.throughput.value is not None for run in of_log))
        named.setdefault(name, []).append((choice, log))
    counted: dict[LogFile, LogFile] = {}
    for logs in named.values():
        if len(logs) > 1:
            counted |= _counted([log for _, log in sorted(logs, key=lambda pair: pair[0])], by_log)
    if not counted:
        return list(runs), []
    notes = {first: f"{first.name} counts for {other.name} too: their names differ in their ending alone"
             for other, first in reversed(counted.items())}  # fmt: skip
    return without(runs, counted, notes, "it has the name of {} but for its ending: a training counts once")


def _name_and_choice(log: LogFile, has_value: bool) -> tuple[str, _Choice]:
    """(the log's path without what may follow its name, how it is chosen)."""
    place = log.name if log.name.endswith(UNFINISHED) else log.place  # a campaign's failed run is another one
    name, backup = place.removesuffix(_BACKUP), place.endswith(_BACKUP)
    ending = next((ending for ending in _ENDINGS if name.endswith(ending)), "")
    is_packed = bool(log.member) or not log.path.endswith(place)
    order = _ENDINGS.index(ending) if ending else len(_ENDINGS)
    return name.removesuffix(ending), (not has_value, backup, is_packed, order)


def _counted(logs: Iterable[LogFile], by_log: Mapping[LogFile, Sequence[Run]]) -> dict[LogFile, LogFile]:
    """Of logs of one name, the first to count first, each that does not count, with the one that does."""
    first_of: dict[tuple[object, ...], LogFile] = {}
    counted: dict[LogFile, LogFile] = {}
    for log in logs:
        first = first_of.setdefault(tuple(sorted({*map(identity, by_log[log])}, key=repr)), log)
        if first is not log:
            counted[log] = first
    return counted
