"""Rows of a table in a text, each with the names of its columns: what a header says once stands on every line then.

``step,loss,tokens_per_sec`` above ``20,2.6,1308`` makes of that ``row step=20 loss=2.6 tokens_per_sec=1308``, and so do
columns between bars, tabs or blanks. A frame, whose lines are a key and its number each, becomes the row of its last
line. Line feeds are kept, so that a row's number is that of its line.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from perflog.lazy_regex import lazy_regex

#: A header has so many names at least, and so many rows below it.
_FEWEST, _ROWS = 2, 3
_NAME = lazy_regex(r"[A-Za-z_][\w./|@()%:\- ]*")
_NUMBER = lazy_regex(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?|_\d\d-\d\d-\d\d)|\d+(?::\d\d){1,2}(?:\.\d+)?"
    r"|[-+]?(?:[0-9][0-9,]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+|nan|inf|NaN|True|False|N/A|-)?(?:%|s|ms)?"
)
#: A header of a training's table names a counter.
_COUNTER = lazy_regex(
    r"(?:.*[/_. ])?(?:_?step|steps?|iter|iters|iteration|update|updates|batch|global_?step|num_updates|epoch)s?", re.I
)
_HAS_COUNTER = lazy_regex(r"step|iter|update|batch|epoch", re.I)
#: How a header may look: a counter among cells, without the signs of prose and keys.
_MAY_NAME = lazy_regex(
    rb"(?im)^(?:\[[^\]\n]{1,30}\](?:<std(?:out|err)>)?: ?|\([^()\n]{1,60}\) ){0,2}(?=[^=:\n]*[,;\t|\xe2 ])"
    rb"[^=:\n]*(?:step|iter|update|batch|epoch)[^=:\n]*$"
)
_TAG = lazy_regex(
    r"\[(?:1,)?(?:mpirank:)?\d+(?:,algo-\d+)?\]<std(?:out|err)>:| +\d+\t(?=\S)|(?:\[(?:rank|default)\d+\]:\s?){1,2}"
    r"|\([\w.-]{1,40},(?: \w+=[\w.]{1,40},?){1,3}\) "
)
_RULE = lazy_regex(r"[\s|+:=─━│┼├┤╞╡═-]*")

#: A line of a frame: ``| time/fps | 2200 |``, ``iteration    21``; and the head of some of these: ``| time/ | |``. What
#: is matched is never given back, so that a long line takes no longer than its bytes.
_PAIR_FORM = (
    r"[ \t]*+\|?[ \t]*+([A-Za-z][\w/.@()%-]*+(?: [\w/.@()%-]++)*+)(?= *+[|:=\t]|  )[ \t|:=]++"
    r"([-+]?[0-9.][^\s|]*+(?: [A-Za-z/%]{1,16}+)?)[ \t]*+\|?[ \t]*+"
)
_PAIR, _MAY_FRAME = lazy_regex(_PAIR_FORM), lazy_regex(rb"(?m)^" + _PAIR_FORM.encode() + rb"$")
_HEAD_OF_PAIRS = lazy_regex(r"[ \t]*+\|[ \t]*+\w++(?: \w++)*+/[ \t]*+\|[ \t]*+\|[ \t]*+")
#: So many frames have the same keys, and so many of these.
_FRAMES, _KEYS = 3, 3

Cells = Callable[[str], list[str]]


def _between(mark: str) -> Cells:
    if mark in ",;":
        return lambda line: [cell.strip() for cell in line.split(mark)]
    return lambda line: [cell.strip() for cell in line.strip().strip(mark).split(mark)]


def _of_csv(line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line]))]
    except (csv.Error, StopIteration):
        return []


#: How the cells of a line are told apart, the surest first.
_FORMS: tuple[tuple[str, Cells], ...] = (
    (",", _of_csv), (";", _between(";")), ("\t", _between("\t")), ("|", _between("|")), ("│", _between("│")),
    ("  ", lambda line: re.split(r"\s{2,}", line.strip())),
)  # fmt: skip


def with_names(text: bytes) -> bytes:
    """The same text with names at the numbers of its tables' rows and frames; unchanged where it has none."""
    return _with_frames(_with_headers(text))


def _with_frames(text: bytes) -> bytes:
    """The same text with each frame as a row."""
    if sum(1 for _ in islice(_MAY_FRAME.finditer(text), _FRAMES * _KEYS)) < _FRAMES * _KEYS:
        return text
    lines = text.decode("utf-8", "replace").split("\n")
    frames = list(_frames_of(lines))
    known = Counter(tuple(pairs) for _, pairs in frames)
    found = [(places, pairs) for places, pairs in frames if known[tuple(pairs)] >= _FRAMES and len(pairs) >= _KEYS]
    for places, pairs in found:
        for place in places:
            lines[place] = ""
        names = " ".join(f"{re.sub(' +', '_', key)}={value}" for key, value in pairs.items())
        lines[places[-1]] = f"row {names}"
    return "\n".join(lines).encode() if found else text


def _frames_of(lines: Sequence[str]) -> Iterator[tuple[list[int], dict[str, str]]]:
    """The frames of a text: the places of their lines, and the number of each key."""
    places, pairs = list[int](), dict[str, str]()
    for number, line in enumerate(lines):
        pair = _PAIR.fullmatch(line)
        if pairs and (pair[1] in pairs if pair is not None else not _HEAD_OF_PAIRS.fullmatch(line)):
            yield places, pairs
            places, pairs = [], {}
        if pair is not None:
            places.append(number)
            pairs[pair[1]] = pair[2]
    if pairs:
        yield places, pairs


def _with_headers(text: bytes) -> bytes:
    """The same text with names at the numbers of rows below a header."""
    if not _MAY_NAME.search(text):
        return text
    lines = text.decode("utf-8", "replace").split("\n")
    found = False
    names: list[str] = []
    cells: Cells = _of_csv
    for number, tagged in enumerate(lines):
        if "\r" in tagged:
            continue
        tag = _tag(tagged)
        line = tagged[len(tag) :]
        if names and (row := _row(line, len(names), cells)):
            lines[number] = tag + " ".join(
                ["row", *(f"{name}={value}" for name, value in zip(names, row, strict=True) if value)]
            )
        elif _HAS_COUNTER.search(line) and not _RULE.fullmatch(line):
            header = _header(lines, number)
            if header is not None:
                names, cells = header
                found = True
    return "\n".join(lines).encode() if found else text


def _tag(line: str) -> str:
    """What a launcher puts before a line to tell its rank, as clean texts have it."""
    found = _TAG.match(line)
    return found[0] if found else ""


def _header(lines: Sequence[str], number: int) -> tuple[list[str], Cells] | None:
    """(the names in a header, how its cells are told apart); None for a line that is none."""
    line = _without_tag(lines[number])
    if not re.search("[A-Za-z]", line) or len(line) > 2_000 or "=" in line:
        return None
    for mark, cells in _FORMS:
        names = cells(line) if mark in line else []
        names = ["index", *names[1:]] if names[:1] == [""] else names
        if len(names) < _FEWEST or len(set(names)) < len(names) or not all(map(_NAME.fullmatch, names)):
            continue
        if not any(map(_COUNTER.fullmatch, names)):
            continue
        below = [
            other
            for other in map(_without_tag, lines[number + 1 : number + 12])
            if other.strip() and not _RULE.fullmatch(other)
        ]
        rows = [other for other in below if _row(other, len(names), cells)]
        if len(rows) >= min(_ROWS, max(len(below), 1)) or (below and _row(below[0], len(names), cells)):
            return [re.sub(r"\s+", "_", name) for name in names], cells
    return None


def _without_tag(line: str) -> str:
    return line[len(_tag(line)) :]


def _row(line: str, count: int, cells: Cells) -> list[str]:
    """The cells of a row of so many numbers; empty for a line that is none."""
    row = cells(line) if line.strip() else []
    return row if len(row) == count and any(row) and all(map(_NUMBER.fullmatch, row)) else []
