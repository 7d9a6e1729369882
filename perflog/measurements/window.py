"""Which measurements count: the warm-up left out, how much is taken after it, and the estimate from what is taken."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from perflog.formats.printed import rate_unit, seconds_in
from perflog.measurements.estimate import FINE, Digits, Estimate, MeansOverTime, estimate
from perflog.measurements.rows import FIELDS
from perflog.measurements.segment import Segment, Taken
from perflog.notes import Note
from perflog.settings.options import Amount, Window
from perflog.stats.resolution import printed_quantum
from perflog.stats.warmup import mser5

# ----------------------------------------------------------------------------------------------------
# When a run's warm-up is over: the rule of ``--warmup auto``, and the doubt about a fixed one.
#
# The detector is MSER-5 (:mod:`perflog.stats.warmup`) on the time per step of every measurement.

#: Longer series are judged by their first part: memory stays flat.
MOST = 2_000_000
#: A fixed warm-up is doubted when the rate behind the detector's end differs by more than this share.
DIFFERENCE = 0.01
#: Measurements behind the detector's end at least: the rate of fewer says little.
LEAST_LATER = 5


def rows_of(segment: Segment, most: int = MOST) -> NDArray[np.float64]:
    """The first ``most`` measurements of a segment, (store.FIELDS, n)."""
    blocks, count = [], 0
    for block in segment.store.blocks():
        blocks.append(block[:, : most - count])
        count += blocks[-1].shape[1]
        if count >= most:
            break
    return np.concatenate(blocks, axis=1) if blocks else np.empty((len(FIELDS), 0))


def settled(segment: Segment, window: Window) -> tuple[Window, str, str]:
    """(the window with the warm-up found in place of ``auto``, a note that says it, why none can be found)."""
    rows = rows_of(segment)
    found = mser5(rows[3] / rows[2])
    if found.cut is None:
        return window, "", f"warm-up auto: {found.reason}"
    steps = float(rows[0, found.cut]) - segment.count.origin
    in_records = segment.count.keyless or (window.steps is not None and window.steps.unit == "records")
    records = found.cut + segment.tally.leading
    amount = Amount(records, "records") if in_records else Amount(max(0.0, steps), "steps")
    note = f"warm-up auto: {amount} left out (MSER-5)"
    if found.at_cap:
        note = f"warm-up auto: not settled in the first half, {amount} left out (MSER-5 at its cap)"
    return replace(window, warmup=amount), note, ""


def doubt(segment: Segment, window: Window) -> Note | None:
    """A note where the detector finds a later end of the warm-up than the fixed one, and it matters; else None."""
    if window.last is not None or segment.store.count > MOST:
        return None
    rows = rows_of(segment)
    if not _may_matter(rows):
        return None
    found = mser5(rows[3] / rows[2])
    if not found.cut:
        return None
    inside = _inside(segment, window, rows)
    later = inside.copy()
    later[: found.cut] = False
    if later.sum() == inside.sum() or later.sum() < LEAST_LATER:
        return None
    times = [float(rows[3, mask].sum()) for mask in (inside, later)]
    if min(times) <= 0:  # differences of running means may come to nothing
        return None
    rates = [float(rows[4, mask].sum()) / time for mask, time in zip((inside, later), times, strict=True)]
    change = rates[1] / rates[0] - 1
    if not abs(change) > DIFFERENCE:
        return None
    step = float(rows[0, found.cut]) - segment.count.origin
    until = f"{step:g} steps" if window.warmup.unit == "steps" else f"{found.cut + segment.tally.leading} records"
    cap = " or longer" if found.at_cap else ""
    text = (
        f"warm-up {window.warmup}, the detector (MSER-5) finds {until}{cap}: "
        f"the rate then differs by {100 * change:+.1f} %"
    )
    return Note(text, "number", change, label=f"with a warm-up of {until}")


def _inside(segment: Segment, window: Window, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which measurements a fixed window takes, (n,); none where its warm-up is neither in steps nor in records."""
    warmup, steps = window.warmup, window.steps
    if warmup.unit == "records":
        return np.arange(rows.shape[1]) >= warmup.number - segment.tally.leading
    if warmup.unit != "steps":
        return np.zeros(rows.shape[1], dtype=bool)
    start, end = rows[0] - segment.count.origin, rows[1] - segment.count.origin
    high = warmup.number + steps.number if steps is not None and steps.unit == "steps" else np.inf
    return np.asarray((start >= warmup.number - 1e-9) & (end <= high + 1e-9))


def _may_matter(rows: NDArray[np.float64]) -> bool:
    """Whether any cut in the first half changes the rate enough: most logs are steady, and this is quickly seen."""
    half = rows.shape[1] // 2
    if not half:
        return False
    work, time = (np.cumsum(column[::-1])[::-1] for column in (rows[4], rows[3]))
    with np.errstate(divide="ignore", invalid="ignore"):  # differences of running means may come to nothing
        rates = work[: half + 1] / time[: half + 1]
        return bool((rates.max() - rates.min()) > DIFFERENCE * rates.min())


#: What an excerpt of a bar tells all the same.
SINCE_START = "--estimator since_start takes its mean since the beginning"
#: Why lines that were read as measurements give no number, where nothing more is known.
NO_MEASUREMENT = "no measurement in the log"
#: Steps are sums of floating-point numbers: a border is met within this much of a step.
STEP_TOLERANCE = 1e-9
#: A clock that shows less than the line before it so often, and in more than this share of all lines, is none.
LEAST_FALLS, MOST_FALLS = 8, 0.25
#: Steps that are so many times as fast as those behind them were none of the clock's.
FASTER_BEFORE = 2.0
#: Differences of stamps are no more exact than this many decimals.
_DECIMALS = 6


def take(segment: Segment, window: Window, estimator: str, seconds_scale: float | None, doubts: bool = True) -> Taken:
    """What a window takes of a segment, with its estimate.

    Args:
        window: as the user gave it; its warm-up may be ``auto``.
        estimator: see :func:`perflog.measurements.estimate.estimate`.
        seconds_scale: what turns the time column into seconds, None when that is unknown.
        doubts: whether a fixed warm-up is held against the detector's.
    """
    if segment.taken is not None and segment.taken.asked == (window, estimator, doubts):
        return segment.taken
    asked = (window, estimator, doubts)
    if estimator == "since_start":
        return _since_start(segment, asked)
    note = ""
    if window.warmup.unit == "auto":
        window, note, reason = settled(segment, window)
        if reason:
            return Taken(asked, Estimate(reason=reason), reason=reason)
    reason = _impossible(segment, window, seconds_scale)
    if reason:
        return Taken(asked, Estimate(reason=reason), reason=reason)
    selection = _Selection(segment, window, seconds_scale)
    digits = digits_of(segment) if doubts and estimator != "total" else FINE
    means = MeansOverTime()
    result = estimate(means.through(selection.blocks()), estimator, digits)
    late = None
    if doubts and asked[0].warmup.unit != "auto" and not result.reason:
        late = doubt(segment, window)
    return Taken(
        asked, result, selection.excluded, selection.first_line, selection.last_line,
        selection.first_step, selection.last_step, result.reason, note, late, means.result(),
    )  # fmt: skip


def _since_start(segment: Segment, asked: tuple[Window, str, bool]) -> Taken:
    """What the last line of a clock says of all steps since it began, whatever the window: the first ones are in it.

    That is all that an excerpt of a progress bar tells: it may hold one state.
    """
    basis, last = segment.basis, segment.running
    reason = ""
    if basis is None or basis.value.quantity != "elapsed" or basis.counts_work or basis.batch_on_line:
        reason = "no line tells the time since the steps began, which --estimator since_start takes"
    elif last.counted <= 0 or last.total <= 0:
        reason = NO_MEASUREMENT
    elif _began_later(segment):
        reason = "the clock began at a later step than the first: nothing says how many steps its time is of"
    if reason:
        return Taken(asked, Estimate(reason=reason), reason=reason)
    result = Estimate(last.counted / last.total, 1, last.counted, last.total, last.counted)
    return Taken(asked, result, {}, segment.last_line, segment.last_line, 0.0, last.counted)


def _began_later(segment: Segment) -> bool:
    """Whether a clock's steps before its first line are so much faster than those behind it that they were not its own.

    The bar of a training that goes on counts the steps of before, and none of their time.
    """
    rows = rows_of(segment)
    rows = rows[:, rows[6] == rows[6, -1]] if rows.shape[1] else rows
    covers, time = float(rows[2].sum()), float(rows[3].sum())
    steps, seconds = segment.running.counted - covers, segment.running.total - time
    return bool(covers > 0 and time > 0 and steps > 0 and seconds * covers * FASTER_BEFORE < time * steps)


def digits_of(segment: Segment) -> Digits:
    """How finely the records of a segment are timed; :data:`FINE` where each is printed by itself."""
    basis = segment.basis
    if basis is None or (basis.value.span != "cumulative" and not basis.value.is_clock):
        return FINE
    rate = rate_unit(basis.value.unit) if basis.is_rate else None
    scale = seconds_in(basis.value.unit) if not basis.is_rate else rate[1] if rate else 1.0
    if basis.value.is_clock:
        found = [printed_quantum(np.round(rows[3] / scale, _DECIMALS)) for rows in segment.store.blocks()]
        return Digits(clock=min((digit for digit in found if digit is not None), default=0.0) * scale)
    per_epoch = basis.value.since == "epoch"
    origin = segment.count.origin if basis.value.since == "start" else 0.0
    mean = segment.digit * scale
    if basis.is_rate:  # a rate r with a last digit d is a time per work of 1 / r, within d / r²
        time, work = (math.fsum(float(rows[field].sum()) for rows in segment.store.blocks()) for field in (3, 4))
        mean *= (time / work) ** 2 if work > 0 else 0.0
    return Digits(mean=mean, per_epoch=per_epoch, origin=origin)


#: Why a record does not count, by its number in :func:`places_of`.
PLACES = ("", "warm-up", "after the window", "before the window")


def places_of(segment: Segment, window: Window, scale: float | None) -> tuple[NDArray[np.int64], str]:
    """(for each measurement its place in :data:`PLACES`, (n,); why the window cannot be taken, empty where it can).

    Args:
        window: as the user gave it; its warm-up may be ``auto``.
        scale: what turns the time column into seconds, None when that is unknown.
    """
    reason = ""
    if window.warmup.unit == "auto" and segment.store.count:
        window, _, reason = settled(segment, window)
    reason = reason or _impossible(segment, window, scale)
    if reason:
        return np.zeros(segment.store.count, dtype=np.int64), reason
    return np.concatenate([places for _, places in _Selection(segment, window, scale).placed()]), ""


class _Selection(Struct):
    """The rows of a segment's store inside a window, block by block, and what was left out on the way."""

    segment: Segment
    window: Window
    seconds_scale: float | None
    excluded: dict[str, int] = field(default_factory=dict)
    used: int = 0
    first_line: int = 0
    last_line: int = 0
    first_step: float = 0.0
    last_step: float = 0.0

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Blocks of rows, (len(store.FIELDS), taken).

        A measurement that covers steps on both sides of a border is left out: no part of it is known by itself.
        """
        for rows, places in self.placed():
            inside = places == 0
            for place, why in enumerate(PLACES):
                if place and (count := int((places == place).sum())):
                    self.excluded[why] = self.excluded.get(why, 0) + count
            if not inside.any():
                continue
            picked = rows if inside.all() else rows[:, inside]
            if not self.used:
                self.first_line, self.first_step = int(picked[5, 0]), float(picked[0, 0])
            self.used += picked.shape[1]
            self.last_line, self.last_step = int(picked[5, -1]), float(picked[1, -1])
            yield picked

    def placed(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Each block of rows, (fields, n), with the places of its rows in :data:`PLACES`, (n,)."""
        position, clock = 0, 0.0
        for rows in self.segment.store.blocks():
            yield rows, self._places(rows, np.arange(position, position + rows.shape[1]), clock)
            position += rows.shape[1]
            clock += float(rows[3].sum()) * (self.seconds_scale or 0.0)

    def _places(self, rows: NDArray[np.float64], index: NDArray[np.int64], clock: float) -> NDArray[np.int64]:
        window, count = self.window, self.segment.count
        start, end = rows[0] - count.origin, rows[1] - count.origin
        total = count.end - count.origin
        if window.last is not None:
            records = window.last.unit == "records"
            inside = (
                index >= self.segment.store.count - window.last.number
                if records
                else start >= total - window.last.number - STEP_TOLERANCE
            )
            return np.where(inside, 0, 3)
        low, high = borders(window, total, self.segment.tally.leading)
        first = _after_warmup(window.warmup, rows, start, index, low, clock, self.seconds_scale)
        if window.steps is None:
            return np.where(first, 0, 1)
        until = index < high if window.steps.unit == "records" else end <= high + STEP_TOLERANCE
        return np.where(first, np.where(until, 0, 2), 1)


def _after_warmup(
    warmup: Amount,
    rows: NDArray[np.float64],
    start: NDArray[np.float64],
    index: NDArray[np.int64],
    low: float,
    clock: float,
    scale: float | None,
) -> NDArray[np.bool_]:
    if warmup.unit == "records":
        return np.asarray(index >= low)
    if warmup.unit == "epochs":
        return np.asarray(rows[6] >= warmup.number)
    if warmup.unit == "s":
        assert scale is not None
        began = clock + np.concatenate(([0.0], np.cumsum(rows[3])[:-1])) * scale
        return np.asarray(began >= warmup.number)
    return np.asarray(start >= low - STEP_TOLERANCE)


def borders(window: Window, total: float, leading: int = 0) -> tuple[float, float]:
    """Steps at which the window begins and ends (records: the places of its first measurement and behind its last).

    ``leading``: records in front that measure nothing, such as the first of a clock, which are part of the warm-up.
    """
    low = window.warmup.number
    if window.warmup.unit == "records":
        low = max(low - leading, 0)
    if window.warmup.unit == "%":
        low = math.ceil(total * window.warmup.number / 100)
    high = low + window.steps.number if window.steps else math.inf
    return low, high


def _impossible(segment: Segment, window: Window, scale: float | None) -> str:
    """Why the window cannot be taken, in the words shown instead of a number; empty when it can."""
    count, total = segment.store.count, segment.count.end - segment.count.origin
    if (not count or segment.running.fallen >= LEAST_FALLS) and (reason := why_none_at_all(segment)):
        return reason
    asked = (window.last,) if window.last is not None else (window.warmup, window.steps)
    if segment.count.keyless and any(amount.unit in ("steps", "%") for amount in asked if amount is not None):
        return "this format prints no step numbers: give the warm-up in records (--warmup 5records)"
    if window.last is not None:
        have = count if window.last.unit == "records" else total
        short = have < window.last.number
        return f"{have:g} {window.last.unit}, last {window.last.number:g} asked for" if short else ""
    if window.warmup.unit == "s" and scale is None:
        return "the log's rates cannot be turned into seconds without the batch size: give --set batch_size=N"
    unit = "records" if window.warmup.unit == "records" else "steps"
    if window.warmup.unit not in ("steps", "%", "records"):
        return ""
    ends = _too_short(float(count) if unit == "records" else total, window, unit, segment.tally.leading)
    if ends and segment.running.counted > total + 1 and segment.basis is not None and segment.basis.first_is_start:
        return f"{ends}; {SINCE_START}"
    return ends


def why_none_at_all(segment: Segment) -> str:
    """Why no window of a segment gives a number; empty where one may."""
    if not segment.store.count:
        return _why_empty(segment)
    fallen = segment.running.fallen
    if fallen >= LEAST_FALLS and fallen > MOST_FALLS * segment.tally.printed:
        return (
            f"the clock shows less than before in {fallen} of {segment.tally.printed} lines: it counts no time since "
            "the start, but perhaps that of one step"
        )
    return ""


def _why_empty(segment: Segment) -> str:
    """Why a segment without measurements has none."""
    if segment.tally.unknown:
        if segment.basis is not None and segment.basis.value.span == "interval":
            return "the log holds one record, and nothing tells how many steps: those before are missing, or it resumed"
        return "the log prints running means and does not hold their beginning (it was cut, or its run resumed)"
    if segment.running.known and segment.basis is not None and segment.basis.first_is_start:
        return f"the log holds one state of its bar: {SINCE_START}"
    return NO_MEASUREMENT


def _too_short(have: float, window: Window, unit: str, leading: int) -> str:
    """Why so many steps or records are too few for the warm-up and what is asked for after it; empty when not.

    ``leading``: records in front that measure nothing.
    """
    low, high = borders(window, have, leading)
    all_of, left_out = (have + leading, window.warmup.number) if unit == "records" else (have, low)
    ends = f"the run ends after {all_of:g} {unit}, warm-up {left_out:g}"
    if have <= low:
        return ends
    if window.steps is not None and window.steps.unit == unit and have < high:
        return f"{ends} and {window.steps.number:g} asked for after it"
    return ""
