"""Printed moments as seconds on one clock: stamps in any of the forms that lines begin with, or numbers."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from perflog.formats.moments import Moment, moment_of
from perflog.matching.matches import TIMESTAMP, Matches

_DAY = 86_400.0
#: So many characters have the forms that are read for a whole column at once, "2026-01-02 03:04:05" and
#: "2026/01/02 03:04:05", before a point or a comma and the decimals.
_TO_SECONDS = 19


class Clock(NamedTuple):
    """Where a log's clock stands between two blocks: the stamps' form, seconds of the days gone by, the last moment."""

    form: str = ""
    days: float = 0.0
    before: float = float("-inf")


#: Before the first block.
START = Clock()


def seconds_of_timestamps(printed: Sequence[str | None], clock: Clock) -> tuple[NDArray[np.float64], Clock]:
    """Moments as they were printed, in seconds, (n,), NaN where a line holds none; and the clock after them.

    A text that is a number counts as seconds. Of several forms in one column the first one's count, the others are
    NaN. A time without a date that goes back has passed midnight.
    """
    fast = _of_common_form(printed)
    if fast is not None:
        return fast, clock
    seconds = np.full(len(printed), np.nan)
    form, days, before = clock
    for place, text in enumerate(printed):
        moment = _moment(text)
        if moment is None or (form and moment.form != form):
            continue
        form = moment.form
        after = moment.seconds + days
        if form == "time" and after < before - _DAY / 2:
            days += _DAY
            after += _DAY
        elif form == "time" and days and after > before + _DAY / 2:
            after -= _DAY  # a line of before midnight that another rank printed later
        before = seconds[place] = after
    return seconds, Clock(form, days, before)


def _moment(text: str | None) -> Moment | None:
    if text is None:
        return None
    try:
        return Moment(float(text), "number", 0.0)
    except ValueError:
        return moment_of(text.encode())


def _of_common_form(printed: Sequence[str | None]) -> NDArray[np.float64] | None:
    """A column that is all numbers or of one common form, (n,), None for any other.

    By numpy alone: polars would take as long to import as thirty logs take to read.
    """
    present = [text for text in printed if text is not None]
    seconds = np.full(len(printed), np.nan)
    if not present:
        return seconds
    try:
        texts = np.array(present, dtype=np.bytes_)
    except UnicodeEncodeError:
        return None
    values = _of_dates(texts) if texts.dtype.itemsize >= _TO_SECONDS and b":" in texts[0] else _of_numbers(texts)
    if values is None:
        return None
    seconds[[text is not None for text in printed]] = values
    return seconds


def _of_numbers(texts: NDArray[np.bytes_]) -> NDArray[np.float64] | None:
    try:
        return texts.astype(np.float64)
    except ValueError:
        return None


def _of_dates(texts: NDArray[np.bytes_]) -> NDArray[np.float64] | None:
    """Seconds from 1970 of texts in one of the common forms, (n,); None where one of them is not."""
    width = texts.dtype.itemsize
    places = texts.view(np.uint8).reshape(-1, width)
    first = places[0, 4]
    marks = dict.fromkeys((4, 7), first) | {10: ord(" "), 13: ord(":"), 16: ord(":")}
    if first not in b"-/" or any((places[:, place] != mark).any() for place, mark in marks.items()):
        return None
    digits = places.astype(np.int64) - ord("0")
    fraction = _millionths(places, digits)
    if fraction is None or not _are_digits(digits[:, [place for place in range(_TO_SECONDS) if place not in marks]]):
        return None
    dates = places[:, :10].copy()
    dates[:, [4, 7]] = ord("-")
    try:
        days = dates.view("S10").reshape(-1).astype("datetime64[D]").astype(np.int64)
    except ValueError:
        return None
    hour, minute, second = (digits[:, place] * 10 + digits[:, place + 1] for place in (11, 14, 17))
    if (hour > 23).any() or (minute > 59).any() or (second > 59).any():
        return None
    millionths = (days * 86_400 + hour * 3600 + minute * 60 + second) * 1_000_000 + fraction
    seconds: NDArray[np.float64] = millionths / 1e6
    return seconds


def _millionths(places: NDArray[np.uint8], digits: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """What stands behind the whole seconds, in millionths, (n,): nothing, or a point or comma and digits."""
    fraction = np.zeros(len(places), dtype=np.int64)
    behind = places[:, _TO_SECONDS:]
    if not behind.shape[1]:
        return fraction
    ended = behind == 0  # a shorter text is filled up with zeros
    pointed = (behind[:, 0] == ord(".")) | (behind[:, 0] == ord(","))
    decimals = np.where(ended[:, 1:], 0, digits[:, _TO_SECONDS + 1 :])
    alone = behind.shape[1] == 1 or ended[:, 1]  # a point without decimals
    if not (ended[:, 0] | (pointed & ~alone)).all() or not _are_digits(decimals):
        return None
    for place, decimal in enumerate(decimals[:, :6].T):
        fraction += decimal * 10 ** (5 - place)
    return fraction


def _are_digits(digits: NDArray[np.int64]) -> bool:
    return bool(((digits >= 0) & (digits <= 9)).all())


# ----------------------------------------------------------------------------------------------------
# Moments that measuring lines print, turned into seconds.


def with_seconds(matches: Matches, clocks: MutableMapping[str, Clock]) -> Matches:
    """The same matches, with seconds in place of the stamps of measuring and position lines.

    Args:
        clocks: where the clock of each pattern stands, by its key; carried on here.
    """
    stamps = matches.columns.get(TIMESTAMP)
    if matches.pattern.role not in ("step", "position") or not isinstance(stamps, list):
        return matches
    key = matches.pattern.key
    seconds, clocks[key] = seconds_of_timestamps(stamps, clocks.get(key, START))
    return replace(matches, columns={**matches.columns, TIMESTAMP: seconds})
