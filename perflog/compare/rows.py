"""A row of a comparison: one case's values on both sides, their ratio with interval and test, and the verdict.

The statistics and their sources are in ``perflog/stats`` and ``docs/methods.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perflog.cases.case import Case, why_open
from perflog.cases.pairs import Pair, Unpaired, Way, metric_kind
from perflog.compare.remedy import Remedy, ToDecide
from perflog.compare.rule import Rule, names_of, verdict_words
from perflog.formats.printed import kind
from perflog.settings.options import Options
from perflog.show.text import counted
from perflog.stats.centre import median
from perflog.stats.contrast import LogDifference, RowSamples
from perflog.stats.family import RowResult, family, hodges_lehmann
from perflog.stats.geomean import Geomean, geomean, mean_interval
from perflog.stats.memory import IMPROBABLE, Doubt, Memory, Remembered
from perflog.stats.power import coefficient_of_variation
from perflog.stats.ratio import Ratio, ratio
from perflog.stats.verdict import Better, Decision, Verdict, decide, refused

# ----------------------------------------------------------------------------------------------------
# Derived metrics of a case: its throughput over that of its baseline, with the uncertainty of both.
#
# The runs of a case all share one baseline, which has its own noise. Dividing each run by the baseline's median gives
# values that may be shown, but whose spread says nothing of the baseline; so a row is judged by the samples themselves.


#: The value of each run of a side.
_Values = tuple[float, ...]


def run_values(case: Case, metric: str) -> list[float]:
    """The value of each run of a case; NaN for none."""
    metrics = (run.metrics.get(metric) for run in case.runs)
    return [m.value if m is not None and m.value is not None else math.nan for m in metrics]


def values(case: Case, metric: str) -> list[float]:
    """The value of each run, or of each machine where these are the repeats; NaN for none.

    A derived metric's are each run's throughput over the centre of its baseline.
    """
    if case.machines:
        centres = (machine.metrics[metric].value if metric in machine.metrics else None for machine in case.machines)
        return [math.nan if value is None else value for value in centres]
    if not metric_kind(metric).is_derived:
        return run_values(case, metric)
    base = case.base.throughput.value if case.base is not None else None
    return [value / base if base else math.nan for value in _scaled(case, metric)]


def centre(run_values: Sequence[float]) -> float | None:
    """The median of the runs that have a value."""
    finite = [v for v in run_values if math.isfinite(v)]
    return median(finite) if finite else None


def _why_none(case: Case, metric: str) -> str:
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


def _scaled(case: Case, metric: str) -> _Values:
    """The throughput of a case's runs times the factor of the metric."""
    factor = _factor(case, metric)
    return tuple(factor * value for value in run_values(case, "throughput"))


def _is_baseline(pair: Pair, metric: str) -> bool:
    """Whether a row is its own baseline on both sides, so that its derived metric is 1 whatever the runs say."""
    return metric_kind(metric).is_derived and pair.old.base is pair.old and pair.new.base is pair.new


#: The ratio of a row by itself, the samples to judge it by among all rows, and why there are none.
_Estimate = tuple[Ratio, RowSamples | None, Decision | None]


def _derived_estimate(pair: Pair, metric: str, old: _Values, new: _Values, level: float) -> _Estimate:
    counts = len(old), len(new)
    if pair.old.base is None or pair.new.base is None or any(_why_none(case, metric) for case in (pair.old, pair.new)):
        return _refused(ratio(old, new, level), level)
    if _is_baseline(pair, metric):
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


#: The note of a row that the noise of the others leaves open.
BY_STATES = (
    "by its own runs this is a change; but in most rows of the table the runs fall in two groups, as on a machine with "
    "two states, and this row's may all have met one of them: its noise is taken for that of the others (runs on a "
    "machine without such states, with locked clocks or one kind of node, decide it)"
)
#: The note of a row whose two sides are one.
SAME_VALUES = "both sides have the very same values: are these the same logs?"


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The history of a row.

    Attributes:
        memory: what the earlier campaigns say.
        apart: whether the row's sides are two campaigns, so that what these differ by is in its interval.
        doubt: why the spread of runs that it has was not used.
    """

    memory: Memory
    apart: bool
    doubt: Doubt


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
        in_rounds: whether the ratio is that of the rounds that both sides were measured in (:mod:`.comparing`).
        by_definition: whether the ratio is 1 by definition: that of a baseline's own speedup.
        knows_campaigns: whether the interval holds what campaigns of one version differ by.
        difference: that of the log means, for the mean of all rows; None where the row is no part of it, as where its
            repeats are machines, which may be those of other rows.
        memory: the history that it was judged with, or could not be; None where there is none.
        lost_runs: whether a run of the new side has no value though its machine has one, where all of the old have one.
        remedy: what would decide it (:mod:`.deciding`); None where it is decided.
    """

    pair: Pair
    unit: str
    old: _Values
    new: _Values
    ratio: Ratio
    decision: Decision
    adjusted_p: float | None = None
    notes: tuple[str, ...] = ()
    in_rounds: bool = False
    by_definition: bool = False
    knows_campaigns: bool = False
    difference: LogDifference | None = None
    lost_runs: bool = False
    memory: MemoryUse | None = None
    remedy: Remedy | None = None

    @property
    def has_same_values(self) -> bool:
        """Whether both sides have the very same values, as copies of one side's logs have."""
        return SAME_VALUES in self.notes

    @property
    def verdict(self) -> Verdict:
        """Faster, slower, same, inconclusive, or not enough data."""
        return self.decision.verdict

    @property
    def lacks_runs(self) -> bool:
        """Whether runs of the new side have no value, where all of the old side have one."""
        return self.lost_runs or (all(map(math.isfinite, self.old)) and not all(map(math.isfinite, self.new)))


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
        way: what would pair cases, where none has a partner.
        to_decide: what would decide the open rows; None where all are decided.
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
    way: Way | None = None
    to_decide: ToDecide | None = None

    @property
    def title(self) -> str:
        """What is compared: ``throughput: v2 against v1``."""
        return f"{self.rule.metric}: {self.new} against {self.old}"

    @property
    def only_together(self) -> Verdict | None:
        """Slower or faster where the interval of the mean of all rows lies beyond the margin and no row is so called;
        else None.
        """
        mean, margin = self.mean.interval, self.rule.margin
        if mean is None or (mean.low <= 1 + margin and mean.high >= 1 - margin):
            return None
        verdict = Verdict.FASTER if (mean.low > 1) is (self.rule.better is Better.HIGHER) else Verdict.SLOWER
        return verdict if all(row.verdict is not verdict for row in self.rows) else None

    @property
    def named(self) -> list[tuple[CaseComparison, str]]:
        """The rows, each with the short name of its case."""
        return list(zip(self.rows, names_of([row.pair.old for row in self.rows]), strict=True))

    @property
    def named_unpaired(self) -> list[tuple[Unpaired, str]]:
        """The cases without a partner, each with its short name."""
        return list(zip(self.unpaired, names_of([unpaired.case for unpaired in self.unpaired]), strict=True))

    @property
    def counts(self) -> str:
        """How many cases have each verdict, in words: ``1 slower, 2 same within 2 %``."""
        counts = {verdict: sum(row.verdict is verdict for row in self.rows) for verdict in Verdict}
        return ", ".join(
            f"{n} {verdict_words(verdict, self.rule.margin, self.rule.metric)}" for verdict, n in counts.items() if n
        )


def compared_cases(
    pairs: Sequence[Pair], rule: Rule, memories: Sequence[Remembered | None] = ()
) -> list[CaseComparison]:
    """A row per pair; intervals and verdicts hold for the rows together (:mod:`perflog.stats.family`).

    Args:
        pairs: the cases of both sides.
        rule: the metric, the margin and the level.
        memories: the history that each pair is judged with; None for a pair without, empty for none at all.
    """
    sides = [(tuple(values(pair.old, rule.metric)), tuple(values(pair.new, rule.metric))) for pair in pairs]
    alone = [_estimated(pair, old, new, rule) for pair, (old, new) in zip(pairs, sides, strict=True)]
    judged = [place for place, (_, samples, _) in enumerate(alone) if samples is not None]
    samples = [own for _, own, _ in alone if own is not None]
    known = list(memories) or [None] * len(pairs)
    of_judged = [known[place] for place in judged]
    results = dict(zip(judged, family(samples, rule.margin, rule.level, of_judged), strict=True))
    rows = [_row(pair, sides[place], alone[place], results.get(place), rule) for place, pair in enumerate(pairs)]
    return [_remembering(row, results.get(place), known[place]) for place, row in enumerate(rows)]


def _remembering(row: CaseComparison, result: RowResult | None, known: Remembered | None) -> CaseComparison:
    """The row with what is to be said of its history: that it was judged with it, or why it was not."""
    if known is None or result is None or result.memory is None:
        return row
    memory, doubt = known.memory, result.memory.doubt
    runs, campaigns = (f"{100 * spread:.2g} %" for spread in (memory.run_spread, memory.campaign_spread))
    if doubt is Doubt.FEW:
        freedom = counted(memory.freedom, "degree")
        note = f"{memory.campaigns} earlier campaigns differ by {campaigns} beyond their runs ({freedom} of freedom), "
        note += "which is in the interval"
    elif doubt is Doubt.NONE:
        note = f"judged with {memory.campaigns} campaigns of its history: runs {runs}"
        note += f", campaigns {campaigns}" if known.apart else ""
    else:
        seen = f"in {memory.campaigns} campaigns of its history they spread by {runs}"
        note = f"its own runs count alone, as they are {_NOISIER[doubt]}; {seen}"
        note += f", and campaigns by {campaigns}, which is in the interval" if known.apart else ""
    use = MemoryUse(memory, known.apart, doubt)
    return replace(row, notes=(*row.notes, note), memory=use, knows_campaigns=known.apart)


#: What keeps a memory from being used for the runs of a row.
_NOISIER = {
    Doubt.ROW: f"noisier than its history by more than chance makes {100 * IMPROBABLE:g} % of runs",
    Doubt.TABLE: "noisier than its history in too many rows of the table for chance",
}


def mean_of(rows: Sequence[CaseComparison], unpaired: Sequence[Unpaired], level: float) -> Geomean:
    """The geometric mean of the ratios; rows without one and unpaired cases are left out and counted.

    Its interval is that of the rows that have enough runs, at a level that belongs to the table's (``level``).

    A ratio that is 1 by definition says nothing and would draw the mean to 1: it is no part of it. Nor is that of two
    sides with the very same values, which is counted with those that are left out.
    """
    ratios = [None if row.has_same_values else row.ratio.value for row in rows if not row.by_definition]
    mean = geomean([*ratios, *(None for _ in unpaired)])
    telling = [row for row in rows if not row.has_same_values]
    judged = [(row.ratio.value, row.difference) for row in telling if row.difference is not None and row.ratio.value]
    centres, differences = [ratio for ratio, _ in judged], [difference for _, difference in judged]
    return replace(mean, interval=mean_interval(centres, differences, level))


def _estimated(pair: Pair, old: _Values, new: _Values, rule: Rule) -> _Estimate:
    """A row before it is judged with the others."""
    units = [_unit(case, rule.metric) for case in (pair.old, pair.new)]
    if units[0] and units[1] and kind(units[0]) != kind(units[1]):
        reason = f"one side counts {units[0]}, the other {units[1]}"
    else:
        reason = _why_open(pair, rule.metric)
    if reason:
        return _refused(Ratio(len(old), len(new), rule.level, reason=reason), rule.level)
    is_derived = metric_kind(rule.metric).is_derived
    if alike := _why_alike(pair, is_derived):
        value = ratio(old, new, rule.level).value
        estimate = Ratio(len(old), len(new), rule.level, value, reason=alike if value is None else "")
        return estimate, None, Decision(Verdict.NOT_ENOUGH_DATA, alike)
    if is_derived:
        return _derived_estimate(pair, rule.metric, old, new, rule.level)
    estimate, _, decision = _refused(ratio(old, new, rule.level), rule.level)
    return estimate, RowSamples(old, new) if decision is None else None, decision


def _refused(estimate: Ratio, level: float) -> _Estimate:
    """A ratio with the reason why it has no verdict, where there is one."""
    return estimate, None, refused(estimate, level)


def _why_open(pair: Pair, metric: str) -> str:
    """Why a pair has no verdict though it has numbers: the logs of a side leave open which of two is meant."""
    known = metric_kind(metric)
    if not known.is_windowed and not known.is_derived:
        return ""
    return next((why_open(f"the {words}") for words, case in _cases(pair, known.is_derived) if case.is_open), "")


def _cases(pair: Pair, with_bases: bool) -> list[tuple[str, Case]]:
    """The cases that a row is made of, in words."""
    sides = [("old side", pair.old), ("new side", pair.new)]
    bases = [(f"{word}'s baseline", case.base) for word, case in sides if case.base is not None]
    return sides + (bases if with_bases else [])


def _why_alike(pair: Pair, with_bases: bool) -> str:
    """Why the runs of a side tell nothing of how trainings differ: they are parts of one log."""
    for word, case in _cases(pair, with_bases):
        logs = {run.log for run in case.runs}
        if len(case.runs) > 1 and len(logs) == 1:
            runs = f"all {len(case.runs)} runs of the {word} are of one log, {logs.pop().name}"
            return f"{runs}: how much trainings of their own differ does not show; give each run its own log"
    return ""


def _row(
    pair: Pair, sides: tuple[_Values, _Values], alone: _Estimate, result: RowResult | None, rule: Rule
) -> CaseComparison:
    """The row with its verdict: by the result that it has in its table, or why there is none."""
    (old, new), (estimate, _, decision) = sides, alone
    if result is not None:
        estimate = replace(result.ratio, notes=estimate.notes)
    notes = [*(estimate.notes if min(estimate.n_old, estimate.n_new) > 1 else ()), *pair.alike]
    notes += _of_machines(pair, rule.metric)
    if old == new and any(map(math.isfinite, old)) and not metric_kind(rule.metric).is_derived:
        notes.append(SAME_VALUES)
    notes += [unequal] if result is not None and (unequal := unequal_spreads(old, new, rule.margin)) else []
    notes += [BY_STATES] if result is not None and result.by_states else []
    notes += dict.fromkeys(reason for case in (pair.old, pair.new) for reason in _reasons(case, rule.metric))
    return CaseComparison(
        pair, _unit(pair.old, rule.metric) or _unit(pair.new, rule.metric), old, new, estimate,
        decision or decide(estimate, rule.better, rule.margin, rule.level),
        result.adjusted_p if result is not None else None, tuple(notes), by_definition=_is_baseline(pair, rule.metric),
        difference=result.difference if result is not None and not pair.old.machines else None,
        lost_runs=bool(pair.new.machines) and _all_known(pair.old, rule.metric) > _all_known(pair.new, rule.metric),
    )  # fmt: skip


def _all_known(case: Case, metric: str) -> bool:
    return all(map(math.isfinite, run_values(case, metric)))


def _of_machines(pair: Pair, metric: str) -> list[str]:
    """What the values of a row are where each is a machine's; nothing where none has a value."""
    machines = [machine for case in (pair.old, pair.new) for machine in case.machines]
    summaries = [machine.metrics[metric] for machine in machines if metric in machine.metrics]
    if not summaries:
        return []
    counts = sorted({summary.n for summary in summaries})
    runs = counted(counts[-1], "run") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} runs"
    aggregate = " or ".join(dict.fromkeys(summary.aggregate for summary in summaries))
    return [
        f"each of {len(pair.old.machines)} old and {len(pair.new.machines)} new values is a machine's centre "
        f"({aggregate} of its {runs}), and counts as one run: --repeats-over {','.join(pair.old.repeats_over)}"
    ]


def _unit(case: Case, metric: str) -> str:
    return case.metrics[metric].unit if metric in case.metrics else ""


def _reasons(case: Case, metric: str) -> list[str]:
    if metric_kind(metric).is_derived:
        return [reason] if (reason := _why_none(case, metric)) else []
    metrics = [
        *(run.metrics.get(metric) for run in case.runs),
        *(machine.metrics.get(metric) for machine in case.machines),
    ]
    if all(m is None for m in metrics):
        return [f"the logs give no {metric}"]
    return [m.reason for m in metrics if m is not None and m.value is None and m.reason]
