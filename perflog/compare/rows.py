"""A row of a comparison: one case's values on both sides, their ratio with interval and test, and the verdict.

The statistics and their sources are in ``perflog/stats`` and ``docs/statistics.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perflog.cases.case import Case
from perflog.compare.pairs import Pair, Unpaired
from perflog.compare.rule import Rule
from perflog.formats.units import kind
from perflog.settings.options import Options
from perflog.stats.adjust import benjamini_hochberg
from perflog.stats.centre import median
from perflog.stats.geomean import Geomean, geomean
from perflog.stats.ratio import Ratio, ratio
from perflog.stats.verdict import Decision, Verdict, decide


@dataclass(frozen=True, slots=True)
class CaseComparison:
    """One case on both sides.

    Attributes:
        pair: the case of each side.
        unit: the unit of both sides' values.
        old: the value of each run of the old side, NaN for a run without one.
        new: the same of the new side.
        ratio: new over old, with its interval and its test.
        decision: the verdict on the ratio, with the reason where there can be none.
        adjusted_p: the test's p, adjusted over all rows; None where there is no test.
        notes: what speaks against trusting the row.
    """

    pair: Pair
    unit: str
    old: tuple[float, ...]
    new: tuple[float, ...]
    ratio: Ratio
    decision: Decision
    adjusted_p: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Faster, slower, same, inconclusive, or not enough data."""
        return self.decision.verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """All cases of one side against those of another.

    Attributes:
        old: the old side's short name.
        new: the new side's short name.
        rule: the metric, margin and level.
        options: how the numbers of both sides were made.
        rows: one per pair of cases, in the order of the old side.
        unpaired: the cases without a partner, each with the reason.
        mean: the geometric mean of the ratios, and how many cases it leaves out.
        notes: what is to be known of the sides as a whole, such as another machine.
    """

    old: str
    new: str
    rule: Rule
    options: Options
    rows: tuple[CaseComparison, ...]
    unpaired: tuple[Unpaired, ...]
    mean: Geomean
    notes: tuple[str, ...] = ()


def compared_cases(pairs: Sequence[Pair], rule: Rule) -> list[CaseComparison]:
    """A row per pair, with p adjusted over the rows that have one."""
    rows = [_row(pair, rule) for pair in pairs]
    adjusted = benjamini_hochberg([row.ratio.p if row.ratio.p is not None else math.nan for row in rows])
    return [replace(row, adjusted_p=None if math.isnan(p) else p) for row, p in zip(rows, adjusted, strict=True)]


def mean_of(rows: Sequence[CaseComparison], unpaired: Sequence[Unpaired]) -> Geomean:
    """The geometric mean of the ratios; rows without one and unpaired cases are left out and counted."""
    return geomean([*(row.ratio.value for row in rows), *(None for _ in unpaired)])


def _row(pair: Pair, rule: Rule) -> CaseComparison:
    old, new = values(pair.old, rule.metric), values(pair.new, rule.metric)
    units = [_unit(case, rule.metric) for case in (pair.old, pair.new)]
    if units[0] and units[1] and kind(units[0]) != kind(units[1]):
        reason = f"one side counts {units[0]}, the other {units[1]}"
        estimate = Ratio(len(old), len(new), rule.level, reason=reason)
    else:
        estimate = ratio(old, new, rule.level)
    notes = [*(estimate.notes if min(estimate.n_old, estimate.n_new) > 1 else ()), *pair.across, *pair.alike]
    if old == new and estimate.value is not None:
        notes.append("both sides have the very same values: are these the same logs?")
    notes += dict.fromkeys(reason for case in (pair.old, pair.new) for reason in _reasons(case, rule.metric))
    decision = decide(estimate, rule.better, rule.margin)
    return CaseComparison(pair, units[0] or units[1], tuple(old), tuple(new), estimate, decision, notes=tuple(notes))


def values(case: Case, metric: str) -> list[float]:
    """Each run's value; NaN for none. A run's speedup is its throughput over its side's median on one device."""
    if metric == "speedup":
        base = case.base.throughput.value if case.base is not None else None
        return [v / base if base else math.nan for v in values(case, "throughput")]
    metrics = (run.metrics.get(metric) for run in case.runs)
    return [m.value if m is not None and m.value is not None else math.nan for m in metrics]


def centre(run_values: Sequence[float]) -> float | None:
    """The median of the runs that have a value."""
    finite = [v for v in run_values if math.isfinite(v)]
    return median(finite) if finite else None


def _unit(case: Case, metric: str) -> str:
    return case.metrics[metric].unit if metric in case.metrics else ""


def _reasons(case: Case, metric: str) -> list[str]:
    if metric == "speedup":
        return [] if case.base is not None else [f"no speedup on a side: {case.name} has no case on one device"]
    metrics = [run.metrics.get(metric) for run in case.runs]
    if all(m is None for m in metrics):
        return [f"the logs give no {metric}"]
    return [m.reason for m in metrics if m is not None and m.value is None and m.reason]
