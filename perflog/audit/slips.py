"""Suspicions about cells that their logs or other cells do not bear out: each with its evidence, none a verdict.

A suspicion needs more than nearness: the same digits elsewhere, one digit changed in an otherwise equal number, or
an exact factor between batch sizes or devices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from perflog.audit.evidence import LATER, WHOLE, Evidence, RuleValue
from perflog.audit.judgement import (
    ARITHMETIC,
    ENOUGH_DIGITS,
    FAILING,
    RECIPE,
    Judgement,
    consistent,
    in_unit,
    rounds_to,
    rule_words,
)
from perflog.audit.words import REDUCED, Printed
from perflog.formats.vocabulary import Scalar

#: A factor counts when it is met this closely: four times what a number of four digits may be rounded by.
FACTOR_TOLERANCE = 0.002
#: A cell this near to its log is taken for its log's, if by a rule that is not known. It only withholds a suspicion, so
#: it is set wide.
NEAR = 0.05
_KEYS = ("model", "framework", "precision", "batch_size", "devices", "nodes", "accelerator", "reader", "mode")


def with_suspicions(judgements: Sequence[Judgement], evidence: Sequence[Evidence]) -> list[Judgement]:
    """The judgements with suspicions.

    A differing or contradicting cell with one becomes a slip, still with its difference.
    """
    suspected = []
    for judgement in judgements:
        suspicions = _suspicions(judgement, judgements, evidence)
        verdict = "slip" if suspicions and judgement.verdict in FAILING else judgement.verdict
        suspected.append(replace(judgement, verdict=verdict, suspicions=suspicions))
    return suspected


def _suspicions(judgement: Judgement, judgements: Sequence[Judgement], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    number, failing = judgement.claim.number, judgement.verdict in FAILING
    if number is None or not (failing or judgement.verdict == "no log"):
        return ()
    suspicions = []
    if failing:
        suspicions += [_digits(judgement, number), _factor(judgement, number), _elsewhere(judgement, number, evidence)]
    if judgement.value is None or not _near(judgement, number):
        suspicions.append(_same_number(judgement, number, judgements, failing))
    return tuple(filter(None, suspicions))


def _given(judgement: Judgement) -> Iterator[tuple[RuleValue, float, Evidence]]:
    """The values of the logs that a verdict stands on, each as the claim's unit has it.

    Those of plain rules are left out: they are so many that a slip of the hand from one of them is easily found.
    """
    for source in judgement.evidence:
        for value in source.values:
            given = in_unit(judgement.claim, value)
            if given is not None and given > 0 and not value.plain:
                yield value, given, source


def _near(judgement: Judgement, number: Printed) -> bool:
    """Whether the cell is near its own log: then nothing speaks for another's number."""
    return any(abs(number.value / given - 1) < NEAR for _, given, _ in _given(judgement))


def _digits(judgement: Judgement, number: Printed) -> str:
    """A decimal point out of place, a digit lost, doubled or changed, two digits in the wrong order."""
    if number.digits < ENOUGH_DIGITS:
        return ""
    values = [
        (v, given) for v, given, _ in _given(judgement) if v.rule not in (LATER, WHOLE)
    ]  # nobody publishes by these
    own = judgement.value
    if own is not None and own.rule in (ARITHMETIC, RECIPE):
        given = in_unit(judgement.claim, own)
        values = [(own, given)] if given is not None and given > 0 else []
    for value, given in values:
        shifts = (abs(given * 10.0**power - number.value) for power in (-3, -2, -1, 1, 2, 3))
        if number.digits > ENOUGH_DIGITS and any(shift <= number.unit for shift in shifts):
            return f"the decimal point: {rule_words(value)} gives {given:.10g}"
        text = f"{given:.{max(0, number.decimals)}f}"
        what = _edit(number.text.replace(",", ""), text)
        if what and abs(given / number.value - 1) > FACTOR_TOLERANCE:
            return f"{what}: {rule_words(value)} gives {text}, printed is {number.text}"
    return ""


def _edit(printed: str, given: str) -> str:
    """What one slip of the hand makes ``printed`` of ``given``; empty when it is none, or the rest is too short."""
    if len(given.replace(".", "")) < ENOUGH_DIGITS or printed == given:
        return ""
    if len(printed) == len(given):
        differ = [place for place, (a, b) in enumerate(zip(printed, given, strict=True)) if a != b]
        if len(differ) == 1:
            return "one digit"
        first, last = differ[0], differ[-1]
        swapped = printed[first] == given[last] and printed[last] == given[first]
        return "two digits in the wrong order" if len(differ) == 2 and last == first + 1 and swapped else ""
    longer, shorter = sorted((printed, given), key=len, reverse=True)
    if len(longer) != len(shorter) + 1:
        return ""
    if not any(longer[:place] + longer[place + 1 :] == shorter for place in range(len(longer))):
        return ""
    return "a digit lost" if shorter == printed else "a digit too many"


def _factor(judgement: Judgement, number: Printed) -> str:
    """The log's value times a whole number that batch size or devices explain."""
    if judgement.claim.quantity != "throughput" or number.digits < ENOUGH_DIGITS:
        return ""
    for value, given, source in _given(judgement):
        for factor, why in _factors(judgement, source):
            if factor != 1 and abs(number.value / given / factor - 1) <= FACTOR_TOLERANCE:
                return f"{number.text} is {factor:g} × the log's {given:.7g} ({rule_words(value)}): {why}"
    return ""


def _factors(judgement: Judgement, source: Evidence) -> list[tuple[float, str]]:
    factors: list[tuple[float, str]] = []
    claimed, own = judgement.claim.facts.get("batch_size"), source.facts.get("batch_size")
    if isinstance(claimed, int) and isinstance(own, int) and claimed != own:
        factors.append((claimed / own, f"batch size {claimed} in the report, {own} in the log"))
    devices = source.facts.get("devices")
    if isinstance(devices, int) and devices > 1:
        factors.append((1 / devices, f"one device's rate instead of {devices} devices'"))
        factors.append((float(devices), f"multiplied by the {devices} devices twice"))
    return factors


def _elsewhere(judgement: Judgement, number: Printed, evidence: Sequence[Evidence]) -> str:
    """The number of a log of another configuration in the same place."""
    if number.digits < ENOUGH_DIGITS:
        return ""
    claim = judgement.claim
    for source in evidence:
        if source in judgement.evidence or not source.there or claim.path not in source.linked_from:
            continue
        for value in source.values:
            given = in_unit(claim, value)
            if given is not None and not value.plain and rounds_to(given, number):
                differing = ", ".join(_difference(claim.facts, source.facts))
                return f"it is the number of another log: {source.paths[0]} ({differing}; {rule_words(value)})"
    return ""


def _same_number(judgement: Judgement, number: Printed, judgements: Sequence[Judgement], failing: bool) -> str:
    """The same digits printed for another configuration."""
    own = judgement.claim
    least = 3 if failing else ENOUGH_DIGITS + 1
    for claim in (other.claim for other in judgements):
        if claim.number is None or claim.quantity != own.quantity or (claim.path, claim.line) == (own.path, own.line):
            continue
        if number.unit < claim.number.unit:
            continue  # the finer number is the origin
        digits = min(number.digits, claim.number.digits)
        if digits < least or not consistent(number, claim.number):
            continue
        differing = _difference(own.facts, claim.facts)
        several = digits < ENOUGH_DIGITS and len(differing) > 1
        if differing and not (several and not math.isclose(number.value, claim.number.value)):
            return f"the same number stands at {claim.place} for {', '.join(differing)}"
    return ""


def _difference(mine: Mapping[str, Scalar], theirs: Mapping[str, Scalar]) -> list[str]:
    """What tells two configurations apart, in words."""
    differing = []
    for key in _KEYS:
        own, other = str(mine.get(key, "")), str(theirs.get(key, ""))
        if own and other and own.lower() != other.lower() and not (key == "precision" and {own, other} <= REDUCED):
            differing.append(f"{key}={other} (here {own})")
    return differing
