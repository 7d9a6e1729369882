"""The throughput of every run against its case's centre (``perflog plot --kind spread``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perflog.extraction import Extraction
from perflog.plot.drawing import COLOURS, plain
from perflog.plot.series import devices_text, foot, name_of, series_of, value_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run_values_figure(extraction: Extraction) -> Figure:
    """A line per case, a point per run."""
    from matplotlib.figure import Figure

    cases = [case for members in series_of(extraction).values() for case in members]
    figure = Figure(figsize=(9, 1.4 + 0.34 * len(cases)), layout="constrained")
    axes = figure.subplots()
    for place, case in enumerate(cases):
        runs = [run.throughput.value for run in case.runs if run.throughput.value is not None]
        changes = [100 * (value / value_of(case) - 1) for value in runs]
        axes.plot(changes, [place] * len(changes), "o", color=COLOURS[0], alpha=0.7, markersize=5)
    names = [f"{plain(name_of(c, cases))}, {devices_text(c.key.get('devices'))} (n = {c.throughput.n})" for c in cases]
    axes.set_yticks(range(len(cases)), names)
    axes.invert_yaxis()
    axes.axvline(0, color="#777777", linewidth=1, linestyle="--")
    axes.grid(visible=True, axis="x", color="#dddddd", linewidth=0.6)
    label = f"each run's throughput against the {extraction.options.aggregate} of its case (%)"
    axes.set(xlabel=label, title="spread of the runs")
    foot(figure, extraction, cases, "")
    return figure
