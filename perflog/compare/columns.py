"""The columns that a comparison's table may have, by name, and the order of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from msgspec import structs

from perflog.cases.case import Case
from perflog.compare.names import keys_of, names_of
from perflog.compare.rows import CaseComparison, Comparison, centre
from perflog.compare.sentences import interval_words, per_cent, verdict_words
from perflog.export.case_table import Shown, unknown_name
from perflog.export.columns import marked, number
from perflog.export.order import ordered, value_of_case
from perflog.formats.vocabulary import CASE_KEYS, INTEGERS
from perflog.notes import Note

#: The columns beside the case's, in the order that a table has by itself; they are named as in CSV where it has them.
NUMBERS = ("n", "median_old", "median_new", "unit", "ratio", "change", "interval", "adjusted_p", "verdict", "notes")
#: The columns whose cells stand to the left, beside those that name the case.
LEFT = ("case", "label", "unit", "interval", "verdict", "notes")
#: The fields that rows can be sorted by, beside the case's own.
SORTED_BY: dict[str, Callable[[CaseComparison], float | str | None]] = {
    "n": lambda row: row.ratio.n_old,
    "median_old": lambda row: centre(row.old),
    "median_new": lambda row: centre(row.new),
    "unit": lambda row: row.unit,
    "ratio": lambda row: row.ratio.value,
    "change": lambda row: row.ratio.value,
    "adjusted_p": lambda row: row.adjusted_p,
    "verdict": lambda row: row.verdict.value,
}


def in_order(comparison: Comparison, order: str) -> Comparison:
    """The comparison with its rows by the fields that ``order`` names: ``-change,devices``; verdicts stay as they are.

    Raises:
        UsageError: for a field that there is not, with the nearest one.
    """

    def value(row: CaseComparison, name: str) -> float | str | None:
        return SORTED_BY[name](row) if name in SORTED_BY else value_of_case(row.pair.old, name)

    known = [*_fields(comparison), "label", *SORTED_BY]
    return replace(comparison, rows=tuple(ordered(comparison.rows, order, known, value)))


def _fields(comparison: Comparison) -> list[str]:
    """The fields that cases have, those too that none of these has: where nothing could be paired, no case is there."""
    return list(dict.fromkeys((*CASE_KEYS, *keys_of([row.pair.old for row in comparison.rows]))))


def columns_of(comparison: Comparison, shown: Shown, has_notes: bool) -> list[str]:
    """The names of the columns that are shown: no median without its unit, no row without its notes.

    Args:
        has_notes: whether a row bears notes.

    Raises:
        UsageError: for a column that there is not, with the nearest one.
    """
    keys = keys_of([row.pair.old for row in comparison.rows])
    with_unit = len({row.unit for row in comparison.rows}) > 1  # else the line below the table names it
    if not shown.columns:
        numbers = [name for name in NUMBERS if name != "unit" or with_unit]
        return [*(keys if shown.wide and keys else ["case"]), *numbers]
    known = ["case", *_fields(comparison), "label", *NUMBERS]
    for name in shown.columns:
        if name not in known:
            raise unknown_name("columns", name, known)
    names = list(dict.fromkeys(shown.columns))
    medians = [place for place, name in enumerate(names) if name.startswith("median_")]
    if medians and with_unit and "unit" not in names:
        names.insert(medians[-1] + 1, "unit")
    return [*names, "notes"] if has_notes and "notes" not in names else names


def title_of(comparison: Comparison, name: str) -> str:
    """The heading of a column; the medians' are the names of their sides."""
    titles = {
        "median_old": comparison.old, "median_new": comparison.new, "adjusted_p": "adjusted p",
        "batch_size": "batch/device", "framework_version": "version",
    }  # fmt: skip
    return titles.get(name, name)


def is_right(name: str) -> bool:
    """Whether a column's cells stand to the right."""
    return name in INTEGERS or (name in NUMBERS and name not in LEFT)


def cells_of(comparison: Comparison, name: str, marks: Sequence[str]) -> list[str]:
    """The texts of one column.

    Args:
        marks: for each row the marks of its notes.
    """
    if name == "case":
        return names_of([row.pair.old for row in comparison.rows])
    if name == "notes":
        return list(marks)
    margin = comparison.rule.margin
    readers: dict[str, Callable[[CaseComparison], str]] = {
        "n": _count,
        "median_old": lambda row: _median(row.old, mark_beside(row.pair.old, comparison.rule.metric)),
        "median_new": lambda row: _median(row.new, mark_beside(row.pair.new, comparison.rule.metric)),
        "unit": lambda row: row.unit,
        "ratio": lambda row: f"{row.ratio.value:.4f}" if row.ratio.value is not None else "",
        "change": lambda row: _change(row, comparison.rule.metric),
        "interval": _interval,
        "adjusted_p": lambda row: _p(row.adjusted_p),
        "verdict": lambda row: verdict_words(row.verdict, margin),
        "label": lambda row: row.pair.old.label,
    }
    if name in readers:
        return [readers[name](row) for row in comparison.rows]
    return [_key(row, name) for row in comparison.rows]


def _median(values: Sequence[float], mark: Note | None) -> str:
    text = number(centre(values)) or "no value"
    return marked(text, mark, number(mark.other) if mark is not None else "")


def _change(row: CaseComparison, metric: str) -> str:
    """The change with the warning of the medians behind it, and what it would be by their other numbers."""
    if row.ratio.value is None:
        return ""
    other = other_ratio(row, metric)
    if other is None:
        return per_cent(row.ratio.value)
    return marked(per_cent(row.ratio.value), Note("", "number"), per_cent(other))


def mark_beside(case: Case, metric: str) -> Note | None:
    """What stands beside a case's number of one metric; None for nothing."""
    mark = case.mark
    if metric in ("speedup", "efficiency"):
        if not case.is_marked or case.speedup is None or case.efficiency is None:
            return None
        other = case.other_speedup
        share = 1.0 if metric == "speedup" else case.efficiency / case.speedup
        return Note("", "number", other=None if other is None else other * share)
    if mark is None or mark.move is None:
        return None
    if metric == "throughput":
        return mark
    value = case.metrics["step_time"].value if metric == "step_time" and "step_time" in case.metrics else None
    return None if value is None else structs.replace(mark, other=value / (1 + mark.move))


def other_ratio(row: CaseComparison, metric: str) -> float | None:
    """The ratio of the two medians with the other number in place of each that has one; None where none has."""
    marks = [mark_beside(case, metric) for case in (row.pair.old, row.pair.new)]
    old, new = (
        mark.other if mark is not None else centre(values)
        for mark, values in zip(marks, (row.old, row.new), strict=True)
    )
    return new / old if any(marks) and old and new else None


def _count(row: CaseComparison) -> str:
    ratio = row.ratio
    return f"{ratio.n_old}" if ratio.n_old == ratio.n_new else f"{ratio.n_old}/{ratio.n_new}"


def _interval(row: CaseComparison) -> str:
    words = interval_words(row)
    return f"{words} ({100 * row.ratio.level:.4g} %)" if words and row.ratio.level else ""


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}" if value >= 0.0001 else "<0.0001"


def _key(row: CaseComparison, name: str) -> str:
    """What both sides have of a field of the cases, or what either has."""
    old, new = (str(case.key.get(name, "")) for case in (row.pair.old, row.pair.new))
    return old if old == new else f"{old or '-'} → {new or '-'}"
