"""Sides compared, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from perflog.cases.case import Case
from perflog.cases.pairs import paired
from perflog.cases.versions import label_of
from perflog.compare.doubts import doubts, with_states
from perflog.compare.judging import judged
from perflog.compare.rows import SAME_VALUES, CaseComparison, Comparison, mean_of
from perflog.compare.rule import Rule, short_names
from perflog.compare.sides import OpenedSides, Side, machine_notes, require_known, where
from perflog.export.columns import counted
from perflog.formats.paths import PathPatterns
from perflog.settings.options import Options

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
