"""What a gate in CI can be asked to fail on, and what it answers: the same words for all commands that have one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


def gate_result(
    counts: Mapping[str, int], words: Mapping[str, str], absent: Mapping[str, str], fail_on: Sequence[str], cases: str
) -> GateResult:
    """The answer of a gate.

    Args:
        counts: how often each of :data:`REASONS` is there.
        words: what is said of each where it is there: ``{n}`` its count, ``{of}`` the cases.
        absent: what is said of each of :data:`REASONS` where it is not there.
        fail_on: the reasons that were asked for.
        cases: how many cases were looked at, in words.
    """
    present = {reason: words[reason].format(n=counts[reason], of=cases) for reason in REASONS if counts[reason]}
    failing = [reason for reason in fail_on if reason in present]
    if failing:
        status = min(REASONS[reason] for reason in failing)
        why = "; ".join(text for reason, text in present.items() if reason in failing)
        return GateResult(status, f"The gate failed (exit status {status}): {why}.")
    found = "; ".join(absent[reason] for reason in fail_on)
    beside = f" It was not asked to fail on this: {'; '.join(present.values())}." if present else ""
    return GateResult(0, f"The gate passed (exit status 0) on {cases}: {found}.{beside}")
