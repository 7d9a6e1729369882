"""A row of a comparison: one case's values on both sides, their ratio with interval and test, and the verdict.

The statistics and their sources are in ``perflog/stats`` and ``docs/statistics.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perflog.cases.case import Case, why_open
from perflog.cases.pairs import Pair, Unpaired
from perflog.compare.rule import Rule
from perflog.formats.printed import kind
from perflog.settings.options import Options
from perflog.stats.campaigns import CampaignLevel
from perflog.stats.centre import median
from perflog.stats.contrast import RowSamples
from perflog.stats.family import RowResult, family, hodges_lehmann
from perflog.stats.geomean import Geomean, geomean
from perflog.stats.power import coefficient_of_variation
from perflog.stats.ratio import Ratio, ratio
from perflog.stats.verdict import Decision, Verdict, decide, refused

# ----------------------------------------------------------------------------------------------------
# Derived metrics of a case: its throughput over that of its baseline, with the uncertainty of both.
#
# The runs of a case all share one baseline, which has its own noise. Dividing each run by the baseline's median gives
# values that may be shown, but whose spread says nothing of the baseline; so a row is judged by the samples themselves.

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


# ----------------------------------------------------------------------------------------------------
# A note where the runs of one side spread much more than those of the other.

#: From this ratio of standard deviations on the spreads of two sides are called unequal: between five and five runs
#: with the same spread it is exceeded in 6 % of rows, between ten and ten in 0.3 % (the F distribution).
UNEQUAL = 3.0
#: With so many runs the wider side is known well enough, whatever its noise looks like: of eight runs in two states
#: seven are in one with a chance of 6.3 %, and Welch's t takes them for a change; of nine, eight are with 3.5 %.
_ENOUGH_RUNS = 9


def unequal_spreads(old: Sequence[float], new: Sequence[float], margin: float) -> str:
    """What to say of a row whose wider side has few runs; empty where the spreads are alike or too small to matter.

    Args:
        old: the values of the old side's runs.
        new: those of the new side.
        margin: the change, a share, that does not matter: spreads below half of it do not matter either.
    """
    if min(len(old), len(new)) >= _ENOUGH_RUNS:
        return ""
    spreads = {"old": coefficient_of_variation(old), "new": coefficient_of_variation(new)}
    if not all(spreads.values()):
        return ""
    (narrow, least), (wide, most) = sorted(spreads.items(), key=lambda item: item[1] or 0.0)
    assert least is not None and most is not None
    runs = len(old) if wide == "old" else len(new)
    if most <= UNEQUAL * least or most < margin / 2 or runs >= _ENOUGH_RUNS:
        return ""
    measured = (
        f"the {wide} side's runs spread by {100 * most:.2g} %, {most / least:.1f} times as much as the {narrow}'s"
    )
    return f"{measured}; {runs} such runs may all be fast or all slow by chance, so make more of them"


#: The note of a row whose two sides are one.
SAME_VALUES = "both sides have the very same values: are these the same logs?"


@dataclass(frozen=True, slots=True)
class CaseComparison:
    """One case on both sides.

    Attributes:
        pair: the case of each side.
        unit: the unit of both sides' values.
        old: the value of each run of the old side, NaN for a run without one.
        new: the same of the new side.
        ratio: new over old, with the interval and the p that it has among the rows of its table.
        decision: the verdict on the ratio, with the reason where there can be none.
        adjusted_p: the p adjusted over all rows; None where there is none.
        notes: what speaks against trusting the row.
        in_rounds: whether the ratio is that of the rounds that both sides were measured in (:mod:`.rounds`).
        by_definition: whether the ratio is 1 by definition: that of a baseline's own speedup.
    """

    pair: Pair
    unit: str
    old: tuple[float, ...]
    new: tuple[float, ...]
    ratio: Ratio
    decision: Decision
    adjusted_p: float | None = None
    notes: tuple[str, ...] = ()
    in_rounds: bool = False
    by_definition: bool = False

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
        warnings: what is said first, as it speaks against the whole comparison: sides that were measured one after the
            other, or on different machines.
    """

    old: str
    new: str
    rule: Rule
    options: Options
    rows: tuple[CaseComparison, ...]
    unpaired: tuple[Unpaired, ...]
    mean: Geomean
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def compared_cases(
    pairs: Sequence[Pair], rule: Rule, campaigns: Sequence[CampaignLevel | None] = ()
) -> list[CaseComparison]:
    """A row per pair; intervals and verdicts hold for the rows together (:mod:`perflog.stats.family`).

    Args:
        pairs: the cases of both sides.
        rule: the metric, the margin and the level.
        campaigns: what earlier campaigns say of each pair; empty where none is looked for.
    """
    alone = [_row_alone(pair, rule) for pair in pairs]
    judged = [place for place, row in enumerate(alone) if row.samples is not None]
    samples = [row.samples for row in alone if row.samples is not None]
    levels = [campaigns[place] for place in judged] if campaigns else ()
    results = dict(zip(judged, family(samples, rule.margin, rule.level, levels), strict=True))
    return [_row(row, results.get(place), rule) for place, row in enumerate(alone)]


def mean_of(rows: Sequence[CaseComparison], unpaired: Sequence[Unpaired]) -> Geomean:
    """The geometric mean of the ratios; rows without one and unpaired cases are left out and counted.

    A ratio that is 1 by definition says nothing and would draw the mean to 1: it is no part of it.
    """
    return geomean([*(row.ratio.value for row in rows if not row.by_definition), *(None for _ in unpaired)])


@dataclass(frozen=True, slots=True)
class _RowAlone:
    """A row before it is judged with the others.

    Attributes:
        estimate: its ratio by itself.
        samples: what it is judged by; None where there is not enough data, for which ``decision`` has the reason.
    """

    pair: Pair
    unit: str
    old: tuple[float, ...]
    new: tuple[float, ...]
    estimate: Ratio
    samples: RowSamples | None
    decision: Decision | None


def _row_alone(pair: Pair, rule: Rule) -> _RowAlone:
    old, new = tuple(values(pair.old, rule.metric)), tuple(values(pair.new, rule.metric))
    units = [_unit(case, rule.metric) for case in (pair.old, pair.new)]
    unit = units[0] or units[1]
    if units[0] and units[1] and kind(units[0]) != kind(units[1]):
        estimate = Ratio(len(old), len(new), rule.level, reason=f"one side counts {units[0]}, the other {units[1]}")
        return _RowAlone(pair, unit, old, new, estimate, None, refused(estimate, rule.level))
    undecided = _why_open(pair, rule.metric)
    if undecided:
        estimate = Ratio(len(old), len(new), rule.level, reason=undecided)
        return _RowAlone(pair, unit, old, new, estimate, None, refused(estimate, rule.level))
    alike = _why_alike(pair, is_derived(rule.metric))
    if alike:
        value = ratio(old, new, rule.level).value
        estimate = Ratio(len(old), len(new), rule.level, value, reason=alike if value is None else "")
        return _RowAlone(pair, unit, old, new, estimate, None, Decision(Verdict.NOT_ENOUGH_DATA, alike))
    if is_derived(rule.metric):
        estimate, samples, decision = derived_row(pair, rule.metric, old, new, rule.level)
        return _RowAlone(pair, unit, old, new, estimate, samples, decision)
    estimate = ratio(old, new, rule.level)
    decision = refused(estimate, rule.level)
    return _RowAlone(pair, unit, old, new, estimate, RowSamples(old, new) if decision is None else None, decision)


def _why_open(pair: Pair, metric: str) -> str:
    """Why a pair has no verdict though it has numbers: the logs of a side leave open which of two is meant."""
    if metric not in ("throughput", "step_time") and not is_derived(metric):
        return ""
    sides = [("old", pair.old), ("new", pair.new)]
    bases = [(f"{word} side's baseline", case.base) for word, case in sides if case.base is not None]
    named = [(f"{word} side", case) for word, case in sides] + (bases if is_derived(metric) else [])
    return next((why_open(f"the {words}") for words, case in named if case is not None and case.is_open), "")


def _why_alike(pair: Pair, derived: bool) -> str:
    """Why the runs of a side tell nothing of how trainings differ: they are parts of one log."""
    sides = [("old side", pair.old), ("new side", pair.new)]
    bases = [(f"{word}'s baseline", case.base) for word, case in sides if case.base is not None]
    for word, case in sides + (bases if derived else []):
        logs = {run.log for run in case.runs}
        if len(case.runs) > 1 and len(logs) == 1:
            runs = f"all {len(case.runs)} runs of the {word} are of one log, {logs.pop().name}"
            return f"{runs}: how much trainings of their own differ does not show; give each run its own log"
    return ""


def _row(row: _RowAlone, result: RowResult | None, rule: Rule) -> CaseComparison:
    """The row with its verdict: by the result that it has in its table, or why there is none."""
    estimate, pair = row.estimate, row.pair
    if result is not None:
        estimate = replace(result.ratio, notes=row.estimate.notes)
    decision = row.decision or decide(estimate, rule.better, rule.margin, rule.level)
    notes = [*(estimate.notes if min(estimate.n_old, estimate.n_new) > 1 else ()), *pair.across, *pair.alike]
    if row.old == row.new and any(map(math.isfinite, row.old)) and not is_derived(rule.metric):
        notes.append(SAME_VALUES)
    notes += [unequal] if result is not None and (unequal := unequal_spreads(row.old, row.new, rule.margin)) else []
    notes += dict.fromkeys(reason for case in (pair.old, pair.new) for reason in _reasons(case, rule.metric))
    adjusted = result.adjusted_p if result is not None else None
    defined = is_baseline(pair, rule.metric)
    return CaseComparison(
        pair, row.unit, row.old, row.new, estimate, decision, adjusted, tuple(notes), by_definition=defined
    )


def values(case: Case, metric: str) -> list[float]:
    """Each run's value; NaN for none. A derived metric's values are those that :mod:`.derived` shows for the runs."""
    return derived_values(case, metric) if is_derived(metric) else run_values(case, metric)


def centre(run_values: Sequence[float]) -> float | None:
    """The median of the runs that have a value."""
    finite = [v for v in run_values if math.isfinite(v)]
    return median(finite) if finite else None


def _unit(case: Case, metric: str) -> str:
    return case.metrics[metric].unit if metric in case.metrics else ""


def _reasons(case: Case, metric: str) -> list[str]:
    if is_derived(metric):
        return [reason] if (reason := why_none(case, metric)) else []
    metrics = [run.metrics.get(metric) for run in case.runs]
    if all(m is None for m in metrics):
        return [f"the logs give no {metric}"]
    return [m.reason for m in metrics if m is not None and m.value is None and m.reason]
