"""The basis of a log's measurements: which of the printed values is taken, and how."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perflog.formats.parser import Pattern, Value
from perflog.formats.units import kind, rate_unit
from perflog.measurements.rows import Columns, Floats

_TIMES = ("step_time", "interval_time")
MEASURING = ("rate", "step_time", "interval_time", "elapsed", "timestamp")


@dataclass(frozen=True, slots=True)
class Basis:
    """Which value of a pattern is taken, and how."""

    value: Value
    weight: Value | None = None  # a time or steps per second of the same span, where work per step varies
    work: Value | None = None  # work per step, printed on the line
    batch_on_line: bool = False  # the global batch size is printed on the line
    note: str = ""

    @property
    def is_rate(self) -> bool:
        return self.value.quantity == "rate"

    @property
    def real_time(self) -> bool:
        """Whether ``time`` is in seconds (else in seconds per unit of work per step)."""
        return not self.is_rate or self.weight is not None or self.work is not None

    @property
    def unit(self) -> str | None:
        """Canonical unit of a rate declared by the parser; None when the line must say."""
        parsed = rate_unit(self.value.unit)
        return parsed[0] if parsed else None


def choose_basis(
    pattern: Pattern, columns: Columns, every_step: bool, steps_per_print: float, as_printed: bool
) -> Basis | None:
    """Choose the value that says most about all steps, from what the first lines of a log print.

    A value of the last step alone is used when every step is printed (``every_step``); otherwise one that
    covers the steps in between. ``as_printed`` keeps the parser's order (conventions of published reports).
    """
    usable = [v for v in pattern.values if v.quantity in MEASURING and _any_finite(columns[v.group])]
    if not usable:
        return None
    rank = {"last": 0 if every_step else 4, "interval": 1, "cumulative": 2, "window": 3, "run": 5}
    order = {"rate": 0, "interval_time": 1, "step_time": 1, "elapsed": 2, "timestamp": 3}
    if as_printed:
        usable.sort(key=lambda v: order[v.quantity])
    else:
        usable.sort(key=lambda v: (rank[v.span], order[v.quantity]))
    chosen = usable[0]
    note = ""
    if chosen.span == "last" and not every_step and not as_printed:
        note = f"each line tells of its last step only: 1 of {steps_per_print:g} steps measured"
    if chosen.span == "window":
        note = f"each line is a mean over the last {chosen.window} steps, printed every {steps_per_print:g}"
    weight = work = None
    if chosen.quantity == "rate" and not as_printed:
        unit = rate_unit(chosen.unit)
        varies = unit is not None and kind(unit[0]) in ("tokens", "words")
        work = next((v for v in pattern.values if v.quantity == "samples" and _any_finite(columns[v.group])), None)
        if varies and work is None and chosen.span in ("interval", "last"):
            weight = next(
                (v for v in usable if v.span == chosen.span and (v.quantity in _TIMES or _counts_steps(v))), None
            )
    batch = "global_batch_size" in columns and _any_finite(columns["global_batch_size"])
    return Basis(chosen, weight, work, batch and chosen.quantity != "rate", note)


def _any_finite(column: Floats) -> bool:
    return len(column) > 0 and bool(np.isfinite(column[0]) or np.isfinite(column).any())


def _counts_steps(value: Value) -> bool:
    unit = rate_unit(value.unit) if value.quantity == "rate" else None
    return unit is not None and unit[1] == 1.0 and kind(unit[0]) == "steps"
