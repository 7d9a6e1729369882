"""Where the factors of a run's number come from: what is said of those that a path tells, and what refuses the number.

A factor is a fact without which the number would be another one: devices where the rate is one device's, the batch size
where the log prints times.
"""

from __future__ import annotations

from collections.abc import Iterable

from perflog.formats.parser import Pattern
from perflog.formats.vocabulary import Scalar
from perflog.measurements.basis import Basis
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.runs.factor import factor_of, needs_facts
from perflog.runs.metadata import Metadata

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
