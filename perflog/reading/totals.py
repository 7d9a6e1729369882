"""Lines that say what a whole epoch took: kept until the log's end, when the steps of an epoch are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from perflog.formats.parser import Pattern
from perflog.matching.matches import Ints
from perflog.matching.samples import Samples
from perflog.measurements.rows import Rows
from perflog.measurements.series import RankSeries


@dataclass(slots=True)
class Totals:
    """The lines of one pattern (``total = "epoch"``), of each rank."""

    pattern: Pattern
    rows: dict[int, list[Rows]] = field(default_factory=dict)

    def add(self, rows: Rows, rank: int) -> None:
        self.rows.setdefault(rank, []).append(rows)

    def series(self, as_printed: bool, starts: Ints, epoch_steps: float | None) -> dict[int, RankSeries]:
        """The measurements of each rank.

        Args:
            epoch_steps: how many steps an epoch has by the step lines; None where they do not say it. A line that
                tells the time of an epoch alone is then left out.
        """
        made = {}
        for rank, parts in self.rows.items():
            made[rank] = RankSeries(self.pattern, as_printed)
            for rows in parts:
                made[rank].add(_with_covers(rows, epoch_steps), starts)
        return made


def _with_covers(rows: Rows, epoch_steps: float | None) -> Rows:
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
