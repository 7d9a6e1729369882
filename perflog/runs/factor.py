"""What turns work and time as printed into throughput: units, devices, batch size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from perflog.formats.parser import Pattern, Value
from perflog.formats.printed import kind, per_part, rate_unit, work_unit
from perflog.formats.vocabulary import SOURCES, Scalar
from perflog.measurements.basis import Basis
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.runs.metadata import Metadata, model_parallel, of_micro_batches


def seconds_scale(reading: Reading, pattern: Pattern, basis: Basis, metadata: Metadata) -> float | None:
    """What turns the stored time into seconds; None when it cannot be known.

    A rate gives the time of a step where it counts steps, or what is known of a step: samples, or tokens.
    """
    if basis.real_time:
        return 1.0
    unit, reason = _unit_of(reading, pattern, basis.value)
    if reason:
        return None
    if kind(unit) == "steps":
        return 1.0
    work = {"items": global_batch, "tokens": tokens_per_step}.get(kind(unit))
    total = work(metadata) if work is not None else None
    if kind(unit) == "items" and _accumulates(metadata):
        total = None  # how many micro-batches a step of the rate holds is not said
    multiplier, unknown = scope_multiplier(basis.value.scope, metadata)
    if unknown and kind(unit) == "items" and not _accumulates(metadata):
        return _batch_of_one(basis.value.scope, metadata)
    return total / multiplier if total is not None and multiplier else None


def _batch_of_one(scope: str, metadata: Metadata) -> float | None:
    """What one rank or device does in a step, where the number of devices is unknown; None where nothing tells it."""
    batch = metadata.integer("batch_size")
    alone = scope in ("rank", "device") and model_parallel(metadata.values) == 1
    return float(batch) if batch and alone else None


def _accumulates(metadata: Metadata) -> bool:
    """Whether a step is several micro-batches and no batch size of the whole step is known."""
    accumulated = str(metadata.values.get("gradient_accumulation_steps", "1"))
    return accumulated != "1" and "global_batch_size" not in metadata.values


def global_batch(metadata: Metadata) -> int | None:
    """Samples in one step of the whole job; None when that is unknown.

    Devices that share a replica of the model (tensor, pipeline, context parallelism) share its batch.
    """
    total = metadata.integer("global_batch_size")
    batch, devices = metadata.integer("batch_size"), metadata.integer("devices")
    if total and (not batch or _rank_of(metadata, "global_batch_size") <= _rank_of(metadata, "batch_size")):
        return total
    split = model_parallel(metadata.values)
    return batch * (devices // split) if batch and devices and devices % split == 0 else total


def _rank_of(metadata: Metadata, key: str) -> int:
    return SOURCES.index(metadata.sources[key])


def tokens_per_step(metadata: Metadata) -> int | None:
    """Tokens in one step of the whole job; None when that is unknown."""
    return metadata.integer("tokens_per_step")


def scope_multiplier(scope: str, metadata: Metadata) -> tuple[float, str]:
    """(how many of what a number is said of make up the job, the reason why that is unknown)."""
    if scope == "job":
        return 1.0, ""
    if scope == "unknown":
        devices = metadata.integer("devices") or 1
        return (1.0, "") if devices == 1 else (0.0, of_whom(devices))
    key = "nodes" if scope == "node" else "devices"
    count = metadata.integer(key)
    if count is None:
        return 0.0, f"the printed rate is one {scope}'s and the number of {key} is unknown: give --set {key}=N"
    return float(count), ""


def of_whom(devices: int) -> str:
    """Why a rate of which no line says whose work it counts gives no number."""
    return f"the training has {devices} devices, and no line says whether the printed rate counts one's work or all"


class Factor(NamedTuple):
    """What turns Σ work / Σ time into throughput in ``unit``; ``reason`` says why it cannot be known.

    ``note`` says what would give samples per second, where the throughput counts steps or one device's work.
    """

    value: float
    unit: str
    reason: str = ""
    note: str = ""


def factor_of(reading: Reading, pattern: Pattern, basis: Basis, metadata: Metadata) -> Factor:
    """The factor of a run's measurements.

    Where the log prints times or steps per second and the work of a step is unknown, steps are counted. Where it
    prints one device's rate and the number of devices is unknown, the unit says so.
    """
    if basis.is_rate:
        return _factor_of_rate(reading, pattern, basis, metadata)
    if basis.batch_on_line:
        return Factor(1.0, "samples/s")
    if basis.counts_work and basis.work is not None:
        return _factor_of_work(basis.work, metadata)
    return _factor_of_steps(metadata)


def needs_facts(reading: Reading, pattern: Pattern, basis: Basis) -> bool:
    """Whether some fact about a run may change its factor: not of a rate of the whole job, nor of work on the line."""
    if not basis.is_rate:
        return not basis.batch_on_line
    unit, reason = _unit_of(reading, pattern, basis.value)
    return not reason and (kind(unit) == "steps" or basis.value.scope != "job")


def _factor_of_work(value: Value, metadata: Metadata) -> Factor:
    unit = f"{work_unit(value.unit)}/s"
    factor, unknown = scope_multiplier(value.scope, metadata)
    return _of_part(unit, value.scope, unknown) if unknown else Factor(factor, unit)


def _factor_of_steps(metadata: Metadata) -> Factor:
    tokens = tokens_per_step(metadata)
    if tokens is not None:
        return Factor(float(tokens), "tokens/s")
    accumulated = str(metadata.values.get("gradient_accumulation_steps", "1"))
    of_device = of_micro_batches(metadata.values)
    known = "global_batch_size" in metadata.values or (of_device and of_device == metadata.integer("batch_size"))
    if accumulated != "1" and not known:
        why = f"each step accumulates {accumulated} micro-batches of unknown size together, so that steps are counted"
        return Factor(1.0, "steps/s", "", f"{why}: for samples/s give --set global_batch_size=N")
    batch = global_batch(metadata)
    if batch is None:
        missing = [key for key in ("batch_size", "devices") if metadata.integer(key) is None]
        give = " ".join(f"--set {key}=N" for key in missing)
        are = "are" if len(missing) > 1 else "is"
        why = f"{' and '.join(missing)} {are} unknown, so that steps are counted"
        return Factor(1.0, "steps/s", "", f"{why}: for samples/s give {give}")
    return Factor(float(batch), "samples/s")


def _factor_of_rate(reading: Reading, pattern: Pattern, basis: Basis, metadata: Metadata) -> Factor:
    unit, reason = _unit_of(reading, pattern, basis.value)
    if reason:
        return Factor(0.0, "", reason)
    if kind(unit) == "steps":
        return _factor_of_steps(metadata)
    factor, unknown = scope_multiplier(basis.value.scope, metadata)
    return _of_part(unit, basis.value.scope, unknown) if unknown else Factor(factor, unit)


def _of_part(unit: str, scope: str, unknown: str) -> Factor:
    """A rate of a device or rank whose number is unknown, in its own unit; what a node is, differs among programs."""
    return (
        Factor(0.0, unit, unknown) if scope in ("node", "unknown") else Factor(1.0, per_part(unit, scope), "", unknown)
    )


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


# ----------------------------------------------------------------------------------------------------
# Where the factors of a run's number come from: what is said of those that a path tells, and what refuses the number.
#
# A factor is a fact without which the number would be another one: devices where the rate is one device's, the batch
# size where the log prints times.

#: The facts that may be factors, in words.
FACTORS = {
    "devices": "the number of devices", "nodes": "the number of nodes", "batch_size": "the batch size",
    "global_batch_size": "the global batch size", "gradient_accumulation_steps": "the number of accumulated steps",
    "devices_per_node": "the number of devices in a node", "micro_batch_size": "the micro-batch size",
    "sequence_length": "the sequence length", "tokens_per_step": "the number of tokens in a step",
}  # fmt: skip
#: What is said of a factor that nothing but names tells: once under a table, not of each case.
PATH_ALONE = {
    key: f"{words} is known from names of files and folders alone, and the throughput rests on it"
    for key, words in FACTORS.items()
}  # fmt: skip


def notes_of_path(reading: Reading, pattern: Pattern, basis: Basis | None, metadata: Metadata) -> list[Note]:
    """What is to be said of the factors of a run's number that nothing but its path tells."""
    from_path = [key for key in FACTORS if metadata.sources.get(key) == "path"]
    return [
        Note(
            changes="number",
            text=f"{FACTORS[key]}, {metadata.values[key]}, is known from the folder {metadata.above[key]!r} alone, "
            "which stands above the path that was given"
            if key in metadata.above
            else PATH_ALONE[key],
        )
        for key in _factors(from_path, reading, pattern, basis, metadata)
    ]


def contradiction(reading: Reading, pattern: Pattern, basis: Basis | None, metadata: Metadata) -> str:
    """Why a run has no number: the log gives two values for a factor of it; empty where it does not."""
    contradictions = metadata.contradictions
    return next((contradictions[key] for key in _factors(contradictions, reading, pattern, basis, metadata)), "")


def _factors(
    keys: Iterable[str], reading: Reading, pattern: Pattern, basis: Basis | None, metadata: Metadata
) -> list[str]:
    """Those of some facts with another value of which the number would be another one."""
    known = [(key, metadata.values[key]) for key in keys if key in metadata.values]
    if basis is None or not known or not needs_facts(reading, pattern, basis):
        return []
    factor = factor_of(reading, pattern, basis, metadata).value
    others = ((key, Metadata({**metadata.values, key: _another(value)}, metadata.sources)) for key, value in known)
    return [key for key, other in others if factor_of(reading, pattern, basis, other).value != factor]


def _another(value: Scalar) -> Scalar:
    return 2 * value if isinstance(value, int) else f"{value}0"
