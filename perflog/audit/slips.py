"""Suspicions about cells that their logs or other cells do not bear out: each with the evidence for it, none a verdict of its own.

A suspicion needs more than nearness: the same digits elsewhere, one digit changed in an otherwise equal number, or
an exact factor between batch sizes or devices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from perflog.audit.evidence import LATER, WHOLE, Evidence
from perflog.audit.judge import ARITHMETIC, ENOUGH_DIGITS, FAILING, Judgement, consistent, in_unit, rounds_to, rule_words
from perflog.audit.words import REDUCED, Printed
from perflog.formats.vocabulary import Scalar

#: A factor counts when it is met this closely.
FACTOR_TOLERANCE = 0.002
#: A cell this near to its log is its log's, if by a rule that is not known.
NEAR = 0.05
_KEYS = ("model", "framework", "precision", "batch_size", "devices", "nodes", "accelerator", "reader", "mode")


def suspect(judgements: Sequence[Judgement], evidence: Sequence[Evidence]) -> None:
    """Add suspicions; a differing or contradicting cell with one becomes a slip, still with its difference."""
    for one in judgements:
        number = one.claim.number
        if number is None or one.verdict not in (*FAILING, "no log"):
            continue
        failing = one.verdict in FAILING
        if failing:
            one.suspicions += filter(None, (_digits(one, number), _factor(one, number), _elsewhere(one, number, evidence)))
        if not (one.value is not None and _near(one, number)):
            one.suspicions += _same_number(one, number, judgements, failing)
        if failing and one.suspicions:
            one.verdict = "slip"


def _near(one: Judgement, number: Printed) -> bool:
    """Whether the cell is near its own log: then nothing speaks for another's number."""
    values = (in_unit(one.claim, value) for source in one.evidence for value in source.values)
    return any(value is not None and value > 0 and abs(number.value / value - 1) < NEAR for value in values)


def _digits(one: Judgement, number: Printed) -> str:
    """A decimal point out of place, a digit lost, doubled or changed, two digits in the wrong order."""
    values = [value for source in one.evidence for value in source.values if value.rule not in (LATER, WHOLE)]  # nobody publishes by these
    if one.value is not None and one.value.rule == ARITHMETIC:
        values = [one.value]
    for value in values:
        given = in_unit(one.claim, value)
        if given is None or given <= 0 or number.digits < ENOUGH_DIGITS:
            continue
        for power in (-3, -2, -1, 1, 2, 3):
            if number.digits > ENOUGH_DIGITS and abs(given * 10.0**power - number.value) <= number.unit:
                return f"the decimal point: {rule_words(value)} gives {given:.10g}"
        told = f"{given:.{max(0, number.decimals)}f}"
        what = _edit(number.text.replace(",", ""), told)
        if what and abs(given / number.value - 1) > 2e-3:
            return f"{what}: {rule_words(value)} gives {told}, printed is {number.text}"
    return ""


def _edit(printed: str, told: str) -> str:
    """What one slip of the hand makes ``printed`` of ``told``; empty when it is none, or the rest is too short to tell."""
    if len(told.replace(".", "")) < ENOUGH_DIGITS or printed == told:
        return ""
    if len(printed) == len(told):
        differ = [at for at, (a, b) in enumerate(zip(printed, told, strict=True)) if a != b]
        if len(differ) == 1:
            return "one digit"
        if len(differ) == 2 and differ[1] == differ[0] + 1 and printed[differ[0]] == told[differ[1]] and printed[differ[1]] == told[differ[0]]:
            return "two digits in the wrong order"
        return ""
    longer, shorter = sorted((printed, told), key=len, reverse=True)
    if len(longer) == len(shorter) + 1 and any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer))):
        return "a digit lost" if shorter == printed else "a digit too many"
    return ""


def _factor(one: Judgement, number: Printed) -> str:
    """The log's value times a whole number that batch size or devices explain."""
    if one.claim.quantity != "throughput" or number.digits < ENOUGH_DIGITS:
        return ""
    for source in one.evidence:
        for value in source.values:
            given = in_unit(one.claim, value)
            if given is None or given <= 0:
                continue
            for factor, why in _factors(one, source):
                if factor != 1 and abs(number.value / given / factor - 1) <= FACTOR_TOLERANCE:
                    return f"{number.text} is {factor:g} × the log's {given:.7g} ({rule_words(value)}): {why}"
    return ""


def _factors(one: Judgement, source: Evidence) -> list[tuple[float, str]]:
    out: list[tuple[float, str]] = []
    said, own = one.claim.facts.get("batch_size"), source.facts.get("batch_size")
    if isinstance(said, int) and isinstance(own, int) and said != own:
        out.append((said / own, f"batch size {said} in the report, {own} in the log"))
    devices = source.facts.get("devices")
    if isinstance(devices, int) and devices > 1:
        out += [(1 / devices, f"one device's rate instead of {devices} devices'"), (float(devices), f"multiplied by the {devices} devices twice")]
    return out


def _elsewhere(one: Judgement, number: Printed, evidence: Sequence[Evidence]) -> str:
    """The number of a log of another configuration in the same place."""
    if number.digits < ENOUGH_DIGITS:
        return ""
    for source in evidence:
        if source in one.evidence or not source.there or one.claim.path not in source.linked_from:
            continue
        value = next((v for v in source.values if (given := in_unit(one.claim, v)) is not None and rounds_to(given, number)), None)
        if value is not None:
            return f"it is the number of another log: {source.paths[0]} ({', '.join(_difference(one.claim.facts, source.facts))}; {rule_words(value)})"
    return ""


def _same_number(one: Judgement, number: Printed, judgements: Sequence[Judgement], failing: bool) -> list[str]:
    """The same digits printed for another configuration."""
    for other in judgements:
        claim = other.claim
        if other is one or claim.number is None or claim.quantity != one.claim.quantity or (claim.path, claim.line) == (one.claim.path, one.claim.line):
            continue
        if number.unit < claim.number.unit:
            continue  # the finer number is the origin
        digits = min(number.digits, claim.number.digits)
        if digits < (3 if failing else ENOUGH_DIGITS + 1) or not consistent(number, claim.number):
            continue
        differing = _difference(one.claim.facts, claim.facts)
        if not differing or (digits < ENOUGH_DIGITS and len(differing) > 1 and not math.isclose(number.value, claim.number.value)):
            continue
        return [f"the same number stands at {claim.place} for {', '.join(differing)}"]
    return []


def _difference(mine: dict[str, Scalar], theirs: dict[str, Scalar]) -> list[str]:
    """What tells two configurations apart, in words."""
    told = []
    for key in _KEYS:
        one, other = str(mine.get(key, "")), str(theirs.get(key, ""))
        if one and other and one.lower() != other.lower() and not (key == "precision" and {one, other} <= REDUCED):
            told.append(f"{key}={other} (here {one})")
    return told
