"""A text as a small set of tables: lines of one shape are rows, their numbers are columns.

A line is text with tokens in it: numbers, clocks, stamps, a bar's drawing. Lines whose text between the tokens is the
same are of one shape. What no format reads is understood from these tables (:mod:`perflog.inference`), whichever
engine matched the formats.

Digits are found in all bytes at once; a line's shape is told by its bytes without them, an equality and no likelihood.
What its tokens are is decided once for all lines that have the same bytes around their digits and, where that matters
(``1,234`` or ``1,23``; ``0:10`` or ``0:1``), the same number of digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from perflog.formats.printed import clock_seconds, scaled_number
from perflog.lazy_regex import lazy_regex
from perflog.matching.columns import Floats
from perflog.matching.matches import Ints

#: A row of more bytes is no line that a person would print.
LONGEST_LINE = 2_000
#: So many rows of a text are looked at: a training's lines come early and often.
MOST_ROWS = 20_000
#: Behind so many shapes a text is none of a program if more than this share of its rows are shapes of their own.
PROSE, MOST_SHAPES = 400, 0.6
#: Stands for a run of digits in the bytes of a shape; a text that holds it has another byte there.
_RUN, _OTHER = b"\x01", b"\x02"
_MONTH = b"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
#: Tokens, the most particular first. A sign belongs to a number where no digit or letter stands before it; a stop
#: behind it ends a sentence where a word or nothing follows.
_TOKEN = lazy_regex(
    rb"(?P<bar>\|(?=[^|\n]*(?:#|\xe2\x96[\x80-\x9f])| {5,}\|)(?:[#0-9 .:=>*-]|\xe2\x96[\x80-\x9f])*\|(?=[ 0-9\[(|]|$)"
    rb"|\[[=>. #-]*\](?![0-9])|(?:\xe2\x94[\x80-\x8f]|\xe2\x95[\xb8-\xbb])+)"
    rb"|(?P<stamp>(?<![0-9])[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}[T ,_]+(?:[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?"
    rb"(?:Z|[+-][0-9]{2}:?[0-9]{2})?|[0-9]{2}-[0-9]{2}-[0-9]{2}(?![0-9]))"
    rb"|(?<![0-9A-Za-z.:,/])[0-9]{1,2} " + _MONTH + rb" [0-9]{4}[ ,]+[0-9]{1,2}:[0-9]{2}:[0-9]{2})"
    rb"|(?P<clock>(?<![A-Za-z0-9_.@])(?:[0-9]+ days?, *)?[0-9]+(?::[0-9]{2})+(?:[.,][0-9]+)?(?![0-9:])"
    rb"|(?<![A-Za-z0-9_.@])[0-9]+ ?h(?:ours?)?:? ?[0-9]+ ?m(?:in(?:utes?)?)?(?::? ?[0-9.]+ ?s)?(?![A-Za-z])"
    rb"|(?<![A-Za-z0-9_.@])[0-9]+ ?m(?:in(?:utes?)?)?:? ?[0-9.]+ ?s(?:ec(?:onds?)?)?(?![A-Za-z]))"
    rb"|(?P<number>(?<![A-Za-z_@])(?<![A-Za-z_@][0-9])(?:(?<![0-9A-Za-z)\].])[-+])?"
    rb"(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.(?:[0-9]+|(?!\s*$|\s+[A-Za-z])))?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?:[kKMGBT](?![A-Za-z0-9_]))?"
    rb"|(?<![A-Za-z_])[-+]?(?:nan|inf|NaN|Inf|NAN|INF)(?![A-Za-z_]))"
)
_LETTER = lazy_regex(rb"[A-Za-z]")
#: What stands in front of a program's own words: stamps, levels, ranks, file names and lines.
_TIME = rb"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d| (?:UTC|GMT)(?= ))?"
_PREFIX = lazy_regex(
    rb"^(?:\[1,\d+\]<stdout>:|\[(?:rank|default)\d+\]:)?(?:[\s\[(<|>,-]*(?:"
    rb"[IWEF]\d{4} +" + _TIME + rb" +\d+(?= [A-Za-z_.]+:\d)|[IWEF]\d{4}(?= )"
    rb"|(?:\d{2,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{2}[-/]\d{2})[T ,_]+"
    + _TIME
    + rb"|\d{1,2} "
    + _MONTH
    + rb" \d{4}[ ,]+"
    + _TIME
    + rb"|\d{2,4}[-/.]\d{1,2}[-/.]\d{1,4}(?=[ T,:_|\]])"
    rb"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b,?|"
    + _MONTH
    + rb" +\d{1,2},? +"
    + _TIME
    + rb"(?: \d{4}(?!\d))?|"
    + _TIME
    + rb"(?= *[^\s<|\d]|\s*\||\] )"
    rb"|[A-Za-z_.]+:[A-Za-z_<>]+:\d+ -|[A-Za-z_][\w.]*(?= +- +(?:INFO|DEBUG|WARNING|WARN|ERROR) )"
    rb"|(?:INFO|DEBUG|WARNING|WARN|ERROR):(?!(?:step|iter|epoch|batch|loss|train|eval|val|test)[a-z]*:(?<!trainer:))"
    rb"[a-z_][\w.]*:(?=\s*[A-Za-z\[{(])"
    rb"|(?:INFO|DEBUG|WARNING|WARN|ERROR|I|root|__main__|[Rr]ank ?\d+|[A-Za-z_.]+\.py:\d+(?::\w+)?)(?![A-Za-z0-9_=])"
    rb"[\])>:]*)"
    rb"[\s\])>|,:-]*)*"
)
#: Between two runs of digits these make them one token or two, by how many digits there are.
_COUNTED = (b"\x01:\x01", b"\x01,\x01", b"\x01-\x01", b"\x01/\x01")
_BLANKS = lazy_regex(r"[ \t\u00a0]+")
_DIGITS = lazy_regex(r"[0-9]+")
#: Blanks that pad a number behind a sign: ``[ 50/1502]`` and ``[150/1502]`` are one shape.
_PADDING = lazy_regex(r"(?<=[^\sA-Za-z0-9])\s+$")


class Column(Struct, frozen=True):
    """The tokens at one place of a table's rows: as printed, and as numbers (n,), NaN for what is none."""

    texts: Sequence[str]
    values: Floats

    @property
    def is_whole(self) -> bool:
        """Whether every token is a whole number that is printed as one."""
        return all(text.replace(",", "").isdigit() for text in self.texts)


class _Part(NamedTuple):
    """Rows whose bytes around the digits are the same.

    Attributes:
        rows: their places among all rows; ``runs``: the first run of digits of each.
        tokens: (kind, first run, bytes before it, last run, bytes behind it, the text where it has no digits).
        own: (run, offset): where a row's own text begins, behind its prefix.
    """

    rows: Ints
    runs: Ints
    tokens: tuple[tuple[str, int, int, int, int, str], ...]
    own: tuple[int, int]


class Table(Struct):
    """Lines of one shape.

    Attributes:
        words: the texts around the tokens, blanks as one, one more than there are tokens; the prefix is left out.
        kinds: of each token: ``number``, ``clock`` (a duration such as 0:10:00), ``stamp`` or ``bar``.
        lines: the number of each row's line, from 1, rising, (n,).
        first: the first of the lines, without its prefix.
        derived: what later stages make of a table once.
    """

    words: tuple[str, ...]
    kinds: tuple[str, ...]
    first: str
    lines: Ints
    _text: _Text
    _parts: list[_Part] = field(default_factory=list)
    _columns: dict[int, Column] = field(default_factory=dict)
    _rows: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    derived: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def outline(self) -> str:
        """The line with ``#`` for each token."""
        return "#".join(self.words)

    @property
    def text(self) -> str:
        """The words in small letters."""
        return "\n".join(self.words).lower()

    def column(self, place: int) -> Column:
        """The tokens at a place, in the order of the lines."""
        if place not in self._columns:
            read = _clock if self.kinds[place] == "clock" else _number
            texts = self._in_order([self._text.tokens(part, place) for part in self._parts])
            self._columns[place] = Column(texts, np.array([read(text) for text in texts]))
        return self._columns[place]

    def where(self, keep: NDArray[np.bool_]) -> Table:
        """Some of the rows, (n,) in the order of the lines, as a table."""
        rows = self._rows[keep]
        parts = [
            _Part(part.rows[own], part.runs[own], part.tokens, part.own)
            for part in self._parts
            if (own := np.isin(part.rows, rows)).any()
        ]
        return Table(self.words, self.kinds, self.first, self.lines[keep], self._text, parts, {}, rows)

    def heads(self) -> list[bytes]:
        """What stands on each line before the program's own words, in the order of the lines."""
        return self._in_order([self._text.heads(part) for part in self._parts])

    def row(self, place: int) -> str:
        """The whole line of a row, by its place in the order of the lines."""
        return self._text.row(int(self._rows[place]))

    def others(self, is_one: Callable[[str], object]) -> list[int]:
        """The numbers of lines of other shapes between the first and the last of the rows, those that ``is_one``."""
        return [int(self._text.lines[row]) for row in self._between() if is_one(self._text.row(row))]

    @property
    def longest(self) -> int:
        """The bytes of the text's longest line, or of what a terminal draws of one."""
        return int((self._text.stops - self._text.begins).max())

    def lengths(self) -> Ints:
        """The bytes of each row, (n,)."""
        rows = self._rows
        return np.asarray(self._text.stops[rows] - self._text.begins[rows])

    def offsets(self, place: int) -> list[int]:
        """Where the token at a place begins in each row, in bytes; -1 for one without digits."""
        return self._in_order([self._text.offsets(part, place) for part in self._parts])

    def lines_within(self, after: int, before: int) -> list[str]:
        """The lines of the text behind one line and before another, by their numbers; 0: from the beginning."""
        low, high = np.searchsorted(self._text.lines, (after + 1, before))
        return [self._text.row(row) for row in range(int(low), int(high))]

    def other_lines(self) -> list[str]:
        """The lines between the first and the last of the rows that are of another shape."""
        return [self._text.row(row) for row in self._between()]

    def _between(self) -> list[int]:
        rows = self._rows
        return [int(row) for row in np.setdiff1d(np.arange(rows[0], rows[-1]), rows, assume_unique=True)]

    def _in_order(self, of_parts: Sequence[Sequence[Any]]) -> list[Any]:
        if len(of_parts) == 1:
            return list(of_parts[0])
        order = np.argsort(np.concatenate([part.rows for part in self._parts]), kind="stable")
        whole = [one for of_part in of_parts for one in of_part]
        return [whole[place] for place in order.tolist()]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        number = scaled_number(text)
        return math.nan if number is None else number


def _clock(text: str) -> float:
    seconds = clock_seconds(text.replace(" ", "") if "day" not in text else text)
    return math.nan if seconds is None else seconds


class _Text:
    """A text cut into rows (lines, and what a terminal draws over one another) and runs of digits."""

    def __init__(self, text: bytes) -> None:
        self.bytes = text = text.replace(_RUN, _OTHER)
        codes = np.frombuffer(text, dtype=np.uint8)
        digit = (codes - ord("0")) < 10
        edges = np.diff(digit.view(np.int8), prepend=0, append=0)
        self.starts, self.ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        breaks = np.flatnonzero((codes == ord("\n")) | (codes == ord("\r")))
        self.begins, self.stops = np.append(0, breaks + 1), np.append(breaks, len(text))
        self.lines = np.append(0, np.cumsum(codes[breaks] == ord("\n"))) + 1
        self.first_run = np.searchsorted(self.starts, self.begins)
        shapes = codes.copy()
        shapes[self.starts] = _RUN[0]
        shapes[codes == ord("\r")] = ord("\n")
        kept = ~digit
        kept[self.starts] = True
        self.shapes = shapes[kept].tobytes().split(b"\n")

    def row(self, row: int) -> str:
        return self.bytes[self.begins[row] : self.stops[row]].decode("utf-8", "replace")

    def tokens(self, part: _Part, place: int) -> list[str]:
        _, first, before, last, behind, fixed = part.tokens[place]
        if first < 0:
            return [fixed] * len(part.rows)
        starts, ends = self.starts[part.runs + first] - before, self.ends[part.runs + last] + behind
        return [self.bytes[a:b].decode("latin-1") for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]

    def offsets(self, part: _Part, place: int) -> list[int]:
        _, first, before, *_ = part.tokens[place]
        if first < 0:
            return [-1] * len(part.rows)
        starts = self.starts[part.runs + first] - before - self.begins[part.rows]
        return [int(start) for start in starts]

    def heads(self, part: _Part) -> list[bytes]:
        run, offset = part.own
        starts = self.begins[part.rows]
        ends = starts + offset if run < 0 else self.ends[part.runs + run] + offset
        return [self.bytes[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]

    def alike(self) -> Iterable[tuple[Ints, int]]:
        """(rows with the same bytes around their digits, how many runs each has), those with digits alone."""
        rows_of: dict[bytes, list[int]] = {}
        for row, shape in enumerate(self.shapes[:MOST_ROWS]):
            if _RUN in shape and len(shape) <= LONGEST_LINE:
                rows_of.setdefault(shape, []).append(row)
        for shape, rows in rows_of.items():
            yield from self._by_digits(shape, np.array(rows))

    def _by_digits(self, shape: bytes, rows: Ints) -> Iterable[tuple[Ints, int]]:
        runs = shape.count(_RUN)
        if len(rows) == 1 or not any(between in shape for between in _COUNTED):
            yield rows, runs
            return
        places = self.first_run[rows][:, np.newaxis] + np.arange(runs)
        lengths = np.minimum(self.ends[places] - self.starts[places], 5)
        pieces = shape.split(_RUN)
        free = [n for n in range(runs) if not {pieces[n], pieces[n + 1]} & {b":", b",", b"-", b"/"}]
        lengths[:, free] = 0
        _, of = np.unique(lengths, axis=0, return_inverse=True)
        for number in range(int(of.max()) + 1):
            yield rows[of.reshape(-1) == number], runs

    def part(self, rows: Ints, runs: int) -> tuple[_Part, tuple[str, ...]]:
        """(rows that are alike with what their tokens are, the words around these)."""
        row = int(rows[0])
        begin = int(self.begins[row])
        line = self.bytes[begin : self.stops[row]]
        first = int(self.first_run[row])
        starts = (self.starts[first : first + runs] - begin).tolist()
        ends = (self.ends[first : first + runs] - begin).tolist()
        own = _own_start(line)
        inside = [number for number in range(runs) if ends[number] <= own]
        anchor = (inside[-1], own - ends[inside[-1]]) if inside else (-1, own)
        tokens, words, at = [], [], own
        for found in _TOKEN.finditer(line, own):
            start, end = found.span()
            within = [number for number in range(runs) if start <= starts[number] and ends[number] <= end]
            text = "" if within else found[0].decode("utf-8", "replace")
            a, b = (within[0], within[-1]) if within else (-1, -1)
            before, behind = (starts[a] - start, end - ends[b]) if within else (0, 0)
            tokens.append((str(found.lastgroup), a, before, b, behind, text))
            words.append(line[at:start])
            at = end
        words.append(line[at:].rstrip())
        said = tuple(_BLANKS.sub(" ", word.decode("utf-8", "replace")) for word in words)
        return _Part(rows, self.first_run[rows], tuple(tokens), anchor), said


def _own_start(line: bytes) -> int:
    """Where the program's own words begin on a line; 0 where nothing but a prefix would be left."""
    prefix = _PREFIX.match(line)
    return prefix.end() if prefix and _LETTER.search(line, prefix.end()) else 0


def own_text(line: bytes) -> bytes:
    """A line without what stands in front of the program's own words."""
    return line[_own_start(line) :].strip()


def own_words(line: str) -> str:
    """The own text of a line, each run of digits as 0."""
    return _DIGITS.sub("0", own_text(line.encode()).decode("utf-8", "replace"))


def tables_of(text: bytes) -> list[Table]:
    """The tables of a clean text, those with most rows first; rows without a number are of none."""
    whole = _Text(text)
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], Table] = {}
    parts = seen = 0
    for rows, runs in whole.alike():
        parts, seen = parts + 1, seen + len(rows)
        if parts > PROSE and len(found) > MOST_SHAPES * seen:
            break  # nearly every line is a shape of its own: text, or data
        part, words = whole.part(rows, runs)
        kinds = tuple(token[0] for token in part.tokens)
        if not kinds:
            continue
        key = tuple(_DIGITS.sub("0", _PADDING.sub("", word)) for word in words), kinds
        table = found.get(key)
        if table is None:
            begin, end = int(whole.begins[rows[0]]), int(whole.stops[rows[0]])
            line = whole.bytes[begin:end]
            first = line[_own_start(line) :].decode("utf-8", "replace")
            table = found[key] = Table(words, kinds, first, whole.lines[:0], whole)
        table.words = tuple(max(both, key=len) for both in zip(table.words, words, strict=True))
        table._parts.append(part)
    for table in found.values():
        table._rows = np.sort(np.concatenate([part.rows for part in table._parts]))
        table.lines = whole.lines[table._rows]
    return sorted(found.values(), key=lambda table: (-len(table), int(table.lines[0])))
