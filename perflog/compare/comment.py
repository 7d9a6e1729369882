"""Comparisons as Markdown fit for a comment on a pull request or a job's summary.

It begins with a marker that nobody sees: who comes later with another comparison of the same name finds the comment by
it and puts his own in its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perflog.compare.columns import comparison_table
from perflog.compare.rows import CaseComparison, Comparison
from perflog.compare.sentences import opening
from perflog.errors import UsageError
from perflog.escaping import markdown as escaped
from perflog.export.case_table import Shown
from perflog.export.columns import TextTable
from perflog.export.text import NUMBERED, to_markdown
from perflog.settings.gate import GateResult
from perflog.stats.verdict import Verdict

#: A comment of GitHub's holds 65,536 characters; some are left for what its reader adds.
LONGEST = 60_000
#: Names of comparisons: they stand in a comment of HTML, which `--` would end.
_NAME = re.compile(r"[A-Za-z0-9]+(?:[._ -]?[A-Za-z0-9]+)*")
#: Where GitHub makes a link, a mention or a reference of text: an empty comment there keeps it text.
_LINKED = re.compile(r"(?<=[@#])(?=\w)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=\bgh)(?=-\d)", re.IGNORECASE)
#: Which rows are shown first where not all can be.
_IMPORTANCE = (Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE, Verdict.NOT_ENOUGH_DATA, Verdict.SAME)
#: The columns that a table has by itself.
_DEFAULT = Shown()


def marker_of(name: str) -> str:
    """The hidden marker of a comparison's comment.

    Raises:
        UsageError: for a name that is not made of letters and digits with single separators between them.
    """
    if not _NAME.fullmatch(name) or len(name) > 100:
        expected = "expected letters and digits with single blanks, dots, hyphens or underscores between them"
        raise UsageError(f"--marker {name!r}: {expected}, at most 100")
    return f"<!-- perflog compare {name} -->"


def comment(
    comparisons: Sequence[Comparison], name: str, result: GateResult | None = None, explained: bool = False,
    shown: Shown = _DEFAULT,
) -> str:  # fmt: skip
    """Comparisons as Markdown with their marker first.

    Args:
        comparisons: of one command.
        name: what tells this comment from others of perflog's on the same pull request, the same in every run.
        result: what the gate says; None where there is none.
        explained: say below the tables what the verdicts mean.
        shown: the columns of the tables.

    Raises:
        UsageError: for a name that no marker can hold, or a column that there is not.
    """
    head = [marker_of(name)]
    if result is not None:
        head.append(f"**{_unlinked(escaped(result.sentence))}**")
    budget = (LONGEST - sum(map(len, head))) // len(comparisons)
    sections = [_section(comparison, explained, budget, shown) for comparison in comparisons]
    return "\n\n".join([*head, *sections])


def _section(comparison: Comparison, explained: bool, budget: int, shown: Shown) -> str:
    """One comparison: its first lines and its table, in at most ``budget`` characters."""
    first, *others = map(_unlinked, map(escaped, opening(comparison)))
    title = _unlinked(escaped(f"{comparison.rule.metric}: {comparison.new} against {comparison.old}"))
    lines = [f"### {title}", first, *(f"> {other}" for other in others)]
    above = "\n\n".join(lines)
    table = comparison_table(comparison, explained, shown)
    return f"{above}\n\n{_fitting(comparison, table, budget - len(above) - 2)}"


def _fitting(comparison: Comparison, table: TextTable, budget: int) -> str:
    """The table as Markdown, with as many of its most important rows as the budget of characters holds."""
    text = _unlinked(to_markdown(table))
    if len(text) <= budget:
        return text
    order = sorted(range(len(table.rows)), key=lambda place: _turn(comparison.rows[place]))
    low, high = 0, len(order)
    while low < high:  # the largest number of rows that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(_shortened(table, order[:middle])) <= budget else (low, middle - 1)
    return _shortened(table, order[:low])[:budget]


def _turn(row: CaseComparison) -> tuple[int, float]:
    """A row's place by importance: its verdict, then the size of its change."""
    return _IMPORTANCE.index(row.verdict), -abs((row.ratio.value or 1.0) - 1)


def _shortened(table: TextTable, places: Sequence[int]) -> str:
    """The table with the rows at these places and the notes that they bear, numbered anew as lists of Markdown are."""
    rows = [table.rows[place] for place in sorted(places)]
    column = table.titles.index("notes") if "notes" in table.titles else None
    borne = [] if column is None else [mark for row in rows for mark in row[column].split(",") if mark]
    marks = {mark: str(new) for new, mark in enumerate(sorted(set(borne), key=int), 1)}
    if column is not None:
        rows = [
            [*row[:column], ",".join(marks[mark] for mark in row[column].split(",") if mark), *row[column + 1 :]]
            for row in rows
        ]
    numbered = [(NUMBERED.match(note), note) for note in table.footnotes]
    notes = [
        note if found is None else f"{marks[found[1]]}. {found[2]}"
        for found, note in numbered
        if found is None or found[1] in marks
    ]
    left_out = f"Rows left out for want of room, the least important ones: {len(table.rows) - len(rows)}."
    return _unlinked(to_markdown(replace(table, rows=rows, footnotes=[left_out, *notes])))


def _unlinked(text: str) -> str:
    """Markdown in which names mention nobody and link nowhere."""
    return _LINKED.sub("<!-- -->", text)
