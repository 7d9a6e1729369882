"""What turns work and time as printed into throughput: units, devices, batch size."""

from __future__ import annotations

from perflog.formats.parser import Pattern, Value
from perflog.formats.units import kind, rate_unit
from perflog.formats.vocabulary import SOURCES
from perflog.measurements.plan import Plan
from perflog.measurements.series import Segment
from perflog.reading.reading import Reading
from perflog.runs.metadata import Metadata


def seconds_scale(reading: Reading, pattern: Pattern, plan: Plan, metadata: Metadata) -> float | None:
    """What turns the stored time into seconds; None when it cannot be known.

    A rate gives the time of a step where it counts steps, or what the batch size counts: samples, not tokens.
    """
    if plan.real_time:
        return 1.0
    unit, reason = _unit_of(reading, pattern, plan.value)
    if reason or kind(unit) not in ("steps", "items"):
        return None
    if kind(unit) == "steps":
        return 1.0
    total = global_batch(metadata)
    multiplier, _ = scope_multiplier(plan.value.scope, metadata)
    return total / multiplier if total is not None and multiplier else None


def global_batch(metadata: Metadata) -> int | None:
    total = metadata.integer("global_batch_size")
    batch, devices = metadata.integer("batch_size"), metadata.integer("devices")
    if total and (not batch or SOURCES.index(metadata.sources["global_batch_size"]) <= SOURCES.index(metadata.sources["batch_size"])):
        return total
    return batch * devices if batch and devices else total


def scope_multiplier(scope: str, metadata: Metadata) -> tuple[float, str]:
    if scope == "job":
        return 1.0, ""
    key = "nodes" if scope == "node" else "devices"
    count = metadata.integer(key)
    if count is None:
        return 0.0, f"the printed rate is one {scope}'s and the number of {key} is unknown: give --set {key}=N"
    return float(count), ""


def factor_of(reading: Reading, pattern: Pattern, segment: Segment, metadata: Metadata) -> tuple[float, str, str]:
    """(factor, unit, reason): what turns Σ work / Σ time into throughput."""
    plan = segment.plan
    assert plan is not None
    if plan.is_rate:
        unit, reason = _unit_of(reading, pattern, plan.value)
        if reason:
            return 0.0, "", reason
        factor, reason = scope_multiplier(plan.value.scope, metadata)
        if kind(unit) == "steps":
            batch = global_batch(metadata)
            if batch is None:
                return (
                    0.0,
                    unit,
                    "the log prints steps per second; for samples per second give --set batch_size=N (per device) and devices=N",
                )
            return float(batch), "samples/s", ""
        return factor, unit, reason
    if plan.batch_on_line:
        return 1.0, "samples/s", ""
    accumulated = str(metadata.values.get("gradient_accumulation_steps", "1"))
    if accumulated != "1" and "global_batch_size" not in metadata.values:
        return 0.0, "samples/s", f"each step accumulates {accumulated} micro-batches and the log prints times only: give --set global_batch_size=N"
    batch = global_batch(metadata)
    if batch is None:
        missing = [k for k in ("batch_size", "devices") if metadata.integer(k) is None]
        return (
            0.0,
            "samples/s",
            f"the log prints times only, and {' and '.join(missing)} unknown: give " + " ".join(f"--set {k}=N" for k in missing),
        )
    return float(batch), "samples/s", ""


def _unit_of(reading: Reading, pattern: Pattern, value: Value) -> tuple[str, str]:
    """The rate's canonical unit: as the parser declares it, or as every line prints it."""
    printed = {u for u in reading.units.get(pattern.key, set()) if u and u != "None"}
    known = {parsed[0] for u in printed if (parsed := rate_unit(u)) is not None}
    declared = rate_unit(value.unit)
    if declared is not None:
        return declared[0], ""
    scaled = any(parsed[1] != 1.0 for u in printed if (parsed := rate_unit(u)) is not None)  # kimg/sec: lines were read as img/sec
    if len(known) == 1 and not scaled:
        return known.pop(), ""
    if not printed:
        return "", "the log does not say what the rate counts"
    return "", f"the rate's unit is not one that is known: {', '.join(sorted(printed))}"
