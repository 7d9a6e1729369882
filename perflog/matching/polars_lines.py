"""What patterns find in lines, by polars.

Two ways, chosen by the pattern:

- *by literal*: a line is split at the pattern's literal and the rest of the regex is matched at the start of each
  piece, so that two events glued to one line are both found.
- *by line*: for a regex that reads something before its literal; the whole regex is tried on the line.

Digits of a line may be wild (``widened.py``).
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from perflog.formats.parser import Jump, Pattern
from perflog.matching.matches import Ints
from perflog.matching.widened import Widened, widened, with_mark

T = TypeVar("T")
Mask = NDArray[np.bool_]

# polars's own handler of Ctrl-C has calls of the system begin again: a command that waits for a FIFO's other end would
# never end.
if hasattr(signal, "siginterrupt"):  # not on Windows
    signal.siginterrupt(signal.SIGINT, True)

#: The parser that took an occurrence which none took.
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class Hits:
    """The places where one pattern matched.

    ``line``: index of the line (n,), rising; ``place``: the character of it where the literal begins, 0 for a pattern
    that is matched by line (n,); ``texts``: what each group and each group of ``also`` captured, (n,) each; ``unsure``:
    texts that hold digits which the match depends on, (n,) each, and the digits that may stand there (see
    :class:`~perflog.matching.widened.Widened`); none of hits that were taken from others.
    """

    pattern: Pattern
    line: Ints
    place: Sequence[int]
    texts: Mapping[str, Sequence[str | None]]
    unsure: Sequence[tuple[Sequence[str | None], int]]

    def take(self, rows: Mask) -> Hits:
        """Some of the hits."""
        texts = {group: _taken(column, rows) for group, column in self.texts.items()}
        return Hits(self.pattern, self.line[rows], _taken(self.place, rows), texts, ())

    def __len__(self) -> int:
        return len(self.line)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The rests of lines after each occurrence of a literal (n,), the line's index and the character in it (n,)."""

    rest: list[str]
    line: Ints
    place: list[int]

    def take(self, rows: Mask) -> Pieces:
        return Pieces(_taken(self.rest, rows), self.line[rows], _taken(self.place, rows))


class Lines:
    """A batch of lines, and what is computed from them once for all patterns."""

    def __init__(self, lines: Sequence[str], wild: bool) -> None:
        """``wild``: whether the lines may have wild digits, and no wild characters of their own."""
        self._lines, self._wild = lines, wild
        self._pieces: dict[str, Pieces] = {}
        self._taker: dict[str, Ints] = {}
        self._parsers: dict[str, int] = {}

    def counts(self, literal: str, by_line: bool, among: Sequence[int]) -> Mapping[int, int]:
        """How often each of these lines holds a literal that it holds; once ``by_line``."""
        if by_line:
            return dict.fromkeys((n for n in among if literal in self._lines[n]), 1)
        return Counter(self.pieces(literal, among).line.tolist())

    def pieces(self, literal: str, among: Sequence[int]) -> Pieces:
        """What follows each occurrence of a literal in some of the lines; always the same ones for one literal."""
        if literal not in self._pieces:
            self._pieces[literal] = self._split(literal, among)
        return self._pieces[literal]

    def match(self, pattern: Pattern, among: Sequence[int]) -> Hits:
        """Where ``pattern`` matches in those lines that hold its literal, which must be among these."""
        if pattern.tail is None:
            holding = list(self.counts(pattern.literal, True, among))
            whole = Pieces([self._lines[n] for n in holding], np.array(holding, dtype=np.int64), [0] * len(holding))
            return self._hits(pattern, whole, self._read(whole.rest, pattern.regex, at_start=False))[0]
        pieces = self.pieces(pattern.literal, among)
        is_open = self._open(pattern, len(pieces.line))
        if not is_open.any():
            return Hits(pattern, np.empty(0, dtype=np.int64), [], {}, ())
        candidates = pieces.take(is_open)
        found = (
            self._read(candidates.rest, pattern.tail, at_start=True)
            if pattern.jump is None
            else self._jumping(candidates.rest, pattern.jump)
        )
        hits, matched = self._hits(pattern, candidates, found)
        self._take(pattern, np.flatnonzero(is_open)[matched])
        return hits

    def _split(self, literal: str, among: Sequence[int]) -> Pieces:
        rest, owner, place = [], [], []
        for n in among:
            line = self._lines[n]
            at = line.find(literal)
            while at >= 0:
                again = line.find(literal, at + len(literal))
                rest.append(line[at + len(literal) : again if again >= 0 else None])
                owner.append(n)
                place.append(at)
                at = again
        return Pieces(rest, np.array(owner, dtype=np.int64), place)

    def _open(self, pattern: Pattern, count: int) -> Mask:
        """Which occurrences of a literal a pattern may match, (count,): of patterns with one literal, each takes what
        it matches away; metadata finds what all others took, and a position what other parsers took."""
        taker = self._taker.setdefault(pattern.literal, np.full(count, _NOBODY, dtype=np.int64))
        if pattern.role == "metadata":
            return np.ones(count, dtype=bool)
        if pattern.role == "position":
            return np.asarray(taker != self._number(pattern.parser))
        return np.asarray(taker == _NOBODY)

    def _take(self, pattern: Pattern, places: Ints) -> None:
        taker = self._taker[pattern.literal]
        if pattern.role != "metadata":
            taker[places[taker[places] == _NOBODY]] = self._number(pattern.parser)

    def _number(self, parser: str) -> int:
        return self._parsers.setdefault(parser, len(self._parsers))

    def _hits(self, pattern: Pattern, pieces: Pieces, found: _Found) -> tuple[Hits, Mask]:
        """(the hits among pieces, which pieces they are)."""
        matched = found.matched
        if not matched.any():
            return Hits(pattern, pieces.line[:0], [], {}, ()), matched
        pieces = pieces.take(matched)
        texts = {group: _taken(found.texts[group], matched) for group in pattern.groups}
        unsure = [(_taken(column, matched), digits) for column, digits in found.unsure]
        if pattern.also:
            also = self._read(pieces.rest, pattern.also, at_start=False)
            texts |= {group: also.texts[group] for group in pattern.also_groups}
            unsure += also.unsure
        return Hits(pattern, pieces.line, pieces.place, texts, unsure), matched

    def _jumping(self, pieces: Sequence[str], jump: Jump) -> _Found:
        """Like :meth:`_read`, with the head and the tail of a jump matched apart."""
        parted = [piece.partition(jump.literal) for piece in pieces]
        rest = [after if literal else None for _, literal, after in parted]
        head, tail = self._read(pieces, jump.head, at_start=True), self._read(rest, jump.tail, at_start=True)
        return _Found(head.matched & tail.matched, head.texts | tail.texts, head.unsure + tail.unsure)

    def _read(self, lines: Sequence[str | None], regex: str, at_start: bool) -> _Found:
        """A regex's groups in lines."""
        used = widened(regex, at_start) if self._wild else Widened(with_mark(regex, at_start), {})
        fields = pl.Series(lines, dtype=pl.String).str.extract_groups(used.regex).struct.unnest()
        matched = fields.get_column("matched_").is_not_null().to_numpy()
        texts = {name: fields.get_column(name).to_list() for name in fields.columns if not name.isdigit()}
        unsure = [(fields.get_column(str(group)).to_list(), digits) for group, digits in used.unsure.items()]
        return _Found(matched, texts, unsure)


@dataclass(frozen=True, slots=True)
class _Found:
    """A regex in lines: where it matched, and of all lines what its groups captured; see :class:`Hits`."""

    matched: Mask
    texts: dict[str, list[str | None]]
    unsure: list[tuple[list[str | None], int]]


def _taken(column: Sequence[T], rows: Mask) -> list[T]:
    return list(compress(column, rows.tolist()))


def literals_in(lines: Sequence[bytes], literals: Sequence[str]) -> list[list[str]]:
    """Which literals each line holds."""
    texts = pl.Series("line", lines, dtype=pl.Binary).cast(pl.String)
    holding = texts.str.contains(_any_of(tuple(literals)))  # of most lines that are no program's records none does
    found: list[list[str]] = [[] for _ in lines]
    if literals and holding.any():
        held = texts.filter(holding).str.extract_many(list(literals), overlapping=True).list.unique()
        for n, some in zip(holding.arg_true().to_list(), held.to_list(), strict=True):
            found[n] = some
    return found


@lru_cache(maxsize=64)
def _any_of(literals: tuple[str, ...]) -> str:
    return "|".join(re.escape(literal).replace("\\ ", " ") for literal in literals)


def owned(hits: Sequence[Hits], lines: int, priority: Mapping[str, int]) -> list[Hits]:
    """Of each pattern's hits those that stay: each line is given to one parser, and lines to be ignored to none.

    Args:
        hits: of each pattern, in the order in which they take turns.
        lines: how many there are.
        priority: of each parser.
    """
    claimants = [place for place, found in enumerate(hits) if len(found) and found.pattern.role != "metadata"]
    parsers = sorted({hits[place].pattern.parser for place in claimants})
    ignoring = [place for place in claimants if hits[place].pattern.role == "ignore"]
    if len(parsers) < 2 and not ignoring:
        return list(hits)
    owner = np.full(lines, -1, dtype=np.int64)
    for place in sorted(claimants, key=lambda place: -priority[hits[place].pattern.parser]):
        mine = hits[place].line
        owner[mine[owner[mine] < 0]] = parsers.index(hits[place].pattern.parser)
    ignored = {hits[place].pattern.parser: np.zeros(lines, dtype=bool) for place in ignoring}
    for place in ignoring:
        ignored[hits[place].pattern.parser][hits[place].line] = True
    left = list(hits)
    for place in claimants:
        pattern, mine = hits[place].pattern, hits[place].line
        keep = (owner[mine] == parsers.index(pattern.parser)) | (pattern.role == "position")
        if pattern.role != "ignore" and pattern.parser in ignored:
            keep &= ~ignored[pattern.parser][mine]
        left[place] = hits[place] if keep.all() else hits[place].take(keep)
    return left


def numbers(texts: Sequence[str | None]) -> NDArray[np.float64]:
    """Texts as float64; NaN where there is none or it is no number. Thousands commas are understood."""
    column = pl.Series(texts, dtype=pl.String)
    values = column.cast(pl.Float64, strict=False)
    if values.null_count() > column.null_count():
        values = column.str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False)
    return values.fill_null(float("nan")).to_numpy()
