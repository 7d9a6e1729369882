"""Tables of texts for people, and the words that all of them share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from perflog.cases.case import Case, data_of
from perflog.extraction import Extraction
from perflog.notes import Note
from perflog.settings.options import Options

#: So many facts of a config file stand in a caption, and so much of each.
_MOST_FACTS, _LONGEST_FACT = 8, 60

#: What stands behind a number that may be another one.
MARK = "⚠"


@dataclass(slots=True)
class TextTable:
    """A table of texts for people.

    Attributes:
        titles: the headings of the columns.
        rows: the cells, as many as there are titles in each row.
        right: for every column, whether its cells stand to the right.
        footnotes: lines under the table.
        caption: how the numbers were made; stands under the table.
        heading: what is true of all rows; stands above the table.
        keys: how many of the first columns name the row.
        spare: titles of columns that a narrow terminal may leave out.
        styles: texts of cells that have a colour of their own on a terminal, each with its parameters (ECMA-48, SGR).
    """

    titles: list[str]
    rows: list[list[str]]
    right: list[bool]
    footnotes: list[str] = field(default_factory=list)
    caption: str = ""
    heading: str = ""
    keys: int = 1
    spare: tuple[str, ...] = ()
    styles: Mapping[str, str] = field(default_factory=dict)


def number(value: float | None) -> str:
    """A rate as shown to people: two decimals, or four digits when it is small; empty for none."""
    if value is None:
        return ""
    return f"{value:.2f}" if abs(value) >= 10 or value == 0 else f"{value:.4g}"


def marked(text: str, mark: Note | None, other: str = "", either: str = "or") -> str:
    """A number's cell with the warning that it bears.

    Args:
        other: the other number as the cell shows numbers; empty where it has none of its own.
        either: the word between two numbers of which the log does not say which is meant.

    >>> marked("6192.00", Note("", "number", 0.765, 10929.0, "without line 71"), "10929.00")
    '6192.00 ⚠ 10929.00 without line 71'
    >>> marked("6192.00", Note("", "number", 0.765, 10929.0, "without line 71", undecided=True), "10929.00")
    '6192.00 ⚠ or 10929.00 without line 71'
    """
    if mark is None or not text:
        return text
    behind = f"{other} {mark.label}".strip() if other and other != text else ""
    return " ".join(filter(None, (text, MARK, either if behind and mark.is_open else "", behind)))


def counted(count: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def two_digits(value: float) -> str:
    """The first two digits of a number, or all that stand before its point: never with an exponent where it is large.

    >>> two_digits(3.04), two_digits(0.0123), two_digits(117.2)
    ('3', '0.012', '117')
    """
    return f"{value:.0f}" if abs(value) >= 99.5 else f"{value:.2g}"


def of_config(options: Options) -> str:
    """The facts that a ``perflog.toml`` sets, as a part of a caption: a reader of the table does not see the file."""
    facts = [f"{key}={value}"[:_LONGEST_FACT] for key, value in options.config_set.items()]
    more = f" and {len(facts) - _MOST_FACTS} more" if len(facts) > _MOST_FACTS else ""
    return f"; perflog.toml sets {', '.join(facts[:_MOST_FACTS])}{more}" if facts else ""


def caption(extraction: Extraction, cases: Iterable[Case] | None = None) -> str:
    """How the numbers were made, and on which data where that is one: stands under every table.

    Args:
        cases: those that are shown; all, if not given.
    """
    options = extraction.options
    text = f"{options.aggregate} over n runs; estimator {options.estimator}; {options.window}"
    if options.without_slow:
        text += " without slow records"
    if options.convention:
        text += f"; convention {options.convention}"
    if options.as_printed:
        text += " (values as printed)"
    text += of_config(options)
    data = data_of(extraction.cases if cases is None else cases)
    if data:
        text += f"; data {data}"
    return f"{text}; {counted(len(extraction.runs), 'run')}, {counted(len(extraction.skipped), 'file')} skipped."
