"""What is said of verdicts that may be states of a machine: few runs beside a side whose runs fall in two groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perflog.compare.names import names_of
from perflog.compare.rows import CaseComparison
from perflog.compare.rule import Rule
from perflog.stats.states import OneState, one_state
from perflog.stats.verdict import Verdict

_CALLED = (Verdict.FASTER, Verdict.SLOWER)
#: So many cases are named in a warning.
_MOST_NAMED = 3


def with_states(rows: Sequence[CaseComparison], rule: Rule) -> tuple[list[CaseComparison], list[str]]:
    """The rows, those with a note whose verdict may be that of states of a machine; and the warning that says so first.

    Args:
        rows: all rows of a table, judged.
        rule: the level that their table has.
    """
    judged = sum(row.adjusted_p is not None for row in rows)
    told = [_of_row(row, judged, rule.level) for row in rows]
    noted = [
        row if state is None else replace(row, notes=(*row.notes, _note(state)))
        for row, state in zip(rows, told, strict=True)
    ]
    return noted, _warnings(rows, told)


def _of_row(row: CaseComparison, rows: int, level: float) -> OneState | None:
    if row.verdict not in _CALLED or row.in_rounds:
        return None
    return one_state(row.old, row.new, rows, level)


def _note(state: OneState) -> str:
    other = "old" if state.side == "new" else "new"
    chance = f"{100 * state.chance:.2g} %"
    return (
        f"the {other} side's runs fall in two groups, and all {state.runs} runs of the {state.side} side may be in one "
        f"of two such states of the machine by chance ({chance}): the verdict holds where both versions meet the same "
        f"states; with {state.needs} runs of the {state.side} side it does not rest on that"
    )


def _warnings(rows: Sequence[CaseComparison], told: Sequence[OneState | None]) -> list[str]:
    names = names_of([row.pair.old for row in rows])
    doubtful = [name for name, state in zip(names, told, strict=True) if state is not None]
    if not doubtful:
        return []
    needs = max(state.needs for state in told if state is not None)
    more = f" and {len(doubtful) - _MOST_NAMED} more" if len(doubtful) > _MOST_NAMED else ""
    which = f"{', '.join(doubtful[:_MOST_NAMED])}{more}"
    rest = "the verdict on it rests" if len(doubtful) == 1 else "the verdicts on them rest"
    return [
        f"Few runs, and two states of the machine ({which}): {rest} on the few runs of one side, while the other "
        f"side's fall in two groups. With {needs} runs a side this is told from a change."
    ]
