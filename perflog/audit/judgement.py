"""What an audit says of a cell, and by what: whether its number agrees with a rule's, and by how much they differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from perflog.audit.claims import REDUCED, Claim, Printed
from perflog.audit.evidence import LATER, OWN, REPORTED, WHOLE, Evidence, RuleValue
from perflog.formats.printed import is_of_job, kind
from perflog.formats.vocabulary import Scalar

#: The rule of a speedup that the table's own throughputs give.
ARITHMETIC = "the table's arithmetic"
#: The rule of a table that perflog made itself.
RECIPE = "the table's recipe"
#: A number of fewer digits agrees with a rule by chance too often to be called reproduced: three digits stand for a
#: range of 0.1 to 1 % of the value, and many known rules differ by less.
ENOUGH_DIGITS = 4
#: Differences of at most this share accuse no cell: another window or another rounding of the same log makes as much,
#: and no reader would decide otherwise for it.
LEAST = 0.001
#: A difference of just the tolerance is within it, whatever binary fractions make of the two.
_ROUNDING = 1 + 1e-9
_TO_SECONDS = {"ms": 1000.0, "us": 1e6}


class CellVerdict(StrEnum):
    """The verdict on a cell, in the order of reports.

    Attributes:
        meaning: what it means, in a few words.
        colour: of its word on a terminal (ECMA-48, SGR); empty for that of other text.
        fails: whether it fails an audit.
        agrees: whether a rule gives the cell's number.
        is_unchecked: whether the cell was held against nothing.
        is_quiet: whether the cell is left out where only those to look at are shown.
    """

    meaning: str
    colour: str
    fails: bool
    agrees: bool
    is_unchecked: bool
    is_quiet: bool

    DIFFERS = "differs", "no known rule gives it from its log", "31", {"fails"}
    CONTRADICTS = "contradicts", "another cell gives another number for the same configuration", "31", {"fails"}
    SLIP = "slip", "one of the two above, with a suspicion what happened", "33", {"fails"}
    WITHIN_TOLERANCE = "within tolerance", "it differs by no more than --tolerance", "36", {"is_quiet"}
    WITHIN_ROUNDING = (
        "within rounding", "as far as its digits say (fewer than four, or one off in the last)", "36",
        {"agrees", "is_quiet"},
    )  # fmt: skip
    REPRODUCED = (
        "reproduced", "a known rule gives the number from its log, or the table's own cells do", "32",
        {"agrees", "is_quiet"},
    )  # fmt: skip
    NO_LOG = "no log", "its log is not there", "", {"is_unchecked", "is_quiet"}
    NOT_UNDERSTOOD = "not understood", "what it claims could not be read", "", {"is_unchecked"}

    def __new__(cls, word: str, meaning: str, colour: str, what: set[str]) -> CellVerdict:
        verdict = str.__new__(cls, word)
        verdict._value_ = word
        verdict.meaning, verdict.colour = meaning, colour
        for attribute in ("fails", "agrees", "is_unchecked", "is_quiet"):
            setattr(verdict, attribute, attribute in what)
        return verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """A claim's verdict.

    Attributes:
        verdict: the verdict, and ``detail`` the same in words.
        evidence: the logs that the verdict rests on; ``candidates``: every log that may be the cell's.
        value: what the log gives where it differs or agrees.
        sources: the logs and lines behind the verdict.
        notes: facts beside the verdict.
        suspicions: what may have happened, each with its evidence.
        contradicts: the cells that give another number for the same configuration.
    """

    claim: Claim
    verdict: CellVerdict
    detail: str
    evidence: tuple[Evidence, ...] = ()
    candidates: tuple[Evidence, ...] = ()
    value: RuleValue | None = None
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    suspicions: tuple[str, ...] = ()
    contradicts: tuple[Claim, ...] = ()


def rule_words(value: RuleValue) -> str:
    """The rule of a value as a sentence names it, and what it was applied to where that is not the case."""
    named = value.plain or value.rule in (ARITHMETIC, RECIPE, LATER, WHOLE) or value.rule.startswith(REPORTED)
    words = "perflog's own rule" if value.rule == OWN else value.rule if named else f"the rule {value.rule}"
    return f"{words}, of {value.of}," if value.of else words


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
    """A log's value in the claim's unit; None where it is of another quantity or another configuration."""
    if value.value is None or not math.isfinite(value.value):
        return None
    if value.quantity != claim.quantity:
        return None
    is_part = claim.quantity == "throughput" and not is_of_job(value.unit)  # one device's work, or steps
    if is_part and not (claim.unit and kind(claim.unit) == kind(value.unit)):
        return None
    if any(claim.facts.get(key, own) != own for key, own in value.facts.items()):
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


@dataclass(frozen=True, slots=True)
class Usual:
    """How many cells each rule gives, in a document and in all: the more, the more usual."""

    here: Counter[tuple[Path, str, str]]
    everywhere: Counter[tuple[str, str]]

    def rank(self, claim: Claim, log: Evidence, value: RuleValue) -> tuple[int, ...]:
        """What orders the rules that may have made a claim's number: the greatest is the most usual."""
        fallback = (WHOLE, LATER, OWN).index(value.rule) if value.rule in (WHOLE, LATER, OWN) else -1
        here = self.here[claim.path, log.parser, value.rule]
        usual = (not value.plain, not value.of, here, self.everywhere[log.parser, value.rule])
        return (*usual, fallback)


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


def difference(judgement: Judgement) -> float | None:
    """By which share a cell's number is more than what its log gives, or than the cell that it contradicts.

    None where neither is known: no number is held against another.
    """
    claim = judgement.claim
    if judgement.verdict.is_unchecked or claim.number is None:
        return None
    given = in_unit(claim, judgement.value) if judgement.value is not None else None
    if given:
        return claim.number.value / given - 1
    shares = [share for other in judgement.contradicts if (share := _between(claim, other)) is not None]
    return max(shares, key=abs, default=None)


def apart(first: float, second: float) -> float:
    """How far two numbers are apart: the logarithm of their quotient, so that a half is as far as the double."""
    return abs(math.log(first / second)) if first > 0 and second > 0 else math.inf


def ordered(judgements: Sequence[Judgement]) -> list[Judgement]:
    """The cells that fail, those that would change most for a reader first; behind them the others in their order."""

    def size(judgement: Judgement) -> float:
        share = difference(judgement)
        return 0.0 if not judgement.verdict.fails else math.inf if share is None else apart(1 + share, 1.0)

    return sorted(judgements, key=lambda judgement: (not judgement.verdict.fails, -size(judgement)))


def with_tolerance(judgements: Sequence[Judgement], tolerance: float) -> list[Judgement]:
    """The judgements, where differences of at most ``tolerance`` (a share) fail no cell and contradict none.

    A cell that its own log gives so nearly does not fail for another cell that says otherwise.
    """
    most, tolerated = tolerance * _ROUNDING, []
    for judgement in judgements:
        shares = [(other, _between(judgement.claim, other)) for other in judgement.contradicts]
        far = tuple(other for other, share in shares if share is None or abs(share) > most)
        share = difference(judgement)
        within = judgement.verdict.fails and share is not None and abs(share) <= most
        verdict = CellVerdict.WITHIN_TOLERANCE if within else judgement.verdict
        tolerated.append(replace(judgement, verdict=verdict, contradicts=far))
    return tolerated


def _between(claim: Claim, other: Claim) -> float | None:
    """By which share a cell's number is more than another's."""
    if claim.number is None or other.number is None or not other.number.value:
        return None
    return claim.number.value / other.number.value - 1


# ----------------------------------------------------------------------------------------------------
# Suspicions about cells that their logs or other cells do not bear out: each with its evidence, none a verdict.
#
# A suspicion needs more than nearness: the same digits elsewhere, one digit changed in an otherwise equal number, or
# an exact factor between batch sizes or devices.

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
        verdict = CellVerdict.SLIP if suspicions and judgement.verdict.fails else judgement.verdict
        suspected.append(replace(judgement, verdict=verdict, suspicions=suspicions))
    return suspected


def _suspicions(judgement: Judgement, judgements: Sequence[Judgement], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    number, failing = judgement.claim.number, judgement.verdict.fails
    if number is None or not (failing or judgement.verdict is CellVerdict.NO_LOG):
        return ()
    suspicions = []
    if failing:
        suspicions += [_digits(judgement, number), _factor(judgement, number), _elsewhere(judgement, number, evidence)]
    is_near = any(abs(number.value / given - 1) < NEAR for _, given, _ in _given(judgement))
    if judgement.value is None or not is_near:  # else nothing speaks for another's number
        suspicions.append(_same_number(judgement, number, judgements, failing))
    return tuple(filter(None, suspicions))


def _given(judgement: Judgement) -> Iterator[tuple[RuleValue, float, Evidence]]:
    """The values of the logs that a verdict rests on, each as the claim's unit has it.

    Those of plain rules are left out: they are so many that a slip of the hand from one of them is easily found.
    """
    for source in judgement.evidence:
        for value in source.values:
            given = in_unit(judgement.claim, value)
            if given is not None and given > 0 and not value.plain:
                yield value, given, source


def _digits(judgement: Judgement, number: Printed) -> str:
    """A decimal point out of place, a digit lost, doubled or changed, two digits in the wrong order."""
    if number.digits < ENOUGH_DIGITS:
        return ""
    # nobody publishes by the rules for short logs
    values = [(value, given) for value, given, _ in _given(judgement) if value.rule not in (LATER, WHOLE)]
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
