"""The first lines of a comparison: how many cases did what, which ones changed, and what speaks against the whole."""

from __future__ import annotations

from collections.abc import Sequence

from perflog.compare.names import names_of
from perflog.compare.rows import CaseComparison, Comparison
from perflog.export.columns import counted
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


def verdict_words(verdict: Verdict, margin: float) -> str:
    """A verdict as people read it: "same" is said with its margin."""
    return f"same within {100 * margin:.4g} %" if verdict is Verdict.SAME else verdict.value


def opening(comparison: Comparison) -> list[str]:
    """The first lines, each a whole sentence or several."""
    warnings = list(comparison.warnings)
    if not comparison.rows:
        return ["No case could be compared.", *warnings]
    counts = {verdict: sum(row.verdict is verdict for row in comparison.rows) for verdict in Verdict}
    words = [f"{n} {verdict_words(verdict, comparison.rule.margin)}" for verdict, n in counts.items() if n]
    cases = counted(len(comparison.rows), "case")
    missing = len(comparison.unpaired)
    without = f" Not compared for want of a partner: {missing}." if missing else ""
    sentences = f"{cases}: {', '.join(words)}.{without}"
    named = [_named(comparison, verdict) for verdict in (Verdict.SLOWER, Verdict.FASTER)]
    return [" ".join([sentences, *filter(None, named)]), *warnings, *_too_few_runs(comparison.rows)]


def _named(comparison: Comparison, verdict: Verdict) -> str:
    """The cases with a verdict: ``Slower: BERT fp16 −4.1 % (−5.0 to −3.2).``."""
    names = names_of([row.pair.old for row in comparison.rows])
    rows = [(row, name) for row, name in zip(comparison.rows, names, strict=True) if row.verdict is verdict]
    rows.sort(key=lambda item: -abs((item[0].ratio.value or 1.0) - 1))
    if not rows:
        return ""
    words = [f"{name} {change_words(row)}" for row, name in rows[:MOST_NAMED]]
    more = [f"and {len(rows) - MOST_NAMED} more"] if len(rows) > MOST_NAMED else []
    return f"{verdict.value.capitalize()}: {', '.join([*words, *more])}."


def _too_few_runs(rows: Sequence[CaseComparison]) -> list[str]:
    """How many runs a side would carry the table, where those at hand do not."""
    needs = [row.decision.needs for row in rows if row.verdict is Verdict.INCONCLUSIVE and row.decision.needs]
    if not needs:
        return []
    return [
        f"In {len(needs)} of {len(rows)} cases the runs are too few for a table of so many rows: "
        f"with {max(needs)} runs a side a single changed case can be told."
    ]


def paragraphs(sentences: Sequence[str]) -> str:
    """The first lines as text: a paragraph each, which Markdown and terminals show alike."""
    return "".join(f"{sentence}\n\n" for sentence in sentences).removesuffix("\n")
