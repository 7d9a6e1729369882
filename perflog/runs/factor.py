"""What turns work and time as printed into throughput: units, devices, batch size."""

from __future__ import annotations

from perflog.formats.parser import Pattern, Value
from perflog.formats.units import kind, rate_unit
from perflog.formats.vocabulary import SOURCES
from perflog.measurements.basis import Basis
from perflog.reading.reading import Reading
from perflog.runs.metadata import Metadata


def seconds_scale(reading: Reading, pattern: Pattern, basis: Basis, metadata: Metadata) -> float | None:
    """What turns the stored time into seconds; None when it cannot be known.

    A rate gives the time of a step where it counts steps, or what the batch size counts: samples, not tokens.
    """
    if basis.real_time:
        return 1.0
    unit, reason = _unit_of(reading, pattern, basis.value)
    if reason or kind(unit) not in ("steps", "items"):
        return None
    if kind(unit) == "steps":
        return 1.0
    total = global_batch(metadata)
    multiplier, _ = scope_multiplier(basis.value.scope, metadata)
    return total / multiplier if total is not None and multiplier else None


def global_batch(metadata: Metadata) -> int | None:
    """Samples in one step of the whole job; None when that is unknown."""
    total = metadata.integer("global_batch_size")
    batch, devices = metadata.integer("batch_size"), metadata.integer("devices")
    if total and (not batch or _rank_of(metadata, "global_batch_size") <= _rank_of(metadata, "batch_size")):
        return total
    return batch * devices if batch and devices else total


def _rank_of(metadata: Metadata, key: str) -> int:
    return SOURCES.index(metadata.sources[key])


def scope_multiplier(scope: str, metadata: Metadata) -> tuple[float, str]:
    """(how many of what a number is said of make up the job, the reason why that is unknown)."""
    if scope == "job":
        return 1.0, ""
    key = "nodes" if scope == "node" else "devices"
    count = metadata.integer(key)
    if count is None:
        return 0.0, f"the printed rate is one {scope}'s and the number of {key} is unknown: give --set {key}=N"
    return float(count), ""


def factor_of(reading: Reading, pattern: Pattern, basis: Basis, metadata: Metadata) -> tuple[float, str, str]:
    """(factor, unit, reason): what turns Σ work / Σ time into throughput, or why it cannot be known."""
    if basis.is_rate:
        return _factor_of_rate(reading, pattern, basis, metadata)
    if basis.batch_on_line:
        return 1.0, "samples/s", ""
    accumulated = str(metadata.values.get("gradient_accumulation_steps", "1"))
    if accumulated != "1" and "global_batch_size" not in metadata.values:
        reason = f"each step accumulates {accumulated} micro-batches and the log prints times only"
        return 0.0, "samples/s", f"{reason}: give --set global_batch_size=N"
    batch = global_batch(metadata)
    if batch is None:
        missing = [key for key in ("batch_size", "devices") if metadata.integer(key) is None]
        give = " ".join(f"--set {key}=N" for key in missing)
        return 0.0, "samples/s", f"the log prints times only, and {' and '.join(missing)} unknown: give {give}"
    return float(batch), "samples/s", ""


def _factor_of_rate(reading: Reading, pattern: Pattern, basis: Basis, metadata: Metadata) -> tuple[float, str, str]:
    unit, reason = _unit_of(reading, pattern, basis.value)
    if reason:
        return 0.0, "", reason
    if kind(unit) != "steps":
        factor, reason = scope_multiplier(basis.value.scope, metadata)
        return factor, unit, reason
    batch = global_batch(metadata)
    if batch is None:
        reason = "the log prints steps per second; for samples per second give --set batch_size=N (per device)"
        return 0.0, unit, f"{reason} and devices=N"
    return float(batch), "samples/s", ""


def _unit_of(reading: Reading, pattern: Pattern, value: Value) -> tuple[str, str]:
    """The rate's canonical unit: as the parser declares it, or as every line prints it."""
    declared = rate_unit(value.unit)
    if declared is not None:
        return declared[0], ""
    printed = {u for u in reading.units.get(pattern.key, set()) if u and u != "None"}
    known = {parsed[0] for u in printed if (parsed := rate_unit(u)) is not None}
    # kimg/sec: the lines' numbers were read as img/sec
    scaled = any(parsed[1] != 1.0 for u in printed if (parsed := rate_unit(u)) is not None)
    unknown = any(rate_unit(u) is None for u in printed)
    if len(known) == 1 and not scaled and not unknown:
        return known.pop(), ""
    if not printed:
        return "", "the log does not say what the rate counts"
    return "", f"the rate's unit is not one that is known: {', '.join(sorted(printed))}"
