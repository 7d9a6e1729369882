"""Comparisons for machines (JSON in the schema of docs/compare.md, CSV), and for CI: its gate, and what it shows.

CI shows annotations of GitHub Actions, tests of a JUnit report, and Markdown as a comment on a pull request.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

from perflog._version import __version__
from perflog.cases.case import Case
from perflog.cases.machines import machine_names
from perflog.compare.opening import opening, together_sentence
from perflog.compare.parts import data_part
from perflog.compare.rows import CaseComparison, Comparison, centre, run_values
from perflog.compare.rule import VERDICTS, Rule, change_words, keys_of, verdict_word
from perflog.compare.table import comparison_table, mark_beside, notes_of, other_ratio
from perflog.compare.when import is_separation
from perflog.errors import UsageError
from perflog.escaping import json_text
from perflog.escaping import markdown as escaped
from perflog.settings.convention import APART, TOGETHER, TOGETHER_APART, GateResult, gate_result
from perflog.show.case_table import Shown
from perflog.show.exchange import MOST_OF_A_LEVEL, Annotation, Test, at_most
from perflog.show.fields import require_columns
from perflog.show.text import NUMBERED, TextTable, counted, to_csv, to_markdown
from perflog.stats.memory import Doubt
from perflog.stats.verdict import Verdict

#: The formats of a comparison: for people, for machines, for browsers and for CI.
FORMATS = ("table", "markdown", "csv", "json", "html", "github", "junit", "svg", "png")
SCHEMA = "perflog/comparison/1"
_CSV_FIELDS = (
    "unit", "n_old", "n_new", "median_old", "median_new", "ratio", "other_ratio", "low", "high", "level", "p",
    "adjusted_p", "verdict", "notes",
)  # fmt: skip


def comparison_document(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Comparisons that were made by the same options, as plain data in the schema of docs/compare.md."""
    options = comparisons[0].options
    made_by = {
        "estimator": options.estimator, "window": str(options.window), "convention": options.convention or None,
    }  # fmt: skip
    return {
        "schema": SCHEMA,
        "perflog": __version__,
        "options": made_by,
        "comparisons": [_comparison(comparison) for comparison in comparisons],
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    rule, mean = comparison.rule, comparison.mean
    return {
        "old": comparison.old,
        "new": comparison.new,
        "metric": rule.metric,
        "better": rule.better.value,
        "margin": rule.margin,
        "level": rule.level,
        "summary": opening(comparison),
        "to_decide": None
        if comparison.to_decide is None
        else {
            **asdict(comparison.to_decide),
            "command": comparison.to_decide.command or None,
        },
        "warnings": list(comparison.warnings),
        "rows": [_row(row, rule) for row in comparison.rows],
        "geometric_mean": {
            "value": mean.value,
            "rows": mean.n,
            "left_out": mean.left_out,
            "interval": None if mean.interval is None else asdict(mean.interval),
        },
        "notes": list(comparison.notes),
        "not_compared": [
            {"side": u.side, "case": u.case.key, "label": u.case.label, "reason": u.reason} for u in comparison.unpaired
        ],
    }


def _row(row: CaseComparison, rule: Rule) -> dict[str, Any]:
    ratio, metric = row.ratio, rule.metric
    return {
        "case": row.pair.old.key,
        "label": row.pair.old.label,
        "across": list(row.pair.across),
        "unit": row.unit,
        "old": _side(row.old, row.pair.old, metric),
        "new": _side(row.new, row.pair.new, metric),
        "ratio": ratio.value,
        "other_ratio": other_ratio(row, metric),
        "interval": None if ratio.low is None else {"low": ratio.low, "high": ratio.high, "level": ratio.level},
        "p": ratio.p,
        "adjusted_p": row.adjusted_p,
        "verdict": row.verdict.value,
        "reason": row.decision.reason or None,
        "runs_needed": row.decision.needs,
        "in_rounds": row.in_rounds,
        "memory": _memory(row),
        "to_decide": _remedy(row),
        "data_part": _data_part(row, rule),
        "notes": list(row.notes),
    }


def _remedy(row: CaseComparison) -> dict[str, Any] | None:
    """The runs that would decide a row, or why no number of runs does; None for a row that is decided."""
    if row.remedy is None:
        return None
    remedy = row.remedy
    return {
        "by": remedy.by.value, "old_runs": remedy.old, "new_runs": remedy.new,
        "tells": None if remedy.tells is None else list(remedy.tells),
        "seconds": remedy.seconds, "at_least": remedy.at_least, "reason": remedy.reason or None,
    }  # fmt: skip


def _data_part(row: CaseComparison, rule: Rule) -> dict[str, Any] | None:
    """What of a changed step time is in reading data, in seconds a step; None where it cannot be said."""
    part = data_part(row, rule.metric, rule.level)
    return None if part is None else asdict(part)


def _memory(row: CaseComparison) -> dict[str, Any] | None:
    """The history of a row: what its runs and campaigns spread by, and whether the row was judged with it."""
    if row.memory is None:
        return None
    memory, doubt = row.memory.memory, row.memory.doubt
    return {
        "campaigns": memory.campaigns, "left_out": memory.rejected, "run_spread": memory.run_spread,
        "run_degrees_of_freedom": memory.run_freedom, "campaign_spread": memory.campaign_spread,
        "degrees_of_freedom": memory.freedom, "used": doubt is Doubt.NONE, "apart": row.memory.apart,
        "reason": None if doubt is Doubt.NONE else doubt.value,
    }  # fmt: skip


def _side(values: Sequence[float], case: Case, metric: str) -> dict[str, Any]:
    runs = [
        {"file": run.log.name, "value": value if math.isfinite(value) else None}
        for run, value in zip(case.runs, run_values(case, metric) if case.machines else values, strict=True)
    ]
    machines = [
        {"name": name, "value": value if math.isfinite(value) else None, "runs": len(machine.runs)}
        for name, value, machine in zip(machine_names(case), values, case.machines, strict=True)
    ] if case.machines else None  # fmt: skip
    mark = mark_beside(case, metric)
    return {
        "version": case.key.get("framework_version"), "median": centre(values),
        "other": None if mark is None else mark.other, "n": len(values), "runs": runs,
        "machines": machines,
    }  # fmt: skip


def comparison_json(comparisons: Sequence[Comparison]) -> str:
    """The document as indented JSON."""
    return json_text(comparison_document(comparisons)) + "\n"


def comparison_csv(comparisons: Sequence[Comparison], columns: Sequence[str] = ()) -> str:
    """A line per row of every comparison.

    Args:
        columns: these columns alone, in this order; empty: all.

    Raises:
        UsageError: for a column that there is not, with the nearest one.
    """
    keys = keys_of([row.pair.old for comparison in comparisons for row in comparison.rows])
    known = ["old", "new", "metric", *keys, "label", *_CSV_FIELDS]
    require_columns(columns, known)
    places = [known.index(name) for name in columns] or range(len(known))
    rows = [
        [
            comparison.old, comparison.new, comparison.rule.metric, *(row.pair.old.key.get(key, "") for key in keys),
            row.pair.old.label, *_csv_cells(row, comparison.rule.metric),
        ]
        for comparison in comparisons for row in comparison.rows
    ]  # fmt: skip
    return to_csv([known[place] for place in places], [[cells[place] for place in places] for cells in rows])


def _csv_cells(row: CaseComparison, metric: str) -> list[Any]:
    ratio = row.ratio
    return [
        row.unit, ratio.n_old, ratio.n_new, centre(row.old), centre(row.new), ratio.value, other_ratio(row, metric),
        ratio.low, ratio.high, ratio.level, ratio.p, row.adjusted_p, row.verdict.value, "; ".join(notes_of(row)),
    ]  # fmt: skip


# ----------------------------------------------------------------------------------------------------
# The question that a gate in CI asks of comparisons: is there a reason to fail?


#: What the gate fails on unless told otherwise.
GATE = ("slower", "missing", "same-logs", "nothing-compared")


def gate(comparisons: Sequence[Comparison], fail_on: Sequence[str] = GATE) -> GateResult:
    """Whether any of the requested reasons is there.

    ``slower``: a case is slower, or no single one is sure to be, and the mean of all is; where the sides were measured
    apart, and no history says how far campaigns move, the status is that of a question left open. ``inconclusive``: a
    case is inconclusive or has not enough data. ``missing``: a case of the old side has no partner, or a run of its
    partner has no value. ``same-logs``: both sides of a case have the very same values. ``nothing-compared``: no case
    at all has enough data for a verdict; a speedup that is 1 by definition is none.

    Args:
        comparisons: of one command.
        fail_on: keys of :data:`perflog.settings.convention.REASONS`.
    """
    rows = [row for comparison in comparisons for row in comparison.rows]
    reasons = [VERDICTS[row.verdict].gate for row in rows]
    unpaired = [one for comparison in comparisons for one in comparison.unpaired if one.side == "old"]
    apart = sum(
        VERDICTS[row.verdict].gate == "slower" and not row.knows_campaigns
        for comparison in comparisons if _is_apart(comparison)
        for row in comparison.rows
    )  # fmt: skip
    together = [comparison for comparison in comparisons if comparison.only_together is Verdict.SLOWER]
    together_apart = sum(
        _is_apart(comparison) and not any(row.knows_campaigns for row in comparison.rows) for comparison in together
    )
    counts = {
        "slower": reasons.count("slower") - apart,
        APART: apart,
        TOGETHER: len(together) - together_apart,
        TOGETHER_APART: together_apart,
        "inconclusive": reasons.count("inconclusive"),
        "missing": len(unpaired) + sum(row.lacks_runs for row in rows),
        "same-logs": sum(row.has_same_values for row in rows),
        "nothing-compared": int(not any(_is_judged(row) for row in rows)),
    }
    worse = verdict_word(Verdict.SLOWER, comparisons[0].rule.metric) if comparisons else Verdict.SLOWER.value
    words = {
        reason: (there.replace("{worse}", worse), absent.replace("{worse}", worse))
        for reason, (there, absent) in _WORDS.items()
    }
    if _is_blind(rows):
        there, absent = words["inconclusive"]
        words["inconclusive"] = there + _BLIND, absent
    return gate_result(counts, words, fail_on, counted(len(rows), "case"))


_MAY_BE_MACHINE = (
    "but the sides were measured apart, so that it may be the machine, not the version (make the runs in turn, or give "
    "--history)"
)
_SLOWER_TOGETHER = "the mean of the {of} is {worse}, though no single one is sure to be"
#: The words for each reason where it is there, and where it was requested and is not.
_WORDS = {
    "slower": ("{n} of {of} {worse}", "no case is {worse}"),
    APART: ("{n} of {of} {worse}, " + _MAY_BE_MACHINE, ""),
    TOGETHER: (_SLOWER_TOGETHER, ""),
    TOGETHER_APART: (_SLOWER_TOGETHER + ", " + _MAY_BE_MACHINE, ""),
    "inconclusive": (
        "{n} of {of} inconclusive or without enough data", "no case is inconclusive or without enough data",
    ),
    "missing": (
        "{n} of the old side without a partner, or with a run of it that has no value",
        "none is missing",
    ),
    "same-logs": ("{n} of {of} with the very same values on both sides", "none is a copy"),
    "nothing-compared": ("no case has enough data for a verdict", "at least one case had enough data"),
}  # fmt: skip
#: What is said besides where a gate is green though it could see no single change. It does not fail then: too few runs
#: are as frequent among identical versions.
_BLIND = ": the runs are too few for so many cases, and no single changed case could have been called"


def _is_apart(comparison: Comparison) -> bool:
    """Whether the sides were measured one after the other."""
    return any(map(is_separation, comparison.warnings))


def _is_judged(row: CaseComparison) -> bool:
    """Whether a row had enough data for its verdict."""
    return row.verdict is not Verdict.NOT_ENOUGH_DATA and not row.by_definition


def _is_blind(rows: Sequence[CaseComparison]) -> bool:
    """Whether all rows that have enough data, of which there is one, have too few runs for so many rows."""
    judged = [row for row in rows if _is_judged(row)]
    return bool(judged) and all(
        row.verdict is Verdict.INCONCLUSIVE and row.decision.needs is not None for row in judged
    )


# ----------------------------------------------------------------------------------------------------
# Annotations of GitHub Actions, and tests of a JUnit report.

_TITLE = "perflog compare"


def findings(
    comparisons: Sequence[Comparison], fail_on: Sequence[str] = (), result: GateResult | None = None
) -> list[Annotation]:
    """What a pull request shows of comparisons: slower cases, what speaks against the whole, and why the gate failed.

    Args:
        fail_on: the reasons that the gate fails on; slower cases are errors where they are among them.
        result: what the gate says; None where there is none.
    """
    level = "error" if "slower" in fail_on else "warning"
    slower = [
        Annotation(
            f"{name} is {verdict_word(row.verdict, comparison.rule.metric)}: {change_words(row.ratio)}",
            title=f"{_TITLE}: {comparison.rule.metric}",
            level=level,
        )
        for comparison in comparisons
        for row, name in comparison.named
        if row.verdict is Verdict.SLOWER
    ]
    warnings = [
        Annotation(sentence, title=_TITLE, level="warning")
        for comparison in comparisons for sentence in comparison.warnings
    ]  # fmt: skip
    failed = [Annotation(result.sentence, title=_TITLE)] if result is not None and result.status else []
    notices = [Annotation(opening(comparison)[0], title=_TITLE, level="notice") for comparison in comparisons]
    room = MOST_OF_A_LEVEL - (len(failed) if level == "error" else min(len(warnings), MOST_OF_A_LEVEL // 2))
    named = at_most(slower, room, "{n} more cases are slower")
    return [*failed, *named, *warnings[: MOST_OF_A_LEVEL // 2], *notices[:MOST_OF_A_LEVEL]]


def tests(comparisons: Sequence[Comparison], fail_on: Sequence[str]) -> list[Test]:
    """A test for each case of every comparison: it failed where the gate fails on it.

    A case without a verdict or without a partner is skipped where the gate does not fail on it.
    """
    verdicts = [row.verdict for comparison in comparisons for row in comparison.rows]
    failing = {verdict for verdict, appearance in VERDICTS.items() if appearance.gate in fail_on}
    if "nothing-compared" in fail_on and set(verdicts) <= {Verdict.NOT_ENOUGH_DATA}:
        failing.add(Verdict.NOT_ENOUGH_DATA)
    return [test for comparison in comparisons for test in _tests(comparison, failing, "missing" in fail_on)]


def _tests(comparison: Comparison, failing: Collection[Verdict], missing_fails: bool) -> list[Test]:
    together = []
    if comparison.only_together is Verdict.SLOWER:
        sentence = together_sentence(comparison)
        fails = Verdict.SLOWER in failing
        kind = Verdict.SLOWER.value if fails else ""
        together = [Test("all cases together", comparison.title, failure=sentence if fails else "", kind=kind,
                         lines=[sentence])]  # fmt: skip
    return [*together, *(_test(row, name, comparison.title, failing) for row, name in comparison.named)] + [
        Test(
            name, f"{comparison.title}: {unpaired.side} side", kind="missing",
            failure=unpaired.reason if missing_fails and unpaired.side == "old" else "", skipped=unpaired.reason,
        )
        for unpaired, name in comparison.named_unpaired
    ]  # fmt: skip


def _test(row: CaseComparison, name: str, group: str, failing: Collection[Verdict]) -> Test:
    sentence = f"{row.verdict.value}: {change_words(row.ratio)}".removesuffix(": ")
    why = f"{sentence}; {row.decision.reason}" if row.decision.reason else sentence
    fails = row.verdict in failing
    skipped = VERDICTS[row.verdict].gate == "inconclusive" and not fails
    return Test(
        name, group, failure=why if fails else "", skipped=why if skipped else "",
        kind=row.verdict.value if fails else "", lines=[sentence, *notes_of(row)],
    )  # fmt: skip


# ----------------------------------------------------------------------------------------------------
# Comparisons as Markdown fit for a comment on a pull request or a job's summary.
#
# It begins with a marker that nobody sees: a later run with a comparison of the same name finds the comment by it
# and replaces it.

#: A comment of GitHub's holds 65,536 characters; some are left for what its reader adds.
LONGEST = 60_000
#: Names of comparisons: they are in a comment of HTML, which `--` would end.
_NAME = re.compile(r"[A-Za-z0-9]+(?:[._ -]?[A-Za-z0-9]+)*")
#: Where GitHub makes a link, a mention or a reference of text: an empty comment there keeps it text.
_LINKED = re.compile(r"(?<=[@#])(?=\w)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=\bgh)(?=-\d)", re.IGNORECASE)
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
    title = _unlinked(escaped(comparison.title))
    lines = [f"### {title}", first, *(f"> {other}" for other in others)]
    above = "\n\n".join(lines)
    table = comparison_table(comparison, explained, shown)
    return f"{above}\n\n{_fitting(comparison, table, budget - len(above) - 2)}"


def _fitting(comparison: Comparison, table: TextTable, budget: int) -> str:
    """The table as Markdown, with as many of its most important rows as the budget of characters holds."""
    text = _unlinked(to_markdown(table))
    if len(text) <= budget:
        return text
    importance = list(VERDICTS)

    def turn(place: int) -> tuple[int, float]:
        row = comparison.rows[place]
        return importance.index(row.verdict), -abs((row.ratio.value or 1.0) - 1)

    order = sorted(range(len(table.rows)), key=turn)
    low, high = 0, len(order)
    while low < high:  # the largest number of rows that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(_shortened(table, order[:middle])) <= budget else (low, middle - 1)
    return _shortened(table, order[:low])[:budget]


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
