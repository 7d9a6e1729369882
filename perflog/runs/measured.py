"""What a run's throughput was made from, and the run up to a line by all of its measurements."""

from __future__ import annotations

from msgspec import Struct

from perflog.evidence.line import Whole
from perflog.evidence.survey import Survey, totals_until
from perflog.formats.parser import Pattern
from perflog.measurements.basis import Basis
from perflog.measurements.segment import Segment, Taken


class Measured(Struct, frozen=True):
    """What a run's throughput was made from.

    ``scale``: seconds in a unit of the store's time, None where unknown; ``factor``: throughput per work over time.
    """

    pattern: Pattern
    segment: Segment
    basis: Basis
    taken: Taken
    scale: float | None
    factor: float
    unit: str
    estimator: str


def whole_until(line: int, measured: Measured, found: Survey | None = None) -> Whole:
    """The run by its measurements up to a line, which is what an account that stands there can tell of.

    Its time is that since the program's clock was last set back: behind steps to warm up, say.
    """
    estimate, count = measured.taken.estimate, measured.segment.count
    whole, end = totals_until(None, measured.segment)[0] if found is None else found.totals, count.end
    if line < measured.segment.last_line:
        whole, end = totals_until(line, measured.segment)
    factor, scale = measured.factor, measured.scale
    throughput = (estimate.value * factor, whole.work / whole.time * factor) if whole.time > 0 else None
    per_step = None
    if scale is not None and estimate.covers > 0 and whole.covers > 0:
        per_step = (estimate.time / estimate.covers * scale, whole.time / whole.covers * scale)
    seconds = None
    steps, timed, since = end - count.origin, whole, measured.segment.running.fell_at
    if measured.basis.value.is_clock and measured.basis.value.since != "epoch" and since > count.origin:
        timed, _ = totals_until(line, measured.segment, since)
    if scale is not None and timed.covers > 0:
        seconds = timed.time / timed.covers * scale * (steps if timed is whole else end - since)
    return Whole(throughput, measured.unit, per_step, seconds, made=steps / end if end > 0 else 1.0)
