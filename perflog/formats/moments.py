"""The moment that stands at the head of a line, as seconds on a clock of the log's own.

Only differences of moments are used, so a stamp without a year or without a date is as good as a whole one, as long as
both are of one form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import Struct

from perflog.lazy_regex import lazy_regex

_MONTHS = {name: number for number, name in enumerate(
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)}  # fmt: skip
#: Seconds in a day.
DAY = 86_400.0
_EPOCH = date(1970, 1, 1).toordinal()
#: A year that stamps without one are counted in; it has a 29 February, which begins after so many seconds.
_LEAP_YEAR = 2000
_LEAP_DAY = (date(2000, 2, 29).toordinal() - _EPOCH) * DAY
_WITHOUT_DAY = ("time", "TeamCity")
_WITHOUT_YEAR = ("glog", "ts", "syslog", "month-day")

_TIME = rb"(\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9}))?"
_TWO_DIGITS = {b"%02d" % number: number for number in range(100)}
#: Not within a number or a time; a launcher's tag before a stamp ends with a colon.
_NOT_DIGIT = rb"(?:(?<![\d.:])|(?<=[\]>a-z]:))"


class Moment(NamedTuple):
    """A stamp's ``seconds``, its ``form``, and its ``resolution`` in seconds.

    ``collected``: whether its form is that of a collector of logs (kubectl, GitHub Actions, TeamCity, syslog, ``ts``),
    which tells when a line arrived and not when it was printed.
    """

    seconds: float
    form: str
    resolution: float
    collected: bool = False


class _Form(Struct, frozen=True):
    name: str
    regex: re.Pattern[bytes]
    day: Callable[[Sequence[bytes]], int]
    collected: bool = False


def _of_date(year: int, month: int, day: int) -> int:
    return date(year, month, day).toordinal() - _EPOCH


_FORMS = (
    # fairseq2's account, which begins with the moment at which the program made it
    _Form("JSON", lazy_regex(rb'\{"Time": "(\d{4})-(\d{2})-(\d{2})T' + _TIME + rb"(?:Z|[+-]\d{2}:?\d{2})"),
          lambda g: _of_date(int(g[0]), int(g[1]), int(g[2]))),
    _Form("T…Z", lazy_regex(_NOT_DIGIT + rb"(\d{4})-(\d{2})-(\d{2})T" + _TIME + rb"(?:Z|[+-]\d{2}:?\d{2})"),
          lambda g: _of_date(int(g[0]), int(g[1]), int(g[2])), collected=True),
    # ``May  4 10:11:12 host program: `` of syslog, and of ``ts``; a program's ``Mon May  4 10:11:12 2026`` is none
    _Form("ts", lazy_regex(rb"^ *(?:<\d{1,3}>)?([A-Z][a-z]{2}) +(\d{1,2}) " + _TIME + rb"(?! +\d{4}(?!\d))"),
          lambda g: _of_date(_LEAP_YEAR, _MONTHS[g[0].decode().lower()], int(g[1])), collected=True),
    _Form("TeamCity", lazy_regex(rb"^ *\[" + _TIME + rb"\][WEFi ]:"), lambda _: 0, collected=True),
    _Form("year-month-day", lazy_regex(_NOT_DIGIT + rb"(\d{4})[-/](\d{2})[-/](\d{2})[T ,_]+" + _TIME),
          lambda g: _of_date(int(g[0]), int(g[1]), int(g[2]))),
    # Ray Tune's date, and names of folders; the year must be there, or any dates were one
    _Form("year-month-day_hour-minute-second",
          lazy_regex(_NOT_DIGIT + rb"(\d{4})-(\d{2})-(\d{2})[_T ](\d{2})-(\d{2})-(\d{2})(?![-\d])()"),
          lambda g: _of_date(int(g[0]), int(g[1]), int(g[2]))),
    _Form("month/day/year", lazy_regex(_NOT_DIGIT + rb"(\d{2})[-/](\d{2})[-/](\d{4})[T ,]+" + _TIME),
          lambda g: _of_date(int(g[2]), int(g[0]), int(g[1]))),
    _Form("glog", lazy_regex(rb"(?:^|[^A-Za-z0-9])[IWEF](\d{2})(\d{2}) +" + _TIME),
          lambda g: _of_date(_LEAP_YEAR, int(g[0]), int(g[1]))),
    _Form("syslog", lazy_regex(rb"(?:^|[^A-Za-z])([A-Z][a-z]{2}) +(\d{1,2}),? " + _TIME),
          lambda g: _of_date(_LEAP_YEAR, _MONTHS[g[0].decode().lower()], int(g[1]))),
    _Form("month-day", lazy_regex(_NOT_DIGIT + rb"(\d{2})[-/](\d{2})[ T]" + _TIME),
          lambda g: _of_date(_LEAP_YEAR, int(g[0]), int(g[1]))),
    _Form("time", lazy_regex(rb"(?:^|[\[( ]|[\]>]:)" + _TIME + rb"(?=[\]) ,|:]|$)"), lambda _: 0),
)  # fmt: skip
_FORM_OF = {form.name: form for form in _FORMS}


def moment_of(head: bytes) -> Moment | None:
    """The last stamp of the most complete form in the head of a line, None where there is none.

    Where a collector's stamp stands before the program's own, the program's counts.
    """
    collected = None
    for form in _FORMS:
        stamps = list(form.regex.finditer(head))
        moment = _moment(form, stamps[-1].groups()) if stamps else None
        if moment is not None and not form.collected:
            return moment
        if moment is not None:
            collected, head = moment, form.regex.sub(b" ", head)
    return collected


#: No form asks for a digit more than for another: texts that differ in their digits alone hold their stamps at the
#: same places.
_SHAPE = bytes.maketrans(b"123456789", b"000000000")


def shape_of(head: bytes) -> bytes:
    """The head of a line with each digit as 0: heads of one shape hold their stamps at the same places."""
    return head.translate(_SHAPE)


def moment_by_shape(head: bytes) -> Moment | None:
    """What :func:`moment_of` gives, sooner where a head of the same shape was looked at before."""
    stamp = stamp_in(shape_of(head))
    if stamp is None:
        return None
    moment = _moment(stamp.form, [head[place] for place in stamp.groups]) if stamp.groups else None
    return moment_of(head) if moment is None else moment


class Stamp(NamedTuple):
    """The stamp on heads of one shape: its form, and where the groups of the form's regex stand.

    The last four groups are hour, minute, second and decimals of the second, those before them tell the day. Without
    groups it is not as plain, and each head has to be looked at.
    """

    form: _Form
    groups: tuple[slice, ...]


@lru_cache(maxsize=64)
def stamp_in(shape: bytes) -> Stamp | None:
    """The stamp on heads of a shape; None where there is none."""
    for form in _FORMS:
        found = list(form.regex.finditer(shape))
        if found and form.collected:
            return Stamp(form, ())
        if found:
            spans = (found[-1].span(group) for group in range(1, form.regex.groups + 1))
            return Stamp(form, tuple(slice(max(start, 0), max(end, 0)) for start, end in spans))
    return None


def _moment(form: _Form, groups: Sequence[Any]) -> Moment | None:
    """The moment that the groups of a form's regex tell, texts or None; None where they are no date or time."""
    *date_groups, hour, minute, second, fraction = groups
    try:
        day = day_of(form.name, *date_groups)
    except (ValueError, KeyError):
        return None
    clock = _TWO_DIGITS[hour] * 3600 + _TWO_DIGITS[minute] * 60 + _TWO_DIGITS[second]
    if clock >= DAY + 1:
        return None
    part = float(b"0." + fraction) if fraction else 0.0
    resolution = 10.0 ** -len(fraction) if fraction else 1.0
    return Moment(day * DAY + clock + part, form.name, resolution, form.collected)


@lru_cache(maxsize=64)
def day_of(form: str, *groups: bytes) -> int:
    """The day that the first groups of a form's regex tell, from 1970-01-01.

    Raises:
        ValueError, KeyError: for groups that tell no day.
    """
    return _FORM_OF[form].day(groups)


def between(first: Moment, last: Moment) -> float | None:
    """Seconds from one moment to a later one of the same form; None where that cannot be known.

    A time without a date that goes back has passed midnight once. Stamps without a year that go back have passed a
    new year's day; how long it is from February to March they do not say.
    """
    if first.form != last.form:
        return None
    seconds = last.seconds - first.seconds
    if first.form in _WITHOUT_YEAR:
        if seconds < -300 * DAY:
            return seconds + 366 * DAY  # they are counted in a leap year
        return None if seconds < 0 or first.seconds < _LEAP_DAY <= last.seconds - DAY else seconds
    if seconds < 0 and first.form in _WITHOUT_DAY:
        return seconds + DAY
    return seconds if seconds >= 0 else None
