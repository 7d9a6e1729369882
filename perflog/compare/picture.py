"""A picture of a comparison: each case's ratio with its interval, the margin shaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perflog.compare.output import caption, names_of, units_of
from perflog.compare.rows import METRICS, Comparison
from perflog.errors import UsageError
from perflog.plot.drawing import COLOURS, plain, rendered
from perflog.settings.options import Options
from perflog.stats.verdict import Better, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Better, worse, and what is neither, as colours the colour-blind tell apart, and markers.
_LOOKS = {
    Verdict.FASTER: (COLOURS[2], "^"), Verdict.SLOWER: (COLOURS[1], "v"), Verdict.SAME: (COLOURS[0], "o"),
    Verdict.INCONCLUSIVE: ("#777777", "s"), Verdict.NOT_ENOUGH_DATA: ("#777777", "x"),
}  # fmt: skip


def picture(comparisons: Sequence[Comparison], options: Options, form: str) -> bytes:
    """The ratios as SVG or PNG, a panel for every side.

    Raises:
        UsageError: when no row has a ratio.
    """
    if not any(row.ratio.value is not None for one in comparisons for row in one.rows):
        raise UsageError("no case has a ratio to draw: see `perflog compare` for the reasons")
    return rendered(lambda: _figure(comparisons, options), form)


def _figure(comparisons: Sequence[Comparison], options: Options) -> Figure:
    from matplotlib.figure import Figure

    most = max(len(one.rows) for one in comparisons)
    figure = Figure(figsize=(9, 1.7 + 0.32 * most * len(comparisons)), layout="constrained")
    panels = figure.subplots(len(comparisons), 1, squeeze=False)
    for axes, one in zip(panels.flat, comparisons, strict=True):
        rows = [(row, name) for row, name in zip(one.rows, names_of([r.pair.old for r in one.rows]), strict=True) if row.ratio.value is not None]
        axes.axvspan(-100 * one.margin, 100 * one.margin, color="#dddddd", alpha=0.6, linewidth=0)
        axes.axvline(0, color="#777777", linewidth=1, linestyle="--")
        seen: set[Verdict] = set()
        for at, (row, _) in enumerate(rows):
            value = row.ratio.value
            assert value is not None
            colour, marker = _LOOKS[row.verdict]
            low, high = (row.ratio.low, row.ratio.high) if row.ratio.low is not None and row.ratio.high is not None else (value, value)
            label = row.verdict.value if row.verdict not in seen else "_"
            seen.add(row.verdict)
            bars = [[100 * (value - low)], [100 * (high - value)]]
            axes.errorbar([100 * (value - 1)], [at], xerr=bars, color=colour, marker=marker, markersize=6, capsize=3, linewidth=1.4, label=label)
        names = [f"{name} (n = {row.ratio.n_old}{f'/{row.ratio.n_new}' if row.ratio.n_new != row.ratio.n_old else ''})" for row, name in rows]
        axes.set_yticks(range(len(rows)), list(map(plain, names)))
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(visible=True, axis="x", color="#dddddd", linewidth=0.6)
        better = "right" if METRICS[one.metric] is Better.HIGHER else "left"
        title = f"{one.metric}: {one.new} against {one.old}"
        axes.set(xlabel=f"change of {one.metric} (%), better to the {better}", title=plain(title))
        axes.legend(frameon=False, fontsize=8, loc="best")
    words = plain(caption(comparisons[0], options, units_of(comparisons))).replace("; ", ";\n", 1)
    figure.supxlabel(f"{words} Grey: within the margin.", fontsize=7, color="#555555")
    return figure


def described(comparisons: Sequence[Comparison]) -> str:
    """What the picture shows, in words."""
    told = []
    for one in comparisons:
        counts = {v: sum(row.verdict is v for row in one.rows) for v in Verdict}
        told.append(f"{one.metric} of {one.new} against {one.old}: " + ", ".join(f"{n} {v.value}" for v, n in counts.items() if n))
    return "; ".join(told)
