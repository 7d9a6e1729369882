"""The rules that published reports are known to have made their numbers by: perflog's own, conventions, plain ones.

A plain rule takes all records of a log, or all but the first so many, under one estimator, differenced or as printed.
Their numbers of records left out are those that reports have used, not any number: with a free search every number of
four digits would be found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from perflog.settings.amount import Amount, Window
from perflog.settings.convention import load_conventions
from perflog.settings.options import Options

#: The rule of perflog itself, beside the conventions.
OWN = "perflog"
#: Work over time of all but the first record, and of everything measured: for logs that are shorter than a warm-up.
LATER, WHOLE = "all but the first record", "the whole log"
#: One record, whatever is left out before it.
LAST = "the last record"
#: What the program itself printed as its result.
REPORTED = "the program's own report"
#: How many records plain rules leave out: those of the conventions (PaddlePaddle/Perf, DLPerf) and round numbers.
LEFT_OUT = (0, 1, 2, 3, 5, 10, 20, 50, 100)
#: The estimators of plain rules, with what a sentence calls them. Work over time needs no name.
_ESTIMATORS: Mapping[str, str] = {
    "total": "", "mean": "the mean of ", "median": "the median of ", "trimmed": "the trimmed mean of ",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its options, the parsers it is for (none: all), and whether it is one of the many plain ones."""

    options: Options
    parsers: tuple[str, ...] = ()
    plain: bool = False


def known_rules(options: Options) -> dict[str, Rule]:
    """perflog's own rule, those for short logs and the conventions by name, in the order in which they are tried."""
    rules = {OWN: Rule(options)}
    rules |= {records(left_out): Rule(_plain(options, left_out, "total", records(left_out))) for left_out in (1, 0)}
    for name, convention in load_conventions().items():  # a cell may print more digits than its family does
        rules[name] = Rule(replace(convention.apply(options), digits=""), convention.parsers)
    return rules


def plain_rules(options: Options) -> dict[str, Rule]:
    """The plain rules by name. They are many: they are tried where no other rule gives a number."""
    rules: dict[str, Rule] = {}
    for left_out in LEFT_OUT:
        for estimator, words in _ESTIMATORS.items():
            for printed in (False, True):
                name = words + records(left_out, bool(words)) + (", as printed" if printed else "")
                plain = replace(_plain(options, left_out, estimator, name), as_printed=printed)
                rules[name] = Rule(plain, plain=True)
    for printed in (False, True):
        name = LAST + (", as printed" if printed else "")
        rules[name] = Rule(replace(_plain(options, 0, "last", name), as_printed=printed), plain=True)
    return rules


def _plain(options: Options, left_out: int, estimator: str, name: str) -> Options:
    """The options of a plain rule. It counts as a convention: what reproduces a report is not refused."""
    return replace(options, window=Window(Amount(left_out, "records")), estimator=estimator, convention=name)


def records(left_out: int, of: bool = False) -> str:
    """What a plain rule takes, in words.

    >>> records(0), records(0, of=True), records(1), records(10)
    ('the whole log', 'all records', 'all but the first record', 'all but the first 10 records')
    """
    if not left_out:
        return "all records" if of else WHOLE
    return LATER if left_out == 1 else f"all but the first {left_out} records"
