"""A segment: one uninterrupted run of steps of one rank, and the state that is carried from block to block."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from perflog.formats.parser import Pattern
from perflog.measurements.basis import Basis
from perflog.measurements.blended import Blend
from perflog.measurements.estimate import Estimate, Mean
from perflog.measurements.rows import Floats, Ints, Mask, Rows, Store, shifted
from perflog.notes import Note
from perflog.settings.options import Window

# ----------------------------------------------------------------------------------------------------
# Steps from counters that do not print them as they are: counters of samples, and steps in whole thousands.

#: A count of samples is a whole number of steps within this much of one.
EXACT = 1e-6
#: A log that prints each interval may lack up to this share of its lines: they are lost, and what is lost is said.
MOST_MISSING = 0.05
#: A record is whole when its work of a step is at least this share of the usual one.
WHOLE = 0.999


class Counter(NamedTuple):
    """Where a rounded counter stands: the step of its last row, the steps between two rows, 0 while unknown.

    ``exact``: whether the counter began with a number that was not rounded; ``rows``: how many were printed, ``lost``:
    how many between them were not.
    """

    step: float = 0.0
    interval: float = 0.0
    exact: bool = False
    rows: int = 0
    lost: int = 0


NOTHING_COUNTED = Counter()


class Works(NamedTuple):
    """The work of a step that rows printed so far: the most, on how many rows since it came up, and all rows."""

    most: float = 0.0
    at_most: int = 0
    rows: int = 0


NO_WORKS = Works()


def whole_records(work: Floats, before: Works) -> tuple[Mask, Works]:
    """(which rows are means over as many steps as the others, (n,), the works after them).

    A line of fewer steps than the interval divides by the interval all the same, so that its work of a step is too
    small. It is known where at least half of the rows so far, two or more, print the most: batches of different size
    do not.
    """
    known = np.nan_to_num(work)
    most = np.maximum(np.maximum.accumulate(known), before.most)
    usual = known >= WHOLE * most
    anew = most > shifted(most, before.most)
    so_far = np.cumsum(usual)
    begun = np.maximum.accumulate(np.where(anew, so_far - 1, -1))
    at_most = np.where(begun >= 0, so_far - begun, before.at_most + so_far)
    rows = before.rows + np.arange(1, len(work) + 1)
    whole = usual | (known == 0) | (at_most < 2) | (2 * at_most < rows)
    return whole, Works(float(most[-1]), int(at_most[-1]), int(rows[-1]))


def until_timed(paused: Mask, clock: Floats, before: bool) -> tuple[Mask, bool]:
    """(which rows hold a pause since the last row that tells the time, (n,); the same of what comes behind them).

    Args:
        paused: which rows hold a pause since the row before them, (n,).
        clock: the time that they tell, NaN for none, (n,).
        before: whether a pause lies behind the last such row before these.
    """
    if not before and not paused.any():
        return paused, False
    known = np.isfinite(clock)
    piece = np.cumsum(shifted(known.astype(np.float64), 0.0)).astype(np.int64)  # rows up to one that tells the time
    counts = np.bincount(piece, paused, minlength=int(piece[-1]) + 1)
    counts[0] += before
    held = counts[piece] > 0
    return held, bool(held[-1] and not known[-1])


def unrounded(printed: Floats, before: Counter, interval: float | None) -> tuple[Floats, Counter, int]:
    """(the step at each row (n,), the counter after them, the first row that the interval does not fit, -1 for none).

    From 1,000 on the counter is printed in whole thousands, from 1,000,000 on in whole millions: each row is one
    interval behind the one before it, and what is printed must be that, rounded. Where it is not, but one interval more
    is, a line is lost.

    Args:
        printed: the counter as it is printed, (n,).
        before: where it stood before the first row.
        interval: the steps between two rows as the log's settings say, None where they do not.
    """
    unit = np.where(printed < 1000, 1.0, 1000.0 ** np.floor(np.log10(np.maximum(printed, 1.0)) / 3 + EXACT))
    between = before.interval or interval or _between(printed, unit)
    whole = np.flatnonzero(unit == 1)
    if len(whole) == len(printed):
        return printed, Counter(float(printed[-1]), between, True, before.rows + len(printed), before.lost), -1
    place = np.arange(len(printed))
    last = np.maximum.accumulate(np.where(unit == 1, place, -1))
    first = before.step + between if before.step else _nearest(float(printed[0]), between)
    behind = np.where(last >= 0, printed[np.maximum(last, 0)] + between * (place - last), first + between * place)
    began_exactly = before.exact or bool(unit[0] == 1)
    slack = unit / 2 * (1 if began_exactly else 2)
    steps = np.where(unit == 1, printed, behind)
    wrong, lost = _without_lost(steps, printed, slack, before._replace(interval=between))
    after = Counter(float(steps[-1]), between, began_exactly, before.rows + len(printed), lost)
    return steps, after, int(wrong[0]) if len(wrong) else -1


def _without_lost(steps: Floats, printed: Floats, slack: Floats, before: Counter) -> tuple[NDArray[np.intp], int]:
    """(the rows that no interval fits, (k,); the lost lines so far): ``steps`` are moved on where a line is lost."""
    lost, interval = before.lost, before.interval
    while True:
        wrong = np.flatnonzero((np.abs(steps - printed) > slack) | (interval <= 0))
        many = not len(wrong) or lost + 1 > MOST_MISSING * (before.rows + int(wrong[0]))
        if many or interval <= 0 or abs(steps[wrong[0]] + interval - printed[wrong[0]]) > slack[wrong[0]]:
            return wrong, lost
        steps[wrong[0] :] += interval
        lost += 1


def _between(printed: Floats, unit: Floats) -> float:
    """The steps between the first two rows, where neither is rounded; else 0."""
    return float(printed[1] - printed[0]) if len(printed) > 1 and unit[1] == 1 else 0.0


def _nearest(step: float, between: float) -> float:
    return round(step / between) * between if between else step


def steps_from_counter(counter: Floats, epoch: Floats | None, step_work: float | None) -> tuple[Floats | None, float]:
    """(the step at each row (n,), None where none can be told; the samples in a step, 0 where unknown).

    Args:
        counter: samples of the whole job so far, since the run or each epoch began, (n,).
        epoch: the printed epoch, (n,); None where none is printed.
        step_work: what is known of a step's samples. Else the first row tells it, where it may be of one step.
    """
    for work in (step_work, _work_of_first(counter, epoch)):
        if work and bool((np.abs(counter / work - np.rint(counter / work)) < EXACT)[np.isfinite(counter)].all()):
            return np.rint(counter / work), float(work)
    return None, 0.0


def _work_of_first(counter: Floats, epoch: Floats | None) -> float:
    """The samples of one step, where the first row may be of one step: none is smaller, nor any distance; else 0."""
    same = np.ones(len(counter) - 1, dtype=bool) if epoch is None else epoch[1:] == epoch[:-1]
    distances = np.diff(counter)[same]
    first = float(counter[0]) if len(counter) else 0.0
    rising = len(distances) > 0 and bool((distances >= first).all())
    return first if rising else 0.0


NAN = float("nan")
NOTHING: Mapping[str, int] = MappingProxyType({})


class Previous(Struct, frozen=True):
    """The last row that was folded, which the next block's first row is compared with.

    Attributes:
        epoch, step: as printed; NaN before the first row.
        values: the row's numbers by group; empty before the first row.
        position_line: the line that its position came from, -1 for none.
        moment: its time stamp.
        line: the last line that was looked at, of an event that was printed twice too.
        place: where it stands among all that the log prints, -1 before the first.
    """

    epoch: float = NAN
    step: float = NAN
    values: Mapping[str, float] = field(default_factory=dict)
    position_line: int = -1
    moment: float = NAN
    line: int = 0
    place: int = -1


class Count(NamedTuple):
    """Steps counted so far.

    Attributes:
        origin, end: steps of the program before the first measurement and up to the last one.
        base: steps before the present epoch; ``epochs``: how many epochs began before it.
        interval: the usual number of steps between two lines, 0 while unknown.
        resumed: whether the log begins in the middle of a run.
        keyless: whether the format prints no step numbers.
        step_base: the number of the first step, where the first line of a log shows it.
        epoch_rise: by how much the epoch rises from line to line where each prints another one, 0 while unknown.
        firsts: whether each epoch prints its first step alone, and has more.
    """

    origin: float = 0.0
    end: float = 0.0
    base: float = 0.0
    epochs: int = 0
    interval: float = 0.0
    resumed: bool = False
    keyless: bool = False
    step_base: int = 1
    epoch_rise: float = 0.0
    firsts: bool = False


NO_COUNT = Count()


class RunningTotal(Struct, frozen=True):
    """Where a running mean or a clock stood at the last row that could be used.

    ``total``: time since its beginning; ``counted``: steps in it; ``epoch``: in which epoch, -1 before the first;
    ``work``: what a printed counter of work said, NaN before the first row; ``work_step``: at which step;
    ``fallen``: how many rows of a clock showed less than the row before them; ``fell_at``: how many steps stood at the
    row before the last of them; ``recent``: of a mean over a window that
    began not long ago, the totals that are known, by their steps.
    """

    total: float = 0.0
    counted: float = 0.0
    epoch: int = -1
    work: float = NAN
    work_step: float = 0.0
    fallen: int = 0
    fell_at: float = 0.0
    recent: tuple[tuple[float, float], ...] = ()

    @property
    def known(self) -> bool:
        return self.counted > 0 or self.total != 0


class Tally(Struct):
    """What was printed and how much of it could not be used.

    ``leading``: rows before the first that measures, which ``begun`` says to have come; ``behind_first``: rows behind
    the first one of their position, which are an evaluation's; ``unplaced``: positions behind which no row stands;
    ``restarts``: how often a bar began again without a printed epoch that rises.
    """

    printed: int = 0
    doubled: int = 0
    repeats: int = 0
    unusable: int = 0
    unusable_line: int = 0
    unknown: int = 0
    gaps: int = 0
    gap_place: str = ""
    paused: int = 0
    paused_time: float = 0.0
    closings: int = 0
    bar_covers: float = 0.0
    bar_time: float = 0.0
    first_of_epochs: int = 0
    last_epoch: float = -1.0
    leading: int = 0
    begun: bool = False
    partial: int = 0
    behind_first: int = 0
    unplaced: int = 0
    restarts: int = 0

    def together(self, later: Tally) -> Tally:
        """What two parts of one training printed."""
        first = {"unusable_line", "gap_place", "leading", "begun", "last_epoch"}
        pairs = {name: (getattr(self, name), getattr(later, name)) for name in self.__struct_fields__}
        return Tally(**{name: a or b if name in first else a + b for name, (a, b) in pairs.items()})

    def leave_out(self, lines: Ints) -> None:
        """Count rows without a usable number, by their lines, (n,) in order."""
        self.unusable += len(lines)
        if len(lines) and not self.unusable_line:
            self.unusable_line = int(lines[0])

    def lead(self, good: Mask) -> None:
        """Count the rows before the first that measures, (n,) as they are good or not."""
        if not self.begun:
            self.begun = bool(good.any())
            self.leading += int(np.argmax(good)) if self.begun else len(good)


class LeftOut(NamedTuple):
    """The slow records at the ends of epochs and beside evaluations, which are no training, together.

    ``first_line``: of the first; ``covers``, ``time``, ``work``: sums, in the store's units.
    """

    records: int = 0
    first_line: int = 0
    covers: float = 0.0
    time: float = 0.0
    work: float = 0.0

    def with_rows(self, rows: Floats) -> LeftOut:
        """These and some measurements more, (fields, n)."""
        covers, time, work = rows[2:5].sum(axis=1).tolist()
        first = self.first_line or int(rows[5, 0])
        return LeftOut(self.records + rows.shape[1], first, self.covers + covers, self.time + time, self.work + work)


NOTHING_LEFT_OUT = LeftOut()


class Taken(NamedTuple):
    """What a window takes of a segment.

    Attributes:
        asked: the window, the estimator, and whether doubts were looked for.
        estimate: the estimate from the measurements taken; its ``reason`` says why there is none.
        excluded: how many measurements were left out, by the reason.
        first_line, last_line, first_step, last_step: of the measurements taken.
        reason: why nothing can be taken, empty when something is.
        note: what is said of a warm-up that was looked for (``auto``).
        doubt: what is said of a fixed warm-up that seems too short; None for nothing.
        metrics: the means of the pattern's ``printed_means``, in their order; empty where nothing is taken.
    """

    asked: tuple[Window, str, bool]
    estimate: Estimate
    excluded: Mapping[str, int] = NOTHING
    first_line: int = 0
    last_line: int = 0
    first_step: float = 0.0
    last_step: float = 0.0
    reason: str = ""
    note: str = ""
    doubt: Note | None = None
    metrics: tuple[Mean, ...] = ()

    def holds(self, rows: Floats) -> Mask:
        """Which of some measurements, (fields, n), it takes, (n,)."""
        mask = np.zeros(rows.shape[1], dtype=bool)
        mask[slice(*self.span(rows))] = True
        return mask

    def span(self, rows: Floats) -> tuple[int, int]:
        """Where those of some measurements, (fields, n), that it takes begin and end.

        Steps tell it and not lines alone: a bar may draw all of its states on one line.
        """
        low = max(rows[5].searchsorted(self.first_line), rows[0].searchsorted(self.first_step))
        high = min(rows[5].searchsorted(self.last_line, "right"), rows[1].searchsorted(self.last_step, "right"))
        return int(low), int(high)


class Segment(Struct):
    """One uninterrupted run of steps of one rank.

    ``refused`` says why it is no run, empty for one that is. ``last`` holds the last number of each of
    ``LAST_GROUPS`` with its line. ``taken`` is what the options' window takes, where that was computed for a whole
    batch of logs (:mod:`perflog.measurements.plain`). ``step_work``: samples in a step, where steps follow from a
    counter of samples; 0 while unknown. ``counter``: where a rounded counter of steps stands; ``works``: the work
    of a step that the lines print. ``recent``: the marks of the last rows, of patterns whose lines are drawn again.
    ``left_out``: what :mod:`perflog.measurements.structure` left out. ``printed_epochs``: the first and the last one
    that a bar prints. ``digit``: the last digit of a running mean, in its printed unit; 0 where none is measured.
    ``paused``: whether a pause lies between the last row that tells the time and the rows behind it, which tell none.
    ``blend``: of lines of several processes, how many records each step has; the measurements are the slowest of each.
    """

    first_line: int = 0
    last_line: int = 0
    refused: str = ""
    last: dict[str, tuple[float, int]] = field(default_factory=dict)
    basis: Basis | None = None
    store: Store = field(default_factory=Store)
    tally: Tally = field(default_factory=Tally)
    count: Count = NO_COUNT
    previous: Previous = Previous()
    running: RunningTotal = RunningTotal()
    taken: Taken | None = None
    step_work: float = 0.0
    counter: Counter = NOTHING_COUNTED
    works: Works = NO_WORKS
    recent: list[bytes] = field(default_factory=list)
    blend: Blend | None = None
    left_out: LeftOut = NOTHING_LEFT_OUT
    printed_epochs: tuple[float, float] = (NAN, NAN)
    digit: float = 0.0
    paused: bool = False

    @property
    def prints_every_step(self) -> bool:
        """Whether each step has a line, but for the few that are missing."""
        tally = self.tally
        return self.count.interval == 1 and tally.gaps <= MOST_MISSING * (tally.printed + tally.gaps)


def epochs_between(segment: Segment, first_line: int, last_line: int) -> int:
    """In how many epochs the measurements from one line to another are, those of both lines among them; at least 1."""
    first = last = float("nan")
    for rows in segment.store.blocks():
        low, high = int(rows[5].searchsorted(first_line)), int(rows[5].searchsorted(last_line, "right"))
        if low < high:
            first = float(rows[6, low]) if first != first else first
            last = float(rows[6, high - 1])
    return int(last - first) + 1 if first == first else 1


def previous_of(pattern: Pattern, rows: Rows, before: Previous) -> Previous:
    """The last row, as the next block's first one is compared with it."""
    stepped = "step" in rows.columns or "epoch" in rows.columns
    return Previous(
        epoch=rows.last("epoch") if stepped else before.epoch,
        step=rows.last("step") if stepped else before.step,
        values={name: float(rows.columns[name][-1]) for name in rows.value_names(pattern)},
        position_line=before.position_line if rows.position_lines is None else int(rows.position_lines[-1]),
        moment=rows.last("timestamp") if "timestamp" in rows.columns else before.moment,
        line=max(before.line, int(rows.lines[-1])),
        place=before.place if rows.places is None else int(rows.places[-1]),
    )
