"""The history of the rows of a comparison: what each case's earlier campaigns say, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflog.cases.case import Case
from perflog.cases.pairs import VERSION, Pair, metric_kind
from perflog.compare.rows import CaseComparison, values
from perflog.compare.rule import Rule
from perflog.compare.sides import Side, machines
from perflog.compare.when import interleaved
from perflog.errors import PerflogError
from perflog.formats.vocabulary import CASE_KEYS
from perflog.history.place import name_of
from perflog.settings.options import Options
from perflog.show.text import counted
from perflog.stats.memory import Memory, Remembered
from perflog.stats.verdict import Verdict

if TYPE_CHECKING:
    from perflog.history.memory import Compared

#: The option that leaves the history out, as messages name it.
_WITHOUT = "--no-history"


@dataclass(frozen=True, slots=True)
class Past:
    """What a history says of the pairs of a comparison.

    Attributes:
        memories: of each pair; None for one without.
        notes: of which there are memories, and why of the others there are none.
        warnings: that the history could not be read.
    """

    memories: Sequence[Remembered | None]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def past_of(pairs: Sequence[Pair], rule: Rule, sides: tuple[Side, Side], options: Options, database: str) -> Past:
    """The memories of all pairs out of a database; a history that cannot be read is said, and nothing is taken of it.

    Args:
        sides: the old and the new one.
        options: how the numbers of both were made.
    """
    nothing = Past([None] * len(pairs))
    if not pairs:
        return nothing
    if why := _why_none(pairs, rule.metric):
        return Past(nothing.memories, (f"No case is judged with its history: {why}.",))
    name = name_of(database)
    try:
        found = _found(pairs, rule, options, sides, database)
    except PerflogError as error:
        return Past(nothing.memories, (), (f"The history in {name} was not used: {error}",))
    memories = [
        None if isinstance(one, str) else Remembered(one, not interleaved(pair))
        for pair, one in zip(pairs, found, strict=True)
    ]
    return Past(memories, tuple(_notes(found, name)))


def _why_none(pairs: Sequence[Pair], metric: str) -> str:
    """Why no row of this kind has a memory; empty where one may."""
    if metric_kind(metric).is_derived:
        return f"{metric} is made of a case and its baseline, and the runs of both would have to be remembered"
    if any(pair.old.machines or pair.new.machines for pair in pairs):
        return "it knows what runs differ by, not what machines do"
    return ""


def _found(
    pairs: Sequence[Pair], rule: Rule, options: Options, sides: Sequence[Side], database: str
) -> list[Memory | str]:
    """The memory of each pair whose sides are one case but for the version."""
    from perflog.history.memory import Without, memories  # its packages are the history's extra

    dates = [side.date for side in sides if side.date is not None]
    labels = {side.name for side in sides if side.date is not None}
    without = Without(labels, max(dates) if len(dates) == len(sides) else None)
    alike = [_alike(pair) for pair in pairs]
    ones = [pair for pair, is_one in zip(pairs, alike, strict=True) if is_one]
    if not ones:
        return ["its sides are two cases"] * len(pairs)
    compared = [_compared((pair.old, pair.new), rule.metric, options) for pair in ones]
    wanted = in_common([case for pair in ones for case in (pair.old, pair.new)])
    found = iter(memories(database, rule.metric, wanted, compared, without, rule.margin))
    return [next(found) if is_one else "its sides are two cases" for is_one in alike]


def _alike(pair: Pair) -> bool:
    keys = [
        {name: str(value).lower() for name, value in case.key.items() if name != VERSION}
        for case in (pair.old, pair.new)
    ]
    return keys[0] == keys[1]


def _compared(cases: Sequence[Case], metric: str, options: Options) -> Compared:
    from perflog.history.memory import Compared, rule_text

    case, run = cases[0], cases[0].runs[0]
    measured = run.metrics.get(metric)
    window = run.window if metric_kind(metric).is_windowed else None
    rule = rule_text(measured.estimator if measured is not None else "", window, options)
    unit = case.metrics[metric].unit if metric in case.metrics else ""
    here = tuple(machines([one]) for one in cases)
    return Compared(case.key, rule, unit, here, tuple(tuple(values(one, metric)) for one in cases))


def in_common(cases: Sequence[Case]) -> Mapping[str, str]:
    """What all cases have in common, as far as a history can look for it."""
    keys = [key for key in CASE_KEYS if key != VERSION and key not in ("nodes", "accelerator")]
    shared = {key: {str(case.key.get(key, "")) for case in cases} for key in keys}
    return {key: next(iter(texts)) for key, texts in shared.items() if len(texts) == 1 and "" not in texts}


def _notes(found: Sequence[Memory | str], name: str) -> list[str]:
    """How many rows have a memory, and why the others have none."""
    reasons = [one for one in found if isinstance(one, str)]
    known = len(found) - len(reasons)
    notes = []
    if known:
        which = "every case" if not reasons else f"{known} of {counted(len(found), 'case')}"
        notes.append(f"The history in {name} is taken into account for {which} ({_WITHOUT} leaves it out).")
    for reason in dict.fromkeys(reasons):
        same = reasons.count(reason)
        which = counted(same, "case") if known or same < len(found) else "every case" if same > 1 else "the case"
        notes.append(f"Without a memory of {which}: {reason}.")
    return notes


def are_answered(rows: Sequence[CaseComparison]) -> bool:
    """Whether every row that could have a verdict has what campaigns differ by in its interval."""
    judged = [row for row in rows if row.verdict is not Verdict.NOT_ENOUGH_DATA]
    return bool(judged) and all(row.knows_campaigns for row in judged)
