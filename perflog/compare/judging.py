"""The rows of a comparison, judged as their runs were made: a fixed number of them, in rounds, or in campaigns."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perflog.cases.case import Case
from perflog.cases.pairs import VERSION, Pair
from perflog.compare.rows import CaseComparison, compared_cases, is_derived, values
from perflog.compare.rule import Rule, Stopping, stopping_of
from perflog.compare.sides import Side, machines
from perflog.compare.when import interleaved, separation
from perflog.export.text import counted
from perflog.formats.paths import REPEAT
from perflog.formats.vocabulary import CASE_KEYS
from perflog.history.place import name_of
from perflog.runs.run import Run
from perflog.stats.campaigns import CampaignLevel, campaign_level
from perflog.stats.sequential import TableRule, look

if TYPE_CHECKING:
    from perflog.history.points import Point

# ----------------------------------------------------------------------------------------------------
# Rows of two sides that were measured in rounds until each case was decided, judged by their confidence sequences.
#
# The number in a log's name is its round (``perflog run --against``). What belongs to a round was measured one run
# after the other, so rows are judged by the ratios within the rounds (:mod:`perflog.stats.sequential`).

_LAST_NUMBER = re.compile(r"_(\d{1,9})\.log$")
_STOPPED = (
    "the runs were stopped by a sequential rule (`perflog run --against`: each case was looked at after every round "
    "until it was decided); ratios are geometric means of the ratios within the rounds, and intervals and verdicts are "
    "those of confidence sequences for {cases}, which hold at whatever round one looks"
)


def judged_in_rounds(rows: Sequence[CaseComparison], rule: Rule, cases: int) -> list[CaseComparison]:
    """The rows with the ratios, intervals and verdicts of their rounds.

    Args:
        rows: as they are judged for a fixed number of runs.
        rule: the metric, the margin and the level.
        cases: how many cases the measurement has, stopped or not.
    """
    table = TableRule(max(cases, len(rows)), rule.margin, rule.level)
    return [_judged(row, rule, table) for row in rows]


def stopped_note(cases: int) -> str:
    """What a reader must know of such rows."""
    return _STOPPED.format(cases=f"{cases} cases together" if cases != 1 else "one case")


def can_be_judged(rule: Rule) -> bool:
    """Whether a metric has a value of its own in each round: a speedup has that of its baseline in it."""
    return not is_derived(rule.metric)


def _judged(row: CaseComparison, rule: Rule, table: TableRule) -> CaseComparison:
    if row.ratio.value is None:
        return row
    old, new = _by_round(row.pair.old, rule.metric), _by_round(row.pair.new, rule.metric)
    shared = sorted(old.keys() & new.keys())
    result = look([old[number] for number in shared], [new[number] for number in shared], table, rule.better)
    notes = [*row.pair.across, *row.pair.alike]
    alone = len(row.old) + len(row.new) - 2 * len(shared)
    if alone:
        runs = "1 run has" if alone == 1 else f"{alone} runs have"
        notes.append(f"{runs} no partner in the same round, and the ratio is made without")
    return replace(
        row, ratio=result.ratio, decision=result.decision, adjusted_p=result.adjusted_p, notes=tuple(notes),
        in_rounds=True,
    )  # fmt: skip


def _by_round(case: Case, metric: str) -> dict[int, float]:
    """The value of each run by the number of its round; runs without a number, or with that of another, are none."""
    numbers = [_round_of(run) for run in case.runs]
    return {
        number: value
        for number, value in zip(numbers, values(case, metric), strict=True)
        if number is not None and numbers.count(number) == 1
    }


def _round_of(run: Run) -> int | None:
    """The number of a run's round: its repeat, or the number that ends its log's name.

    A log that is alone counts nothing by its name, so that after one round no run has a repeat; but logs of a
    measurement were named by :attr:`perflog.campaign.plan.Job.log`.
    """
    repeat = run.values.get(REPEAT)
    if isinstance(repeat, int):
        return repeat
    number = _LAST_NUMBER.search(run.log.name)
    return int(number[1]) if number else None


# ----------------------------------------------------------------------------------------------------
# Runs that a rule stopped as soon as they decided a comparison (``perflog run --against``), told by ``machine.json``.
#
# A test for a fixed number of runs is not valid for such runs: they were stopped at a moment when they looked decided.


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a rule of stopping means for a comparison.

    Attributes:
        cases: of the measurement that both sides are of, whose rounds they share; 0 where they share none.
        warning: why the comparison's statistics are not valid; empty where they are.
    """

    cases: int = 0
    warning: str = ""


def stopped(old: Side, new: Side, pairs: Sequence[Pair]) -> Stopped:
    """Whether the runs of the pairs were stopped by a rule: both sides together, or one of them without the other."""
    rules = {
        "old": _rules(old, (pair.old for pair in pairs)),
        "new": _rules(new, (pair.new for pair in pairs)),
    }
    by_rule = [word for word, side in rules.items() if any(rule is not None for rule in side)]
    if not by_rule:
        return Stopped()
    lone = [next(iter(side)) for side in rules.values() if len(side) == 1]
    known = [rule for rule in lone if rule is not None]
    if len(known) == 2 and known[0].campaign == known[1].campaign and known[0].side != known[1].side:
        return Stopped(len(known[0].cases))
    sides = "both sides" if len(by_rule) == 2 else f"the {by_rule[0]} side"
    return Stopped(0, (
        f"The runs of {sides} were stopped by a sequential rule as soon as they decided another comparison "
        "(`perflog run --against`): a test for a fixed number of runs, as below, is not valid for them and finds "
        "changes too often. Compare the two folders of one such measurement, or make a fixed number of runs."
    ))  # fmt: skip


def _rules(side: Side, cases: Iterable[Case]) -> set[Stopping | None]:
    return {stopping_of(side.machine(run)) for case in cases for run in case.runs}


@dataclass(frozen=True, slots=True)
class Judged:
    """The rows of two sides.

    Attributes:
        rows: one per pair, in their order.
        notes: how they were made, where that is not as always.
        warnings: what speaks against the whole comparison.
    """

    rows: tuple[CaseComparison, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def judged(pairs: Sequence[Pair], rule: Rule, old: Side, new: Side, history: str = "") -> Judged:
    """Judge the pairs of two sides.

    Args:
        pairs: the cases of both sides.
        rule: the metric, the margin and the level.
        old: the old side.
        new: the new side.
        history: the database whose earlier campaigns say what campaigns of one version differ by; empty: their
            variance is left out.

    Raises:
        UsageError: when there is no such history yet.
        PerflogError: when it cannot be read.
    """
    stopping = stopped(old, new, pairs)
    warnings = [*separation(old, new, pairs, in_turn=bool(stopping.cases)), *filter(None, [stopping.warning])]
    if stopping.cases and can_be_judged(rule):
        rows = judged_in_rounds(compared_cases(pairs, rule), rule, stopping.cases)
        notes = [stopped_note(stopping.cases), *([_COMMON_CAMPAIGN] if history else [])]
        return Judged(tuple(rows), tuple(notes), tuple(warnings))
    if stopping.cases:
        warnings.append(_NO_ROUNDS.format(metric=rule.metric))
    if not history:
        return Judged(tuple(compared_cases(pairs, rule)), (), tuple(warnings))
    rows, sentence = _with_campaigns(pairs, rule, old, new, history)
    return Judged(tuple(rows), (sentence,), tuple(warnings))


_COMMON_CAMPAIGN = (
    "both sides are of one campaign, so that whatever it does falls on both: the variance between campaigns is not in "
    "the intervals"
)
_NO_ROUNDS = (
    "The runs were stopped by a sequential rule, and {metric} has no value of its own in each round: it is judged as "
    "if the number of runs had been fixed, which finds changes too often."
)


def _with_campaigns(
    pairs: Sequence[Pair], rule: Rule, old: Side, new: Side, history: str
) -> tuple[list[CaseComparison], str]:
    """(the rows with the variance between campaigns in them, what is said of it)."""

    levels = levels_of_pairs(pairs, old, new, rule.metric, history)
    rows = compared_cases(pairs, rule, levels.rows)
    noted = [
        replace(row, notes=(*row.notes, level_note(level))) if level is not None else row
        for row, level in zip(rows, levels.rows, strict=True)
    ]
    return noted, levels.sentence


# ----------------------------------------------------------------------------------------------------
# What the history knows of the variance between campaigns of one version, for the cases of a comparison or of noise.
#
# Campaigns count together when they are of one case and one version, made by one rule, on machines that are not known
# to differ. A campaign that is compared now is none of the earlier ones.

#: Metrics whose values depend on the window of steps that was taken.
_WINDOWED = frozenset({"throughput", "step_time"})


@dataclass(frozen=True, slots=True)
class Levels:
    """The campaign level of rows.

    Attributes:
        rows: of each row; None where it is not known, or not needed.
        sentence: what is included, of how many campaigns, or why it is not.
    """

    rows: tuple[CampaignLevel | None, ...]
    sentence: str


def levels_of_pairs(pairs: Sequence[Pair], old: Side, new: Side, metric: str, database: str) -> Levels:
    """The campaign level of each pair of cases, out of a history.

    Raises:
        UsageError: when there is no history yet.
        PerflogError: when the database cannot be read.
    """
    nothing = (None,) * len(pairs)
    if is_derived(metric):
        return Levels(nothing, f"The variance between campaigns is not known of {metric}, and not in the intervals.")
    if pairs and all(interleaved(pair) for pair in pairs):
        return Levels(nothing, (
            "The runs of both sides were made in turn, so that whatever a campaign does falls on both: the variance "
            "between campaigns is not in the intervals."
        ))  # fmt: skip
    cases = [case for pair in pairs for case in (pair.old, pair.new)]
    points = _points(cases, metric, database)
    here = [*machines(old, [pair.old for pair in pairs]), *machines(new, [pair.new for pair in pairs])]
    rows = tuple(_level([pair.old, pair.new], metric, points, here) for pair in pairs)
    return Levels(rows, _sentence(rows, name_of(database)))


def levels_of_cases(cases: Sequence[Case], metric: str, database: str) -> list[CampaignLevel | None]:
    """The campaign level of each case, out of a history; the case's own campaign counts where it is saved there.

    Raises:
        UsageError: when there is no history yet.
        PerflogError: when the database cannot be read.
    """
    if is_derived(metric):
        return [None] * len(cases)
    points = _points(cases, metric, database)
    return [_level([case], metric, points, (), own_counts=True) for case in cases]


def level_note(level: CampaignLevel) -> str:
    """What a row says of its campaign level."""
    spread, freedom = 100 * level.campaign_spread, counted(level.freedom, "degree")
    return (
        f"{level.campaigns} earlier campaigns differ by {spread:.2g} % beyond their runs ({freedom} of freedom), "
        "which is in the interval"
    )


def _points(cases: Sequence[Case], metric: str, database: str) -> list[Point]:
    """The points of all cases that have what all of these have in common."""
    keys = [key for key in CASE_KEYS if key != VERSION and key not in ("nodes", "accelerator")]
    shared = {key: {str(case.key.get(key, "")) for case in cases} for key in keys}
    wanted = {key: next(iter(texts)) for key, texts in shared.items() if len(texts) == 1 and "" not in texts}
    from perflog.history.points import earlier_points  # its packages are the history's extra

    return earlier_points(database, wanted, metric)


def _identity(key: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value).lower() for name, value in key.items() if name != VERSION}


def _level(
    compared: Sequence[Case],
    metric: str,
    points: Sequence[Point],
    here: Collection[Mapping[str, str]],
    own_counts: bool = False,
) -> CampaignLevel | None:
    """The level of the campaigns of one case but those that are compared; ``here``: the machines of now.

    A campaign with several such cases, which only its folders tell apart, says nothing: which is which is not known.
    """
    case = compared[0]
    rules = {_rule(case, metric) for case in compared}
    own = set() if own_counts else {tuple(sorted(values(case, metric))) for case in compared}
    groups: dict[tuple[object, ...], dict[str, list[list[float]]]] = {}
    for point in points:
        runs = [value for value in point.values if value is not None and math.isfinite(value) and value > 0]
        elsewhere = bool(here) and bool(point.machines) and not any(machine in here for machine in point.machines)
        if _identity(point.key) != _identity(case.key) or point.rule not in rules or len(runs) != len(point.values):
            continue
        if elsewhere or tuple(sorted(runs)) in own:
            continue
        machine = tuple(sorted(tuple(sorted(facts.items())) for facts in point.machines))
        groups.setdefault((point.version, machine), {}).setdefault(point.campaign, []).append(runs)
    alike = [[cases[0] for cases in campaigns.values() if len(cases) == 1] for campaigns in groups.values()]
    return campaign_level(alike)


def _rule(case: Case, metric: str) -> str:
    """How a case's values were made, as points of the history say it."""
    run = case.runs[0]
    measured = run.metrics.get(metric)
    text = f"estimator {measured.estimator if measured is not None else ''}"
    return f"{text}; {run.window}" if metric in _WINDOWED else text


def _sentence(rows: Sequence[CampaignLevel | None], database: str) -> str:
    known = [level for level in rows if level is not None]
    if not known:
        return (
            f"The variance between campaigns is not known: {database} holds no two earlier campaigns of one version "
            "and one machine of any of these cases, and the intervals are without it."
        )
    counts = [level.campaigns for level in known]
    numbers = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    text = f"The variance between campaigns is in the intervals, as {numbers} earlier campaigns in {database} have it"
    if len(known) < len(rows):
        return f"{text}, but for {len(rows) - len(known)} of {len(rows)} cases, of which it is not known."
    return f"{text}."
