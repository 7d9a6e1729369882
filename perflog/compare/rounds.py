"""Rows of two sides that were measured in rounds until each case was decided, judged by their confidence sequences.

The number in a log's name is its round (``perflog run --against``). What belongs to a round was measured one run after
the other, so rows are judged by the ratios within the rounds (:mod:`perflog.stats.sequential`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perflog.cases.case import Case
from perflog.compare.derived import is_derived
from perflog.compare.rows import CaseComparison, values
from perflog.compare.rule import Rule
from perflog.formats.paths import REPEAT
from perflog.runs.run import Run
from perflog.stats.sequential import TableRule, look

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
