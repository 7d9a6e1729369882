"""Amounts of training and windows, as users write them: ``100``, ``2epochs``, ``10records``, ``30s``, ``10%``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from perflog.errors import UsageError

_AMOUNT = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*(steps?|epochs?|records?|prints?|s|sec|seconds?|%|)\s*$")
_UNITS = {
    "": "steps",
    "step": "steps",
    "epoch": "epochs",
    "record": "records",
    "print": "records",
    "s": "s",
    "sec": "s",
    "second": "s",
    "%": "%",
}


@dataclass(frozen=True, slots=True)
class Amount:
    """So many steps, epochs, printed records, seconds or per cent of the steps; ``auto``: what the detector finds."""

    number: float
    unit: str = "steps"

    def __str__(self) -> str:
        if self.unit == "auto":
            return "auto"
        if self.unit in ("s", "%"):
            return f"{self.number:g}{self.unit}"
        name = self.unit.removesuffix("s") if self.number == 1 else self.unit
        return f"{self.number:g} {name}"


#: The warm-up that a detector finds in each log.
AUTO = Amount(0, "auto")


def amount(text: str | int | float, option: str) -> Amount:
    """Read an amount such as ``100``, ``2epochs``, ``10records``, ``30s`` or ``10%``.

    Raises:
        UsageError: naming the option and the forms that are right.
    """
    if str(text).strip().lower() == "auto":
        return AUTO
    found = _AMOUNT.match(str(text))
    if not found:
        raise UsageError(f"{option} {text!r}: expected a number of steps (100), or 2epochs, 10records, 30s, 10%, auto")
    word = found[2] if found[2] in _UNITS else found[2].removesuffix("s")
    result = Amount(float(found[1]), _UNITS[word])
    if result.unit != "s" and result.unit != "%" and not result.number.is_integer():
        raise UsageError(f"{option} {text!r}: expected a whole number of {result.unit}")
    if result.unit == "%" and result.number >= 100:
        raise UsageError(f"{option} {text!r}: 100% or more leaves nothing")
    return result


@dataclass(frozen=True, slots=True)
class Window:
    """Skip ``warmup``, then take ``steps`` (all when None); or take the ``last`` so many."""

    warmup: Amount = Amount(20)
    steps: Amount | None = None
    last: Amount | None = None

    def __str__(self) -> str:
        if self.last is not None:
            return f"last {self.last}"
        rest = f", then {self.steps}" if self.steps else ""
        return f"warm-up {self.warmup}{rest}"
