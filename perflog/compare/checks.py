"""Comparisons as what CI shows: annotations of GitHub Actions, and tests of a JUnit report."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from perflog.compare.columns import notes_of
from perflog.compare.rows import CaseComparison, Comparison
from perflog.compare.rule import names_of
from perflog.compare.sentences import change_words, opening
from perflog.export.columns import counted
from perflog.export.junit import Annotation, Test
from perflog.settings.gate import DEFAULT, GateResult, gate_result
from perflog.stats.verdict import Verdict

_TITLE = "perflog compare"
#: GitHub shows ten annotations of a level for each step; the last one says how many more there are.
MOST_OF_A_LEVEL = 10
_UNDECIDED = {Verdict.INCONCLUSIVE, Verdict.NOT_ENOUGH_DATA}


def findings(
    comparisons: Sequence[Comparison], fail_on: Sequence[str] = (), result: GateResult | None = None
) -> list[Annotation]:
    """What a pull request shows of comparisons: slower cases, what speaks against the whole, and why the gate failed.

    Args:
        fail_on: the reasons that the gate was asked for; slower cases are errors where it fails on them.
        result: what the gate says; None where there is none.
    """
    level = "error" if "slower" in fail_on else "warning"
    slower = [
        Annotation(f"{name} is slower: {change_words(row)}", title=f"{_TITLE}: {comparison.rule.metric}", level=level)
        for comparison in comparisons
        for row, name in zip(comparison.rows, names_of([row.pair.old for row in comparison.rows]), strict=True)
        if row.verdict is Verdict.SLOWER
    ]
    warnings = [
        Annotation(sentence, title=_TITLE, level="warning")
        for comparison in comparisons for sentence in comparison.warnings
    ]  # fmt: skip
    failed = [Annotation(result.sentence, title=_TITLE)] if result is not None and result.status else []
    notices = [Annotation(opening(comparison)[0], title=_TITLE, level="notice") for comparison in comparisons]
    room = MOST_OF_A_LEVEL - (len(failed) if level == "error" else min(len(warnings), MOST_OF_A_LEVEL // 2))
    return [*failed, *_at_most(slower, room), *warnings[: MOST_OF_A_LEVEL // 2], *notices[:MOST_OF_A_LEVEL]]


def _at_most(annotations: Sequence[Annotation], most: int) -> list[Annotation]:
    if len(annotations) <= most:
        return list(annotations)
    last = annotations[-1]
    rest = Annotation(f"{len(annotations) - most + 1} more cases are slower", title=last.title, level=last.level)
    return [*annotations[: most - 1], rest]


def tests(comparisons: Sequence[Comparison], fail_on: Sequence[str]) -> list[Test]:
    """A test for each case of every comparison: it failed where the gate that was asked for fails on it.

    A case without a verdict or without a partner is skipped where the gate does not fail on it.
    """
    verdicts = [row.verdict for comparison in comparisons for row in comparison.rows]
    failing = {Verdict.SLOWER} if "slower" in fail_on else set()
    if "inconclusive" in fail_on:
        failing |= _UNDECIDED
    if "nothing-compared" in fail_on and set(verdicts) <= {Verdict.NOT_ENOUGH_DATA}:
        failing.add(Verdict.NOT_ENOUGH_DATA)
    return [
        test for comparison in comparisons for test in _tests(comparison, failing, "missing" in fail_on)
    ]  # fmt: skip


def _tests(comparison: Comparison, failing: Collection[Verdict], missing_fails: bool) -> list[Test]:
    group = f"{comparison.rule.metric}: {comparison.new} against {comparison.old}"
    names = names_of([row.pair.old for row in comparison.rows])
    compared = [_test(row, name, group, failing) for row, name in zip(comparison.rows, names, strict=True)]
    alone = names_of([unpaired.case for unpaired in comparison.unpaired]) if comparison.unpaired else []
    return compared + [
        Test(
            name, f"{group}: {unpaired.side} side", kind="missing",
            failure=unpaired.reason if missing_fails and unpaired.side == "old" else "", skipped=unpaired.reason,
        )
        for unpaired, name in zip(comparison.unpaired, alone, strict=True)
    ]  # fmt: skip


def _test(row: CaseComparison, name: str, group: str, failing: Collection[Verdict]) -> Test:
    sentence = f"{row.verdict.value}: {change_words(row)}".removesuffix(": ")
    why = f"{sentence}; {row.decision.reason}" if row.decision.reason else sentence
    fails = row.verdict in failing
    skipped = row.verdict in _UNDECIDED and not fails
    return Test(
        name, group, failure=why if fails else "", skipped=why if skipped else "",
        kind=row.verdict.value if fails else "", lines=[sentence, *notes_of(row)],
    )  # fmt: skip


# ----------------------------------------------------------------------------------------------------
# The question that a gate in CI asks of comparisons: is there a reason to fail?


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
