"""The throughput of every run against its case's centre (``perflog plot --kind spread``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perflog.cases.case import Case
from perflog.cases.choosing import sections
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.plot.drawing import LINE, colour_of
from perflog.plot.rows import Row, RowPlace, rows_block
from perflog.plot.series import full_name, how, names_of, value_of, valued
from perflog.plot.sheet import figure_of, text_block
from perflog.plot.words import Words, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def run_values_figure(extraction: Extraction, words: Words | None = None) -> Figure:
    """A row per case of several runs, a point per run.

    Raises:
        UsageError: when no case has two runs with a value, or there are more cases than a picture holds.
    """
    words = words or words_of()
    with_value = [case for part in sections(valued(extraction.cases)) for case in part.cases]
    cases = [case for case in with_value if case.throughput.n > 1]
    if not cases:
        raise UsageError("no case has two runs with a value: one run has no spread")
    alone = len(with_value) - len(cases)
    rows = [
        Row(full_name(name, case, words), words("n", count=case.throughput.n) + _warning(case))
        for name, case in zip(names_of(cases, words), cases, strict=True)
    ]

    def draw(axes: Axes, places: list[RowPlace]) -> None:
        axes.axvline(0, color=LINE, linewidth=1, linestyle="--")
        for case, place in zip(cases, places, strict=True):
            values = [run.throughput.value for run in case.runs if run.throughput.value is not None]
            changes = [100 * (value / value_of(case) - 1) for value in values]
            colour = colour_of(str(case.key.get("framework", "")))
            axes.plot(changes, [place.middle] * len(changes), "o", color=colour, alpha=0.75, markersize=4.5)

    label = words("spread_axis", aggregate=words(extraction.options.aggregate))
    left_out = [words("alone", cases=words.counted(alone, "cases"))] if alone else []
    warned = [words("warned")] if any(_warning(case) for case in cases) else []
    foot = text_block(how(extraction, cases, words, *left_out, *warned), 8)
    return figure_of([text_block(words("spread"), 10), rows_block(rows, label, draw), foot])


def _warning(case: Case) -> str:
    """The number that a marked centre may be, as it stands beside its row; empty for none."""
    return f" ⚠ {case.mark.other:.5g}" if case.mark is not None and case.mark.other else ""
