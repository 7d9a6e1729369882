"""A comparison told to people: as a table for terminals and Markdown, with footnotes and what was left out."""

from __future__ import annotations

from collections.abc import Sequence

from perflog.compare.columns import NUMBERS, cells_of, columns_of, is_right, title_of
from perflog.compare.footnotes import footnotes
from perflog.compare.names import names_of
from perflog.compare.rows import CaseComparison, Comparison, centre
from perflog.compare.sentences import explanations, per_cent
from perflog.export.case_table import Shown
from perflog.export.columns import TextTable, of_config

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
