"""The clock of the lines: the time that passed between measured lines, by their own stamps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perflog.evidence.survey import ManyMarks, Marks
from perflog.evidence.witness import MOST_OUTSIDE, About, Agreement, Witness, near_factor
from perflog.formats.moments import DAY, Moment, Stamp, between, day_of, moment_by_shape, shape_of, stamp_in
from perflog.measurements.rows import Floats, Ints

NAME = "the clock of the lines"
#: The clock agrees within this much, and its own resolution.
TOLERANCE = 0.05
#: Beyond this the measurements claim more time than passed: no cause but a misreading.
IMPOSSIBLE = 0.10
#: Neighbouring stretches are put together until they are so many times as long as the stamps' resolution.
LEAST_LENGTH = 5
#: With fewer stretches than this all of them are one.
LEAST_COUNT = 4
#: With so many pauses to a record a clock may be as slow as it likes.
MOST_PAUSED = 0.9
NO_PAUSES: Ints = np.empty(0, dtype=np.int64)


class Stretch(NamedTuple):
    """Between two marks: steps, seconds by the measurements and by the clock, and the clock's resolution.

    ``records`` of the log are in it, and so many ``pauses``: lines that say that something else than training happened.
    """

    steps: float
    measured: float
    clock: float
    resolution: float
    records: float = 1.0
    pauses: int = 0

    @property
    def ratio(self) -> float:
        """How many times as long the clock says it took."""
        return self.clock / self.measured

    @property
    def tolerance(self) -> float:
        """The share by which two cut stamps may be off."""
        return 2 * self.resolution / self.clock if self.clock > 0 else float("inf")


def clock_witness(
    marks: Marks, moments: Sequence[Moment | None], scale: float | None, about: About, factors: Sequence[float],
    sampled: bool, certain: bool = True, pauses: Ints = NO_PAUSES,
) -> Witness | None:  # fmt: skip
    """Hold the measured time per step against the lines' own stamps; None where there are too few of them.

    A misreading makes all stretches longer or shorter by one factor, a pause makes some longer. So the stretches with
    the fewest pauses are looked at: the lower quartile of those in which no line tells of one. Where a line does behind
    nearly every record, a clock that is slow by no factor is no evidence of a misreading.

    Args:
        moments: the stamp at each mark, (k,).
        scale: what turns the marks' time into seconds; None where that is unknown, and nothing can be said.
        about: *throughput* where the scale holds the work of a step, else *time per step*.
        factors: ratios that a misreading of this log would give, beside the usual ones.
        sampled: whether the measurements are single steps that stand for others between them.
        certain: whether the work of a step is known; batch size times devices is it only where nothing accumulates.
        pauses: the lines that tell of an evaluation or the like, in order, (p,).
    """
    stretches = [] if scale is None else _stretches(marks, moments, scale, pauses)
    if not stretches:
        return None
    whole = _sum(stretches)
    if whole.clock <= 0 or whole.measured <= 0 or max(whole.clock, whole.measured) < 4 * whole.resolution:
        return None
    near = abs(whole.ratio - 1) <= TOLERANCE
    typical = whole if near else _with_fewest_pauses(stretches)
    agreement = _agreement(whole, typical, factors, sampled)
    if agreement == "doubts" and typical.ratio > 1 and typical.pauses >= MOST_PAUSED * typical.records:
        agreement = "slower"
    if not certain and typical.ratio > MOST_OUTSIDE and agreement in ("contradicts", "doubts"):
        agreement = "doubts" if near_factor(typical.ratio, factors) else "silent"
    collected = next(moment.collected for moment in moments if moment is not None)
    if collected and agreement == "contradicts":  # a buffer may have been emptied late, which no stamp tells
        agreement = "doubts" if typical.ratio > 1 else "silent"
    told = whole if agreement in ("agrees", "slower") and near else typical
    return Witness(
        name=NAME,
        about=about,
        unit="s",
        measured=whole.measured / whole.steps,
        told=whole.measured / whole.steps * told.ratio,
        agreement=agreement,
        lines=(int(marks.lines[0]), int(marks.lines[-1])),
        remark=_pauses(whole, marks) if agreement in ("agrees", "slower") else "",
    )


def _sum(stretches: Sequence[Stretch]) -> Stretch:
    steps = measured = clock = resolution = records = 0.0
    pauses = 0
    for stretch in stretches:  # one by one: versions of Python add the numbers of `sum` in different ways
        steps += stretch.steps
        measured += stretch.measured
        clock += stretch.clock
        resolution = max(resolution, stretch.resolution)
        records += stretch.records
        pauses += stretch.pauses
    return Stretch(steps, measured, clock, resolution, records, pauses)


def _stretches(marks: Marks, moments: Sequence[Moment | None], scale: float, pauses: Ints) -> list[Stretch]:
    """The stretches between neighbouring marks whose stamps can be compared; none where the stamps count down."""
    found, backwards = [], 0
    ends, covered, times = marks.end.tolist(), marks.covers.tolist(), marks.time.tolist()
    own, told = marks.own[0].tolist(), np.searchsorted(pauses, marks.lines, "right").tolist()
    for place, (before, after) in enumerate(pairwise(moments)):
        if before is None or after is None:
            continue
        seconds = between(before, after)
        steps, covers = ends[place + 1] - ends[place], covered[place + 1] - covered[place]
        if seconds is None or steps <= 0 or covers <= 0:
            continue
        backwards += after.seconds < before.seconds
        per_step = (times[place + 1] - times[place]) * scale / covers
        resolution = max(before.resolution, after.resolution)
        records, paused = covers / own[place + 1], told[place + 1] - told[place]
        found.append(Stretch(steps, per_step * steps, seconds, resolution, records, paused))
    return found if backwards <= max(1, len(found) // 2) else []  # else it is the time that is left


def _with_fewest_pauses(stretches: Sequence[Stretch]) -> Stretch:
    """The stretches about the lower quartile of those that are long enough to be timed, as one; all where few are.

    Those in which no line tells of a pause alone, where they are enough.
    """
    timed: list[Stretch] = []
    rest: Stretch | None = None
    for stretch in stretches:
        rest = stretch if rest is None else _sum((rest, stretch))
        if rest.clock >= LEAST_LENGTH * rest.resolution and rest.measured > 0:
            timed.append(rest)
            rest = None
    if len(timed) < LEAST_COUNT:
        return _sum(stretches)
    unpaused = [stretch for stretch in timed if not stretch.pauses]
    timed = unpaused if len(unpaused) >= LEAST_COUNT else timed
    low = sorted(timed, key=lambda stretch: stretch.ratio)[(len(timed) - 1) // 4]
    near = [stretch for stretch in timed if abs(stretch.ratio / low.ratio - 1) <= TOLERANCE + low.tolerance]
    return _sum(near)._replace(resolution=low.resolution * math.sqrt(len(near)))  # cut at random, each for itself


def _agreement(whole: Stretch, typical: Stretch, factors: Sequence[float], sampled: bool) -> Agreement:
    if abs(whole.ratio - 1) <= TOLERANCE + whole.tolerance:
        return "agrees"
    least = (1 - IMPOSSIBLE) * whole.measured - 2 * whole.resolution
    if whole.ratio < 1:
        return "contradicts" if whole.clock < least else "doubts"
    if abs(typical.ratio - 1) <= TOLERANCE + typical.tolerance:
        return "agrees"
    if typical.ratio < 1 - IMPOSSIBLE - typical.tolerance:
        return "contradicts"
    if sampled or near_factor(typical.ratio, factors):
        return "contradicts"
    return "doubts" if typical.ratio > MOST_OUTSIDE else "slower"


def _pauses(whole: Stretch, marks: Marks) -> str:
    outside = 1 - whole.measured / whole.clock
    if outside <= TOLERANCE + whole.tolerance:
        return ""
    return _outside(outside, (int(marks.lines[0]), int(marks.lines[-1])))


def _outside(share: float, lines: tuple[int, int]) -> str:
    return (
        f"{share:.0%} of the time between lines {lines[0]} and {lines[1]} lies outside the measurements "
        "(evaluation, saving, waiting for data)"
    )


def outside_of(witness: Witness) -> Witness:
    """A clock that is slower, where what lies between the measurements is known to be no training."""
    remark = _outside(1 - witness.measured / witness.told, witness.lines)
    return replace(witness, agreement="slower", remark=remark)


# ----------------------------------------------------------------------------------------------------
# Many logs at once, where the clock and the measurements plainly agree: nearly always.

#: A log that has to be looked at alone.
UNDECIDED: Literal["undecided"] = "undecided"
#: What one quantity of a log says: a witness, or nothing; or the log has to be looked at alone.
Said = Witness | None | Literal["undecided"]


def clocks(marks: ManyMarks, seconds: Floats, resolution: Floats, scale: Floats, abouts: Sequence[About]) -> list[Said]:
    """Hold each log's time per step against its lines' stamps where they plainly agree, (n,).

    What is given is what :func:`clock_witness` gives; a log for which something else comes out is undecided.

    Args:
        seconds: the stamps at the marks, all of one form in a log, (n, k).
        resolution: of each log's stamps, in seconds, (n,).
        scale: what turns the marks' time into seconds, (n,); NaN where that is unknown.
    """
    if seconds.shape[1] < 2:
        return [None] * len(seconds)
    with np.errstate(all="ignore"):
        steps, covers, passed, times = (np.diff(part) for part in (marks.end, marks.covers, seconds, marks.time))
        measured = times * scale[:, np.newaxis] / covers * steps
        comparable = ((steps > 0) & (covers > 0) & (passed >= 0) & (passed < DAY)).all(axis=1)
        whole = [part.cumsum(axis=1)[:, -1] for part in (steps, measured, passed)]  # added one by one, as there
        ratio = whole[2] / whole[1]
        enough = (whole[2] > 0) & (whole[1] > 0) & (np.maximum(whole[1], whole[2]) >= 4 * resolution)
        near = np.abs(ratio - 1) <= TOLERANCE
        per_step = whole[1] / whole[0]
        told = per_step * ratio
    said: list[Said] = []
    silent = np.asarray(np.isnan(scale) | (comparable & ~enough), dtype=np.bool_).tolist()
    agrees = np.asarray(comparable & enough & near, dtype=np.bool_).tolist()
    for log, (place, about) in enumerate(zip(marks.places, abouts, strict=True)):
        if silent[log]:
            said.append(None)
        elif agrees[log]:
            said.append(Witness(NAME, about, "s", float(per_step[log]), float(told[log]), "agrees", place))
        else:
            said.append(UNDECIDED)
    return said


# ----------------------------------------------------------------------------------------------------
# The stamps at the heads of many lines at once, as :mod:`perflog.formats.moments` reads them one by one.

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
