"""The stamps at the heads of many lines at once, as :mod:`perflog.formats.moments` reads them one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perflog.formats.moments import DAY, Moment, Stamp, day_of, moment_by_shape, shape_of, stamp_in
from perflog.measurements.rows import Floats, Ints

_ZERO = ord("0")


class Kind(NamedTuple):
    """What moments must share to be compared by their seconds alone."""

    form: str
    resolution: float
    collected: bool


class Moments(NamedTuple):
    """The moments at the heads of ``n`` lines.

    Attributes:
        seconds: (n,), NaN where a head holds no stamp.
        kind: which of ``kinds`` each is of, (n,); -1 where a head holds no stamp.
    """

    seconds: Floats
    kind: Ints
    kinds: Sequence[Kind]


def moments_of(heads: Sequence[bytes]) -> Moments:
    """What :func:`perflog.formats.moments.moment_by_shape` gives for each head, as columns."""
    by_shape: dict[bytes, list[int]] = {}
    for place, head in enumerate(heads):
        by_shape.setdefault(shape_of(head), []).append(place)
    seconds, kind = np.full(len(heads), np.nan), np.full(len(heads), -1, dtype=np.int64)
    kinds: dict[Kind, int] = {}
    for shape, places in by_shape.items():
        stamp = stamp_in(shape)
        if stamp is None:
            continue
        same = [heads[place] for place in places]
        told = _of_one_shape(same, len(shape), stamp) if stamp.groups and len(same) > 1 else None
        if told is not None:
            seconds[places], kind[places] = told[0], kinds.setdefault(told[1], len(kinds))
            continue
        for place, head in zip(places, same, strict=True):
            moment = moment_by_shape(head)
            if moment is not None:
                seconds[place], kind[place] = moment.seconds, kinds.setdefault(_kind_of(moment), len(kinds))
    return Moments(seconds, kind, tuple(kinds))


def _kind_of(moment: Moment) -> Kind:
    return Kind(moment.form, moment.resolution, moment.collected)


def _of_one_shape(heads: Sequence[bytes], length: int, stamp: Stamp) -> tuple[Floats, Kind] | None:
    """(seconds, kind) of heads of one shape and length; None where one of them may hold no date or time."""
    digits = np.frombuffer(b"".join(heads), dtype=np.uint8).reshape(len(heads), length)
    *_, hour, minute, second, fraction = stamp.groups
    days = _days(heads, stamp)
    if days is None:
        return None
    clock = _number(digits[:, hour]) * 3600 + _number(digits[:, minute]) * 60 + _number(digits[:, second])
    if (clock >= DAY + 1).any():
        return None
    decimals = fraction.stop - fraction.start
    # a whole number over a power of ten is the double that is nearest to the decimal, as reading its text gives
    part = _number(digits[:, fraction]) / 10.0**decimals if decimals else 0.0
    resolution = 10.0**-decimals if decimals else 1.0
    return days * DAY + clock + part, Kind(stamp.form.name, resolution, stamp.form.collected)


def _days(heads: Sequence[bytes], stamp: Stamp) -> NDArray[np.int64] | None:
    """The day of each head, (n,); None where one of them is no date."""
    places = stamp.groups[:-4]
    known: dict[bytes, int] = {}
    days = np.empty(len(heads), dtype=np.int64)
    whole = slice(places[0].start, places[-1].stop) if places else slice(0, 0)
    for row, head in enumerate(heads):
        printed = head[whole]
        if printed not in known:
            try:
                known[printed] = day_of(stamp.form.name, *(head[place] for place in places))
            except (ValueError, KeyError):
                return None
        days[row] = known[printed]
    return days


def _number(digits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The whole number that each row of digits tells, (n,)."""
    number = np.zeros(len(digits), dtype=np.int64)
    for column in digits.T:
        number = number * 10 + (column.astype(np.int64) - _ZERO)
    return number
