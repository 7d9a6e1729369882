"""A picture of comparisons: each case's ratio with its interval, the margin shaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perflog.compare.names import names_of
from perflog.compare.output import caption, units_of
from perflog.compare.rows import CaseComparison, Comparison
from perflog.compare.sentences import per_cent, verdict_words
from perflog.errors import UsageError
from perflog.plot.drawing import COLOURS, LINE, SHADE, rendered
from perflog.plot.rows import Row, RowPlace, rows_block
from perflog.plot.sheet import Block, Entry, figure_of, legend_block, text_block
from perflog.stats.verdict import Better, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Better, worse, and what is neither, as colours the colour-blind tell apart, and markers.
_LOOKS = {
    Verdict.FASTER: (COLOURS[2], "^"), Verdict.SLOWER: (COLOURS[1], "v"), Verdict.SAME: (COLOURS[0], "o"),
    Verdict.INCONCLUSIVE: (LINE, "s"), Verdict.NOT_ENOUGH_DATA: (LINE, "x"),
}  # fmt: skip


def picture(comparisons: Sequence[Comparison], form: str) -> bytes:
    """The ratios as SVG or PNG, a part for every side.

    Raises:
        UsageError: when no row has a ratio, or a side has more rows than a picture holds.
    """
    if not any(_drawable(comparison) for comparison in comparisons):
        raise UsageError("no case has a ratio to draw: see `perflog compare` for the reasons")
    return rendered(lambda: comparison_figure(comparisons), form)


def comparison_figure(comparisons: Sequence[Comparison]) -> Figure:
    """A legend of the verdicts, then each side against the first: a row for every case that has a ratio."""
    verdicts = {row.verdict for comparison in comparisons for row in _drawable(comparison)}
    margin = comparisons[0].rule.margin
    present = [verdict for verdict in _LOOKS if verdict in verdicts]
    legend = legend_block([Entry(verdict_words(verdict, margin), _look(verdict)) for verdict in present])
    parts = [block for comparison in comparisons for block in _side(comparison)]
    foot = f"{caption(comparisons[0], units_of(comparisons))} Grey: within the margin."
    return figure_of([legend, *parts, text_block(foot, 8)])


def _drawable(comparison: Comparison) -> list[CaseComparison]:
    """The rows that have a ratio."""
    return [row for row in comparison.rows if row.ratio.value is not None]


def _side(comparison: Comparison) -> list[Block]:
    """One side against the first; nothing but its title where no case has a ratio."""
    rule = comparison.rule
    names = names_of([row.pair.old for row in comparison.rows])
    named = [(row, name) for row, name in zip(comparison.rows, names, strict=True) if row.ratio.value is not None]
    title = text_block(f"{rule.metric}: {comparison.new} against {comparison.old}", 10)
    if not named:
        return [title, text_block("No case has a ratio.", 8)]

    def draw(axes: Axes, places: list[RowPlace]) -> None:
        axes.axvspan(-100 * rule.margin, 100 * rule.margin, color=SHADE, alpha=0.22, linewidth=0)
        axes.axvline(0, color=LINE, linewidth=1, linestyle="--")
        for (row, _), place in zip(named, places, strict=True):
            _ratio_bar(axes, place.middle, row)

    direction = "right" if rule.better is Better.HIGHER else "left"
    rows = [Row(f"{name} (n = {_counts(row)})", per_cent(row.ratio.value or 0.0)) for row, name in named]
    return [title, rows_block(rows, f"change of {rule.metric} (%), better to the {direction}", draw)]


def _counts(row: CaseComparison) -> str:
    old, new = row.ratio.n_old, row.ratio.n_new
    return f"{old}" if old == new else f"{old}/{new}"


def _look(verdict: Verdict) -> dict[str, Any]:
    """How a verdict's marks look."""
    colour, marker = _LOOKS[verdict]
    return {"color": colour, "marker": marker, "markersize": 6, "linewidth": 1.4}


def _ratio_bar(axes: Axes, middle: float, row: CaseComparison) -> None:
    """A row's change in per cent with its interval."""
    value, low, high = row.ratio.value, row.ratio.low, row.ratio.high
    assert value is not None
    if low is None or high is None:
        low = high = value
    errors = [[100 * (value - low)], [100 * (high - value)]]
    axes.errorbar([100 * (value - 1)], [middle], xerr=errors, capsize=3, **_look(row.verdict))


def described(comparisons: Sequence[Comparison]) -> str:
    """What the picture shows, in words."""
    sentences = []
    for comparison in comparisons:
        counts = {verdict: sum(row.verdict is verdict for row in comparison.rows) for verdict in Verdict}
        margin = comparison.rule.margin
        verdicts = ", ".join(f"{count} {verdict_words(verdict, margin)}" for verdict, count in counts.items() if count)
        sentences.append(f"{comparison.rule.metric} of {comparison.new} against {comparison.old}: {verdicts}")
    return "; ".join(sentences)
