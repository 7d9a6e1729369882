"""What an audit says of a cell."""

from __future__ import annotations

from dataclasses import dataclass

from perflog.audit.claims import Claim
from perflog.audit.evidence import Evidence, RuleValue
from perflog.audit.rules import LATER, OWN, REPORTED, WHOLE

#: The verdicts in the order of reports; the first three fail an audit.
VERDICTS = (
    "differs", "contradicts", "slip", "within tolerance", "within rounding", "reproduced", "no log", "not understood",
)  # fmt: skip
FAILING = frozenset({"differs", "contradicts", "slip"})
#: The verdicts on cells that were held against nothing.
UNCHECKED = frozenset({"no log", "not understood"})
#: The rule of a speedup that the table's own throughputs give.
ARITHMETIC = "the table's arithmetic"
#: The rule of a table that perflog made itself.
RECIPE = "the table's recipe"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A claim's verdict.

    Attributes:
        verdict: one of :data:`VERDICTS`, and ``detail`` the same in words.
        evidence: the logs that the verdict stands on; ``candidates``: every log that may be the cell's.
        value: what the log gives where it differs or agrees.
        sources: the logs and lines behind the verdict.
        notes: facts beside the verdict.
        suspicions: what may have happened, each with its evidence.
        contradicts: the cells that give another number for the same configuration.
    """

    claim: Claim
    verdict: str
    detail: str
    evidence: tuple[Evidence, ...] = ()
    candidates: tuple[Evidence, ...] = ()
    value: RuleValue | None = None
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    suspicions: tuple[str, ...] = ()
    contradicts: tuple[Claim, ...] = ()


def rule_words(value: RuleValue) -> str:
    """The rule of a value as a sentence names it."""
    if value.rule == OWN:
        return "perflog's own rule"
    named = value.plain or value.rule in (ARITHMETIC, RECIPE, LATER, WHOLE) or value.rule.startswith(REPORTED)
    return value.rule if named else f"the rule {value.rule}"
