"""Everything a user can choose about extraction, in one frozen object that all stages share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from perflog.errors import UsageError

# ----------------------------------------------------------------------------------------------------
# Amounts of training and windows, as users write them: ``100``, ``2epochs``, ``10records``, ``30s``, ``10%``.

#: An amount as users write it; a number alone counts steps.
Scalar = str | int | float
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


def amount(text: Scalar, option: str) -> Amount:
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


def _flag(option: str) -> str:
    return f"--{option}"


def window_of(warmup: Scalar, steps: Scalar | None, last: Scalar | None, named: Callable[[str], str] = _flag) -> Window:
    """The window that three options ask for.

    Args:
        named: how messages name an option: where it was given.

    Raises:
        UsageError: for an amount that is not right, or two that do not go together.
    """
    window = Window(
        amount(warmup, named("warmup")),
        amount(steps, named("steps")) if steps is not None else None,
        amount(last, named("last")) if last is not None else None,
    )
    for name, given, example in (("steps", window.steps, 100), ("last", window.last, 25)):
        if given is not None and given.unit not in ("steps", "records"):
            raise UsageError(f"{named(name)} '{given}': expected steps (100) or records ({example}records)")
        if given is not None and not given.number:
            raise UsageError(f"{named(name)} '{given.number:g}': expected 1 or more: none leave nothing to measure")
    if window.last is not None and window.steps is not None:
        raise UsageError(
            f"{named('last')} and {named('steps')} exclude each other: the last steps are taken whatever the warm-up; "
            "leave one of them out"
        )
    in_records = {given.unit == "records" for given in (window.warmup, window.steps) if given is not None}
    if window.warmup.unit != "auto" and len(in_records) > 1:
        raise UsageError(f"{named('warmup')} and {named('steps')} must both be in steps, or both in records")
    return window


Estimator = Literal["total", "mean", "median", "trimmed", "last", "reported", "since_start"]
Aggregate = Literal["median", "mean", "olympic"]
Values = Literal["differenced", "printed"]
ESTIMATORS: tuple[str, ...] = get_args(Estimator)
AGGREGATES: tuple[str, ...] = get_args(Aggregate)
VALUES: tuple[str, ...] = get_args(Values)


@dataclass(frozen=True, slots=True)
class Options:
    """How numbers are made.

    Attributes:
        window: which measurements count.
        estimator: one of :data:`ESTIMATORS`.
        aggregate: how runs become a case's centre.
        baseline: metadata of the case speedups are relative to; empty for the one-device case.
        set: facts given on the command line; ``config_set``: facts given in perflog.toml.
        aliases: names of models, frameworks, accelerators and precisions, each with the name that it is another one of.
        as_printed: take values as the program printed them, running means not differenced.
        convention: the convention applied, empty for none: its name, and which of its options the user adjusted.
        without_slow: leave out the slow records that rule a total.
        decided: whether the user says, by the estimator or ``without_slow``, which of two numbers is meant where a log
            leaves that open.
        sampled: take single steps, printed one in several, as a sample of all.
        said: what the user says of the lines of logs (:mod:`perflog.formats.line`).
        digits: how a convention rounds a run's value (a printf form), empty for full precision.
    """

    window: Window = field(default_factory=Window)
    estimator: str = "total"
    aggregate: str = "median"
    baseline: Mapping[str, str] = field(default_factory=dict)
    set: Mapping[str, str] = field(default_factory=dict)
    config_set: Mapping[str, str] = field(default_factory=dict)
    as_printed: bool = False
    convention: str = ""
    digits: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)
    without_slow: bool = False
    decided: bool = False
    said: tuple[str, ...] = ()
    sampled: bool = False
