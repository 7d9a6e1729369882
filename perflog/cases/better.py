"""Which direction of a metric is better: what a comparison and a history need to call a change good or bad."""

from __future__ import annotations

from collections.abc import Mapping

from perflog.stats.verdict import Better

#: The metrics whose direction is known.
BETTER: Mapping[str, Better] = {
    "throughput": Better.HIGHER, "step_time": Better.LOWER, "time_to_train": Better.LOWER, "speedup": Better.HIGHER,
    "efficiency": Better.HIGHER, "reported": Better.HIGHER, "memory": Better.LOWER, "accuracy": Better.HIGHER,
    "loss": Better.LOWER,
}  # fmt: skip
