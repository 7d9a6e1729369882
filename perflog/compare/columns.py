"""The columns that a comparison's table may have, by name, and the order of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from perflog.cases.case import Case
from perflog.compare.rows import CaseComparison, Comparison, centre
from perflog.compare.rule import keys_of, names_of
from perflog.compare.sentences import explanations, interval_words, per_cent, verdict_words
from perflog.export.case_table import Shown, ordered, unknown_name, value_of_case
from perflog.export.text import TextTable, marked, number, of_config
from perflog.formats.vocabulary import CASE_KEYS, INTEGERS
from perflog.notes import Note, alike

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


# ----------------------------------------------------------------------------------------------------
# The notes of a table's rows as footnotes: each is told once, and the rows that it is for bear its number.


@dataclass(frozen=True, slots=True)
class Footnotes:
    """The notes of a table.

    Attributes:
        texts: each note once; where notes of rows differ in numbers alone, one with the ranges of these.
        marks: for each row the numbers of its notes, counted from 1, in order.
    """

    texts: tuple[str, ...]
    marks: tuple[tuple[int, ...], ...]


def footnotes(notes: Sequence[Sequence[str]]) -> Footnotes:
    """Footnotes in the order in which the rows' notes come.

    >>> footnotes([["a rate of +1.7 %", "b"], ["a rate of +1.9 %"]])
    Footnotes(texts=('a rate of +1.7 to +1.9 %', 'b'), marks=((1, 2), (1,)))
    """
    groups = alike(note for row in notes for note in row)
    numbers = {note: mark for mark, (members, _) in enumerate(groups, 1) for note in members}
    marks = tuple(tuple(sorted({numbers[note] for note in row})) for row in notes)
    return Footnotes(tuple(text for _, text in groups), marks)


# ----------------------------------------------------------------------------------------------------
# A comparison told to people: as a table for terminals and Markdown, with footnotes and what was left out.

#: How many cases without partner are named to people.
MOST_UNPAIRED = 8
#: The formats of a comparison: for people, for machines, for browsers and for CI.
FORMATS = ("table", "markdown", "csv", "json", "html", "github", "junit", "svg", "png")
#: The columns that a table has by itself.
_DEFAULT = Shown()


def comparison_table(comparison: Comparison, explained: bool = False, shown: Shown = _DEFAULT) -> TextTable:
    """The rows as texts: case, n, both medians, change with interval, p adjusted, verdict; notes as footnotes.

    Args:
        explained: say below what the verdicts mean.
        shown: the columns, by the names of :mod:`.columns`; ``wide`` gives each field of the cases one of its own.

    Raises:
        UsageError: for a column that there is not, with the nearest one.
    """
    notes = footnotes([notes_of(row) for row in comparison.rows])
    marks = [",".join(map(str, own)) for own in notes.marks]
    names = columns_of(comparison, shown, any(marks))
    columns = [cells_of(comparison, name, marks) for name in names]
    titles = [title_of(comparison, name) for name in names]
    below = [f"{mark}. {note}" for mark, note in enumerate(notes.texts, 1)] + summary(comparison)
    below += explanations(comparison) if explained else []
    how = caption(comparison, units_of([comparison]))
    rows = [list(cells) for cells in zip(*columns, strict=True)]
    keys = sum(1 for name in names if name not in NUMBERS)
    spare = () if shown.columns or shown.wide else ("ratio", "adjusted p")
    return TextTable(titles, rows, list(map(is_right, names)), below, how, keys=max(1, keys), spare=spare)


def units_of(comparisons: Sequence[Comparison]) -> str:
    """The units of all rows, in words."""
    return " and ".join(dict.fromkeys(row.unit for comparison in comparisons for row in comparison.rows if row.unit))


def notes_of(row: CaseComparison) -> list[str]:
    """Why there is no verdict, and the row's notes, each once; what is true of both sides is told of both together."""
    reasons = [row.decision.reason] if row.decision.reason else []
    told = list(dict.fromkeys([*reasons, *row.notes, *_directions(row)]))
    of_both = {note.removeprefix("old: ") for note in told if note.startswith("old: ")} & {
        note.removeprefix("new: ") for note in told if note.startswith("new: ")
    }
    bare = [(note, note.removeprefix("old: ").removeprefix("new: ")) for note in told]
    return list(
        dict.fromkeys(f"both sides: {text}" if text in of_both and text != note else note for note, text in bare)
    )


def _directions(row: CaseComparison) -> list[str]:
    """Why the two medians shown may point the other way than the ratio does."""
    old, new, value = centre(row.old), centre(row.new), row.ratio.value
    if not old or not new or value is None or (new / old - 1) * (value - 1) >= 0:
        return []
    if per_cent(new / old) == per_cent(value):
        return []
    of_medians = f"the medians differ by {per_cent(new / old)}, the ratio is {per_cent(value)}"
    if row.in_rounds:
        return [f"{of_medians}: the ratio is the geometric mean of the ratios within the rounds"]
    return [f"{of_medians}: the ratio is the median over all pairs of an old and a new run, each median one run's"]


def caption(comparison: Comparison, unit: str) -> str:
    """How the numbers were made."""
    rule, options = comparison.rule, comparison.options
    what = f"{rule.metric}{f' in {unit}' if unit else ''}, {rule.better.value} is better"
    in_rounds = any(row.in_rounds for row in comparison.rows)
    estimate = "geometric mean of the rounds" if in_rounds else "Hodges–Lehmann"
    ratio = f"medians over n runs; ratio {comparison.new} / {comparison.old} ({estimate})"
    limits = f"margin {100 * rule.margin:g} %, level {100 * rule.level:g} % for all rows together"
    text = f"{what}; {ratio}; {limits}; estimator {options.estimator}; {options.window}{of_config(options)}"
    return f"{text}; convention {options.convention}." if options.convention else f"{text}."


def summary(comparison: Comparison) -> list[str]:
    """Lines under the table: the geometric mean with what it leaves out, notes on the sides, cases without partner."""
    mean = comparison.mean
    lines = []
    if mean.value is not None and mean.n > 1:
        left_out = f", {mean.left_out} left out (no ratio or no partner)" if mean.left_out else ""
        lines.append(f"geometric mean of {mean.n} ratios: {mean.value:.4f}{left_out}")
    lines += comparison.notes
    names = names_of([unpaired.case for unpaired in comparison.unpaired]) if comparison.unpaired else []
    sides = {"old": comparison.old, "new": comparison.new}
    alone = [
        f"not compared: {name} of {sides[unpaired.side]}: {unpaired.reason}"
        for unpaired, name in zip(comparison.unpaired, names, strict=True)
    ]
    if len(alone) > MOST_UNPAIRED:
        rest = f"not compared: {len(alone) - MOST_UNPAIRED} more (--format json lists them)"
        alone = [*alone[:MOST_UNPAIRED], rest]
    return lines + alone
