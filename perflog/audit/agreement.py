"""Whether numbers agree: printed ones with each other, and printed ones with what a log gives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perflog.audit.claims import Claim
from perflog.audit.evidence import Evidence, RuleValue
from perflog.audit.rules import LATER, OWN, WHOLE
from perflog.audit.words import Printed
from perflog.formats.units import is_of_job, kind

#: A number of fewer digits agrees with a rule by chance too often to be called reproduced: three digits stand for a
#: range of 0.1 to 1 % of the value, and many known rules differ by less.
ENOUGH_DIGITS = 4
_TO_SECONDS = {"ms": 1000.0, "us": 1e6}


def consistent(first: Printed, second: Printed) -> bool:
    """Whether two printed numbers may be one: the same but for the rounding or truncation of the coarser."""
    unit = max(first.unit, second.unit)
    near = abs(first.value - second.value) < unit * (1 - 1e-9)
    return near or math.isclose(first.value, second.value, rel_tol=1e-12)


def rounds_to(value: float, number: Printed) -> bool:
    """Whether a value rounds, or is cut off, to the digits printed."""
    if not math.isfinite(value):
        return False
    unit = number.unit
    slack = 1e-9 * abs(value)
    return abs(value - number.value) <= unit / 2 + slack or -slack <= value - number.value < unit - slack


def agrees(claim: Claim, value: RuleValue) -> bool:
    """Whether a claim's number is the value as printed."""
    number = in_unit(claim, value)
    return number is not None and claim.number is not None and rounds_to(number, claim.number)


def in_unit(claim: Claim, value: RuleValue) -> float | None:
    """A log's value in the claim's unit; None where it is of another quantity."""
    if value.value is None or not math.isfinite(value.value):
        return None
    if value.quantity != claim.quantity or not _of_same_work(claim, value):
        return None
    percent = "%" in claim.heading or (claim.number is not None and claim.number.rest.startswith("%"))
    if value.unit == "fraction" and (percent or (claim.number is not None and claim.number.value > 1)):
        return value.value * 100
    heading = claim.heading.lower()
    for unit, factor in _TO_SECONDS.items():
        named = f"({unit}" in heading.replace("/ ", "(") + heading
        if value.unit == "s" and claim.quantity == "step_time" and named:
            return value.value * factor
    return value.value


def _of_same_work(claim: Claim, value: RuleValue) -> bool:
    """Whether a rate may be the one claimed: steps are no samples, and one device's work is not the job's."""
    if claim.quantity != "throughput" or is_of_job(value.unit):
        return True
    return bool(claim.unit) and kind(claim.unit) == kind(value.unit)


@dataclass(frozen=True, slots=True)
class Usual:
    """How many cells each rule gives, in a document and in all: the more, the more usual."""

    here: Counter[tuple[Path, str, str]]
    everywhere: Counter[tuple[str, str]]

    def rank(self, claim: Claim, log: Evidence, value: RuleValue) -> tuple[int, ...]:
        """What orders the rules that may have made a claim's number: the greatest is the most usual."""
        fallback = (WHOLE, LATER, OWN).index(value.rule) if value.rule in (WHOLE, LATER, OWN) else -1
        here = self.here[claim.path, log.parser, value.rule]
        return (not value.plain, here, self.everywhere[log.parser, value.rule], fallback)


def usual_rules(claims: Sequence[Claim], candidates: Sequence[Sequence[Evidence]]) -> Usual:
    """How often each rule gives the number of a claim, by the candidates of each claim, in order."""
    usual = Usual(Counter(), Counter())
    for claim, logs in zip(claims, candidates, strict=True):
        if claim.number is None or claim.number.digits < ENOUGH_DIGITS:
            continue
        for parser, rule in {(log.parser, value.rule) for log in logs for value in log.values if agrees(claim, value)}:
            usual.here[claim.path, parser, rule] += 1
            usual.everywhere[parser, rule] += 1
    return usual
