"""Step time over the steps of every run, drawn so that the warm-up can be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from perflog.cases.case import Case
from perflog.cases.choosing import sections
from perflog.errors import UsageError
from perflog.export.columns import counted
from perflog.extraction import Extraction
from perflog.plot.drawing import COLOURS, GRID, LINE, SHADE
from perflog.plot.series import Words, full_name, how, names_of, words_of
from perflog.plot.sheet import (
    MARGIN,
    WIDTH,
    Block,
    Entry,
    Sheet,
    figure_of,
    legend_block,
    line_height,
    text_block,
    text_width,
    tick_text,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perflog.plot.trace import Trace

#: Cases whose step times a report draws, and runs that one picture of step times holds.
MOST_CASES, MOST_RUNS = 12, 240
#: So many runs stand below each other over the whole width; more stand in two columns.
_ONE_COLUMN = 6
#: The height of a run's axes, the room below a case's last run and that between two runs, for the ticks of the upper
#: one, in inches; sizes of titles and of names of runs.
_HIGH, _BELOW, _BETWEEN, _TITLE, _NAME = 0.85, 0.5, 0.07, 8.5, 7.0
#: The step times shown of all, in per cent; and how often their spread inside the window may fit on either side of it.
_SHOWN, _ROOM = (1.0, 99.0), 3.0
#: The least spread that is drawn, as a share of the step time: what is steady is not magnified into noise.
_LEAST_SPREAD = 0.002
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A case with its runs' step times, and the limits of their axes in steps and in seconds."""

    title: str
    traces: tuple[Trace, ...]
    end: float
    limits: tuple[float, float]


def steps_figure(extraction: Extraction, traces: Sequence[Trace], words: Words | None = None) -> Figure:
    """For each case its runs below each other, all with the same axes.

    Raises:
        UsageError: when no run has step times in seconds, or there are too many runs.
    """
    words = words or words_of()
    drawn = _by_case(extraction, traces, words)
    runs = sum(len(case.traces) for _, case in drawn)
    if runs > MOST_RUNS:
        cases = counted(len(drawn), "case")
        raise UsageError(f"{runs} runs of {cases}, one picture holds {MOST_RUNS} runs: choose some with --where")
    columns = 1 if runs <= _ONE_COLUMN else 2
    panels = [case for _, case in drawn]
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    blocks = [_row_block(row, (WIDTH - 2 * MARGIN) / columns, words) for row in rows]
    foot = how(extraction, [case for case, _ in drawn], words)
    return figure_of([_legend(panels, words), *blocks, text_block(foot, 8)])


def _by_case(extraction: Extraction, traces: Sequence[Trace], words: Words) -> list[tuple[Case, _Drawn]]:
    """The cases that have traces, by model and unit."""
    by_run = {(trace.run.log.name, trace.run.first_line): trace for trace in traces}
    cases = [case for part in sections(extraction.cases) for case in part.cases]
    keys = [[(run.log.name, run.first_line) for run in case.runs] for case in cases]
    own = [tuple(by_run[key] for key in of_case if key in by_run) for of_case in keys]
    with_traces = [(case, of_case) for case, of_case in zip(cases, own, strict=True) if of_case]
    if not with_traces:
        raise UsageError("no run has step times in seconds: see `perflog extract` for what is missing")
    names = names_of([case for case, _ in with_traces], words)
    return [
        (
            case,
            _Drawn(full_name(name, case, words), of_case, max(float(t.steps[-1]) for t in of_case), limits_of(of_case)),
        )
        for name, (case, of_case) in zip(names, with_traces, strict=True)
    ]


def limits_of(traces: Sequence[Trace]) -> tuple[float, float]:
    """The step times that the axes of a case show: of every run the 1st to the 99th percentile, and all that counts
    but for strays.

    Where a slow start would press what counts into a line, the axes end at three times the spread of what counts above
    and below it.
    """
    limits = [_limits_of_run(trace) for trace in traces]
    return min(low for low, _ in limits), max(high for _, high in limits)


def _limits_of_run(trace: Trace) -> tuple[float, float]:
    low, high = _percentiles(trace.seconds)
    inside = trace.seconds[_inside(trace)]
    if len(inside):
        least, greatest = _without_strays(inside)
        spread = max(greatest - least, _LEAST_SPREAD * float(np.median(inside)))
        low = min(max(low, least - _ROOM * spread), least)
        high = max(min(high, greatest + _ROOM * spread), greatest)
    room = 0.08 * max(high - low, _LEAST_SPREAD * abs(high), 1e-12)
    return max(0.0, low - room), high + room


def _inside(trace: Trace) -> NDArray[np.bool_]:
    return np.asarray((trace.steps > trace.window[0]) & (trace.steps <= trace.window[1]))


def _percentiles(values: Floats) -> tuple[float, float]:
    """The greatest value of the lowest per cent and the least of the highest; of few values all but the ends count."""
    ordered = np.sort(values)
    least, greatest = (np.floor((len(ordered) - 1) * share / 100) for share in _SHOWN)
    return float(ordered[int(least)]), float(ordered[int(greatest)])


def _without_strays(values: Floats) -> tuple[float, float]:
    """The least and the greatest value but for those far from the others: of a few, or of mere noise, none is."""
    low, high = np.percentile(values, (25, 75))
    far = _ROOM * (high - low)
    near = values[(values >= low - far) & (values <= high + far)]
    least, greatest = _percentiles(values)
    return min(least, float(near.min())), max(greatest, float(near.max()))


def _legend(drawn: Sequence[_Drawn], words: Words) -> Block:
    """What lines, shades and triangles are; those alone that are there."""
    traces = [(trace, case) for case in drawn for trace in case.traces]
    entries = [Entry(words("step_time"), {"color": COLOURS[0], "linewidth": 1.2})]
    if any(_left_out(trace, case.end) for trace, case in traces):
        entries.append(
            Entry(words("left_out"), {"color": SHADE, "linewidth": 8, "alpha": 0.3, "solid_capstyle": "butt"})
        )
    if any(trace.settled is not None for trace, _ in traces):
        entries.append(Entry(words("detector"), _detector()))
    if any(_beyond(trace, case.limits, words) for trace, case in traces):
        entries.append(Entry(words("beyond"), _triangles("^")))
    return legend_block(entries)


def _detector() -> dict[str, Any]:
    return {"color": COLOURS[1], "linestyle": "--", "linewidth": 1.3}


def _triangles(marker: str) -> dict[str, Any]:
    return {"color": COLOURS[6], "marker": marker, "markersize": 3.5, "linestyle": "none"}


def _left_out(trace: Trace, end: float) -> list[tuple[float, float]]:
    """The parts of the axis of steps that did not count."""
    first, last = trace.window
    return [(low, high) for low, high in ((0.0, first), (last, end)) if high > low]


def _beyond(trace: Trace, limits: tuple[float, float], words: Words) -> str:
    """How many points stand beyond the axes, and how far; empty where none do."""
    outside = trace.seconds[(trace.seconds < limits[0]) | (trace.seconds > limits[1])]
    if not len(outside):
        return ""
    farthest = outside.max() if outside.max() > limits[1] else outside.min()
    shown = tick_text(float(f"{farthest:.3g}"))
    return words("points_beyond", count=len(outside), all=len(trace.seconds), farthest=shown)


def _row_block(row: Sequence[_Drawn], width: float, words: Words) -> Block:
    """Cases beside each other."""
    blocks = [_case_block(case, width, MARGIN + column * width, words) for column, case in enumerate(row)]

    def draw(sheet: Sheet, top: float) -> None:
        for block in blocks:
            block.draw(sheet, top)

    return Block(max(block.height for block in blocks), draw)


def _case_block(case: _Drawn, width: float, left: float, words: Words) -> Block:
    """A case's title and its runs, from ``left`` on and ``width`` inches wide."""
    heading = words("counted_behind", name=case.title, counted=words.counted(len(case.traces), "runs"))
    title = wrapped(heading, width - 0.25, _TITLE, bold=True)
    above = len(title) * line_height(_TITLE) + 0.04
    names = [wrapped(_name(trace, case, words), width - 0.25, _NAME) for trace in case.traces]
    rooms = [0.0 if number == 0 else _BETWEEN for number in range(len(names))]
    heights = [room + len(lines) * line_height(_NAME) + 0.05 + _HIGH for room, lines in zip(rooms, names, strict=True)]

    def draw(sheet: Sheet, top: float) -> None:
        for number, line in enumerate(title):
            sheet.text(left, top + number * line_height(_TITLE), line, _TITLE, weight="bold")
        for number, (trace, lines) in enumerate(zip(case.traces, names, strict=True)):
            start = top + above + sum(heights[:number])
            for place, line in enumerate(lines):
                sheet.text(left, start + rooms[number] + place * line_height(_NAME), line, _NAME)
            _draw_run(sheet, case, trace, (left, start + heights[number] - _HIGH, width), number)

    return Block(above + sum(heights) + _BELOW, draw)


def _name(trace: Trace, case: _Drawn, words: Words) -> str:
    """A run's log, as far as its name tells it apart, and what its axes do not show."""
    shown = trace.run.log.name.rpartition("/")[2], _beyond(trace, case.limits, words)
    return words("separator").join(filter(None, shown))


def _draw_run(sheet: Sheet, case: _Drawn, trace: Trace, place: tuple[float, float, float], number: int) -> None:
    """A run at a place (left, top and width in inches); the last of its case has the numbers of its steps."""
    left, top, width = place
    labels = max(text_width(f"{limit:.4g}", 7) for limit in case.limits) + 0.25
    axes = sheet.axes(left + labels, top, width - labels - 0.2, _HIGH - 0.06)
    for low, high in _left_out(trace, case.end):
        axes.axvspan(low, high, color=SHADE, alpha=0.22, linewidth=0)
    for border in trace.window:
        if 0 < border < case.end:
            axes.axvline(border, color=LINE, linewidth=1)
    if trace.settled is not None:
        axes.axvline(trace.settled, **_detector())
    axes.plot(trace.steps, np.clip(trace.seconds, *case.limits), linewidth=0.8, color=COLOURS[0])
    for side, marker, limit in ((trace.seconds > case.limits[1], "^", 1), (trace.seconds < case.limits[0], "v", 0)):
        if side.any():
            axes.plot(trace.steps[side], np.full(side.sum(), case.limits[limit]), clip_on=False, **_triangles(marker))
    _set_axes(axes, case, number == len(case.traces) - 1)


def _set_axes(axes: Axes, case: _Drawn, last: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set(xlim=(0, case.end), ylim=case.limits)
    axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: tick_text(value))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")
    axes.tick_params(labelsize=7, labelbottom=last)
    axes.grid(visible=True, **GRID)
    axes.set_axisbelow(True)
