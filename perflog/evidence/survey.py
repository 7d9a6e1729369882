"""One pass over the measurements of a window: their sums up to chosen lines, the heaviest of them, and all together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perflog.measurements.rows import Floats, Ints
from perflog.measurements.segment import Segment, Taken


@dataclass(frozen=True, slots=True)
class Marks:
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


@dataclass(frozen=True, slots=True)
class Heaviest:
    """The measurement of a window with the longest time per step."""

    line: int
    covers: float
    time: float
    work: float


@dataclass(frozen=True, slots=True)
class Survey:
    """What the pass found. ``count``, ``covers``, ``time``, ``work``: of all measurements, the warm-up's too."""

    marks: Marks
    heaviest: Heaviest | None
    count: int
    covers: float
    time: float
    work: float


def survey(segment: Segment, taken: Taken, lines: Ints) -> Survey:
    """Survey a segment's measurements.

    Args:
        taken: the window; its first and last line bound the marks and the heaviest measurement.
        lines: where marks are wanted, rising, (k,); each stands for the first measurement at or after it.
    """
    marks: list[NDArray[np.float64]] = []
    sums = np.zeros(3)
    whole = np.zeros(3)
    count = 0
    heaviest: Heaviest | None = None
    for rows in segment.store.blocks():
        count += rows.shape[1]
        whole += rows[2:5].sum(axis=1)
        low = int(np.searchsorted(rows[5], taken.first_line, "left"))
        high = int(np.searchsorted(rows[5], taken.last_line, "right"))
        if low >= high:
            continue
        inside = rows[:, low:high]
        heaviest = _heavier(heaviest, inside)
        places = np.searchsorted(inside[5], lines[(lines >= inside[5, 0]) & (lines <= inside[5, -1])], "left")
        if len(places):
            places = places[np.diff(places, prepend=-1) > 0]
            upto = np.cumsum(inside[2:5], axis=1)[:, places] + sums[:, None]
            marks.append(np.vstack((inside[5, places], inside[1, places], upto, inside[2:5, places])))
        sums += inside[2:5].sum(axis=1)
    table = np.hstack(marks) if marks else np.empty((8, 0))
    found = Marks(table[0].astype(np.int64), table[1], table[2], table[3], table[4], table[5:8])
    return Survey(found, heaviest, count, *whole.tolist())


def _heavier(heaviest: Heaviest | None, rows: NDArray[np.float64]) -> Heaviest | None:
    with np.errstate(divide="ignore", invalid="ignore"):
        per_step = rows[3] / rows[2]
    place = int(np.argmax(per_step))
    if heaviest is not None and heaviest.time / heaviest.covers >= per_step[place]:
        return heaviest
    return Heaviest(int(rows[5, place]), float(rows[2, place]), float(rows[3, place]), float(rows[4, place]))
