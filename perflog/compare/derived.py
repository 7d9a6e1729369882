"""Derived metrics of a case: its throughput over that of its baseline, with the uncertainty of both.

The runs of a case all share one baseline, which has its own noise. Dividing each run by the baseline's median gives
values that may be shown, but whose spread says nothing of the baseline; so a row is judged by the samples themselves.
"""

from __future__ import annotations

import math

from perflog.cases.case import Case
from perflog.compare.pairs import Pair
from perflog.stats.contrast import RowSamples
from perflog.stats.family import hodges_lehmann
from perflog.stats.ratio import Ratio, ratio
from perflog.stats.verdict import Decision, Verdict, refused

#: Metrics that are a case's throughput over its baseline's.
_DERIVED = ("speedup",)


def is_derived(metric: str) -> bool:
    """Whether a metric is made of a case and its baseline."""
    return metric in _DERIVED


def run_values(case: Case, metric: str) -> list[float]:
    """The value of each run of a case; NaN for none."""
    metrics = (run.metrics.get(metric) for run in case.runs)
    return [m.value if m is not None and m.value is not None else math.nan for m in metrics]


def derived_values(case: Case, metric: str) -> list[float]:
    """For show: each run's throughput over the centre of its baseline; NaN for none."""
    del metric  # speedup is the only one
    base = case.base.throughput.value if case.base is not None else None
    return [value / base if base else math.nan for value in run_values(case, "throughput")]


def derived_row(
    pair: Pair, old: tuple[float, ...], new: tuple[float, ...], level: float
) -> tuple[Ratio, RowSamples | None, Decision | None]:
    """(the ratio of two derived values, the samples to judge it by, why there are none)."""
    counts = len(old), len(new)
    if pair.old.base is None or pair.new.base is None:
        estimate = ratio(old, new, level)
        return estimate, None, refused(estimate, level)
    if pair.old.base is pair.old and pair.new.base is pair.new:
        reason = "this case is the baseline, whose own value is 1 on both sides by definition"
        return Ratio(*counts, level, 1.0), None, Decision(Verdict.SAME, reason)
    samples = RowSamples(*(tuple(run_values(case, "throughput")) for case in (
        pair.old, pair.new, pair.old.base, pair.new.base,
    )))  # fmt: skip
    of_case, of_base = ratio(samples.old, samples.new, level), ratio(samples.old_base, samples.new_base, level)
    for part, prefix in ((of_case, ""), (of_base, "the baseline: ")):
        refusal = refused(part, level)
        if refusal is not None:
            value = hodges_lehmann(samples) if of_case.value is not None and of_base.value is not None else None
            reason = prefix + refusal.reason
            estimate = Ratio(*counts, level, value, reason="" if value is not None else reason)
            return estimate, None, Decision(Verdict.NOT_ENOUGH_DATA, reason, refusal.needs)
    return Ratio(*counts, level, hodges_lehmann(samples), notes=of_case.notes), samples, None
