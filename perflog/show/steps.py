"""Step time over the steps of every run, thinned out and drawn so that the warm-up can be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from perflog.cases.case import Case
from perflog.cases.choosing import sections
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.measurements.window import rows_of
from perflog.runs.run import Run
from perflog.runs.sight import Sight
from perflog.runs.throughput import RunMeasurements
from perflog.show.drawing import (
    COLOURS,
    LINE,
    MARGIN,
    SHADE,
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
from perflog.show.series import full_names_of, how
from perflog.show.text import counted
from perflog.show.words import PictureWords, words_of
from perflog.stats.warmup import mser5

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
#: A run's measurements are averaged to at most so many points.
POINTS = 1500


@dataclass(slots=True)
class Trace:
    """The step times of a run.

    Attributes:
        steps: (n,), the step at the end of each measurement.
        seconds: (n,), the time of a step.
        window: the first and the last step that counted.
        settled: the step at which the detector (MSER-5) finds the warm-up over; None where it finds no end, or the run
            has too few measurements for it.
    """

    run: Run
    steps: Floats
    seconds: Floats
    window: tuple[float, float]
    settled: float | None = None


#: What is seen of a run's step times: the two columns as bytes of float64, and the window and the settled step.
SeenTrace = tuple[bytes, bytes, tuple[float, float], float | None]


def sight_of_traces() -> tuple[Sight[SeenTrace], list[Trace]]:
    """What sees each run's step times while logs are read, and the list that they are put in.

    Runs whose step time is not known have no trace.
    """
    known: list[Trace] = []
    return Sight("traces", SeenTrace, seen_trace, lambda run, seen: known.append(trace_from(run, seen))), known


def trace_from(run: Run, seen: SeenTrace) -> Trace:
    """The step times of a run from what is kept of them."""
    steps, seconds, window, settled = seen
    return Trace(run, np.frombuffer(steps), np.frombuffer(seconds), window, settled)


def seen_trace(its: RunMeasurements) -> SeenTrace | None:
    """The step times of a run, as what is kept of them; None where they are not known in seconds."""
    run, segment = its.run, its.segment
    time = run.metrics.get("step_time")
    window = run.throughput.first_step, run.throughput.last_step
    if time is None or time.value is None or window[0] is None or window[1] is None or not segment.store.count:
        return None
    first, last = window[0], window[1]
    thin = max(1, -(-segment.store.count // POINTS))
    ends, covers, times = [], [], []
    inside = np.zeros(2)
    for rows in segment.store.blocks():
        used = (rows[0] >= first) & (rows[1] <= last)
        inside += rows[2][used].sum(), rows[3][used].sum()
        starts = np.arange(0, rows.shape[1], thin)
        ends.append(rows[1][np.minimum(starts + thin, rows.shape[1]) - 1])
        covers.append(np.add.reduceat(rows[2], starts))
        times.append(np.add.reduceat(rows[3], starts))
    if not inside[1] > 0:
        return None
    scale = time.value * inside[0] / inside[1]  # the store's time may be in another unit: see measure.py
    seconds = np.concatenate(times) / np.concatenate(covers) * scale
    rows = rows_of(segment)
    with np.errstate(divide="ignore", invalid="ignore"):  # a measurement may cover nothing
        result = mser5(rows[3] / rows[2])
    settled = None if result.cut is None or result.at_cap else float(rows[0, result.cut])
    return np.concatenate(ends).tobytes(), seconds.tobytes(), (first, last), settled


# ----------------------------------------------------------------------------------------------------
# The picture: for each case its runs below each other, all with the same axes.

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


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A case with its runs' step times, and the limits of their axes in steps and in seconds."""

    title: str
    traces: tuple[Trace, ...]
    end: float
    limits: tuple[float, float]


def steps_figure(extraction: Extraction, traces: Sequence[Trace], words: PictureWords | None = None) -> Figure:
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
    width = (WIDTH - 2 * MARGIN) / columns
    blocks = [_row_block(panels[start : start + columns], width, words) for start in range(0, len(panels), columns)]
    foot = how(extraction, [case for case, _ in drawn], words)
    return figure_of([_legend(panels, words), *blocks, text_block(foot, 8)])


def _by_case(extraction: Extraction, traces: Sequence[Trace], words: PictureWords) -> list[tuple[Case, _Drawn]]:
    """The cases that have traces, by model and unit."""
    by_run = {(trace.run.log.name, trace.run.first_line): trace for trace in traces}
    cases = [case for part in sections(extraction.cases) for case in part.cases]
    keys = [[(run.log.name, run.first_line) for run in case.runs] for case in cases]
    own = [tuple(by_run[key] for key in of_case if key in by_run) for of_case in keys]
    with_traces = [(case, of_case) for case, of_case in zip(cases, own, strict=True) if of_case]
    if not with_traces:
        raise UsageError("no run has step times in seconds: see `perflog extract` for what is missing")
    names = full_names_of([case for case, _ in with_traces], words)
    return [
        (case, _Drawn(name, of_case, max(float(trace.steps[-1]) for trace in of_case), limits_of(of_case)))
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
    inside = trace.seconds[(trace.steps > trace.window[0]) & (trace.steps <= trace.window[1])]
    if len(inside):
        quarters = np.percentile(inside, (25, 75))
        far = _ROOM * (quarters[1] - quarters[0])
        near = inside[(inside >= quarters[0] - far) & (inside <= quarters[1] + far)]  # of a few, or of noise, all are
        first, last = _percentiles(inside)
        least, greatest = min(first, float(near.min())), max(last, float(near.max()))
        spread = max(greatest - least, _LEAST_SPREAD * float(np.median(inside)))
        low = min(max(low, least - _ROOM * spread), least)
        high = max(min(high, greatest + _ROOM * spread), greatest)
    room = 0.08 * max(high - low, _LEAST_SPREAD * abs(high), 1e-12)
    return max(0.0, low - room), high + room


def _percentiles(values: Floats) -> tuple[float, float]:
    """The greatest value of the lowest per cent and the least of the highest; of few values all but the ends count."""
    ordered = np.sort(values)
    least, greatest = (np.floor((len(ordered) - 1) * share / 100) for share in _SHOWN)
    return float(ordered[int(least)]), float(ordered[int(greatest)])


def _legend(drawn: Sequence[_Drawn], words: PictureWords) -> Block:
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


def _beyond(trace: Trace, limits: tuple[float, float], words: PictureWords) -> str:
    """How many points stand beyond the axes, and how far; empty where none do."""
    outside = trace.seconds[(trace.seconds < limits[0]) | (trace.seconds > limits[1])]
    if not len(outside):
        return ""
    farthest = outside.max() if outside.max() > limits[1] else outside.min()
    shown = tick_text(float(f"{farthest:.3g}"))
    return words("points_beyond", count=len(outside), all=len(trace.seconds), farthest=shown)


def _row_block(row: Sequence[_Drawn], width: float, words: PictureWords) -> Block:
    """Cases beside each other."""
    blocks = [_case_block(case, width, MARGIN + column * width, words) for column, case in enumerate(row)]

    def draw(sheet: Sheet, top: float) -> None:
        for block in blocks:
            block.draw(sheet, top)

    return Block(max(block.height for block in blocks), draw)


def _case_block(case: _Drawn, width: float, left: float, words: PictureWords) -> Block:
    """A case's title and its runs, from ``left`` on and ``width`` inches wide."""
    heading = words("counted_behind", name=case.title, counted=words.counted(len(case.traces), "runs"))
    title = wrapped(heading, width - 0.25, _TITLE, bold=True)
    above = len(title) * line_height(_TITLE) + 0.04
    logs = [(trace.run.log.name.rpartition("/")[2], _beyond(trace, case.limits, words)) for trace in case.traces]
    names = [wrapped(words("separator").join(filter(None, shown)), width - 0.25, _NAME) for shown in logs]
    rooms = [0.0 if number == 0 else _BETWEEN for number in range(len(names))]
    heights = [room + len(lines) * line_height(_NAME) + 0.05 + _HIGH for room, lines in zip(rooms, names, strict=True)]

    def draw(sheet: Sheet, top: float) -> None:
        sheet.lines(left, top, title, _TITLE, weight="bold")
        for number, (trace, lines) in enumerate(zip(case.traces, names, strict=True)):
            start = top + above + sum(heights[:number])
            sheet.lines(left, start + rooms[number], lines, _NAME)
            _draw_run(sheet, case, trace, (left, start + heights[number] - _HIGH, width), number)

    return Block(above + sum(heights) + _BELOW, draw)


def _draw_run(sheet: Sheet, case: _Drawn, trace: Trace, place: tuple[float, float, float], number: int) -> None:
    """A run at a place (left, top and width in inches); the last of its case has the numbers of its steps."""
    from matplotlib.ticker import MaxNLocator

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
    axes.set(xlim=(0, case.end), ylim=case.limits)
    axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: tick_text(value))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")
    axes.tick_params(labelsize=7, labelbottom=number == len(case.traces) - 1)
