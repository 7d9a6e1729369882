"""Comparisons as what CI shows: annotations of GitHub Actions, and tests of a JUnit report."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from perflog.compare.columns import comparison_table, notes_of
from perflog.compare.rows import CaseComparison, Comparison
from perflog.compare.rule import names_of
from perflog.compare.sentences import change_words, opening
from perflog.errors import UsageError
from perflog.escaping import markdown as escaped
from perflog.export.case_table import Shown
from perflog.export.exchange import Annotation, Test
from perflog.export.text import NUMBERED, TextTable, counted, to_markdown
from perflog.settings.convention import DEFAULT, GateResult, gate_result
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
        fail_on: keys of :data:`perflog.settings.convention.REASONS`.
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


# ----------------------------------------------------------------------------------------------------
# Comparisons as Markdown fit for a comment on a pull request or a job's summary.
#
# It begins with a marker that nobody sees: who comes later with another comparison of the same name finds the comment
# by it and puts his own in its place.

#: A comment of GitHub's holds 65,536 characters; some are left for what its reader adds.
LONGEST = 60_000
#: Names of comparisons: they stand in a comment of HTML, which `--` would end.
_NAME = re.compile(r"[A-Za-z0-9]+(?:[._ -]?[A-Za-z0-9]+)*")
#: Where GitHub makes a link, a mention or a reference of text: an empty comment there keeps it text.
_LINKED = re.compile(r"(?<=[@#])(?=\w)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=\bgh)(?=-\d)", re.IGNORECASE)
#: Which rows are shown first where not all can be.
_IMPORTANCE = (Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE, Verdict.NOT_ENOUGH_DATA, Verdict.SAME)
#: The columns that a table has by itself.
_DEFAULT = Shown()


def marker_of(name: str) -> str:
    """The hidden marker of a comparison's comment.

    Raises:
        UsageError: for a name that is not made of letters and digits with single separators between them.
    """
    if not _NAME.fullmatch(name) or len(name) > 100:
        expected = "expected letters and digits with single blanks, dots, hyphens or underscores between them"
        raise UsageError(f"--marker {name!r}: {expected}, at most 100")
    return f"<!-- perflog compare {name} -->"


def comment(
    comparisons: Sequence[Comparison], name: str, result: GateResult | None = None, explained: bool = False,
    shown: Shown = _DEFAULT,
) -> str:  # fmt: skip
    """Comparisons as Markdown with their marker first.

    Args:
        comparisons: of one command.
        name: what tells this comment from others of perflog's on the same pull request, the same in every run.
        result: what the gate says; None where there is none.
        explained: say below the tables what the verdicts mean.
        shown: the columns of the tables.

    Raises:
        UsageError: for a name that no marker can hold, or a column that there is not.
    """
    head = [marker_of(name)]
    if result is not None:
        head.append(f"**{_unlinked(escaped(result.sentence))}**")
    budget = (LONGEST - sum(map(len, head))) // len(comparisons)
    sections = [_section(comparison, explained, budget, shown) for comparison in comparisons]
    return "\n\n".join([*head, *sections])


def _section(comparison: Comparison, explained: bool, budget: int, shown: Shown) -> str:
    """One comparison: its first lines and its table, in at most ``budget`` characters."""
    first, *others = map(_unlinked, map(escaped, opening(comparison)))
    title = _unlinked(escaped(f"{comparison.rule.metric}: {comparison.new} against {comparison.old}"))
    lines = [f"### {title}", first, *(f"> {other}" for other in others)]
    above = "\n\n".join(lines)
    table = comparison_table(comparison, explained, shown)
    return f"{above}\n\n{_fitting(comparison, table, budget - len(above) - 2)}"


def _fitting(comparison: Comparison, table: TextTable, budget: int) -> str:
    """The table as Markdown, with as many of its most important rows as the budget of characters holds."""
    text = _unlinked(to_markdown(table))
    if len(text) <= budget:
        return text
    order = sorted(range(len(table.rows)), key=lambda place: _turn(comparison.rows[place]))
    low, high = 0, len(order)
    while low < high:  # the largest number of rows that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(_shortened(table, order[:middle])) <= budget else (low, middle - 1)
    return _shortened(table, order[:low])[:budget]


def _turn(row: CaseComparison) -> tuple[int, float]:
    """A row's place by importance: its verdict, then the size of its change."""
    return _IMPORTANCE.index(row.verdict), -abs((row.ratio.value or 1.0) - 1)


def _shortened(table: TextTable, places: Sequence[int]) -> str:
    """The table with the rows at these places and the notes that they bear, numbered anew as lists of Markdown are."""
    rows = [table.rows[place] for place in sorted(places)]
    column = table.titles.index("notes") if "notes" in table.titles else None
    borne = [] if column is None else [mark for row in rows for mark in row[column].split(",") if mark]
    marks = {mark: str(new) for new, mark in enumerate(sorted(set(borne), key=int), 1)}
    if column is not None:
        rows = [
            [*row[:column], ",".join(marks[mark] for mark in row[column].split(",") if mark), *row[column + 1 :]]
            for row in rows
        ]
    numbered = [(NUMBERED.match(note), note) for note in table.footnotes]
    notes = [
        note if found is None else f"{marks[found[1]]}. {found[2]}"
        for found, note in numbered
        if found is None or found[1] in marks
    ]
    left_out = f"Rows left out for want of room, the least important ones: {len(table.rows) - len(rows)}."
    return _unlinked(to_markdown(replace(table, rows=rows, footnotes=[left_out, *notes])))


def _unlinked(text: str) -> str:
    """Markdown in which names mention nobody and link nowhere."""
    return _LINKED.sub("<!-- -->", text)
