"""Numbers of which a line holds a part alone: a decimal comma behind them, or a column at which all lines were cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perflog.formats.parser import Pattern
from perflog.matching.one_line import read_line
from perflog.matching.samples import AFTER, BEFORE, Samples
from perflog.reading.reading import Reading

#: Columns of terminals.
WIDTHS = (80, 100, 120, 132, 160, 200)
#: So many of a log's sampled lines are looked at, and so many of them are to end at one column inside a number.
LOOKED_AT, LEAST = 4, 2
#: So many lines whose last numbers begin at different columns do not end at one column by chance, where so large a
#: share of those that were sampled does.
LEAST_UNLIKE, NEARLY_ALL = 3, 0.75
_LOSS = "loss"
#: Groups that are no values and that a number is made from.
_COUNTS = ("global_batch_size", "batch_size", "covers", "devices", "nodes")
_COMMA = re.compile(r"[0-9],[0-9]")
#: The milliseconds of Python's stamps, and thousands that are parted by commas beside them.
_MILLISECONDS = re.compile(r":[0-9]{2},[0-9]{3}")
_PARTED = re.compile(rf"(?<![0-9.,])[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+(?![0-9,])|{_MILLISECONDS.pattern}")
_GROUPED = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?[A-Za-z]?")
_LAST_NUMBER = re.compile(r"[0-9][0-9.]*$")
#: What a number or a word goes on with.
_WITHIN_WORD = re.compile(r"[A-Za-z0-9/]|\.[0-9]")


class _Line(NamedTuple):
    """A line with its number, from its match on, and how long it is as a whole, in bytes and in characters.

    ``whole``: whether its end is known; of a very long one a part is kept.
    """

    number: int
    text: str
    length: int
    characters: int
    whole: bool


def why_cut(reading: Reading, pattern: Pattern) -> str:
    """Why the numbers on the lines of a pattern may be parts of numbers; empty where nothing shows it.

    One that is followed by a comma and a digit goes on behind it, unless the format's own samples show such lists.
    """
    of_patterns = reading.lines_of_records if pattern.block else reading.samples
    record = (pattern.parser, pattern.block)  # of one on several lines each is looked at
    patterns = (
        [one for one in reading.patterns.values() if (one.parser, one.block) == record] if pattern.block else [pattern]
    )
    for one in patterns:
        lines = list(_sampled(of_patterns.get(one.key, ())))
        if why := _why_ended_early(lines, one) or _why_parted(lines, one):
            return why
    return ""


def _why_parted(lines: Sequence[_Line], pattern: Pattern) -> str:
    last = len(lines) - 1
    for place in sorted({last * part // LOOKED_AT for part in range(LOOKED_AT)}) if lines else ():
        line = lines[place]
        if _COMMA.search(line.text) is None or _COMMA.search(_MILLISECONDS.sub("", line.text)) is None:
            continue
        mark = "a decimal comma" if _COMMA.search(_PARTED.sub("", line.text)) else "a comma that parts thousands"
        for group, shown in _numbers(pattern, line.text):
            if _goes_on(line.text, shown) and not _listed(pattern, group):
                return f"line {line.number} has {mark} ({group} {shown}): its numbers would be read in part"
    return ""


def _why_ended_early(lines: Sequence[_Line], pattern: Pattern) -> str:
    """Why the lines of a pattern were cut at a column, as by a terminal, a pager or ``cut``; empty where they were not.

    They are the longest and of one length, and end inside a number or a word: by the format's samples, or because the
    last number begins at another column on each and yet ends at the same.
    """
    for lengths in ([line.length for line in lines], [line.characters for line in lines]):
        longest = max(lengths, default=0)
        at = [line for line, length in zip(lines, lengths, strict=True) if length == longest and line.whole]
        if len(at) < LEAST:
            continue
        apart = len(at) >= NEARLY_ALL * len(lines) and _begin_apart(at, longest)
        if apart or all(_is_cut(line, longest, pattern, len(at) == len(lines)) for line in (at[0], at[-1])):
            as_by = "a terminal cut there" if longest in WIDTHS else "were all cut there"
            return f"line {at[0].number} ends inside a number or a word at column {longest}, as lines do that {as_by}"
    return ""


def _begin_apart(at: Sequence[_Line], column: int) -> bool:
    """Whether lines that end at one column end with numbers that begin at different ones."""
    numbers = [_LAST_NUMBER.search(line.text.rstrip(",")) for line in at]
    shown = [found.group() for found in numbers if found is not None]
    begins, decimals = {column - len(text) for text in shown}, {_decimals(text) for text in shown}
    apart = (
        len(begins) > 1 if len(decimals) > 1 else decimals == {0} and len(begins) > 2
    )  # a rate times its time is one
    return len(at) >= LEAST_UNLIKE and None not in numbers and apart


def _is_cut(line: _Line, column: int, pattern: Pattern, are_all: bool) -> bool:
    """Whether a line ends where no line of the format does.

    Its last number ends no sample, and the column is a terminal's or all lines end there; or all do, and it ends inside
    a word of the samples, or that number is whole where each of them has decimals.
    """
    if not (are_all or column in WIDTHS) or not _WITHIN_WORD.match(line.text.rstrip(",.")[-1:]):
        return False
    shape = _shape(line.text)
    samples = [_shape(sample.line.rstrip()) for sample in pattern.samples]
    if any(whole.endswith(shape) for whole in samples):  # what it ends with ends a sample too
        return False
    end = line.text.rstrip(",.")
    for group, shown in _numbers(pattern, line.text):
        if end[-1:].isdigit() and end.endswith(shown.rstrip(",.")):  # no words of a clock
            decimals = [_decimals(text) for text in _of_samples(pattern, group)]
            if are_all and decimals and min(decimals) > 0 == _decimals(shown):
                return True
            return not _ends_line(pattern, group)
    if not are_all or not _WITHIN_WORD.match(line.text[-1:]):
        return False
    behind = [whole[at + len(shape) :] for whole in samples if (at := whole.find(shape)) >= 0]
    return bool(behind) and all(_WITHIN_WORD.match(rest) for rest in behind)


def _shape(text: str) -> str:
    """A text in which numbers are alike, whatever digits they have and how far they are moved to the right."""
    return re.sub(" +", " ", re.sub("[0-9]+", "0", text))


def _decimals(shown: str) -> int:
    return len(shown.partition(".")[2])


def _of_samples(pattern: Pattern, group: str) -> list[str]:
    """A group's numbers as the format's samples print them."""
    return [shown for sample in pattern.samples for name, shown in _numbers(pattern, sample.line) if name == group]


def _sampled(of_blocks: Sequence[Samples]) -> Iterator[_Line]:
    """A pattern's sampled lines, of the log's first block."""
    for samples in of_blocks[:1]:
        for number, line, begins in zip(samples.line.tolist(), samples.text, samples.place, strict=True):
            tail = line[begins:]
            text = tail.decode("utf-8", "replace").split("\r")[0]
            whole = begins < BEFORE and len(tail) < AFTER
            length = begins + len(tail.split(b"\r")[0])
            yield _Line(
                number, text, length, length - len(line[:length]) + len(line[:length].decode("utf-8", "replace")), whole
            )


def _numbers(pattern: Pattern, text: str) -> Iterator[tuple[str, str]]:
    """(group, number as it is printed) of a line's values and its loss."""
    read = read_line(pattern, text) or {}
    measured = [value for value in pattern.values if value.quantity != "timestamp"]
    added = [group for value in measured for group in value.plus]
    for group in dict.fromkeys((*(value.group for value in measured), *added, *_COUNTS, _LOSS)):
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
