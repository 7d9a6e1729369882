"""Step time over the steps of every run, with what is left out in grey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perflog.cases.case import Case
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.plot.drawing import COLOURS, plain
from perflog.plot.series import devices_text, foot, name_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perflog.plot.trace import Trace

#: Cases drawn in one picture of step times.
MOST_CASES = 12


def steps_figure(extraction: Extraction, traces: Sequence[Trace]) -> Figure:
    """A panel per case, a line per run.

    Raises:
        UsageError: when no run has step times in seconds, or there are too many cases.
    """
    from matplotlib.figure import Figure

    drawn = _by_case(extraction, traces)
    columns = min(2, len(drawn))
    rows = -(-len(drawn) // columns)
    figure = Figure(figsize=(9, 0.6 + 2.5 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    cases = [case for case, _ in drawn]
    for axes in panels.flat[len(drawn) :]:
        axes.set_axis_off()
    for axes, (case, own) in zip(panels.flat, drawn, strict=False):
        title = f"{plain(name_of(case, cases))}, {devices_text(case.key.get('devices'))}"
        _panel(axes, own, title)
    foot(figure, extraction, cases, "; grey: left out")
    return figure


def _by_case(extraction: Extraction, traces: Sequence[Trace]) -> list[tuple[Case, list[Trace]]]:
    """The cases that have traces, with them."""
    by_run = {(trace.run.log.name, trace.run.first_line): trace for trace in traces}
    places = [(case, [(run.log.name, run.first_line) for run in case.runs]) for case in extraction.cases]
    drawn = [(case, own) for case, keys in places if (own := [by_run[key] for key in keys if key in by_run])]
    if not drawn:
        raise UsageError("no run has step times in seconds: see `perflog extract` for what is missing")
    if len(drawn) > MOST_CASES:
        raise UsageError(f"{len(drawn)} cases, one picture holds {MOST_CASES}: name fewer logs")
    return drawn


def _panel(axes: Any, traces: Sequence[Trace], title: str) -> None:
    """The runs of one case; the axis is cut at three times the slowest step that counts, and the title says so."""
    for number, trace in enumerate(traces):
        axes.plot(trace.steps, trace.seconds, linewidth=0.8, color=COLOURS[number % 8], alpha=0.85)
    first, last = min(t.window[0] for t in traces), max(t.window[1] for t in traces)
    end = max(float(t.steps[-1]) for t in traces)
    for low, high in ((0.0, first), (last, end)):
        if high > low:
            axes.axvspan(low, high, color="#bbbbbb", alpha=0.45, linewidth=0)
    counted = [t.seconds[(t.steps > first) & (t.steps <= last)] for t in traces]
    top = max((float(seconds.max()) for seconds in counted if len(seconds)), default=0.0)
    highest = max(float(t.seconds.max()) for t in traces)
    axes.set_ylim(0, 1.1 * min(highest, 3 * top) if top else None)
    clipped = f"; up to {highest:.3g} s" if top and highest > 3 * top else ""
    axes.set_title(f"{title} ({len(traces)} run{'s' * (len(traces) != 1)}{clipped})", fontsize=9)
    axes.set(xlabel="step", ylabel="step time (s)", xlim=(0, end))
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
