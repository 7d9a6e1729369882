"""Step time over the steps of each run, thinned out for a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perflog.measurements.segment import Segment
from perflog.measurements.window import rows_of
from perflog.runs.run import Run
from perflog.runs.sight import Sight
from perflog.stats.warmup import mser5

#: A run's measurements are averaged to at most so many points.
POINTS = 1500
Floats = NDArray[np.float64]


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

    def take(run: Run, seen: SeenTrace) -> None:
        known.append(trace_from(run, seen))

    return Sight("traces", SeenTrace, seen_trace, take), known


def seen_trace(run: Run, segment: Segment) -> SeenTrace | None:
    """The step times of a run, as what is kept of them; None where they are not known in seconds."""
    trace = trace_of(run, segment)
    return None if trace is None else (trace.steps.tobytes(), trace.seconds.tobytes(), trace.window, trace.settled)


def trace_from(run: Run, seen: SeenTrace) -> Trace:
    """The step times of a run from what is kept of them."""
    steps, seconds, window, settled = seen
    return Trace(run, np.frombuffer(steps), np.frombuffer(seconds), window, settled)


def trace_of(run: Run, segment: Segment) -> Trace | None:
    """The step times of a run; None where they are not known in seconds."""
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
    return Trace(run, np.concatenate(ends), seconds, (first, last), _settled(segment))


def _settled(segment: Segment) -> float | None:
    """The step at which the detector of ``--warmup auto`` finds the warm-up over; None where it finds none."""
    rows = rows_of(segment)
    with np.errstate(divide="ignore", invalid="ignore"):  # a measurement may cover nothing
        result = mser5(rows[3] / rows[2])
    return None if result.cut is None or result.at_cap else float(rows[0, result.cut])
