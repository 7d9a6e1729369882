"""Measurements of one rank in the order of the log, folded block by block into a :class:`Segment`.

The order is checked as it is folded: the same event printed twice is dropped, a step that comes twice with
different numbers or steps that go back cannot be one run, and missing lines leave a note.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from perflog.formats.parser import LAST_GROUPS, Pattern
from perflog.measurements.plan import Columns, Floats, Plan, choose_plan, running_totals, work_and_time
from perflog.measurements.store import Store

Lines = NDArray[np.int64]


@dataclass(slots=True)
class Segment:
    """One uninterrupted run of steps of one rank."""

    first_line: int = 0
    last_line: int = 0
    printed: int = 0
    doubled: int = 0
    repeats: int = 0
    unusable: int = 0
    unusable_line: int = 0
    unknown_count: int = 0
    gaps: int = 0
    gap_at: str = ""
    refused: str = ""
    last: dict[str, tuple[float, int]] = field(default_factory=dict)  # of LAST_GROUPS: value, line
    plan: Plan | None = None
    store: Store = field(default_factory=Store)
    # carried from block to block
    key: tuple[float, float] = (np.nan, np.nan)
    row: tuple[float, ...] = ()
    origin: float = 0.0
    end: float = 0.0
    base: float = 0.0
    epochs: int = 0
    interval: float = 0.0
    total: float = 0.0
    counted: float = 0.0
    resumed: bool = False
    keyless: bool = False
    position_line: int = -1
    moment: float = float("nan")
    counted_epoch: int = -1


class RankSeries:
    """The segments of one rank (or of an untagged log) under one pattern."""

    def __init__(self, pattern: Pattern, as_printed: bool = False) -> None:
        self.pattern = pattern
        self.as_printed = as_printed
        self.segments: list[Segment] = [Segment()]

    def add(self, lines: Lines, columns: Columns, starts: Lines, position_lines: Lines | None = None) -> None:
        """Fold a block in: ``lines`` (n,), each column (n,); ``starts``: lines where a run may begin."""
        current = self.segments[-1]
        if current.refused or not len(lines):
            current.last_line = int(lines[-1]) if len(lines) else current.last_line
            current.printed += len(lines)
            return
        if "step" in columns:
            bad = np.isnan(columns["step"])
            placed_only = position_lines is not None and _explicit_covers(self.pattern, columns) is not None
            if not placed_only and bad.any() and not bad.all():
                current.unusable += int(bad.sum())
                lines, columns = lines[~bad], {k: v[~bad] for k, v in columns.items()}
                position_lines = position_lines[~bad] if position_lines is not None else None
        if self.pattern.position_once and position_lines is not None:  # what follows is an evaluation's
            first = position_lines != np.concatenate(([current.position_line], position_lines[:-1]))
            lines, columns, position_lines = lines[first], {k: v[first] for k, v in columns.items()}, position_lines[first]
            if not len(lines):
                return
        self._fold(lines, columns, starts, position_lines)

    def _fold(self, lines: Lines, columns: Columns, starts: Lines, position_lines: Lines | None) -> None:
        segment = self.segments[-1]
        order = self._order(segment, columns, position_lines)
        if order is None:  # without steps, only the very same line printed twice in a row can be told
            again = self._equal_to_previous(segment, columns) & (np.diff(lines, prepend=segment.last_line) == 1)
            if again.any():
                segment.doubled += int(again.sum())
                lines, columns = lines[~again], {k: v[~again] for k, v in columns.items()}
                position_lines = position_lines[~again] if position_lines is not None else None
                if not len(lines):
                    return
        elif not order.all():
            keep = self._not_doubled(segment, columns, order)
            if not keep.all():
                segment.doubled += int((~keep).sum())
                lines, columns = lines[keep], {k: v[keep] for k, v in columns.items()}
                position_lines = position_lines[keep] if position_lines is not None else None
                if not len(lines):
                    return
                order = self._order(segment, columns, position_lines)
            if order is not None and not order.all():
                self._broken(segment, lines, columns, starts, position_lines, int(np.argmin(order)))
                return
        self._append(segment, lines, columns, position_lines)

    def _order(self, segment: Segment, columns: Columns, position_lines: Lines | None) -> NDArray[np.bool_] | None:
        """Whether each row comes after the one before it; None where the format prints no step."""
        if "step" not in columns and "epoch" in columns and "covers" in columns:  # one line an epoch
            return ~(columns["epoch"] <= np.concatenate(([segment.key[0]], columns["epoch"][:-1])))
        if "step" not in columns or np.isnan(columns["step"]).all():
            return None
        step = columns["step"]
        if position_lines is None and not self.pattern.step_repeats and self._plainly_in_order(segment, columns):
            return np.ones(len(step), dtype=bool)
        before = _shifted(step, segment.key[1])
        later = ~(step <= before)  # NaN (no predecessor, no position yet) counts as later
        same = step == before
        if self.pattern.step_per == "epoch" and "epoch" in columns:
            epoch = np.nan_to_num(columns["epoch"], nan=-1.0)  # a format may leave the epoch out
            epoch_before = np.concatenate((np.nan_to_num([segment.key[0]], nan=-1.0), epoch[:-1]))
            later = ~(epoch <= epoch_before) | ((epoch == epoch_before) & later)
            same &= epoch == epoch_before
        if self.pattern.step_repeats:
            if "timestamp" in columns:  # the counter may even go back; the clock may not
                return ~(columns["timestamp"] <= np.concatenate(([segment.moment], columns["timestamp"][:-1])))
            again = self._equal_to_previous(segment, columns)
            later |= same & ~again
        if position_lines is not None:  # two measurements after one position line: a position line is missing
            shared = position_lines == np.concatenate(([segment.position_line], position_lines[:-1]))
            later |= same & shared & ~self._equal_to_previous(segment, columns)
        return later

    def _plainly_in_order(self, segment: Segment, columns: Columns) -> bool:
        """The common case, told cheaply: steps rise throughout, within one epoch where they are counted per epoch."""
        step = columns["step"]
        if not (step[0] > segment.key[1] or np.isnan(segment.key[1])) or not (step[1:] > step[:-1]).all():
            return False
        if self.pattern.step_per == "epoch" and "epoch" in columns:
            epoch, before = columns["epoch"], segment.key[0]
            return bool((epoch == epoch[0]).all()) and (epoch[0] == before or bool(np.isnan(before)))
        return True

    def _equal_to_previous(self, segment: Segment, columns: Columns) -> NDArray[np.bool_]:
        """Whether each row has the very numbers of the row before it."""
        names = self._value_names(columns)
        equal = np.ones(len(next(iter(columns.values()))), dtype=bool)
        for at, name in enumerate(names):
            column = columns[name]
            before = np.concatenate(([segment.row[at] if segment.row else np.nan], column[:-1]))
            equal &= (column == before) | (np.isnan(column) & np.isnan(before))
        if not segment.row:
            equal[0] = False
        return equal

    def _value_names(self, columns: Columns) -> list[str]:
        return [name for name in sorted(columns) if name not in ("rank",)]

    def _not_doubled(self, segment: Segment, columns: Columns, order: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Rows that are not the same event printed again."""
        keep = order | ~self._equal_to_previous(segment, columns)
        if (order | ~keep).all():
            return keep
        names = self._value_names(columns)
        table = np.column_stack([columns[name] for name in names])
        if segment.row:
            table = np.vstack((np.array(segment.row), table))
        seen: set[bytes] = set()
        fresh = np.zeros(len(table), dtype=bool)
        for at, row in enumerate(table):
            mark = row.tobytes()
            fresh[at] = mark not in seen
            seen.add(mark)
        if segment.row:
            fresh = fresh[1:]
        later = self._order(segment, {k: v[fresh] for k, v in columns.items()}, None)
        return fresh if later is not None and later.all() else keep

    def _broken(self, segment: Segment, lines: Lines, columns: Columns, starts: Lines, position_lines: Lines | None, at: int) -> None:
        """Steps that repeat or go back at row ``at``: a second run begins there, or this is no run at all."""

        def part(rows: slice) -> tuple[Lines, Columns, Lines | None]:
            return lines[rows], {k: v[rows] for k, v in columns.items()}, position_lines[rows] if position_lines is not None else None

        if at:
            self._append(segment, *part(slice(0, at)))
        line, before = int(lines[at]), segment.last_line
        began = np.searchsorted(starts, line, "right") - np.searchsorted(starts, before, "right")
        if began > 0 and segment.printed:
            self.segments.append(Segment())
            self._fold(*_with_starts(part(slice(at, None)), starts))
            return
        now = self._name(columns, at)
        if self._name_of_key(segment.key) == now:
            segment.refused = (
                f"{now} has different records at lines {before} and {line}: several ranks or runs are blended "
                "(log one rank, or have the launcher tag each line)"
            )
        else:
            segment.refused = (
                f"steps go back from {self._name_of_key(segment.key)} (line {before}) to {now} (line {line}) and nothing "
                "between them says that a run begins: two runs appended, or lines out of order"
            )
        segment.last_line = int(lines[-1])
        segment.printed += len(lines) - at

    def _name(self, columns: Columns, at: int) -> str:
        epoch = columns["epoch"][at] if "epoch" in columns else np.nan
        return self._name_of_key((float(epoch), float(columns["step"][at]) if "step" in columns else float("nan")))

    def _name_of_key(self, key: tuple[float, float]) -> str:
        epoch, step = key
        if np.isnan(step):
            return f"epoch {epoch:g}"
        if np.isnan(epoch) or self.pattern.step_per == "run":
            return f"step {step:g}"
        return f"epoch {epoch:g} step {step:g}"

    def _append(self, segment: Segment, lines: Lines, columns: Columns, position_lines: Lines | None) -> None:
        """Turn rows that are in order into measurements."""
        segment.printed += len(lines)
        if not segment.first_line:
            segment.first_line = int(lines[0])
        segment.last_line = int(lines[-1])
        for name in LAST_GROUPS:
            if name not in columns:
                continue
            values = columns[name]
            at = len(values) - 1
            if math.isnan(values[at]):
                finite = np.flatnonzero(~np.isnan(values))
                at = int(finite[-1]) if len(finite) else -1
            if at >= 0:
                segment.last[name] = float(values[at]), int(lines[at])
        epoch_start = self._steps(segment, lines, columns, position_lines)
        names = self._value_names(columns)
        segment.row = tuple(float(columns[name][-1]) for name in names)
        if "step" in columns or "epoch" in columns:
            epoch, step = (float(columns[name][-1]) if name in columns else np.nan for name in ("epoch", "step"))
            segment.key = (epoch, step)
        if "timestamp" in columns:
            segment.moment = float(columns["timestamp"][-1])
        if position_lines is not None:
            segment.position_line = int(position_lines[-1])
        if self.pattern.role == "position" or segment.plan is None:
            return
        self._measure(segment, lines, columns, *epoch_start)

    def _steps(self, segment: Segment, lines: Lines, columns: Columns, position_lines: Lines | None) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
        """Count steps over the whole run: (end (n,), steps since the row before (n,), end within the epoch (n,), epoch ordinal (n,))."""
        n = len(lines)
        explicit = _explicit_covers(self.pattern, columns)
        has_step = "step" in columns and not np.isnan(columns["step"]).all()
        if not has_step or (position_lines is not None and explicit is not None):
            return self._steps_by_covers(segment, lines, columns, explicit, has_step)
        within = columns["step"] + (1 - self.pattern.step_base)
        changed = np.zeros(n, dtype=bool)
        ends = within
        if self.pattern.step_per == "epoch" and "epoch" in columns:
            epoch = columns["epoch"]
            before = _shifted(epoch, segment.key[0])
            changed = (epoch != before) & (before == before)  # the latter: not NaN
            if changed.any():
                length = previous = _shifted(within, segment.end - segment.base)
                if "epoch_steps" in columns:
                    printed = columns["epoch_steps"]
                    length = np.where(np.isfinite(printed), np.maximum(printed * (epoch - before), previous), previous)
                bases = segment.base + np.cumsum(np.where(changed, length, 0.0))
            else:
                bases = np.full(n, segment.base)
            ends = bases + within
            segment.base = float(bases[-1])
        ordinal = segment.epochs + np.cumsum(changed)
        segment.epochs = int(ordinal[-1])
        fresh = math.isnan(segment.key[1])
        deltas = ends - _shifted(ends, float(ends[0]) if fresh else segment.end)
        self._learn(segment, columns, deltas[1:] if fresh else deltas, changed[1:] if fresh else changed, within)
        if fresh:
            deltas[0] = min(float(within[0]), segment.interval) if segment.interval else float(within[0])
            segment.origin = float(ends[0] - deltas[0])
        if self.pattern.step_repeats and (deltas <= 0).any():  # the counter stands still, the steps are real
            segment.repeats += int((deltas <= 0).sum())
            deltas = np.where(deltas > 0, deltas, segment.interval or 1.0)
            ends = (float(ends[0]) if fresh else segment.end + float(deltas[0])) + np.concatenate(([0.0], np.cumsum(deltas[1:])))
            segment.base = float(ends[-1] - within[-1])
        self._note_gaps(segment, lines, columns, deltas, changed, fresh)
        segment.end = float(ends[-1])
        covers = np.where(np.isfinite(explicit), explicit, deltas) if explicit is not None else deltas
        return ends, covers, within, ordinal

    def _steps_by_covers(
        self, segment: Segment, lines: Lines, columns: Columns, explicit: Floats | None, has_step: bool
    ) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
        """Formats whose lines say how many steps they cover, not which; positions serve to find gaps."""
        n = len(lines)
        if explicit is None:
            segment.keyless = True
            explicit = np.ones(n)
        explicit = np.where(np.isfinite(explicit), explicit, 1.0)
        missing = np.zeros(n)
        ordinal = segment.epochs + np.arange(n)
        if has_step and "epoch" in columns:
            before = np.concatenate(([segment.key[0]], columns["epoch"][:-1]))
            jump = columns["epoch"] - before
            lost = np.where(jump > 1, jump - 1, 0.0)
            if (lost > 0).any():
                segment.gaps += int(lost.sum())
                segment.gap_at = segment.gap_at or f"before line {int(lines[int(np.argmax(lost > 0))])}"
            missing = lost * explicit
        ends = segment.end + np.cumsum(explicit + missing)
        segment.epochs = int(ordinal[-1]) + 1
        segment.end = float(ends[-1])
        if segment.plan is None:
            segment.plan = choose_plan(self.pattern, columns, bool((explicit == 1).all()), float(np.median(explicit)), self.as_printed)
        return ends, explicit, ends, ordinal

    def _learn(self, segment: Segment, columns: Columns, deltas: Floats, changed: NDArray[np.bool_], within: Floats) -> None:
        """The print interval and the value to use, from the first block."""
        if segment.plan is not None:
            return
        inner = deltas[~changed & (deltas > 0)]
        if len(inner) and (inner == inner[0]).all():
            segment.interval = float(inner[0])
        elif len(inner):
            values, counts = np.unique(inner, return_counts=True)
            segment.interval = float(values[np.argmax(counts)])
        interval = segment.interval or float(within[0])
        every = interval == 1 and (not len(inner) or bool((inner == 1).all()))
        segment.plan = choose_plan(self.pattern, columns, every, interval, self.as_printed)
        segment.resumed = bool(segment.interval and within[0] > 2 * segment.interval)

    def _note_gaps(self, segment: Segment, lines: Lines, columns: Columns, deltas: Floats, changed: NDArray[np.bool_], fresh: bool) -> None:
        if not segment.interval:
            return
        wide = (deltas > 1.5 * segment.interval) & ~changed
        if fresh:
            wide[0] = False
        if wide.any():
            at = int(np.argmax(wide))
            segment.gaps += int(np.rint(deltas[wide] / segment.interval - 1).sum())
            segment.gap_at = segment.gap_at or f"before {self._name(columns, at)} (line {int(lines[at])})"

    def _measure(self, segment: Segment, lines: Lines, columns: Columns, ends: Floats, covers: Floats, within: Floats, ordinal: NDArray[np.int64]) -> None:
        plan = segment.plan
        assert plan is not None
        span = plan.value.span
        if self.as_printed:
            covers = np.ones(len(lines)) if span == "last" else covers
            work, time = (
                work_and_time(plan, columns, covers)
                if plan.value.quantity not in ("elapsed", "timestamp")
                else self._differences(segment, plan, columns, ends, within, ordinal)[1:]
            )
        elif span == "cumulative" or plan.value.quantity in ("elapsed", "timestamp"):
            covers, work, time = self._differences(segment, plan, columns, ends, within, ordinal)
        else:
            if span == "last":
                covers = np.ones(len(lines))
            elif span == "window" and plan.value.window:
                covers = np.minimum(covers, _reach(plan, ends, within))
            elif segment.interval and not _has_explicit(self.pattern, columns):
                covers = np.minimum(covers, segment.interval)
            work, time = work_and_time(plan, columns, covers)
        reach = np.maximum(covers, _reach(plan, ends, within)) if span == "window" else covers
        with np.errstate(invalid="ignore"):
            good = (covers > 0) & np.isfinite(time) & np.isfinite(work) & (work > 0)
            if span != "cumulative" or self.as_printed:
                good &= time > 0
        unknown = np.isnan(covers)
        if not good.all():
            bad = ~good & ~unknown
            segment.unknown_count += int(unknown.sum())
            segment.unusable += int(bad.sum())
            if bad.any() and not segment.unusable_line:
                segment.unusable_line = int(lines[int(np.argmax(bad))])
        kept: slice | NDArray[np.bool_] = slice(None) if good.all() else good
        rows = np.empty((7, len(good) if good.all() else int(good.sum())))
        for at, column in enumerate((ends - reach, ends, covers, time, work, lines, ordinal)):
            rows[at] = column[kept]
        segment.store.append(rows)

    def _differences(
        self, segment: Segment, plan: Plan, columns: Columns, ends: Floats, within: Floats, ordinal: NDArray[np.int64]
    ) -> tuple[Floats, Floats, Floats]:
        """Cumulative values back to intervals: covers, work and time, each (n,).

        A row whose count of steps cannot be known (a resumed run, before the mean restarts) has NaN covers.
        """
        per_epoch = plan.value.since == "epoch"
        clock = plan.value.quantity in ("elapsed", "timestamp")
        counted = (within if per_epoch else ends) - plan.value.offset
        totals = running_totals(plan, columns, counted)
        covers = np.full(len(ends), np.nan)
        time = np.full(len(ends), np.nan)
        usable = np.flatnonzero(np.isfinite(totals) & (counted > 0))
        if not len(usable):
            return np.where(counted <= 0, np.nan, covers), covers, time
        t, c, o = totals[usable], counted[usable], ordinal[usable]
        known = segment.counted > 0 or segment.total != 0
        before_t = np.concatenate(([segment.total if known else 0.0], t[:-1]))
        before_c = np.concatenate(([segment.counted if known else 0.0], c[:-1]))
        restart = np.diff(o, prepend=o[0] if not known else segment.counted_epoch) > 0 if per_epoch else np.zeros(len(t), dtype=bool)
        if per_epoch and known:
            restart[0] = o[0] != segment.counted_epoch
        before_t = np.where(restart, 0.0, before_t)
        before_c = np.where(restart, 0.0, before_c)
        if not known and clock and plan.value.quantity == "timestamp":
            before_c[0] = before_t[0] = np.nan  # nothing says when the first interval began
        if not known and segment.resumed:
            before_c[0] = before_t[0] = np.nan
        if segment.resumed and not clock:
            blind = ~np.cumsum(restart).astype(bool)  # counts are wrong until the mean restarts
            before_c[blind] = np.nan
        covers[usable] = c - before_c
        time[usable] = t - before_t
        segment.total, segment.counted = float(t[-1]), float(c[-1])
        if per_epoch:
            segment.counted_epoch = int(o[-1])
        batch = columns["global_batch_size"] if plan.batch_on_line else 1.0
        return covers, covers * batch, time


def _shifted(values: Floats, first: float) -> Floats:
    """Each value's predecessor, (n,); ``first`` is the first one's."""
    out = np.empty(len(values))
    out[0] = first
    out[1:] = values[:-1]
    return out


def _reach(plan: Plan, ends: Floats, within: Floats) -> Floats:
    """How many steps back a mean over a window looks, (n,): no further than where the meter began."""
    return np.minimum(plan.value.window, within if plan.value.since == "epoch" else ends)


def _explicit_covers(pattern: Pattern, columns: Columns) -> Floats | None:
    """Steps covered as the line itself says (n,); None when it does not."""
    if "covers" in columns:
        return columns["covers"]
    if "first_step" in columns and "step" in columns:
        return columns["step"] - columns["first_step"]
    interval = next((v for v in pattern.values if v.quantity == "interval_time" and v.group in columns), None)
    step = next((v for v in pattern.values if v.quantity == "step_time" and v.group in columns), None)
    if interval and step and "step" not in pattern.groups:
        from perflog.formats.units import seconds_in

        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = columns[interval.group] * seconds_in(interval.unit) / (columns[step.group] * seconds_in(step.unit))
        return np.where(np.isfinite(ratio), np.rint(ratio), np.nan)
    return None


def _has_explicit(pattern: Pattern, columns: Columns) -> bool:
    return _explicit_covers(pattern, columns) is not None


def _with_starts(part: tuple[Lines, Columns, Lines | None], starts: Lines) -> tuple[Lines, Columns, Lines, Lines | None]:
    return part[0], part[1], starts, part[2]
