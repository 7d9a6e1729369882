"""When the runs of logs began, by the stamps on their own lines."""

from __future__ import annotations

from dataclasses import dataclass

from perflog.formats.moments import Moment, moment_of
from perflog.logs.clean import clean_block
from perflog.logs.containers import UnreadableError, blocks_of
from perflog.runs.run import Run

#: The lines of a run that are looked at for a stamp, and the bytes at the head of each.
_LINES, _HEAD = 300, 200
#: Forms of stamps with day, month and year.
_DATED = ("T…Z", "year-month-day", "month/day/year")
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


def start_of(run: Run) -> Start | None:
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
