"""One pass over the measurements of a window: their sums up to chosen lines, the heaviest of them, and all together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from perflog.measurements.rows import Floats, Ints
from perflog.measurements.segment import Segment, Taken

#: A measurement with no more than this share of the time cannot rule it: without it the rate would be 4 % higher.
LIGHT = 0.04
#: Steps that take so many times as long as the mean hold something else than the others.
SLOW = 5.0


class Marks(Struct, frozen=True):
    """Measurements at ``k`` lines of a window, in order.

    Attributes:
        lines: their line numbers, (k,).
        end: the step that each ends with, counted over the run, (k,).
        covers, time, work: sums over the window up to and with each, (k,), in the store's units.
        own: covers, time and work of each alone, (3, k).
    """

    lines: Ints
    end: Floats
    covers: Floats
    time: Floats
    work: Floats
    own: Floats

    def __len__(self) -> int:
        return len(self.lines)


class Heaviest(Struct, frozen=True):
    """The measurement of a window with the longest time per step."""

    line: int
    covers: float
    time: float
    work: float


class Slow(NamedTuple):
    """The measurements of a window whose steps take :data:`SLOW` times as long as the mean and longer, together."""

    number: int = 0
    first_line: int = 0
    time: float = 0.0
    work: float = 0.0
    covers: float = 0.0

    def __or__(self, later: Slow) -> Slow:
        return Slow(
            self.number + later.number, self.first_line or later.first_line, self.time + later.time,
            self.work + later.work, self.covers + later.covers,
        )  # fmt: skip


class Totals(NamedTuple):
    """The sums of all measurements of a segment, the warm-up's too, in the store's units."""

    covers: float
    time: float
    work: float


class Survey(Struct, frozen=True, dict=True):
    """What the pass found. ``heaviest``: None where no measurement weighs enough to rule an estimate."""

    marks: Marks
    heaviest: Heaviest | None
    segment: Segment
    slow: Slow = Slow()

    @cached_property
    def totals(self) -> Totals:
        """All measurements of the segment; summed when that is asked for, which it is of few logs."""
        return totals_until(None, self.segment)[0]


def totals_until(line: int | None, segment: Segment, since: float = 0.0) -> tuple[Totals, float]:
    """(the sums of a segment's measurements up to a line, or of all, the step that the last of them ends with).

    ``since``: those alone that begin at this step or later.
    """
    sums = np.zeros(3)
    end = segment.count.origin
    for rows in segment.store.blocks():
        inside = rows if line is None else rows[:, : int(rows[5].searchsorted(line, "right"))]
        inside = inside if since <= 0 else inside[:, inside[0] >= since]
        if inside.shape[1]:
            sums += inside[2:5].sum(axis=1)
            end = float(inside[1, -1])
    return Totals(*sums.tolist()), end


def survey(segment: Segment, taken: Taken, lines: Ints, spare: float = 0.0) -> Survey:
    """Survey a segment's measurements.

    Args:
        spare: by so much of the store's time a measurement may be too long, for what a clock's digits hide.
        taken: the window; its first and last line bound the marks and the heaviest measurement.
        lines: where marks are wanted, rising, (k,); each stands for the first measurement at or after it.
    """
    marks: list[Marks] = []
    sums = np.zeros((3, 1))
    count = 0
    heaviest: Heaviest | None = None
    slow = Slow()
    for rows in segment.store.blocks():
        count += rows.shape[1]
        low, high = int(rows[5].searchsorted(taken.first_line)), int(rows[5].searchsorted(taken.last_line, "right"))
        if low >= high:
            continue
        inside = rows[:, low:high]
        if rows.shape[1] == segment.store.count:
            heaviest = heaviest_of(inside, taken.estimate.time)
        else:
            heaviest = _heavier(heaviest, inside)
        slow |= slow_of(inside, taken, spare)
        places = _places(inside[5], lines)
        if len(places):
            marks.append(_marks(inside, places, sums))
        if count < segment.store.count:
            sums += inside[2:5].sum(axis=1, keepdims=True)
    return Survey(_joined(marks), heaviest, segment, slow)


def heaviest_of(rows: NDArray[np.float64], time: float) -> Heaviest | None:
    """The measurement with the longest time per step of a window that is one block; None where each is light.

    Args:
        rows: the measurements inside the window, (fields, n).
        time: of all of them.
    """
    return None if rows[3].max() <= LIGHT * time else _heavier(None, rows)


def slow_of(rows: NDArray[np.float64], taken: Taken, spare: float = 0.0) -> Slow:
    """The measurements among those inside a window, (fields, n), whose steps take much longer than the window's mean.

    ``spare``: as :func:`survey` takes it.
    """
    estimate = taken.estimate
    if not estimate.covers > 0:
        return Slow()
    slow = rows[3] > SLOW * estimate.time / estimate.covers * rows[2] + spare
    if not slow.any():
        return Slow()
    lines, covers, times, works = rows[5, slow], rows[2, slow], rows[3, slow], rows[4, slow]
    return Slow(len(lines), int(lines[0]), float(times.sum()), float(works.sum()), float(covers.sum()))


def _places(measured: Floats, lines: Ints) -> Ints:
    """The places of the first measurements at or after some lines between the first and the last measured one, (j,)."""
    if len(lines) and (lines[0] < measured[0] or lines[-1] > measured[-1]):
        lines = lines[(lines >= measured[0]) & (lines <= measured[-1])]
    places: Ints = measured.searchsorted(lines)
    differ = places[1:] > places[:-1]
    return places if differ.all() else places[np.append(True, differ)]


def _marks(rows: NDArray[np.float64], places: Ints, before: NDArray[np.float64]) -> Marks:
    """The marks at some places of a block; ``before``: sums over the window up to the block, (3, 1)."""
    covers, time, work = rows[2:5].cumsum(axis=1)[:, places] + before
    return Marks(rows[5, places].astype(np.int64), rows[1, places], covers, time, work, rows[2:5, places])


def _joined(marks: Sequence[Marks]) -> Marks:
    if len(marks) == 1:
        return marks[0]
    if not marks:
        nothing = np.empty(0)
        return Marks(np.empty(0, dtype=np.int64), nothing, nothing, nothing, nothing, np.empty((3, 0)))
    return Marks(
        np.concatenate([part.lines for part in marks]),
        np.concatenate([part.end for part in marks]),
        np.concatenate([part.covers for part in marks]),
        np.concatenate([part.time for part in marks]),
        np.concatenate([part.work for part in marks]),
        np.concatenate([part.own for part in marks], axis=1),
    )


def _heavier(heaviest: Heaviest | None, rows: NDArray[np.float64]) -> Heaviest | None:
    with np.errstate(divide="ignore", invalid="ignore"):
        per_step = rows[3] / rows[2]
    place = int(np.argmax(per_step))
    if heaviest is not None and heaviest.time / heaviest.covers >= per_step[place]:
        return heaviest
    return Heaviest(int(rows[5, place]), float(rows[2, place]), float(rows[3, place]), float(rows[4, place]))
