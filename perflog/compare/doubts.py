"""Notes on a row: what in the runs' own series or among the runs speaks against trusting it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perflog.cases.case import Case
from perflog.compare.rows import Row
from perflog.compare.sides import Observed, Side
from perflog.stats.clusters import clusters
from perflog.stats.components import components
from perflog.stats.drift import drift
from perflog.stats.resolution import resolution
from perflog.stats.verdict import Verdict

#: Fewer measurements of a run say nothing of its inside.
LEAST = 10


def doubts(row: Row, old: Side, new: Side) -> list[str]:
    """Drift within the window, two groups of runs, rounding in print, what the steps contribute; and the runs' own notes."""
    notes: list[str] = []
    half_width = (row.ratio.high - row.ratio.low) / 2 if row.ratio.low is not None and row.ratio.high is not None else math.inf
    for word, side, case, values in (("old", old, row.pair.old, row.old), ("new", new, row.pair.new, row.new)):
        series = [one for one in side.series(case) if len(one.times) >= LEAST]
        notes += _drifts(word, series) + _groups(word, values, row.unit) + _rounded(word, series, half_width)
        if row.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_ENOUGH_DATA):  # what would help
            notes += _steps(word, series)
        notes += [f"{word}: {note}" for note in _own(case)]
    return notes


def _own(case: Case) -> list[str]:
    return [note for note in case.notes if note.startswith("warm-up")]


def _drifts(word: str, series: Sequence[Observed]) -> list[str]:
    found = [drift(one.times) for one in series]
    changes = [one.change for one in found if one.drifts and one.change is not None]
    if len(changes) * 2 <= len(found) or not changes:
        return []
    return [f"{word}: step times drift within the window, by {100 * sorted(changes)[len(changes) // 2]:+.1f} % in {len(changes)} of {len(found)} runs"]


def _groups(word: str, values: Sequence[float], unit: str) -> list[str]:
    found = clusters(values)
    if found is None:
        return []
    sides = [f"{len(group)} near {sum(group) / len(group):.5g}" for group in (found.low, found.high)]
    return [f"{word}: the runs fall in two groups, {' and '.join(sides)} {unit}".rstrip() + ": the median stands for neither"]


def _rounded(word: str, series: Sequence[Observed], half_width: float) -> list[str]:
    if not math.isfinite(half_width) or not series:
        return []
    found = [one for item in series if (one := resolution(item.printed, half_width)) is not None and one.dominates]
    if len(found) * 2 <= len(series):
        return []
    worst = max(found, key=lambda one: one.bias)
    return [f"{word}: printed in steps of {worst.quantum:g}: rounding may move a run by {100 * worst.bias:.2g} %, more than the interval's half-width"]


def _steps(word: str, series: Sequence[Observed]) -> list[str]:
    found = components([one.times for one in series])
    return [f"{word}: {found.advice}"] if found is not None else []
