"""The rows of a comparison, judged as their runs were made: a fixed number of them, in rounds, or in campaigns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perflog.cases.pairs import Pair
from perflog.compare.rounds import can_be_judged, judged_in_rounds, stopped_note
from perflog.compare.rows import CaseComparison, compared_cases
from perflog.compare.rule import Rule
from perflog.compare.sides import Side
from perflog.compare.stopped import stopped
from perflog.compare.when import separation


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
    from perflog.compare.levels import level_note, levels_of_pairs

    levels = levels_of_pairs(pairs, old, new, rule.metric, history)
    rows = compared_cases(pairs, rule, levels.rows)
    noted = [
        replace(row, notes=(*row.notes, level_note(level))) if level is not None else row
        for row, level in zip(rows, levels.rows, strict=True)
    ]
    return noted, levels.sentence
