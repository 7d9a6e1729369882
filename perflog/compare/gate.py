"""The question that a gate in CI asks of comparisons: is there a reason to fail?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perflog.compare.rows import Comparison
from perflog.export.columns import counted
from perflog.stats.verdict import Verdict

#: What a gate can fail on, with the exit status of each.
REASONS = {"slower": 1, "inconclusive": 3, "missing": 3, "nothing-compared": 3}
#: What it fails on unless told otherwise.
DEFAULT = ("slower", "nothing-compared")


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a gate says.

    Attributes:
        status: the exit status: 0 passed, 1 a case is slower, 3 something else that was asked for.
        sentence: why, in one line.
    """

    status: int
    sentence: str


def gate(comparisons: Sequence[Comparison], fail_on: Sequence[str] = DEFAULT) -> GateResult:
    """Whether any of the reasons asked for is there.

    ``slower``: a case is slower. ``inconclusive``: a case is inconclusive or has not enough data. ``missing``: a case
    of the old side has no partner. ``nothing-compared``: no case at all has enough data for a verdict.

    Args:
        comparisons: of one command.
        fail_on: keys of :data:`REASONS`.
    """
    counts = _counts(comparisons)
    rows = sum(len(comparison.rows) for comparison in comparisons)
    words = {
        reason: _WORDS[reason].format(n=counts[reason], rows=counted(rows, "case"))
        for reason in REASONS
        if counts[reason]
    }
    failing = [reason for reason in fail_on if counts[reason]]
    if failing:
        status = min(REASONS[reason] for reason in failing)
        why = "; ".join(text for reason, text in words.items() if reason in failing)
        return GateResult(status, f"The gate failed (exit status {status}): {why}.")
    asked = " or ".join(fail_on)
    beside = f" It was not asked to fail on this: {'; '.join(words.values())}." if words else ""
    return GateResult(0, f"The gate passed (exit status 0): nothing is {asked} among {counted(rows, 'case')}.{beside}")


_WORDS = {
    "slower": "{n} of {rows} slower",
    "inconclusive": "{n} of {rows} inconclusive or without enough data",
    "missing": "{n} of the old side without a partner",
    "nothing-compared": "no case has enough data for a verdict",
}


def _counts(comparisons: Sequence[Comparison]) -> dict[str, int]:
    verdicts = [row.verdict for comparison in comparisons for row in comparison.rows]
    unpaired = [unpaired.side for comparison in comparisons for unpaired in comparison.unpaired]
    undecided = (Verdict.INCONCLUSIVE, Verdict.NOT_ENOUGH_DATA)
    return {
        "slower": verdicts.count(Verdict.SLOWER),
        "inconclusive": sum(verdict in undecided for verdict in verdicts),
        "missing": unpaired.count("old"),
        "nothing-compared": int(all(verdict is Verdict.NOT_ENOUGH_DATA for verdict in verdicts)),
    }
