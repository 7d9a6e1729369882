"""The first lines of a comparison, a short paragraph to act on.

It says how many cases did what, which ones changed and by how much, what could not be decided, and what would decide
it: so many runs, so many minutes, and the command where it is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from perflog.compare.parts import data_part, data_words
from perflog.compare.remedy import By, Remedy, ToDecide
from perflog.compare.rows import CaseComparison, Comparison
from perflog.compare.rule import VERDICTS, change_words, interval_words, per_cent, verdict_word
from perflog.compare.when import is_separation
from perflog.show.text import counted, span
from perflog.spelling import some_of
from perflog.stats.geomean import MeanInterval
from perflog.stats.verdict import Verdict

#: So many changed cases are named, those with the largest changes first, and so many of which no number of runs is
#: known to decide them.
MOST_NAMED, _MOST_REASONS = 5, 2


def opening(comparison: Comparison, apart_first: bool = True, remedies: bool = True) -> list[str]:
    """The first lines, each a whole sentence or several.

    Args:
        apart_first: whether the first of them has it, too, that the sides were not measured side by side: whoever reads
            one line must not take a drift for a change. Otherwise it has a line of its own.
        remedies: whether it says what would decide the open cases.
    """
    apart = [warning for warning in comparison.warnings if apart_first and is_separation(warning)]
    warnings = [warning for warning in comparison.warnings if warning not in apart]
    if not comparison.rows:
        return [" ".join([_why_nothing(comparison), *apart]), *warnings]
    missing = len(comparison.unpaired)
    without = f" Not compared for want of a partner: {missing}." if missing else ""
    sentences = f"{counted(len(comparison.rows), 'case')}: {comparison.counts}.{without}"
    changes = (verdict for verdict, appearance in VERDICTS.items() if appearance.is_change)
    named = [*(_changed_cases(comparison, verdict) for verdict in changes), _open_cases(comparison)]
    together = [together_sentence(comparison)] if comparison.only_together is not None else []
    decided_by = what_decides(comparison) if remedies else []
    return [" ".join([sentences, *apart, *together, *filter(None, named), *decided_by]), *warnings]


def _why_nothing(comparison: Comparison) -> str:
    """That no case was compared, and what to do: a comparison of nothing must not be taken for one without changes."""
    sides = {"old": comparison.old, "new": comparison.new}
    empty = [name for side, name in sides.items() if all(case.side != side for case in comparison.unpaired)]
    if empty:
        return f"No case could be compared: {' and '.join(empty)} {'has' if len(empty) == 1 else 'have'} no case."
    nothing = "No case could be compared: no case of one side is on the other."
    if comparison.way is None:
        offered = "--across KEYS lets keys differ, --alias NAME=OTHER takes two names for one"
        return f"{nothing} What differs is said of each case; {offered}."
    if comparison.way.repeats_over:
        each = f"where each {' and '.join(comparison.way.repeats_over)} is a machine"
        return (
            f"{nothing} Give {comparison.way.options} {each}: each is one repeat then, and "
            f"{counted(comparison.way.count, 'case')} can be compared."
        )
    return f"{nothing} Give {comparison.way.options}: that pairs {counted(comparison.way.count, 'case')}."


def together_sentence(comparison: Comparison) -> str:
    """What the cases' mean decides where no case does: ``Together 10 cases are slower: −5.1 % (…), …``."""
    mean = comparison.mean.interval
    assert mean is not None and comparison.only_together is not None
    word = verdict_word(comparison.only_together, comparison.rule.metric)
    return (
        f"Together {mean.n} cases are {word}: {per_cent(mean.value)} "
        f"({mean_interval_words(mean)}), though no single one is sure to be."
    )


def mean_interval_words(mean: MeanInterval) -> str:
    """The interval of a mean with its level: ``−6.0 to −4.2 % at 99 %``."""
    return f"{per_cent(mean.low).removesuffix(' %')} to {per_cent(mean.high)} at {100 * mean.level:.4g} %"


def _changed_cases(comparison: Comparison, verdict: Verdict) -> str:
    """The cases with a verdict, the largest changes first: ``Slower: BERT fp16 −4.1 % (−5.0 to −3.2).``.

    Where the logs print what the data of a step take, it is said whether the change is there.
    """
    rows = [(row, name) for row, name in comparison.named if row.verdict is verdict]
    rows.sort(key=lambda item: -abs((item[0].ratio.value or 1.0) - 1))
    return _listed(
        verdict_word(verdict, comparison.rule.metric), [f"{name} {_change(row, comparison)}" for row, name in rows]
    )


def _change(row: CaseComparison, comparison: Comparison) -> str:
    """A change with its interval, and whether it is in reading data."""
    part = data_part(row, comparison.rule.metric, comparison.rule.level)
    return change_words(row.ratio) if part is None else f"{change_words(row.ratio)}, {data_words(part)}"


def _open_cases(comparison: Comparison) -> str:
    """What the inconclusive cases may be, the widest intervals first: ``Inconclusive: cnn may be −17 to +19 %.``."""
    rows = [(row, name) for row, name in comparison.named if row.verdict is Verdict.INCONCLUSIVE]
    rows = [(row, name) for row, name in rows if row.ratio.low is not None]
    rows.sort(key=lambda item: (item[0].ratio.low or 0.0) - (item[0].ratio.high or 0.0))
    return _listed(Verdict.INCONCLUSIVE.value, [f"{name} may be {interval_words(row.ratio)}" for row, name in rows])


def _listed(verdict: str, cases: Sequence[str]) -> str:
    more = [f"and {len(cases) - MOST_NAMED} more"] if len(cases) > MOST_NAMED else []
    return f"{verdict.capitalize()}: {', '.join([*cases[:MOST_NAMED], *more])}." if cases else ""


# ----------------------------------------------------------------------------------------------------
# What would decide the open cases.


def what_decides(comparison: Comparison) -> list[str]:
    """The sentences that say what would decide the open cases; none where all are decided."""
    to_decide = comparison.to_decide
    if to_decide is None:
        return []
    remedies = [(row, name, row.remedy) for row, name in comparison.named if row.remedy is not None]
    sentences = []
    for by in By:
        ones = [(row, name, remedy) for row, name, remedy in remedies if remedy.by is by and remedy.new is not None]
        if ones:
            sentences.append(_by_runs(comparison, by, ones, to_decide))
    without = [f"{name} ({remedy.reason})" for _, name, remedy in remedies if remedy.reason]
    if without and len(comparison.rows) == 1:
        sentences.append(f"No number of runs decides it: {remedies[0][2].reason}.")
    elif without:
        sentences.append(f"No number of runs decides {some_of(without, _MOST_REASONS)}.")
    return sentences


def _by_runs(
    comparison: Comparison, by: By, ones: Sequence[tuple[CaseComparison, str, Remedy]], to_decide: ToDecide
) -> str:
    """How many runs decide some rows, what for, how long that takes, and the command."""
    remedies = [remedy for _, _, remedy in ones]
    noun = "machine" if ones[0][0].pair.old.machines else "run"
    of_which = "" if len(ones) == len(comparison.rows) else f" of {_of_which(ones)}"
    how_long = _how_long(to_decide)
    fewest = "at least " if any(remedy.tells is None for remedy in remedies) else ""
    if by is By.MORE:
        text = f"To decide, make {fewest}{_counts(remedies, noun, 'more ')}{of_which}, in turn{how_long}"
    elif by is By.ROUNDS and not to_decide.command:
        text = f"To decide, go on for {fewest}{_counts(remedies, noun, 'more ')}{of_which}{how_long}"
    elif to_decide.command:
        most = "to go on until each case is decided" if by is By.ROUNDS else "to measure in turn until each is decided"
        text = f"To decide, run `{to_decide.command}` {most}{how_long}"
    else:
        text = (
            f"To decide, make {fewest}{_counts(remedies, noun, '')}{of_which} anew, in turn (`perflog run --against`)"
        )
        text += how_long
    if to_decide.apart and by is By.ANEW:
        text += "; or let a history say what campaigns differ by (--history)"
    return f"{text}.{_told(remedies)}"


def _of_which(ones: Sequence[tuple[CaseComparison, str, Remedy]]) -> str:
    return f"the case {ones[0][1]}" if len(ones) == 1 else f"these {len(ones)} cases"


def _counts(remedies: Sequence[Remedy], noun: str, more: str) -> str:
    """``4 more runs a side``, or of each side where they differ: ``3 to 9 more old and 4 more new runs``."""
    old, new = _range([remedy.old or 0 for remedy in remedies]), _range([remedy.new or 0 for remedy in remedies])
    several = noun if old == new == "1" else f"{noun}s"
    if all(remedy.old == remedy.new for remedy in remedies):
        return f"{new} {more}{several} a side"
    return f"{old} {more}old and {new} {more}new {several}"


def _range(counts: Sequence[int]) -> str:
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _how_long(to_decide: ToDecide) -> str:
    """`` (about 12 min)``; empty where it is not known."""
    if to_decide.seconds is None:
        return ""
    return f" ({'more than' if to_decide.at_least else 'about'} {span(to_decide.seconds)} of training)"


def _told(remedies: Sequence[Remedy]) -> str:
    """What so many runs tell from each other: no change from one of twice the margin, in most cases."""
    pairs = sorted({remedy.tells for remedy in remedies if remedy.tells is not None})
    if not pairs:
        return ""
    told = [
        f"{'no change from one of' if not low else f'{100 * low:.3g} % from'} {100 * high:.3g} %" for low, high in pairs
    ]
    return f" That tells {' or '.join(told)}."
