"""Printed moments as seconds on one clock: stamps in any of the forms that lines begin with, or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perflog.formats.moments import Moment, moment_of

_DAY = 86_400.0
#: Forms that are read for a whole column at once, with a point or a comma before the decimals.
_COMMON = ("%Y-%m-%d %H:%M:%S%.f", "%Y/%m/%d %H:%M:%S%.f")


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
    """A column that is all numbers or of one common form, (n,), None for any other."""
    import polars as pl

    texts = pl.Series(list(printed), dtype=pl.String)
    seconds = texts.cast(pl.Float64, strict=False)
    absent = texts.null_count()
    if seconds.null_count() == absent:
        return seconds.fill_null(float("nan")).to_numpy()
    pointed = texts.str.replace(",", ".", literal=True)
    for form in _COMMON:
        moments = pointed.str.to_datetime(form, strict=False, time_unit="us")
        if moments.null_count() == absent:
            return (moments.dt.timestamp("us").cast(pl.Float64) / 1e6).fill_null(float("nan")).to_numpy()
    return None
