"""The history of the rows of a comparison: what each case's earlier campaigns say, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from perflog.cases.case import Case
from perflog.cases.pairs import VERSION, Pair, metric_kind
from perflog.compare.rows import CaseComparison, values
from perflog.compare.rule import Rule
from perflog.compare.sides import History, Side, machines
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
#: Why a few campaigns are no memory of sides that were made in turn.
_IN_TURN = (
    "its runs were made in turn, so that whatever a campaign does falls on both sides, and its earlier campaigns are "
    "too few to say what runs spread by"
)


#: What a pair is judged with, or a case planned with.
Known = TypeVar("Known", Remembered, Memory)


@dataclass(frozen=True, slots=True)
class Past(Generic[Known]):
    """What a history says of the pairs of a comparison, or of cases before they are compared.

    Attributes:
        memories: of each pair or case; None for one without.
        name: of the history's database, as messages name it; empty where none was looked at.
        notes: of which there are memories, and why of the others there are none.
        warnings: that the history could not be read.
    """

    memories: Sequence[Known | None]
    name: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def _unread(history: History, error: PerflogError) -> tuple[str, ...]:
    """That a history was not used which could not be read; raises the error where it was asked for."""
    if history.asked:
        raise error
    return (f"The history in {name_of(history.database)} was not used: {error}",)


def past_of(
    pairs: Sequence[Pair], rule: Rule, sides: tuple[Side, Side], options: Options, history: History
) -> Past[Remembered]:
    """The memories of all pairs; none, with a warning, of a history that was not asked for and cannot be read.

    Args:
        sides: the old and the new one.
        options: how the numbers of both were made.

    Raises:
        UsageError: when there is no history yet, and it was asked for.
        PerflogError: when it cannot be read, and was asked for.
    """
    nothing: Past[Remembered] = Past([None] * len(pairs))
    if not pairs or not history.database:
        return nothing
    if why := _why_none(pairs, rule.metric):
        return replace(nothing, notes=(f"No case is judged with its history: {why}.",))
    name = name_of(history.database)
    try:
        found = _found(pairs, rule, options, sides, history)
    except PerflogError as error:
        return replace(nothing, warnings=_unread(history, error))
    in_turn = [interleaved(pair) for pair in pairs]
    # of sides in turn nothing is known where campaigns are too few to say what runs spread by
    found = [
        _IN_TURN if not isinstance(one, str) and together and not one.knows_runs else one
        for one, together in zip(found, in_turn, strict=True)
    ]
    memories = [
        None if isinstance(one, str) else Remembered(one, not together)
        for one, together in zip(found, in_turn, strict=True)
    ]
    return Past(memories, name, tuple(_notes(found, name)))


def memories_of_cases(
    cases: Sequence[Case], metric: str, options: Options, history: History, margin: float
) -> Past[Memory]:
    """The memories of cases that will be measured again; campaigns of their own runs count, where they are saved.

    Raises:
        UsageError: when there is no history yet, and it was asked for.
        PerflogError: when it cannot be read, and was asked for.
    """
    nothing: Past[Memory] = Past([None] * len(cases))
    if not cases or not history.database:
        return nothing
    name = name_of(history.database)
    if metric_kind(metric).is_derived:
        return replace(nothing, name=name, notes=(f"No case has a memory: {_DERIVED.format(metric=metric)}.",))
    try:
        from perflog.history.memory import Which, memories  # its packages are the history's extra

        wanted = [replace(_compared([case], metric, options), values=()) for case in cases]
        shared = in_common(cases)
        found = memories(history.database, metric, shared, wanted, Which(few=history.asked), margin)
    except PerflogError as error:
        return replace(nothing, warnings=_unread(history, error))
    known = [None if isinstance(one, str) else one for one in found]
    return Past(known, name, tuple(_notes(found, name)))


#: Why no derived metric is remembered.
_DERIVED = "{metric} is made of a case and its baseline, and the runs of both would have to be remembered"


def _why_none(pairs: Sequence[Pair], metric: str) -> str:
    """Why no row of this kind has a memory; empty where one may."""
    if metric_kind(metric).is_derived:
        return _DERIVED.format(metric=metric)
    if any(pair.old.machines or pair.new.machines for pair in pairs):
        return "it knows what runs differ by, not what machines do"
    return ""


def _found(
    pairs: Sequence[Pair], rule: Rule, options: Options, sides: Sequence[Side], history: History
) -> list[Memory | str]:
    """The memory of each pair whose sides are one case but for the version."""
    from perflog.history.memory import Which, memories  # its packages are the history's extra

    dates = [side.date for side in sides if side.date is not None]
    labels = {side.name for side in sides if side.date is not None}
    which = Which(labels, max(dates) if len(dates) == len(sides) else None, few=history.asked)
    alike = [_alike(pair) for pair in pairs]
    ones = [pair for pair, is_one in zip(pairs, alike, strict=True) if is_one]
    if not ones:
        return ["its sides are two cases"] * len(pairs)
    compared = [_compared((pair.old, pair.new), rule.metric, options) for pair in ones]
    wanted = in_common([case for pair in ones for case in (pair.old, pair.new)])
    found = iter(memories(history.database, rule.metric, wanted, compared, which, rule.margin))
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
