"""Numbers of which a line holds a part alone: a decimal comma behind them, or a terminal's last column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from perflog.formats.parser import Pattern
from perflog.formats.samples import read_line
from perflog.reading.reading import Reading

#: Columns of terminals.
WIDTHS = (80, 100, 120, 132, 160, 200)
#: So many of a log's sampled lines are looked at, and so many of them are to end at one column inside a number.
LOOKED_AT, LEAST = 4, 2
_LOSS = "loss"
_COMMA = re.compile(r"[0-9],[0-9]")
#: Thousands that are parted by commas, and the milliseconds of Python's stamps.
_PARTED = re.compile(r"(?<![0-9.,])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9,])|:[0-9]{2},[0-9]{3}")
_GROUPED = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?[A-Za-z]?")


class _Line(NamedTuple):
    """A line with its number, from its match on, and how long it is as a whole."""

    number: int
    text: str
    length: int


def why_cut(reading: Reading, pattern: Pattern) -> str:
    """Why the numbers on the lines of a pattern may be parts of numbers; empty where nothing shows it.

    One that is followed by a comma and a digit has a decimal comma, unless the format's own samples show such lists.
    Where lines of one length, which is a terminal's, end with a number that ends no line of the format, they were cut.
    """
    cut, parted = list[_Line](), ""
    for line in _sampled(reading, pattern):
        comma = _COMMA.search(line.text) is not None and _COMMA.search(_PARTED.sub("", line.text)) is not None
        end = line.text.rstrip(",.")
        at_end = end[-1:].isdigit() and line.length in WIDTHS
        for group, shown in _numbers(pattern, line.text) if comma or at_end else ():
            if at_end and end.endswith(shown.rstrip(",.")) and not _ends_line(pattern, group):
                cut.append(line)
            if comma and not parted and _goes_on(line.text, shown) and not _listed(pattern, group):
                parted = f"line {line.number} has a decimal comma ({group} {shown}): its numbers would be read in part"
    if len({line.number for line in cut}) < LEAST or len({line.length for line in cut}) > 1:
        return parted
    return f"line {cut[0].number} ends with a number at column {cut[0].length}, as lines do that a terminal cut there"


def _sampled(reading: Reading, pattern: Pattern) -> Iterator[_Line]:
    """Some of a pattern's sampled lines."""
    for samples in reading.samples.get(pattern.key, ())[:1]:
        last = len(samples.line) - 1
        for place in sorted({last * part // LOOKED_AT for part in range(LOOKED_AT)}) if last >= 0 else ():
            begins = samples.place[place]
            text = samples.text[place][begins:].decode("utf-8", "replace").split("\r")[0]
            yield _Line(int(samples.line[place]), text, begins + len(text))


def _numbers(pattern: Pattern, text: str) -> Iterator[tuple[str, str]]:
    """(group, number as it is printed) of a line's values and its loss."""
    read = read_line(pattern, text) or {}
    measured = [value.group for value in pattern.values if value.quantity != "timestamp"]
    for group in (*dict.fromkeys(measured), _LOSS):
        if (shown := read.get(group)) and shown[0].isdigit():
            yield group, shown


def _goes_on(text: str, shown: str) -> bool:
    """Whether a number goes on behind a comma wherever it stands in a text, or holds one that parts no thousands."""
    if "," in shown:
        return _GROUPED.fullmatch(shown) is None
    ends = [text[match.end() :] for match in re.finditer(rf"(?<![0-9.]){re.escape(shown)}(?![0-9.])", text)]
    return bool(ends) and all(re.match(r",[0-9]", end) for end in ends)


def _ends_line(pattern: Pattern, group: str) -> bool:
    """Whether a group may end a line: it does in a sample of the format, or is the loss, which anything may print."""
    return group == _LOSS or any(
        name == group and sample.line.rstrip().endswith(shown)
        for sample in pattern.samples
        for name, shown in _numbers(pattern, sample.line)
    )


def _listed(pattern: Pattern, group: str) -> bool:
    """Whether a comma and a digit stand behind a group in a sample of the format."""
    return any(
        name == group and _goes_on(sample.line, shown)
        for sample in pattern.samples
        for name, shown in _numbers(pattern, sample.line)
    )
