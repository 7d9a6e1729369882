"""Derived metrics of a case: its throughput over that of its baseline, with the uncertainty of both.

The runs of a case all share one baseline, which has its own noise. Dividing each run by the baseline's median gives
values that may be shown, but whose spread says nothing of the baseline; so a row is judged by the samples themselves.
"""

from __future__ import annotations

import math

from perflog.cases.case import Case
from perflog.cases.pairs import Pair
from perflog.stats.contrast import RowSamples
from perflog.stats.family import hodges_lehmann
from perflog.stats.ratio import Ratio, ratio
from perflog.stats.verdict import Decision, Verdict, refused

#: Metrics that are a case's throughput over its baseline's.
_DERIVED = ("speedup", "efficiency")


def is_derived(metric: str) -> bool:
    """Whether a metric is made of a case and its baseline."""
    return metric in _DERIVED


def run_values(case: Case, metric: str) -> list[float]:
    """The value of each run of a case; NaN for none."""
    metrics = (run.metrics.get(metric) for run in case.runs)
    return [m.value if m is not None and m.value is not None else math.nan for m in metrics]


def derived_values(case: Case, metric: str) -> list[float]:
    """For show: each run's throughput over the centre of its baseline; NaN for none."""
    base = case.base.throughput.value if case.base is not None else None
    factor = _factor(case, metric)
    return [factor * value / base if base else math.nan for value in run_values(case, "throughput")]


def why_none(case: Case, metric: str) -> str:
    """Why a case has no value of a derived metric; empty where it has one."""
    if case.base is None:
        return f"no {metric} on a side: {case.name} has no baseline"
    if math.isnan(_factor(case, metric)):
        return f"no {metric} on a side: the number of devices of {case.name} or of its baseline is unknown"
    return ""


def _factor(case: Case, metric: str) -> float:
    """What a case's throughput over its baseline's is multiplied by: 1, or the inverse of the devices' ratio."""
    if metric == "speedup":
        return 1.0
    if case.speedup is None or case.efficiency is None:
        return math.nan
    return case.efficiency / case.speedup


def _scaled(case: Case, metric: str) -> tuple[float, ...]:
    """The throughput of a case's runs times the factor of the metric."""
    factor = _factor(case, metric)
    return tuple(factor * value for value in run_values(case, "throughput"))


def is_baseline(pair: Pair, metric: str) -> bool:
    """Whether a row is its own baseline on both sides, so that its derived metric is 1 whatever the runs say."""
    return is_derived(metric) and pair.old.base is pair.old and pair.new.base is pair.new


def derived_row(
    pair: Pair, metric: str, old: tuple[float, ...], new: tuple[float, ...], level: float
) -> tuple[Ratio, RowSamples | None, Decision | None]:
    """(the ratio of two derived values, the samples to judge it by, why there are none)."""
    counts = len(old), len(new)
    if pair.old.base is None or pair.new.base is None or any(why_none(case, metric) for case in (pair.old, pair.new)):
        estimate = ratio(old, new, level)
        return estimate, None, refused(estimate, level)
    if is_baseline(pair, metric):
        reason = "this case is the baseline, whose own value is 1 on both sides by definition"
        return Ratio(*counts, level, 1.0), None, Decision(Verdict.SAME, reason)
    samples = RowSamples(
        _scaled(pair.old, metric), _scaled(pair.new, metric),
        tuple(run_values(pair.old.base, "throughput")), tuple(run_values(pair.new.base, "throughput")),
    )  # fmt: skip
    of_case, of_base = ratio(samples.old, samples.new, level), ratio(samples.old_base, samples.new_base, level)
    for part, prefix in ((of_case, ""), (of_base, "the baseline: ")):
        refusal = refused(part, level)
        if refusal is not None:
            value = hodges_lehmann(samples) if of_case.value is not None and of_base.value is not None else None
            reason = prefix + refusal.reason
            estimate = Ratio(*counts, level, value, reason="" if value is not None else reason)
            return estimate, None, Decision(Verdict.NOT_ENOUGH_DATA, reason, refusal.needs)
    return Ratio(*counts, level, hodges_lehmann(samples), notes=of_case.notes), samples, None
