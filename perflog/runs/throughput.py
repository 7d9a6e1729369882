"""Throughput and step time of one run, from the measurements inside the window."""

from __future__ import annotations

from collections.abc import Mapping

from perflog.formats.parser import Pattern
from perflog.measurements.estimate import Estimate, estimate
from perflog.measurements.series import RankSeries, Segment
from perflog.measurements.warmup import doubt, settled
from perflog.measurements.window import Taken, select
from perflog.reading.reading import Reading
from perflog.runs.factor import factor_of, seconds_scale
from perflog.runs.metadata import Metadata
from perflog.runs.primary import main_rank
from perflog.runs.run import Metric
from perflog.settings.amount import Window
from perflog.settings.options import Options


def ranks_used(ranks: Mapping[int, RankSeries], index: int, segment: Segment, metadata: Metadata, notes: list[str]) -> list[int]:
    """Which ranks' measurements count: all when each speaks for itself, else the first that speaks for all."""
    main = main_rank(ranks)
    tagged = sorted(r for r in ranks if index < len(ranks[r].segments) and ranks[r].segments[index].store.count)
    if len(tagged) < 2:
        return [main]
    scope = segment.plan.value.scope if segment.plan else "job"
    if scope == "job":
        notes.append(f"{len(tagged)} ranks print the job's value: rank {main} is taken")
        return [main]
    devices = metadata.integer("devices")
    if devices is None and tagged == list(range(len(tagged))):
        metadata.values["devices"] = len(tagged)
        metadata.sources["devices"] = "log"
        notes.append(f"devices taken from the {len(tagged)} ranks that print")
        return tagged
    if devices != len(tagged):
        notes.append(f"{len(tagged)} ranks print, of {devices} devices")
    return tagged


def throughput_of(reading: Reading, options: Options, pattern: Pattern, segment: Segment, metadata: Metadata, notes: list[str]) -> Metric:
    plan = segment.plan
    metric = Metric("throughput", None, "", options.estimator, parser=pattern.parser)
    if segment.refused:
        metric.reason = segment.refused
        return metric
    if plan is None:
        metric.reason = "no line holds a rate or a time that can be used"
        return metric
    factor, unit, reason = factor_of(reading, pattern, segment, metadata)
    metric.unit = unit
    taken = Taken()
    scale = seconds_scale(reading, pattern, plan, metadata)
    window, note, metric.reason = _window(segment, options)
    if metric.reason:
        return metric
    if note:
        notes.append(note)
    found = estimate(select(segment, window, scale, taken), options.estimator)
    metric.used, metric.excluded = found.used, taken.excluded
    metric.first_line, metric.last_line = taken.first_line, taken.last_line
    metric.first_step, metric.last_step = taken.first_step, taken.last_step
    for why, count in (("trimmed", found.dropped), ("no usable number", segment.unusable), ("printed twice", segment.doubled)):
        taken.leave_out(why, count)
    metric.reason = taken.reason or found.reason or reason
    if not metric.reason:
        metric.value = found.value * factor
        metric.time_per_step = found.time / found.covers if found.covers else None
        if segment.keyless:
            notes.append("the lines print no step numbers; each is taken to cover equally many steps")
        if options.window.warmup.unit != "auto" and not options.convention and (late := doubt(segment, options.window)):
            notes.append(late)
    return metric


def _window(segment: Segment, options: Options) -> tuple[Window, str, str]:
    """(window, note, reason): the window that counts in this segment."""
    return settled(segment, options.window) if options.window.warmup.unit == "auto" else (options.window, "", "")


def step_time_of(reading: Reading, segment: Segment, options: Options, metadata: Metadata, pattern: Pattern, throughput: Metric) -> Metric | None:
    """Seconds per step over the throughput's window; None where the log's times are not in seconds."""
    plan = segment.plan
    scale = seconds_scale(reading, pattern, plan, metadata) if plan is not None else None
    if plan is None or scale is None:
        return None
    per_step = throughput.time_per_step
    if per_step is None and not throughput.reason:
        return None
    if per_step is None:  # throughput lacks something else (the batch size): the times themselves may be known
        taken = Taken()
        window, _, unsettled = _window(segment, options)
        if unsettled:
            return None
        found: Estimate = estimate(select(segment, window, scale, taken), "total")
        if found.reason or taken.reason or not found.covers:
            return None
        per_step, throughput = found.time / found.covers, Metric("", None, "", "", found.used, taken.excluded, taken.first_line, taken.last_line)
    return Metric(
        "step_time", per_step * scale, "s", "total", throughput.used, throughput.excluded, throughput.first_line, throughput.last_line, parser=pattern.parser
    )
