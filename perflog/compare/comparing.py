"""Sides compared, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from perflog.cases.case import Case
from perflog.compare.choosing import require_known
from perflog.compare.doubts import doubts
from perflog.compare.names import short_names
from perflog.compare.opening import OpenedSides
from perflog.compare.pairs import paired
from perflog.compare.rows import Comparison, compared_cases, mean_of
from perflog.compare.rule import Rule
from perflog.compare.sides import Side, label_of, machine_notes, where
from perflog.compare.when import separation
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
) -> list[Comparison]:
    """Each side against the first.

    Args:
        opened: two sides or more.
        rule: the metric, the margin and the level.
        patterns: what paths of logs say of their runs; the rest of a path is a case's label.
        across: keys that may differ between the two cases of a pair (``label``, ``accelerator``, …).
        wanted: the cases with these values alone (``{"devices": "1:8"}``).

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
        _compared(old, new, rule, across, opened.options)
        for new in list(zip(names, opened.sides, cases, strict=True))[1:]
    ]


def _compared(
    old: tuple[str, Side, _Labelled],
    new: tuple[str, Side, _Labelled],
    rule: Rule,
    across: Sequence[str],
    options: Options,
) -> Comparison:
    (old_name, old_side, old_cases), (new_name, new_side, new_cases) = old, new
    pairs, alone = paired(old_cases, new_cases, across)
    rows = [replace(row, notes=(*row.notes, *doubts(row, old_side, new_side))) for row in compared_cases(pairs, rule)]
    notes = machine_notes(old_side, new_side, pairs)
    mean = mean_of(rows, alone)
    warnings = separation(old_side, new_side, pairs)
    return Comparison(old_name, new_name, rule, options, tuple(rows), tuple(alone), mean, tuple(notes), tuple(warnings))
