"""The question that a gate in CI asks of comparisons: is there a reason to fail?"""

from __future__ import annotations

from collections.abc import Sequence

from perflog.compare.rows import CaseComparison, Comparison
from perflog.export.columns import counted
from perflog.settings.gate import DEFAULT, GateResult, gate_result
from perflog.stats.verdict import Verdict


def gate(comparisons: Sequence[Comparison], fail_on: Sequence[str] = DEFAULT) -> GateResult:
    """Whether any of the reasons asked for is there.

    ``slower``: a case is slower. ``inconclusive``: a case is inconclusive or has not enough data. ``missing``: a case
    of the old side has no partner. ``nothing-compared``: no case at all has enough data for a verdict; a speedup that
    is 1 by definition is none.

    Args:
        comparisons: of one command.
        fail_on: keys of :data:`perflog.settings.gate.REASONS`.
    """
    rows = [row for comparison in comparisons for row in comparison.rows]
    words = {**_WORDS, "inconclusive": _WORDS["inconclusive"] + _BLIND} if _is_blind(rows) else _WORDS
    return gate_result(_counts(comparisons), words, _ABSENT, fail_on, counted(len(rows), "case"))


_WORDS = {
    "slower": "{n} of {of} slower",
    "inconclusive": "{n} of {of} inconclusive or without enough data",
    "missing": "{n} of the old side without a partner",
    "nothing-compared": "no case has enough data for a verdict",
}
#: What is said besides where a gate is green though it could see no single change. It does not fail then: too few runs
#: are as frequent among identical versions.
_BLIND = ": the runs are too few for so many cases, and no single slower case could have been called"
#: What is said of a reason that was asked for and is not there.
_ABSENT = {
    "slower": "no case is slower",
    "inconclusive": "no case is inconclusive or without enough data",
    "missing": "no case of the old side is without a partner",
    "nothing-compared": "at least one case had enough data",
}


def _is_blind(rows: Sequence[CaseComparison]) -> bool:
    """Whether all rows that have enough data, of which there is one, have too few runs for so many rows."""
    judged = [row for row in rows if row.verdict is not Verdict.NOT_ENOUGH_DATA and not row.by_definition]
    return bool(judged) and all(
        row.verdict is Verdict.INCONCLUSIVE and row.decision.needs is not None for row in judged
    )


def _counts(comparisons: Sequence[Comparison]) -> dict[str, int]:
    rows = [row for comparison in comparisons for row in comparison.rows]
    verdicts = [row.verdict for row in rows]
    unpaired = [unpaired.side for comparison in comparisons for unpaired in comparison.unpaired]
    undecided = (Verdict.INCONCLUSIVE, Verdict.NOT_ENOUGH_DATA)
    return {
        "slower": verdicts.count(Verdict.SLOWER),
        "inconclusive": sum(verdict in undecided for verdict in verdicts),
        "missing": unpaired.count("old"),
        "nothing-compared": int(all(row.by_definition or row.verdict is Verdict.NOT_ENOUGH_DATA for row in rows)),
    }
