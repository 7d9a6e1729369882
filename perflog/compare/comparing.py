"""Sides compared, case by case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from perflog.cases.case import Case
from perflog.cases.pairs import paired
from perflog.cases.versions import label_of
from perflog.compare.judging import judged
from perflog.compare.rows import SAME_VALUES, CaseComparison, Comparison, mean_of
from perflog.compare.rule import Rule, names_of, short_names
from perflog.compare.sides import OpenedSides, RunSeries, Side, machine_notes, require_known, where
from perflog.export.text import counted
from perflog.formats.paths import PathPatterns
from perflog.notes import texts
from perflog.runs.sight import findings_in, throttled_among, throttling_of
from perflog.settings.options import Options
from perflog.stats.clusters import clusters
from perflog.stats.components import components
from perflog.stats.drift import drift
from perflog.stats.resolution import resolution
from perflog.stats.states import OneState, one_state
from perflog.stats.verdict import Verdict

# ----------------------------------------------------------------------------------------------------
# Notes on a row: what in the runs' own series or among the runs speaks against trusting it.

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


#: A side's cases with their labels.
_Labelled = Sequence[tuple[Case, str]]


def compare_sides(
    opened: OpenedSides,
    rule: Rule,
    patterns: PathPatterns,
    across: Sequence[str] = (),
    wanted: Mapping[str, str] | None = None,
    aliases: Mapping[str, str] | None = None,
    history: str = "",
) -> list[Comparison]:
    """Each side against the first.

    Args:
        opened: two sides or more.
        rule: the metric, the margin and the level.
        patterns: what paths of logs say of their runs; the rest of a path is a case's label.
        across: keys that may differ between the two cases of a pair (``label``, ``accelerator``, …).
        wanted: the cases with these values alone (``{"devices": "1:8"}``).
        aliases: names of models and the like, each with the name that it is another one of.
        history: the database whose earlier campaigns say what campaigns of one version differ by; empty: their
            variance is left out.

    Returns:
        A comparison for every side but the first, in their order.

    Raises:
        UsageError: for a key or a value that no case has.
    """
    require_known([case for side in opened.sides for case in side.extraction.cases], across, wanted or {})
    names = short_names([side.name for side in opened.sides])
    cases = [
        [(case, label_of(case, side.root, patterns)) for case in where(side.extraction.cases, wanted or {})]
        for side in opened.sides
    ]
    old = (names[0], opened.sides[0], cases[0])
    return [
        _compared(old, new, rule, across, aliases or {}, opened.options, history)
        for new in list(zip(names, opened.sides, cases, strict=True))[1:]
    ]


def _compared(
    old: tuple[str, Side, _Labelled],
    new: tuple[str, Side, _Labelled],
    rule: Rule,
    across: Sequence[str],
    aliases: Mapping[str, str],
    options: Options,
    history: str,
) -> Comparison:
    (old_name, old_side, old_cases), (new_name, new_side, new_cases) = old, new
    pairs, alone = paired(old_cases, new_cases, across, aliases)
    result = judged(pairs, rule, old_side, new_side, history)
    judged_rows, of_states = with_states(result.rows, rule)
    rows = [replace(row, notes=(*row.notes, *doubts(row, old_side, new_side))) for row in judged_rows]
    of_parts = [
        f"{name}: from {counted(side.extraction.parts, 'part')}, whose logs were not read here"
        for name, side in ((old_name, old_side), (new_name, new_side))
        if side.extraction.parts
    ]
    notes = (*of_parts, *machine_notes(old_side, new_side, pairs), *result.notes)
    warnings = (*result.warnings, *of_states, *_same(rows))
    mean = mean_of(rows, alone)
    return Comparison(old_name, new_name, rule, options, tuple(rows), tuple(alone), mean, notes, warnings)


def _same(rows: Sequence[CaseComparison]) -> list[str]:
    """That sides are one, which a gate would pass."""
    same = sum(SAME_VALUES in row.notes for row in rows)
    where = f" in {same} of {counted(len(rows), 'case')}" if same < len(rows) else ""
    return [f"Both sides have the very same values{where}: logs compared with themselves never differ."] if same else []
