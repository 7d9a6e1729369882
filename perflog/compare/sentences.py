"""The first lines of a comparison: how many cases did what, which ones changed, and what speaks against the whole."""

from __future__ import annotations

from collections.abc import Sequence

from perflog.compare.rows import CaseComparison, Comparison
from perflog.compare.rule import names_of
from perflog.compare.when import is_separation
from perflog.export.text import counted
from perflog.stats.verdict import Verdict

#: So many changed cases are named, those with the largest changes first.
MOST_NAMED = 5


def per_cent(ratio: float, digits: int = 1) -> str:
    """A ratio as a change: 0.959 → −4.1 %."""
    return f"{_signed(ratio, digits)} %"


def _signed(ratio: float, digits: int = 1) -> str:
    text = f"{100 * (ratio - 1):+.{digits}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"


def change_words(row: CaseComparison) -> str:
    """A row's change with its interval: −4.1 % (−5.0 to −3.2)."""
    ratio = row.ratio
    if ratio.value is None:
        return ""
    if ratio.low is None or ratio.high is None:
        return per_cent(ratio.value)
    return f"{per_cent(ratio.value)} ({_signed(ratio.low)} to {_signed(ratio.high)})"


def interval_words(row: CaseComparison) -> str:
    """A row's interval: −5.0 to −3.2 %; empty where there is none."""
    low, high = row.ratio.low, row.ratio.high
    return "" if low is None or high is None else f"{_signed(low)} to {per_cent(high)}"


def verdict_words(verdict: Verdict, margin: float) -> str:
    """A verdict as people read it: "same" is said with its margin."""
    return f"same within {100 * margin:.4g} %" if verdict is Verdict.SAME else verdict.value


def opening(comparison: Comparison, apart_first: bool = True) -> list[str]:
    """The first lines, each a whole sentence or several.

    Args:
        apart_first: whether the first of them has it, too, that the sides were not measured side by side: whoever reads
            one line must not take a drift for a change. Otherwise it has a line of its own.
    """
    apart = [warning for warning in comparison.warnings if apart_first and is_separation(warning)]
    warnings = [warning for warning in comparison.warnings if warning not in apart]
    if not comparison.rows:
        return [" ".join([_why_nothing(comparison), *apart]), *warnings]
    counts = {verdict: sum(row.verdict is verdict for row in comparison.rows) for verdict in Verdict}
    words = [f"{n} {verdict_words(verdict, comparison.rule.margin)}" for verdict, n in counts.items() if n]
    cases = counted(len(comparison.rows), "case")
    missing = len(comparison.unpaired)
    without = f" Not compared for want of a partner: {missing}." if missing else ""
    sentences = f"{cases}: {', '.join(words)}.{without}"
    changed = [text for verdict in (Verdict.SLOWER, Verdict.FASTER) if (text := _named(comparison, verdict))]
    named = changed or [_open_cases(comparison)]
    return [" ".join([sentences, *apart, *filter(None, named)]), *warnings, *_too_few_runs(comparison.rows)]


def _why_nothing(comparison: Comparison) -> str:
    """That no case was compared, and what to do: a comparison of nothing must not be taken for one without changes."""
    sides = {"old": comparison.old, "new": comparison.new}
    empty = [name for side, name in sides.items() if all(case.side != side for case in comparison.unpaired)]
    if empty:
        return f"No case could be compared: {' and '.join(empty)} {'has' if len(empty) == 1 else 'have'} no case."
    return (
        "No case could be compared: no case of one side is on the other. What differs is said of each case; "
        "--across KEYS lets these keys differ, --alias NAME=OTHER takes two names for one."
    )


def _named(comparison: Comparison, verdict: Verdict) -> str:
    """The cases with a verdict, the largest changes first: ``Slower: BERT fp16 −4.1 % (−5.0 to −3.2).``."""
    rows = _rows_of(comparison, verdict)
    rows.sort(key=lambda item: -abs((item[0].ratio.value or 1.0) - 1))
    words = [f"{name} {change_words(row)}" for row, name in rows[:MOST_NAMED]]
    return f"{verdict.value.capitalize()}: {', '.join([*words, *_more(rows)])}." if rows else ""


def _open_cases(comparison: Comparison) -> str:
    """What the inconclusive cases may be, the widest intervals first: ``Inconclusive: cnn may be −17 to +19 %.``."""
    rows = [(row, name) for row, name in _rows_of(comparison, Verdict.INCONCLUSIVE) if row.ratio.low is not None]
    rows.sort(key=lambda item: (item[0].ratio.low or 0.0) - (item[0].ratio.high or 0.0))
    words = [f"{name} may be {interval_words(row)}" for row, name in rows[:MOST_NAMED]]
    return f"Inconclusive: {', '.join([*words, *_more(rows)])}." if rows else ""


def _rows_of(comparison: Comparison, verdict: Verdict) -> list[tuple[CaseComparison, str]]:
    """The rows with a verdict, each with its case's short name."""
    names = names_of([row.pair.old for row in comparison.rows])
    return [(row, name) for row, name in zip(comparison.rows, names, strict=True) if row.verdict is verdict]


def _more(rows: Sequence[object]) -> list[str]:
    return [f"and {len(rows) - MOST_NAMED} more"] if len(rows) > MOST_NAMED else []


def _too_few_runs(rows: Sequence[CaseComparison]) -> list[str]:
    """How many runs a side would carry the table, where those at hand do not."""
    needs = [row.decision.needs for row in rows if row.verdict is Verdict.INCONCLUSIVE and row.decision.needs]
    if not needs:
        return []
    return [
        f"In {len(needs)} of {len(rows)} cases the runs are too few for a table of so many rows: "
        f"with {max(needs)} runs a side a single changed case can be told."
    ]


#: What each verdict means, for readers who know no statistics.
_EXPLANATIONS = {
    Verdict.FASTER: "the whole interval of the change lies on the better side of {margin}: by all that the runs show, "
    "the new side is better by more than that.",
    Verdict.SLOWER: "the whole interval of the change lies on the worse side of {margin}: by all that the runs show, "
    "the new side is worse by more than that.",
    Verdict.SAME: "the whole interval of the change lies within {margin} to both sides: if there is a change, it is "
    "smaller than what was said not to matter (--margin).",
    Verdict.INCONCLUSIVE: "the interval of the change reaches from within {margin} to beyond it: the runs fit a change "
    "that matters and none. This is no \"same\": more runs would decide it, and `perflog plan` says how many.",
    Verdict.NOT_ENOUGH_DATA: "there can be no verdict: too few runs on a side, a run without a value, or runs that are "
    "all exactly alike. The row's notes say which.",
}  # fmt: skip
_INTERVAL = (
    "The change is that of a typical new run against a typical old one; the interval beside it holds the true change "
    "with the confidence in parentheses. Verdicts hold for the table as a whole: of tables in which nothing changed, "
    "at most {rest} % show a single faster or slower case. All this takes for granted that the runs of both sides "
    "were made in turn on one machine."
)


def explanations(comparison: Comparison) -> list[str]:
    """What the verdicts of a comparison mean, a sentence for each that occurs, and how to read the interval."""
    margin = f"{100 * comparison.rule.margin:.4g} %"
    verdicts = dict.fromkeys(verdict for verdict in Verdict for row in comparison.rows if row.verdict is verdict)
    lines = [f"{verdict.value}: {_EXPLANATIONS[verdict].format(margin=margin)}" for verdict in verdicts]
    return [*lines, _INTERVAL.format(rest=f"{100 * (1 - comparison.rule.level):.4g}")]


def paragraphs(sentences: Sequence[str]) -> str:
    """The first lines as text: a paragraph each, which Markdown and terminals show alike."""
    return "".join(f"{sentence}\n\n" for sentence in sentences).removesuffix("\n")
