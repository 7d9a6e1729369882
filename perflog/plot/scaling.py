"""Throughput and speedup against devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perflog.extraction import Extraction
from perflog.plot.drawing import COLOURS, plain
from perflog.plot.series import MARKERS, bars_of, devices_of, foot, scaling_series, value_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def scaling_figure(extraction: Extraction) -> Figure:
    """Two panels on logarithmic axes: throughput with its intervals, and speedup beside the ideal."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    series = scaling_series(extraction)
    cases = [case for members in series.values() for case in members]
    counts = sorted({devices_of(case) for case in cases})
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, (name, members) in enumerate(series.items()):
        look: dict[str, Any] = {
            "color": COLOURS[number % 8], "marker": MARKERS[number % 8], "markersize": 5, "label": plain(name),
            "linewidth": 1.4,
        }  # fmt: skip
        values = [value_of(case) for case in members]
        left.errorbar([devices_of(case) for case in members], values, yerr=bars_of(members), capsize=3, **look)
        sped_up = [case for case in members if case.speedup is not None]
        right.plot([devices_of(case) for case in sped_up], [case.speedup for case in sped_up], **look)
    right.plot(counts, counts, color="#777777", linestyle="--", linewidth=1, label="ideal")
    _axes(left, f"throughput ({cases[0].throughput.unit})", counts)
    _axes(right, "speedup over one device", counts)
    handles, labels = right.get_legend_handles_labels()
    ncols = min(5, len(labels))
    figure.legend(handles, labels, loc="outside upper center", ncols=ncols, frameon=False, fontsize=9)
    right.set_yticks(counts, [str(count) for count in counts])
    right.yaxis.set_minor_locator(NullLocator())
    with_interval = any(case.throughput.low is not None for case in cases)
    foot(figure, extraction, cases, "; bars: interval of the median" if with_interval else "")
    return figure


def _axes(axes: Any, title: str, counts: Sequence[int]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set(xscale="log", yscale="log", xlabel="devices", title=title)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value < 1e5 else f"{value:,.0f}"))
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
