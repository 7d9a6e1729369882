"""Lines that say what a whole epoch took: kept until the log's end, when the steps of an epoch are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct, field

from perflog.formats.parser import Pattern
from perflog.formats.units import seconds_in
from perflog.matching.matches import Ints
from perflog.matching.samples import Samples
from perflog.measurements.rows import Floats, Rows
from perflog.measurements.series import RankSeries

#: A number of steps, and work per step, are as good as whole and constant within this much.
WHOLE = 0.01
#: So many lines tell the work of a step.
LEAST_LINES = 3


class Totals(Struct):
    """The lines of one pattern (``total = "epoch"``), of each rank."""

    pattern: Pattern
    rows: dict[int, list[Rows]] = field(default_factory=dict)

    def add(self, rows: Rows, rank: int) -> None:
        self.rows.setdefault(rank, []).append(rows)

    def series(
        self, as_printed: bool, starts: Ints, epoch_steps: float | None, work: float | None
    ) -> dict[int, RankSeries]:
        """The measurements of each rank.

        Args:
            epoch_steps: how many steps an epoch has by the step lines; None where they do not say it.
            work: the work of a step by the step lines, in the unit of the totals' rate; None where they do not say it.
                A line that tells the time of an epoch alone, whose steps are unknown, is left out.
        """
        made = {}
        for rank, parts in self.rows.items():
            made[rank] = RankSeries(self.pattern, as_printed)
            for rows in parts:
                steps = epoch_steps if epoch_steps is not None else self._steps_by_work(rows, work)
                made[rank].add(_with_covers(rows, steps), starts)
        return made

    def _steps_by_work(self, rows: Rows, work: float | None) -> Floats | None:
        """The steps of each epoch, (n,), from its rate and time and the work of a step; NaN where that is no number."""
        rate = next((v for v in self.pattern.values if v.quantity == "rate"), None)
        time = next((v for v in self.pattern.values if v.quantity == "interval_time"), None)
        if work is None or rate is None or time is None:
            return None
        steps = rows.columns[rate.group] * rows.columns[time.group] * seconds_in(time.unit) / work
        whole = np.rint(steps)
        return np.where((whole > 0) & (np.abs(steps - whole) <= WHOLE * whole), whole, np.nan)


def _with_covers(rows: Rows, epoch_steps: float | Floats | None) -> Rows:
    covers = rows.columns.get("covers", np.full(len(rows), np.nan))
    printed = rows.columns.get("epoch_steps", np.full(len(rows), np.nan))
    covers = np.where(np.isfinite(covers), covers, printed)
    if epoch_steps is not None:
        covers = np.where(np.isfinite(covers), covers, epoch_steps)
    return rows.with_columns({"covers": covers}) if np.isfinite(covers).any() else rows


def steps_of_an_epoch(patterns: Iterable[Pattern], samples: dict[str, list[Samples]]) -> float | None:
    """The steps of an epoch, where the step lines that were sampled all say the same; None where they do not."""
    told: set[float] = set()
    for pattern in patterns:
        told |= _told(samples.get(pattern.key, ()))
    return told.pop() if len(told) == 1 else None


def _told(samples: Sequence[Samples]) -> set[float]:
    numbers = [part.columns["epoch_steps"] for part in samples if "epoch_steps" in part.columns]
    return {number for column in numbers for number in column.tolist() if np.isfinite(number)}


def work_of_a_step(patterns: Iterable[Pattern], samples: dict[str, list[Samples]]) -> float | None:
    """Rate times time of a step by the step lines that were sampled, where it is the same on all; else None."""
    products: list[float] = []
    for pattern in patterns:
        rate = next((v for v in pattern.values if v.quantity == "rate"), None)
        time = next((v for v in pattern.values if v.quantity == "step_time"), None)
        if rate is None or time is None or rate.coverage != time.coverage:
            continue
        for part in samples.get(pattern.key, ()):
            if rate.group in part.columns and time.group in part.columns:
                products += (part.columns[rate.group] * part.columns[time.group] * seconds_in(time.unit)).tolist()
    known = sorted(product for product in products if np.isfinite(product) and product > 0)
    if len(known) < LEAST_LINES or known[-1] > known[0] * (1 + 2 * WHOLE):
        return None
    return known[len(known) // 2]
