"""What is compared and by which rule: the metric, the change that does not matter, and the level of the statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perflog.cases.case import BETTER
from perflog.errors import UsageError
from perflog.settings.config import one_of
from perflog.stats.verdict import Better

#: The metrics that can be compared, and which direction is better.
METRICS: Mapping[str, Better] = {
    name: BETTER[name]
    for name in ("throughput", "step_time", "time_to_train", "speedup", "efficiency", "reported", "memory")
}


@dataclass(frozen=True, slots=True)
class Rule:
    """How cases are compared.

    Attributes:
        metric: one of :data:`METRICS`.
        margin: changes up to this share do not matter (0.02: two per cent).
        level: the confidence of intervals and tests, a share from 0.5 to below 1.

    Raises:
        UsageError: for a metric that cannot be compared, or a level outside its range.
    """

    metric: str = "throughput"
    margin: float = 0.02
    level: float = 0.95

    def __post_init__(self) -> None:
        one_of("metric", self.metric, list(METRICS))
        if not 0.5 <= self.level < 1:
            raise UsageError(f"a level lies between 50 and 100 per cent, not {100 * self.level:g}")

    @property
    def better(self) -> Better:
        """The direction in which the metric is better."""
        return METRICS[self.metric]


def share(value: str | float, option: str) -> float:
    """``2%``, ``0.02`` or the number 0.02 as a share: 0.02.

    Raises:
        UsageError: for anything else, or a share outside 0 to below 1.
    """
    number, per_cent, rest = str(value).partition("%")
    try:
        parsed = float(number) / (100 if per_cent else 1)
    except ValueError:
        parsed = -1.0
    if rest.strip() or not 0 <= parsed < 1:
        raise UsageError(f"{option} {value!r}: expected a share such as 2% or 0.02")
    return parsed
