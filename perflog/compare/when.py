"""When and where the runs of two sides were made, and what it means for their comparison.

A machine gets slower or faster with the hours, the days and its neighbours. Where all old runs were made before all
new ones, or on another machine, no statistic can tell such a drift from a change between the versions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from perflog.border import keep_inside
from perflog.cases.case import Case
from perflog.cases.pairs import Pair
from perflog.compare.sides import Side, machines
from perflog.files import LONGEST_DOCUMENT, read_limited
from perflog.formats.moments import moment_of
from perflog.logs.clean import clean_block
from perflog.logs.containers import UnreadableError, blocks_of
from perflog.runs.machine import differences
from perflog.runs.run import Run
from perflog.show.text import span

# ----------------------------------------------------------------------------------------------------
# When the runs of logs began: by the stamps on their own lines, else by the journal of the campaign that made them.

#: The lines of a run that are looked at for a stamp, and the bytes at the head of each.
_LINES, _HEAD = 300, 200
#: Where a campaign's folder has its journal: a line for each run, with the time when it ended.
JOURNAL = (".perflog", "journal.jsonl")
#: Forms of stamps with day, month and year.
_DATED = ("JSON", "T…Z", "year-month-day", "month/day/year")
#: Forms of stamps without a day: two of them cannot be put in order.
_WITHOUT_DAY = ("time", "TeamCity")


@dataclass(frozen=True, slots=True)
class Start:
    """When a run began.

    Attributes:
        seconds: since 1970 where the stamp has a date, in the time of the log's own clock.
        form: the form of the stamp: only stamps of one form can be put in order.
        dated: whether the stamp has a year.
    """

    seconds: float
    form: str
    dated: bool


@dataclass(frozen=True, slots=True)
class Duration:
    """How long a run took, in seconds; ``at_least``: from its first line of training to its last, no more is known."""

    seconds: float
    at_least: bool = False


def starts_of(runs: Sequence[Run]) -> list[Start | None]:
    """When each run began; None for a run of which nothing tells it."""
    return [_stamped(run) or (entry and entry[0]) for run, entry in zip(runs, _entries(runs), strict=True)]


def durations_of(runs: Sequence[Run]) -> list[Duration | None]:
    """How long each run took: by the journal of its campaign, else by the stamps of its lines; None for neither."""
    return [
        Duration(entry[1]) if entry else Duration(run.clock[2] - run.clock[1], at_least=True) if run.clock else None
        for run, entry in zip(runs, _entries(runs), strict=True)
    ]


def _entries(runs: Sequence[Run]) -> list[_Entry | None]:
    """What the journal of each run's campaign says of it; None for a run that is in none."""
    journals = {folder: _journal(folder) for folder in {campaign_folder(run) for run in runs} if folder}
    logs = [os.path.abspath(run.log.path) for run in runs]  # noqa: PTH100 - as the journal's are made
    return [journals.get(campaign_folder(run), {}).get(log) for run, log in zip(runs, logs, strict=True)]


def campaign_folder(run: Run) -> str:
    """The folder of the campaign that made a log, which is that of its machine.json; empty where there is none."""
    return str(Path(run.machine.file).parent) if run.machine is not None and run.machine.file else ""


#: When a run began, and the seconds that it took.
_Entry = tuple[Start, float]


def _journal(folder: str) -> dict[str, _Entry]:
    """What the journal of ``perflog run`` in a folder tells of each log, by the log's path."""
    keep_inside(Path(folder, *JOURNAL), "the file beside the logs")
    try:
        lines = read_limited(Path(folder, *JOURNAL), LONGEST_DOCUMENT).splitlines()
    except OSError:
        return {}
    entries = {}
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):  # a line that a power cut cut
            entry = json.loads(line)
            ended = datetime.fromisoformat(entry["ended"]).timestamp()
            log = os.path.abspath(f"{folder}/{entry['job']}.log")  # noqa: PTH100 - as logs are named
            seconds = float(entry["seconds"])
            entries[log] = Start(ended - seconds, "journal", dated=True), seconds
    return entries


def _stamped(run: Run) -> Start | None:
    """The first stamp with a day on a run's own lines; None where none is found near its beginning.

    Members of archives and pipes are not read again.
    """
    if run.log.member or run.log.pipe is not None:
        return None
    try:
        block = next(blocks_of(run.log), None)
        text = clean_block(block()) if block is not None else b""
    except UnreadableError:
        return None
    first = max(0, run.first_line - 1)
    for line in text.split(b"\n", first + _LINES)[first : first + _LINES]:
        moment = moment_of(line[:_HEAD])
        if moment is not None and moment.form not in _WITHOUT_DAY:
            return Start(moment.seconds, moment.form, moment.form in _DATED)
    return None


_MEANING = "a drift of the machine cannot be told from a change between the versions"
_ANSWER = "what campaigns of their history differ by is in the intervals"
_AT_ONCE = "Runs of both sides began at the same time, on one machine or on two: what changed may be the machine."
_REMEDY = "Make the runs of both sides in turn (interleaved), on one machine."
_OTHER = {"old": "new", "new": "old"}
#: Two trainings on one machine in turn are never this near, in seconds: the second has to start.
_TOGETHER = 2.0
#: So many facts of two machines are named.
_MOST_FACTS = 3
#: Of runs in turn about half of all pairs of an old and a new run have the old one first. Beyond this share of them, in
#: one order or the other, a drift falls on one side nearly as if all of its runs had been made before the other's.
_NEARLY_ALL = 0.9


def separation(old: Side, new: Side, pairs: Sequence[Pair], in_turn: bool = False) -> list[str]:
    """What is said first of two sides that were not measured side by side; empty where nothing is known of it.

    Args:
        in_turn: whether it is known that their runs were made in turn.
    """
    in_time = "" if in_turn else _in_time(old, new, pairs)
    sentences = [sentence for sentence in (in_time, _in_place(_of_runs(pairs))) if sentence]
    return [" ".join([*sentences, _REMEDY])] if sentences else []


def answered(old: Side, new: Side, pairs: Sequence[Pair]) -> str:
    """What is said of sides that were measured apart, where what campaigns differ by is in all intervals.

    Empty where nothing is known of when they were made, and of runs that began together: where they were made is
    another question.
    """
    sentence = _in_time(old, new, pairs)
    return sentence.replace(_MEANING, _ANSWER) if _MEANING in sentence else ""


def _of_runs(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs whose intervals do not hold what machines differ by, since their repeats are runs."""
    return [pair for pair in pairs if min(len(pair.old.machines), len(pair.new.machines)) < 2]


def is_separation(warning: str) -> bool:
    """Whether a warning is one of :func:`separation`."""
    return warning.endswith(_REMEDY)


def is_answerable(warning: str) -> bool:
    """Whether a warning is one of :func:`separation` that what campaigns differ by would answer."""
    return is_separation(warning) and _MEANING in warning


def _in_time(old: Side, new: Side, pairs: Sequence[Pair]) -> str:
    if old.date is not None and new.date is not None:
        seconds = abs((new.date - old.date).total_seconds())
        dates = (
            f"of different dates, {span(seconds)} apart" if seconds else "of one date, which were hardly made in turn"
        )
        return f"The sides are campaigns {dates}: {_MEANING}."
    if old.date is not None or new.date is not None:
        saved, logs = ("old", "new") if old.date is not None else ("new", "old")
        hardly = "so they were hardly made in turn"
        return f"The {saved} side is out of the history and the {logs} one is not, {hardly}: {_MEANING}."
    cases = [apart for pair in pairs if (apart := _apart(pair)) is not None]
    if not cases:
        return _AT_ONCE if any(_at_once(pair) for pair in _of_runs(pairs)) else _nearly_apart(pairs)
    share = "" if len(cases) == len(pairs) else f" in {len(cases)} of {len(pairs)} cases"
    earlier, last, first = cases[0]
    later = _OTHER[earlier]
    if any(case[0] != earlier for case in cases):
        return f"All runs of one side were made before all of the other{share}: {_MEANING}."
    times = ""
    if len(cases) == 1 and last.dated and first.dated:
        times = f" (the first {later} run began at {_minute(first)}, the last {earlier} one at {_minute(last)})"
    return f"All {earlier} runs were made before all {later} ones{share}{times}: {_MEANING}."


def _apart(pair: Pair) -> tuple[str, Start, Start] | None:
    """(the side of which all runs began before all of the other's, the start of its last one, of the other's first).

    None where the sides interleave, or where it is not known.
    """
    starts = _in_order(pair)
    for earlier, later in _OTHER.items() if starts else ():
        last, first = starts[earlier][-1], starts[later][0]
        if last.seconds < first.seconds:
            return earlier, last, first
    return None


def _nearly_apart(pairs: Sequence[Pair]) -> str:
    """What is said of sides that a few runs alone keep from lying wholly apart in time; empty where they do not."""
    old_first = new_first = 0
    for starts in filter(None, map(_in_order, pairs)):
        old_first += sum(one.seconds < other.seconds for one in starts["old"] for other in starts["new"])
        new_first += sum(other.seconds < one.seconds for one in starts["old"] for other in starts["new"])
    if not old_first + new_first or max(old_first, new_first) < _NEARLY_ALL * (old_first + new_first):
        return ""
    earlier = "old" if old_first > new_first else "new"
    return f"Nearly all {earlier} runs were made before the {_OTHER[earlier]} ones: {_MEANING}."


def _at_once(pair: Pair) -> bool:
    """Whether each run of one side began with one of the other's, which runs in turn never do."""
    old, new = ([start for start in _starts(case) if start.dated] for case in (pair.old, pair.new))
    return _all_with(old, new) or _all_with(new, old)


def _all_with(starts: Sequence[Start], others: Sequence[Start]) -> bool:
    return bool(starts) and all(
        any(abs(start.seconds - other.seconds) <= _TOGETHER and start.form == other.form for other in others)
        for start in starts
    )


def interleaved(pair: Pair) -> bool:
    """Whether both sides' runs are known to be made in turn: the sides change as often as one of them has runs."""
    starts = _in_order(pair, least=1)
    order = sorted((start.seconds, side) for side, its in starts.items() for start in its)
    changes = sum(before[1] != after[1] for before, after in pairwise(order))
    return bool(starts) and changes >= max(2, min(map(len, starts.values())))


def _in_order(pair: Pair, least: int = 2) -> dict[str, list[Start]]:
    """The starts of each side's runs, in order; empty where they cannot all be put in order, or are too few."""
    starts = {
        "old": sorted(_starts(pair.old), key=lambda start: start.seconds),
        "new": sorted(_starts(pair.new), key=lambda start: start.seconds),
    }
    forms = {start.form for side in starts.values() for start in side}
    return starts if len(forms) == 1 and min(map(len, starts.values())) >= least else {}


def _starts(case: Case) -> list[Start]:
    """The starts of a case's runs; none unless all of them are known."""
    starts = starts_of(case.runs)
    known = [start for start in starts if start is not None]
    return known if len(known) == len(starts) else []


def _minute(start: Start) -> str:
    return f"{datetime.fromtimestamp(start.seconds, UTC):%Y-%m-%d %H:%M}"


def _in_place(pairs: Sequence[Pair]) -> str:
    old_machines, new_machines = machines(pair.old for pair in pairs), machines(pair.new for pair in pairs)
    if not old_machines or not new_machines or any(machine in new_machines for machine in old_machines):
        return ""
    changed = differences(old_machines[0], new_machines[0], most=_MOST_FACTS)
    detail = f" ({changed})" if len(old_machines) == len(new_machines) == 1 and changed else ""
    return f"The sides ran on machines that differ{detail}: what changed may be the machine."
