"""One pass over the measurements of a window: their sums up to chosen lines, the heaviest of them, and all together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from perflog.measurements.rows import FIELDS, Floats, Ints, Values
from perflog.measurements.segment import Segment, Taken
from perflog.notes import Note
from perflog.stats.student import t_quantile

#: A measurement with no more than this share of the time cannot rule it: without it the rate would be 4 % higher.
LIGHT = 0.04
#: A sample of fewer steps says nothing of the others.
LEAST_SAMPLE = 20
_COVERS, _TIME, _WORK = (FIELDS.index(name) for name in ("covers", "time", "work"))
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


class ManyMarks(Struct, frozen=True):
    """Measurements at ``k`` lines of each of ``n`` logs, in order.

    Attributes:
        lines: their line numbers, (n, k).
        end: the step that each ends with, counted over the run, (n, k).
        covers, time: sums over the window up to and with each, (n, k), in the store's units.
        own: covers and time of each alone, (2, n, k).
        places: the first and the last line of each log's, (n,).
    """

    lines: Ints
    end: Floats
    covers: Floats
    time: Floats
    own: Floats
    places: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, at: Floats, sums: Floats) -> ManyMarks:
        """The marks of logs: the store's fields at them, (n, fields, k), the sums of covers and time, (n, 2, k)."""
        return cls._of(at[:, 5].astype(np.int64), at[:, 1], sums[:, 0], sums[:, 1], at[:, 2:4].transpose(1, 0, 2))

    @classmethod
    def of_one(cls, marks: Marks) -> ManyMarks:
        """The marks of one log, which has some."""
        end, covers, time = (part[np.newaxis] for part in (marks.end, marks.covers, marks.time))
        return cls._of(marks.lines[np.newaxis], end, covers, time, marks.own[:2, np.newaxis])

    @classmethod
    def _of(cls, lines: Ints, end: Floats, covers: Floats, time: Floats, own: Floats) -> ManyMarks:
        places = list(zip(lines[:, 0].tolist(), lines[:, -1].tolist(), strict=True))
        return cls(lines, end, covers, time, own, places)


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
        low, high = taken.span(rows)
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


# ----------------------------------------------------------------------------------------------------
# The time behind a running mean never gets less: where it does, a number is damaged, or the mean began anew.

#: Digits explain a fall by so many times their worth: a mean's share of rounding changes while it settles.
SPARE = 4.0
#: What sums of binary fractions may hide of a total.
BINARY = 1e-9


def falls(rows: NDArray[np.float64]) -> bool:
    """Whether the time behind a running mean gets less anywhere among some measurements, (fields, n)."""
    return bool(rows.shape[1]) and bool(rows[3].min() < 0)


def why_falling(segment: Segment, taken: Taken, share: float) -> str:
    """Why a window of a running mean's differences gives no number, where its time falls; else empty.

    Such a difference is not left out of the sum, because it makes good for an earlier one that was too long; where the
    damaged total is the first or the last of the window, or so large that the others vanish beside it, nothing does.

    Args:
        share: how much the printed digits may hide of one mean, as a share of it.
    """
    total = 0.0
    for rows in segment.store.blocks():
        after = total + rows[3].cumsum()
        before = np.append(total, after[:-1])
        hidden = (SPARE * share + BINARY) * (np.abs(before) + np.abs(after))
        inside = taken.holds(rows)
        fallen = np.flatnonzero(inside & (rows[3] < -hidden))
        if len(fallen):
            return (
                f"the log contradicts itself: the running mean of line {rows[5, fallen[0]]:g} stands for less time "
                "than the one before it: one of them is damaged, or the mean began anew"
            )
        total = float(after[-1]) if len(after) else total
    return ""


# ----------------------------------------------------------------------------------------------------
# Whether several ranks are one that was printed several times.

#: Two ranks may print a few equal numbers; never so many different ones that are all equal.
LEAST_DIFFERENT = 3


def is_one_rank(segments: Sequence[Segment]) -> bool:
    """Whether all ranks' measurements are the same numbers, which no two devices measure of themselves."""
    first, *others = segments
    if not others or any(other.store.count != first.store.count for other in others):
        return False
    times: set[float] = set()
    for blocks in zip(*(segment.store.blocks() for segment in segments), strict=False):
        # covers, time and work
        if any(block.shape != blocks[0].shape or not np.array_equal(block[2:5], blocks[0][2:5]) for block in blocks):
            return False
        if len(times) < LEAST_DIFFERENT:
            times.update((blocks[0][3] / blocks[0][2]).tolist())
    return len(times) >= LEAST_DIFFERENT


# ----------------------------------------------------------------------------------------------------
# The steps behind the last line of each epoch: no measurement holds them, and its first ones may be unlike.

#: Up to so large a change of the total nothing is said of the steps that are in no measurement.
MOST_OF_TAILS = 0.01


def unmeasured_tails(segment: Segment, taken: Taken, value: float, unit: str) -> Note | None:
    """What is to be said where an epoch goes on behind its last line, and its first line is slower or faster; or None.

    Lines behind steps 1, 6 and 11 of 15 measure the first step, in which the reading of data begins, and leave out four
    of the others: the total counts the first one too often. Where no line tells how long an epoch is, it may go on up
    to where the next line would stand.

    Args:
        value: the throughput of the window in ``unit``.
    """
    basis, interval = segment.basis, segment.count.interval
    if basis is None or basis.value.span not in ("interval", "cumulative") or not segment.count.epochs:
        return None
    offset = basis.value.offset if basis.value.span == "cumulative" else 0
    rest, epochs, behind = np.zeros(3), 0, 0.0
    last = np.full(7, np.nan)
    for rows in segment.store.blocks():
        before = np.column_stack((last, rows[:7, :-1]))
        inside = taken.holds(rows)
        begins = inside & (rows[6] > before[6])
        rest += rows[2:5, inside & ~(begins | np.isnan(before[6]))].sum(axis=1)
        epochs += int(begins.sum())
        behind += float(np.maximum(rows[0] - before[1] - offset, 0.0)[begins].sum())
        last = rows[:7, -1]
    told = behind > 0 or "epoch_steps" in segment.previous.values
    if not told and (basis.value.since == "epoch" or not basis.value.is_clock):
        behind = max(interval - 1, 0.0) * epochs
    covers, time, work = rest.tolist()
    if behind <= 0 or covers <= 0 or time <= 0 or taken.estimate.time <= 0:
        return None
    whole, more = taken.estimate, behind / covers
    change = (1 + more * work / whole.work) / (1 + more * time / whole.time)
    if abs(change - 1) <= MOST_OF_TAILS:
        return None
    length = f"{behind / epochs:.3g}" if told else f"up to {interval - 1:g}"
    text = (
        f"{length} steps of each epoch, behind its last line, stand in no measurement, and the steps up to its first "
        f"line took another time than those between lines: with these steps like the latter the throughput is "
        f"{value * change:.5g} {unit}"
    )
    return Note.of_number(text, value=value, other=value * change, label="with all steps of each epoch")


# ----------------------------------------------------------------------------------------------------
# Measurements that rule the total: named, with their share of the time and the value without them.

#: The total may change by so much without one measurement before that is said.
MOST = 0.05
#: With fewer measurements each holds a large share by itself: the total may change by this factor without one.
LEAST_COUNT, MOST_OF_FEW = 5, 3.0
#: Of a longer series the median is not looked for: memory stays flat.
LONGEST = 2_000_000


class Ruling(Struct, frozen=True):
    """Slow measurements that rule a total.

    Attributes:
        text: the sentence that names them.
        label: how the number without them is made, for a cell.
        change: that number as a multiple of the total.
        records: how many they are; ``covers`` and ``time``: their steps and time, in the store's units.
    """

    text: str
    label: str
    change: float
    records: int
    covers: float
    time: float


def ruling_records(
    heaviest: Heaviest | None, slow: Slow, used: int, time: float, work: float, throughput: float
) -> Ruling | None:
    """The slow measurements without which the throughput would be more than 5 % higher; None for none.

    A clock runs on through evaluation and saving of which no line tells, and waiting for data looks alike.

    Args:
        used: how many measurements the estimate holds, with ``time`` and ``work`` together.
        throughput: the estimate in its unit.
    """
    if slow.number < 2 or used < LEAST_COUNT or slow.time >= time or work <= 0:
        return ruling_record(heaviest, used, time, work, throughput)
    change = (work - slow.work) / (time - slow.time) / (work / time)
    if change <= 1 + MOST:
        return ruling_record(heaviest, used, time, work, throughput)
    text = (
        f"{slow.number} measurements, the first at line {slow.first_line}, took {SLOW:g} times as long as the mean or "
        f"longer and hold {slow.time / time:.0%} of the measured time (evaluation, saving or waiting for data); "
        f"without them the throughput is {throughput * change:.5g}"
    )
    return Ruling(text, f"without {slow.number} slow records", change, slow.number, slow.covers, slow.time)


def ruling_record(heaviest: Heaviest | None, used: int, time: float, work: float, throughput: float) -> Ruling | None:
    """The measurement without which the throughput would be more than 5 % higher; None for none.

    Of fewer than five measurements, one without which it would be three times as high.

    Args:
        used: how many measurements the estimate holds, with ``time`` and ``work`` together.
        throughput: the estimate in its unit.
    """
    if heaviest is None or heaviest.time >= time or time <= 0 or work <= 0:
        return None
    change = (work - heaviest.work) / (time - heaviest.time) / (work / time)
    if change <= (1 + MOST if used >= LEAST_COUNT else MOST_OF_FEW):
        return None
    text = (
        f"line {heaviest.line} alone holds {heaviest.time / time:.0%} of the measured time; without it the throughput "
        f"is {throughput * change:.5g}"
    )
    return Ruling(text, f"without line {heaviest.line}", change, 1, heaviest.covers, heaviest.time)


def median_of_records(segment: Segment, taken: Taken) -> float:
    """The median of the rates of a window's measurements, as ``--estimator median`` takes it; NaN for too few."""
    rates = Values()
    for rows in segment.store.blocks():
        rates.append(rates_of(rows[:, taken.holds(rows)]))
    return middle_rate(rates.array())


def total_of_records(segment: Segment, taken: Taken) -> float:
    """The work of a window's measurements over their time, as ``--estimator total`` takes it; NaN for none."""

    def inside(field: int) -> Iterator[float]:  # one block at a time, as in `median_of_records`
        return chain.from_iterable(rows[field, taken.holds(rows)] for rows in segment.store.blocks())

    return total_rate(inside(_WORK), inside(_TIME))


def sampling_share(segment: Segment, taken: Taken) -> float:
    """What measuring one step in several may hide of the mean, as a share: half the 95 % interval of the mean time per
    step of a window's measurements; infinite for fewer than :data:`LEAST_SAMPLE`.

    Student's interval of the mean of a sample without replacement (Cochran, Sampling Techniques, 1977, section 2.8);
    steps at equal distances are taken to be like those between them.
    """
    parts = [rows[:, taken.holds(rows)] for rows in segment.store.blocks()]
    covers, times = (np.concatenate([part[field] for part in parts]) for field in (_COVERS, _TIME))
    if len(times) < LEAST_SAMPLE or not (covers > 0).all():
        return math.inf
    seconds = times / covers
    finite = math.sqrt(max(1 - 1 / segment.count.interval, 0.0))
    error = float(np.std(seconds, ddof=1)) / math.sqrt(len(seconds)) * finite
    return t_quantile(0.975, len(seconds) - 1) * error / float(np.mean(seconds))


def total_rate(works: Iterable[float], times: Iterable[float]) -> float:
    """The work of measurements over their time; NaN where they have no time."""
    work, time = math.fsum(works), math.fsum(times)
    return work / time if time > 0 else math.nan


def rates_of(rows: np.ndarray) -> np.ndarray:
    """Work per time of each measurement, (n,), of rows (fields, n)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(rows[4] / rows[3])


def middle_rate(rates: np.ndarray) -> float:
    """The median of the rates that are positive numbers, (n,); NaN for fewer than five. Puts them in another order."""
    good = np.isfinite(rates) & (rates > 0)
    usable = rates if good.all() else rates[good]
    if len(usable) < LEAST_COUNT:
        return float("nan")
    low, high = (len(usable) - 1) // 2, len(usable) // 2
    usable.partition([low, high])  # in place: those of a long log lie in a file
    return float(usable[low] if low == high else (usable[low] + usable[high]) / 2)


def is_off(ratio: float, hidden: float = 0.0) -> bool:
    """Whether another estimate of the same records, as a multiple of the number, differs from it by more than 5 %.

    Args:
        hidden: what the last digit may hide of one record, as a share; more than 5 % hide the median.
    """
    return hidden <= MOST and abs(ratio - 1) > MOST + hidden  # False for NaN
