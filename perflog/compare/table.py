"""A comparison for people: the table with its notes, and what its verdicts mean. Above it stands :mod:`.opening`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from msgspec import structs

from perflog.cases.case import Case
from perflog.cases.pairs import metric_kind
from perflog.compare.opening import mean_interval_words
from perflog.compare.rows import CaseComparison, Comparison, centre
from perflog.compare.rule import VERDICTS, interval_words, keys_of, per_cent, verdict_word, verdict_words
from perflog.formats.vocabulary import CASE_KEYS, INTEGERS
from perflog.notes import Note
from perflog.show.case_table import TITLES, Shown, numbered_notes
from perflog.show.fields import ordered, require_columns, value_of_case
from perflog.show.text import TextTable, marked, number, of_config
from perflog.stats.verdict import Verdict

Row = TypeVar("Row")
Whole = TypeVar("Whole")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row, Whole]):
    """A column of a table beside those that name the cases.

    Attributes:
        name: as users give it.
        text: a row's cell, for a row and the whole that it is of.
        value: what rows are sorted by; None where they cannot be sorted by the column.
        title: its heading; empty for its name.
        is_right: whether its cells are aligned to the right.
    """

    name: str
    text: Callable[[Row, Whole], str]
    value: Callable[[Row], float | str | None] | None = None
    title: str = ""
    is_right: bool = True


def value_by(
    columns: Mapping[str, Column[Row, Whole]], case_of: Callable[[Row], Case]
) -> Callable[[Row, str], float | str | None]:
    """What a row is sorted by, for its field's name: the value of a column, or of the row's case."""

    def value(row: Row, name: str) -> float | str | None:
        column = columns.get(name)
        return value_of_case(case_of(row), name) if column is None or column.value is None else column.value(row)

    return value


# ----------------------------------------------------------------------------------------------------
# What the verdicts mean, in words.

_INTERVAL = (
    "The change is that of a typical new run against a typical old one; the interval beside it holds the true change "
    "with the confidence in parentheses. Verdicts hold for the table as a whole: of tables in which nothing changed, "
    "at most {rest} % show a single faster or slower case. All this takes for granted that the runs of both sides "
    "were made in turn on one machine."
)


def explanations(comparison: Comparison) -> list[str]:
    """What the verdicts of a comparison mean, a sentence for each that occurs, and how to read the interval."""
    margin = f"{100 * comparison.rule.margin:.4g} %"
    verdicts = [verdict for verdict in Verdict if any(row.verdict is verdict for row in comparison.rows)]
    lines = [
        f"{verdict_word(verdict, comparison.rule.metric)}: {VERDICTS[verdict].meaning.format(margin=margin)}"
        for verdict in verdicts
    ]
    return [*lines, _INTERVAL.format(rest=f"{100 * (1 - comparison.rule.level):.4g}")]


# ----------------------------------------------------------------------------------------------------
# The columns that the table may have, by name, and the order of its rows.

#: The columns beside the case's, in the order that a table has by itself; they are named as in CSV where it has them.
#: The cells of the notes are the marks that the table gives them.
_NUMBERS: tuple[Column[CaseComparison, Comparison], ...] = (
    Column("n", lambda row, _: _count(row), lambda row: row.ratio.n_old),
    Column("median_old", lambda row, of: _median(row.old, row.pair.old, of), lambda row: centre(row.old)),
    Column("median_new", lambda row, of: _median(row.new, row.pair.new, of), lambda row: centre(row.new)),
    Column("unit", lambda row, _: row.unit, lambda row: row.unit, is_right=False),
    Column("ratio", lambda row, _: _form(row.ratio.value, ".4f"), lambda row: row.ratio.value),
    Column("change", lambda row, of: _change(row, of.rule.metric), lambda row: row.ratio.value),
    Column("interval", lambda row, _: _interval(row), is_right=False),
    Column("adjusted_p", lambda row, _: _p(row.adjusted_p), lambda row: row.adjusted_p, "adjusted p"),
    Column(
        "verdict", lambda row, of: verdict_words(row.verdict, of.rule.margin, of.rule.metric),
        lambda row: row.verdict.value, is_right=False,
    ),
    Column("notes", lambda *_: "", is_right=False),
)  # fmt: skip
NUMBERS = {column.name: column for column in _NUMBERS}
#: The fields that rows can be sorted by, beside the case's own.
SORTED_BY = tuple(name for name, column in NUMBERS.items() if column.value is not None)


def in_order(comparison: Comparison, order: str) -> Comparison:
    """The comparison with its rows by the fields that ``order`` names: ``-change,devices``; verdicts stay as they are.

    Raises:
        UsageError: for a field that there is not, with the nearest one.
    """
    known = [*_fields(comparison), "label", *SORTED_BY]
    return replace(
        comparison, rows=tuple(ordered(comparison.rows, order, known, value_by(NUMBERS, lambda row: row.pair.old)))
    )


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
    require_columns(shown.columns, known)
    names = list(dict.fromkeys(shown.columns))
    medians = [place for place, name in enumerate(names) if name.startswith("median_")]
    if medians and with_unit and "unit" not in names:
        names.insert(medians[-1] + 1, "unit")
    return [*names, "notes"] if has_notes and "notes" not in names else names


def _cells_of(comparison: Comparison, name: str, marks: Sequence[str]) -> list[str]:
    """The texts of one column; ``marks``: for each row those of its notes."""
    if name == "case":
        return [of_row for _, of_row in comparison.named]
    if name == "notes":
        return list(marks)
    if name in NUMBERS:
        return [NUMBERS[name].text(row, comparison) for row in comparison.rows]
    return [row.pair.old.label if name == "label" else _key(row, name) for row in comparison.rows]


def _title_of(comparison: Comparison, name: str) -> str:
    """The heading of a column; the medians' are the names of their sides."""
    own = {"median_old": comparison.old, "median_new": comparison.new}.get(name)
    return own or (NUMBERS[name].title if name in NUMBERS else TITLES.get(name, "")) or name


def _form(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def _median(values: Sequence[float], case: Case, comparison: Comparison) -> str:
    text, mark = number(centre(values)) or "no value", mark_beside(case, comparison.rule.metric)
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
    """The warning beside a case's number of one metric; None for none."""
    mark = case.mark
    if metric_kind(metric).is_derived:
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
    words = interval_words(row.ratio)
    return f"{words} ({100 * row.ratio.level:.4g} %)" if words and row.ratio.level else ""


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}" if value >= 0.0001 else "<0.0001"


def _key(row: CaseComparison, name: str) -> str:
    """What both sides have of a field of the cases, or what either has."""
    old, new = (str(case.key.get(name, "")) for case in (row.pair.old, row.pair.new))
    return old if old == new else f"{old or '-'} → {new or '-'}"


# ----------------------------------------------------------------------------------------------------
# The table, with footnotes and what was left out.

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
        shown: the columns, by the names of :data:`NUMBERS` or a field of the cases; ``wide`` gives each field of these
            one of its own.

    Raises:
        UsageError: for a column that there is not, with the nearest one.
    """
    marks, notes = numbered_notes([notes_of(row) for row in comparison.rows])
    names = columns_of(comparison, shown, any(marks))
    columns = [_cells_of(comparison, name, marks) for name in names]
    titles = [_title_of(comparison, name) for name in names]
    below = [*notes, *_summary(comparison), *(explanations(comparison) if explained else [])]
    how = caption(comparison, units_of([comparison]))
    rows = [list(cells) for cells in zip(*columns, strict=True)]
    keys = sum(1 for name in names if name not in NUMBERS)
    spare = () if shown.columns or shown.wide else ("ratio", "adjusted p")
    right = [NUMBERS[name].is_right if name in NUMBERS else name in INTEGERS for name in names]
    rule = comparison.rule
    styles = {verdict_words(verdict, rule.margin, rule.metric): VERDICTS[verdict].style for verdict in Verdict}
    return TextTable(titles, rows, right, below, how, keys=max(1, keys), spare=spare, styles=styles)


def units_of(comparisons: Sequence[Comparison]) -> str:
    """The units of all rows, in words."""
    return " and ".join(dict.fromkeys(row.unit for comparison in comparisons for row in comparison.rows if row.unit))


def notes_of(row: CaseComparison) -> list[str]:
    """Why there is no verdict, and the row's notes, each once; those of both sides are one."""
    reasons = [row.decision.reason] if row.decision.reason else []
    notes = list(dict.fromkeys([*reasons, *row.notes, *_directions(row)]))
    of_both = {note.removeprefix("old: ") for note in notes if note.startswith("old: ")} & {
        note.removeprefix("new: ") for note in notes if note.startswith("new: ")
    }
    bare = [(note, note.removeprefix("old: ").removeprefix("new: ")) for note in notes]
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


def _interval_of_mean(comparison: Comparison) -> str:
    """The geometric mean's interval, and of which rows it is where not of all; empty where there is none."""
    mean = comparison.mean.interval
    if mean is None:
        return ""
    of_which = "" if mean.n == comparison.mean.n else f"; of the {mean.n} with enough runs {mean.value:.4f}"
    return f"{of_which} ({mean_interval_words(mean)})"


def _summary(comparison: Comparison) -> list[str]:
    """Lines under the table: the geometric mean with what it leaves out, notes on the sides, cases without partner."""
    mean = comparison.mean
    lines = []
    if mean.value is not None and mean.n > 1:
        left_out = (
            f", {mean.left_out} left out (no ratio, no partner, or the very same values)" if mean.left_out else ""
        )
        lines.append(f"geometric mean of {mean.n} ratios: {mean.value:.4f}{left_out}{_interval_of_mean(comparison)}")
    lines += comparison.notes
    sides = {"old": comparison.old, "new": comparison.new}
    alone = [
        f"not compared: {name} of {sides[unpaired.side]}: {unpaired.reason}"
        for unpaired, name in comparison.named_unpaired
    ]
    if len(alone) > MOST_UNPAIRED:
        rest = f"not compared: {len(alone) - MOST_UNPAIRED} more (--format json lists them)"
        alone = [*alone[:MOST_UNPAIRED], rest]
    return lines + alone
