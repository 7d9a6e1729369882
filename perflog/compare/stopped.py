"""Runs that a rule stopped as soon as they decided a comparison (``perflog run --against``), told by ``machine.json``.

A test for a fixed number of runs is not valid for such runs: they were stopped at a moment when they looked decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perflog.cases.case import Case
from perflog.cases.pairs import Pair
from perflog.compare.sides import Side
from perflog.compare.stopping import Stopping, stopping_of


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
