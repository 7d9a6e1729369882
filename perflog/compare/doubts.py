"""Notes on a row: what in the runs' own series or among the runs speaks against trusting it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perflog.cases.case import Case
from perflog.compare.rows import CaseComparison
from perflog.compare.sides import RunSeries, Side
from perflog.notes import texts
from perflog.runs.throttled import findings_in, throttled_among, throttling_of
from perflog.stats.clusters import clusters
from perflog.stats.components import components
from perflog.stats.drift import drift
from perflog.stats.resolution import resolution
from perflog.stats.verdict import Verdict

#: Fewer measurements of a run say nothing of its inside.
LEAST = 10


def doubts(row: CaseComparison, old: Side, new: Side) -> list[str]:
    """Drift within the window, groups of runs, rounding in print, what the steps contribute; the runs' own notes."""
    notes: list[str] = []
    low, high = row.ratio.low, row.ratio.high
    half_width = (high - low) / 2 if low is not None and high is not None else math.inf
    sides = (("old", old, row.pair.old, row.old), ("new", new, row.pair.new, row.new))
    for word, side, case, run_values in sides:
        series = [run_series for run_series in side.series(case) if len(run_series.times) >= LEAST]
        notes += _drifts(word, series) + _groups(word, run_values, row.unit) + _rounded(word, series, half_width)
        if row.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_ENOUGH_DATA):  # what would help
            notes += _steps(word, series)
        notes += _own(word, case, row.notes) + _throttled(word, case)
    return notes


def _own(word: str, case: Case, told: Sequence[str]) -> list[str]:
    """What the case's logs say against its numbers, but for what is told in another way or concerns speedups alone."""
    return [
        f"{word}: {note}"
        for note in texts(case.notes)
        if not note.startswith("no speedup") and not findings_in([note]) and not note.endswith(tuple(told))
    ]


def _throttled(word: str, case: Case) -> list[str]:
    runs = throttled_among(case.runs)
    if not runs:
        return []
    findings = dict.fromkeys(finding for run in runs for finding in throttling_of(run))
    were = "was" if len(runs) == 1 else "were"
    return [f"{word}: {len(runs)} of {len(case.runs)} runs {were} throttled while they ran ({'; '.join(findings)})"]


def _drifts(word: str, series: Sequence[RunSeries]) -> list[str]:
    drifts = [drift(run_series.times) for run_series in series]
    changes = [d.change for d in drifts if d.drifts and d.change is not None]
    if len(changes) * 2 <= len(drifts) or not changes:
        return []
    change = sorted(changes)[len(changes) // 2]
    where = f"in {len(changes)} of {len(drifts)} runs"
    return [f"{word}: step times drift within the window, by {100 * change:+.1f} % {where}"]


def _groups(word: str, run_values: Sequence[float], unit: str) -> list[str]:
    groups = clusters(run_values)
    if groups is None:
        return []
    sizes = [f"{len(group)} near {sum(group) / len(group):.5g}" for group in (groups.low, groups.high)]
    text = f"{word}: the runs fall in two groups, {' and '.join(sizes)} {unit}".rstrip()
    return [f"{text}: the median stands for neither"]


def _rounded(word: str, series: Sequence[RunSeries], half_width: float) -> list[str]:
    if not math.isfinite(half_width) or not series:
        return []
    resolutions = [resolution(run_series.printed, half_width) for run_series in series]
    dominating = [r for r in resolutions if r is not None and r.dominates]
    if len(dominating) * 2 <= len(series):
        return []
    worst = max(dominating, key=lambda r: r.bias)
    effect = f"rounding may move a run by {100 * worst.bias:.2g} %, more than the interval's half-width"
    return [f"{word}: printed in steps of {worst.quantum:g}: {effect}"]


def _steps(word: str, series: Sequence[RunSeries]) -> list[str]:
    parts = components([run_series.times for run_series in series])
    return [f"{word}: {parts.advice}"] if parts is not None else []
