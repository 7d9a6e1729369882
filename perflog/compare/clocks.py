"""When the runs of logs began: by the stamps on their own lines, else by the journal of the campaign that made them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from perflog.border import keep_inside
from perflog.files import LONGEST_DOCUMENT, read_limited
from perflog.formats.moments import Moment, moment_of
from perflog.logs.clean import clean_block
from perflog.logs.containers import UnreadableError, blocks_of
from perflog.runs.run import Run

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


def starts_of(runs: Sequence[Run]) -> list[Start | None]:
    """When each run began; None for a run of which nothing tells it."""
    journals = {folder: _journal(folder) for folder in {_campaign_folder(run) for run in runs} if folder}
    logs = [os.path.abspath(run.log.path) for run in runs]  # noqa: PTH100 - as the journal's are made
    return [
        _stamped(run) or journals.get(_campaign_folder(run), {}).get(log) for run, log in zip(runs, logs, strict=True)
    ]


def _campaign_folder(run: Run) -> str:
    """The folder of the campaign that made a log, which is that of its machine.json; empty where there is none."""
    return str(Path(run.machine.file).parent) if run.machine is not None and run.machine.file else ""


def _journal(folder: str) -> dict[str, Start]:
    """The start of each log that the journal of ``perflog run`` in a folder tells of, by the log's path."""
    keep_inside(Path(folder, *JOURNAL), "the file beside the logs")
    try:
        lines = read_limited(Path(folder, *JOURNAL), LONGEST_DOCUMENT).splitlines()
    except OSError:
        return {}
    starts = {}
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):  # a line that a power cut cut
            entry = json.loads(line)
            ended = datetime.fromisoformat(entry["ended"]).timestamp()
            log = os.path.abspath(f"{folder}/{entry['job']}.log")  # noqa: PTH100 - as logs are named
            starts[log] = Start(ended - float(entry["seconds"]), "journal", dated=True)
    return starts


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
            return _start(moment)
    return None


def _start(moment: Moment) -> Start:
    return Start(moment.seconds, moment.form, moment.form in _DATED)
