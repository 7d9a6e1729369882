"""The question that a gate in CI asks of comparisons: is there a reason to fail?"""

from __future__ import annotations

from collections.abc import Sequence

from perflog.compare.rows import Comparison
from perflog.export.columns import counted
from perflog.settings.gate import DEFAULT, GateResult, gate_result
from perflog.stats.verdict import Verdict


def gate(comparisons: Sequence[Comparison], fail_on: Sequence[str] = DEFAULT) -> GateResult:
    """Whether any of the reasons asked for is there.

    ``slower``: a case is slower. ``inconclusive``: a case is inconclusive or has not enough data. ``missing``: a case
    of the old side has no partner. ``nothing-compared``: no case at all has enough data for a verdict.

    Args:
        comparisons: of one command.
        fail_on: keys of :data:`perflog.settings.gate.REASONS`.
    """
    cases = counted(sum(len(comparison.rows) for comparison in comparisons), "case")
    return gate_result(_counts(comparisons), _WORDS, _ABSENT, fail_on, cases)


_WORDS = {
    "slower": "{n} of {of} slower",
    "inconclusive": "{n} of {of} inconclusive or without enough data",
    "missing": "{n} of the old side without a partner",
    "nothing-compared": "no case has enough data for a verdict",
}
#: What is said of a reason that was asked for and is not there.
_ABSENT = {
    "slower": "no case is slower",
    "inconclusive": "no case is inconclusive or without enough data",
    "missing": "no case of the old side is without a partner",
    "nothing-compared": "at least one case had enough data",
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
