"""A picture of comparisons: each case's ratio with its interval, the margin shaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perflog.compare.names import names_of
from perflog.compare.output import caption, units_of
from perflog.compare.rows import CaseComparison, Comparison
from perflog.errors import UsageError
from perflog.plot.drawing import COLOURS, GRID, LINE, SHADE, ink, plain, rendered
from perflog.stats.verdict import Better, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Better, worse, and what is neither, as colours the colour-blind tell apart, and markers.
_LOOKS = {
    Verdict.FASTER: (COLOURS[2], "^"), Verdict.SLOWER: (COLOURS[1], "v"), Verdict.SAME: (COLOURS[0], "o"),
    Verdict.INCONCLUSIVE: (LINE, "s"), Verdict.NOT_ENOUGH_DATA: (LINE, "x"),
}  # fmt: skip


def picture(comparisons: Sequence[Comparison], form: str) -> bytes:
    """The ratios as SVG or PNG, a panel for every side.

    Raises:
        UsageError: when no row has a ratio.
    """
    if not any(row.ratio.value is not None for comparison in comparisons for row in comparison.rows):
        raise UsageError("no case has a ratio to draw: see `perflog compare` for the reasons")
    return rendered(lambda: _figure(comparisons), form)


def _figure(comparisons: Sequence[Comparison]) -> Figure:
    from matplotlib.figure import Figure

    most = max(len(comparison.rows) for comparison in comparisons)
    figure = Figure(figsize=(9, 1.7 + 0.32 * most * len(comparisons)), layout="constrained")
    panels = figure.subplots(len(comparisons), 1, squeeze=False)
    for axes, comparison in zip(panels.flat, comparisons, strict=True):
        _panel(axes, comparison)
    words = plain(caption(comparisons[0], units_of(comparisons))).replace("; ", ";\n", 1)
    figure.supxlabel(f"{words} Grey: within the margin.", fontsize=7, color=ink())
    return figure


def _panel(axes: Any, comparison: Comparison) -> None:
    """One side against the first: a line per case that has a ratio."""
    rule = comparison.rule
    names = names_of([row.pair.old for row in comparison.rows])
    rows = [(row, name) for row, name in zip(comparison.rows, names, strict=True) if row.ratio.value is not None]
    axes.axvspan(-100 * rule.margin, 100 * rule.margin, color=SHADE, alpha=0.22, linewidth=0)
    axes.axvline(0, color=LINE, linewidth=1, linestyle="--")
    in_legend: set[Verdict] = set()
    for place, (row, _) in enumerate(rows):
        _ratio_bar(axes, place, row, row.verdict.value if row.verdict not in in_legend else "_")
        in_legend.add(row.verdict)
    axes.set_yticks(range(len(rows)), [plain(f"{name} (n = {_counts(row)})") for row, name in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=True, axis="x", **GRID)
    direction = "right" if rule.better is Better.HIGHER else "left"
    title = f"{rule.metric}: {comparison.new} against {comparison.old}"
    axes.set(xlabel=f"change of {rule.metric} (%), better to the {direction}", title=plain(title))
    axes.legend(frameon=False, fontsize=8, loc="best")


def _counts(row: CaseComparison) -> str:
    old, new = row.ratio.n_old, row.ratio.n_new
    return f"{old}" if old == new else f"{old}/{new}"


def _ratio_bar(axes: Any, place: int, row: CaseComparison, label: str) -> None:
    """A row's change in per cent with its interval."""
    value, low, high = row.ratio.value, row.ratio.low, row.ratio.high
    assert value is not None
    colour, marker = _LOOKS[row.verdict]
    if low is None or high is None:
        low = high = value
    look = {"color": colour, "marker": marker, "markersize": 6, "capsize": 3, "linewidth": 1.4, "label": label}
    axes.errorbar([100 * (value - 1)], [place], xerr=[[100 * (value - low)], [100 * (high - value)]], **look)


def described(comparisons: Sequence[Comparison]) -> str:
    """What the picture shows, in words."""
    sentences = []
    for comparison in comparisons:
        counts = {verdict: sum(row.verdict is verdict for row in comparison.rows) for verdict in Verdict}
        verdicts = ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count)
        sentences.append(f"{comparison.rule.metric} of {comparison.new} against {comparison.old}: {verdicts}")
    return "; ".join(sentences)
