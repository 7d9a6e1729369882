"""Notes on a row: what in the runs' own series or among the runs speaks against trusting it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from perflog.cases.case import Case
from perflog.compare.rows import CaseComparison
from perflog.compare.rule import Rule, names_of
from perflog.compare.sides import RunSeries, Side
from perflog.notes import texts
from perflog.runs.throttled import findings_in, throttled_among, throttling_of
from perflog.stats.clusters import clusters
from perflog.stats.components import components
from perflog.stats.drift import drift
from perflog.stats.resolution import resolution
from perflog.stats.states import OneState, one_state
from perflog.stats.verdict import Verdict

#: Fewer measurements of a run say nothing of its inside.
LEAST = 10


def doubts(row: CaseComparison, old: Side, new: Side) -> list[str]:
    """Drift within the window, groups of runs, rounding in print, what the steps contribute; the runs' own notes."""
    notes: list[str] = []
    low, high = row.ratio.low, row.ratio.high
    half_width = (high - low) / 2 if low is not None and high is not None else math.inf
    sides = (("old", old, row.pair.old, row.old), ("new", new, row.pair.new, row.new))
    for word, side, case, run_values in sides:
        series = [run_series for run_series in side.series(case) if len(run_series.times) >= LEAST]
        notes += _drifts(word, series) + _groups(word, run_values, row.unit) + _rounded(word, series, half_width)
        if row.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_ENOUGH_DATA):  # what would help
            notes += _steps(word, series)
        notes += _own(word, case, row.notes) + _throttled(word, case)
    return notes


def _own(word: str, case: Case, told: Sequence[str]) -> list[str]:
    """What the case's logs say against its numbers, but for what is told in another way or concerns speedups alone."""
    return [
        f"{word}: {note}"
        for note in texts(case.notes)
        if not note.startswith("no speedup") and not findings_in([note]) and not note.endswith(tuple(told))
    ]


def _throttled(word: str, case: Case) -> list[str]:
    runs = throttled_among(case.runs)
    if not runs:
        return []
    findings = dict.fromkeys(finding for run in runs for finding in throttling_of(run))
    were = "was" if len(runs) == 1 else "were"
    return [f"{word}: {len(runs)} of {len(case.runs)} runs {were} throttled while they ran ({'; '.join(findings)})"]


def _drifts(word: str, series: Sequence[RunSeries]) -> list[str]:
    drifts = [drift(run_series.times) for run_series in series]
    changes = [d.change for d in drifts if d.drifts and d.change is not None]
    if len(changes) * 2 <= len(drifts) or not changes:
        return []
    change = sorted(changes)[len(changes) // 2]
    where = f"in {len(changes)} of {len(drifts)} runs"
    return [f"{word}: step times drift within the window, by {100 * change:+.1f} % {where}"]


def _groups(word: str, run_values: Sequence[float], unit: str) -> list[str]:
    groups = clusters(run_values)
    if groups is None:
        return []
    sizes = [f"{len(group)} near {sum(group) / len(group):.5g}" for group in (groups.low, groups.high)]
    text = f"{word}: the runs fall in two groups, {' and '.join(sizes)} {unit}".rstrip()
    return [f"{text}: the median stands for neither"]


def _rounded(word: str, series: Sequence[RunSeries], half_width: float) -> list[str]:
    if not math.isfinite(half_width) or not series:
        return []
    resolutions = [resolution(run_series.printed, half_width) for run_series in series]
    dominating = [r for r in resolutions if r is not None and r.dominates]
    if len(dominating) * 2 <= len(series):
        return []
    worst = max(dominating, key=lambda r: r.bias)
    effect = f"rounding may move a run by {100 * worst.bias:.2g} %, more than the interval's half-width"
    return [f"{word}: printed in steps of {worst.quantum:g}: {effect}"]


def _steps(word: str, series: Sequence[RunSeries]) -> list[str]:
    parts = components([run_series.times for run_series in series])
    return [f"{word}: {parts.advice}"] if parts is not None else []


# ----------------------------------------------------------------------------------------------------
# What is said of verdicts that may be states of a machine: few runs beside a side whose runs fall in two groups.

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
