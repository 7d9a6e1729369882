"""A row of a comparison: one case's values on both sides, their ratio with interval and test, and the verdict.

The statistics and their sources are in ``perflog/stats`` and ``docs/statistics.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perflog.cases.case import Case
from perflog.compare.pairs import Pair, Unpaired
from perflog.formats.units import kind
from perflog.stats.adjust import benjamini_hochberg
from perflog.stats.centre import median
from perflog.stats.geomean import Geomean, geomean
from perflog.stats.ratio import Ratio, ratio
from perflog.stats.verdict import Better, Judgement, Verdict, judge

#: The metrics that can be compared, and which direction is better.
METRICS: Mapping[str, Better] = {
    "throughput": Better.HIGHER, "step_time": Better.LOWER, "time_to_train": Better.LOWER, "speedup": Better.HIGHER,
    "reported": Better.HIGHER, "memory": Better.LOWER,
}  # fmt: skip


@dataclass(slots=True)
class Row:
    """One case: run values (n,) of both sides in ``unit``, NaN for a run without value; ``adjusted``: p over all rows."""

    pair: Pair
    metric: str
    unit: str
    old: list[float]
    new: list[float]
    ratio: Ratio
    judgement: Judgement
    adjusted: float | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict


@dataclass(slots=True)
class Comparison:
    """All rows of one side against the first."""

    old: str
    new: str
    metric: str
    margin: float
    level: float
    rows: list[Row]
    unpaired: list[Unpaired]
    mean: Geomean
    notes: list[str] = field(default_factory=list)


def compared(pairs: Sequence[Pair], metric: str, level: float, margin: float) -> list[Row]:
    """A row per pair, with p adjusted over the rows that have one."""
    rows = [_row(pair, metric, level, margin) for pair in pairs]
    adjusted = benjamini_hochberg([row.ratio.p if row.ratio.p is not None else math.nan for row in rows])
    for row, p in zip(rows, adjusted, strict=True):
        row.adjusted = None if math.isnan(p) else p
    return rows


def mean_of(rows: Sequence[Row], unpaired: Sequence[Unpaired]) -> Geomean:
    """The geometric mean of the ratios; rows without one and unpaired cases are left out and counted."""
    return geomean([*(row.ratio.value for row in rows), *(None for _ in unpaired)])


def _row(pair: Pair, metric: str, level: float, margin: float) -> Row:
    old, new = values(pair.old, metric), values(pair.new, metric)
    units = [_unit(case, metric) for case in (pair.old, pair.new)]
    if units[0] and units[1] and kind(units[0]) != kind(units[1]):
        found = Ratio(len(old), len(new), level, reason=f"one side counts {units[0]}, the other {units[1]}")
    else:
        found = ratio(old, new, level)
    verdict = judge(found, METRICS[metric], margin)
    row = Row(pair, metric, units[0] or units[1], old, new, found, verdict)
    row.notes += [*(found.notes if min(found.n_old, found.n_new) > 1 else ()), *pair.across]
    if old == new and found.value is not None:
        row.notes.append("both sides have the very same values: are these the same logs?")
    reasons = dict.fromkeys(r for case in (pair.old, pair.new) for r in _reasons(case, metric))
    row.notes += reasons
    return row


def values(case: Case, metric: str) -> list[float]:
    """Each run's value; NaN for none. A run's speedup is its throughput over its side's median on one device."""
    if metric == "speedup":
        base = case.base.throughput.value if case.base is not None else None
        return [v / base if base else math.nan for v in values(case, "throughput")]
    found = (run.metrics.get(metric) for run in case.runs)
    return [metric_.value if metric_ is not None and metric_.value is not None else math.nan for metric_ in found]


def centre(given: Sequence[float]) -> float | None:
    """The median of the runs that have a value."""
    finite = [v for v in given if math.isfinite(v)]
    return median(finite) if finite else None


def _unit(case: Case, metric: str) -> str:
    return case.metrics[metric].unit if metric in case.metrics else ""


def _reasons(case: Case, metric: str) -> list[str]:
    if metric == "speedup":
        return [] if case.base is not None else [f"no speedup on a side: {case.name} has no case on one device"]
    metrics = [run.metrics.get(metric) for run in case.runs]
    if all(found is None for found in metrics):
        return [f"the logs give no {metric}"]
    return [found.reason for found in metrics if found is not None and found.value is None and found.reason]
