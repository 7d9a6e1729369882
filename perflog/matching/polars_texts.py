"""Clean texts split at literals, and one pattern's matches in them, by polars.

Two ways, chosen by the pattern (``docs/performance.md`` has the figures):

- *by literal*: the text is split at the pattern's literal and the rest of the regex is matched at the start
  of each piece. No line is cut that is not needed, and two events glued to one line are both found.
- *by line*: for a regex that reads something before its literal; lines that hold the literal are cut out and
  the whole regex is tried on each.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from perflog.formats.parser import Jump, Pattern
from perflog.matching.matches import is_text

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# polars's own handler of Ctrl-C has calls of the system begin again: a command that waits for a FIFO's other end would
# never end.
if hasattr(signal, "siginterrupt"):  # not on Windows
    signal.siginterrupt(signal.SIGINT, True)

#: How much of a text's two ends is searched first: most literals that occur at all occur there.
HEAD, TAIL = 12_000, 6_000


@dataclass(slots=True)
class Hits:
    """The places where one pattern matched, before lines are given to one parser.

    ``text``: index of the text (n,); ``offset``: byte offset in it of the literal, or of the sub-line for a pattern
    that is matched by line (n,); ``columns``: one array (n,) per group; ``candidates``: how often its literal
    occurs, or in how many sub-lines for a pattern that is matched by line, by text.
    """

    pattern: Pattern
    text: Ints
    offset: Ints
    columns: dict[str, Any]
    candidates: dict[int, int]

    def take(self, rows: slice | NDArray[np.bool_]) -> Hits:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Hits(self.pattern, self.text[rows], self.offset[rows], columns, self.candidates)

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The rests of texts after each occurrence of a literal (n,), the text's index and the byte offset in it (n,)."""

    rest: pl.Series
    text: Ints
    offset: Ints

    def take(self, places: Ints) -> Pieces:
        return Pieces(self.rest.gather(places), self.text[places], self.offset[places])


class Texts:
    """A batch of clean, valid texts, and what is computed from them once for all patterns."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.bytes = texts
        self.series = pl.Series("text", texts, dtype=pl.Binary).cast(pl.String)
        self.has_cr = any(b"\r" in text for text in texts)
        self._split: dict[str, Pieces | None] = {}
        self._taker: dict[str, Ints] = {}
        self._parsers: dict[str, int] = {}
        self._counts: dict[str, dict[int, int]] = {}

    def literals(self, wanted: Sequence[str]) -> set[str]:
        """Which of ``wanted`` occur: every byte is searched for those that the two ends of the texts do not hold."""
        ends = [
            part.decode("utf-8", "ignore")
            for text in self.bytes
            for part in (text[:HEAD], text[max(HEAD, len(text) - TAIL) :])
            if part
        ]
        seen = _extract(pl.Series(ends, dtype=pl.String), wanted)
        rest = [literal for literal in wanted if literal not in seen]
        if rest:
            hit = self.series.filter(self.series.str.contains(_any_of(tuple(rest))))
            if len(hit):
                seen |= _extract(hit, rest)
        return seen

    def match(self, pattern: Pattern) -> Hits | None:
        """Where ``pattern`` matches; None when its literal does not occur."""
        if pattern.tail is None:
            return self._by_line(pattern)
        return self._by_literal(pattern, pattern.tail)

    def _by_literal(self, pattern: Pattern, tail: str) -> Hits | None:
        if pattern.literal not in self._split:
            self._split[pattern.literal] = self._pieces(pattern.literal)
        occurrences = self._split[pattern.literal]
        if occurrences is None:
            return None
        counts = self._occurrences(pattern.literal, occurrences)
        places = np.flatnonzero(self._open(pattern, len(occurrences.text)))
        if not len(places):  # all were taken
            return Hits(pattern, _NONE, _NONE, _no_columns(pattern), counts)
        pieces = occurrences if len(places) == len(occurrences.text) else occurrences.take(places)
        candidates = pieces.rest
        if self.has_cr:
            candidates = candidates.str.splitn("\r", 2).struct.field("field_0")
        parts = (tail,) if pattern.jump is None else (pattern.jump.head, pattern.jump.tail)
        if any(_may_cross_lines(part) for part in parts):
            candidates = candidates.str.splitn("\n", 2).struct.field("field_0")
        if pattern.jump is not None:
            columns, left = _jumping(pattern, pattern.jump, candidates)
        else:
            columns, left = _columns(pattern, candidates, f"^(?P<matched_>){tail}")
        kept = slice(None) if left is None else ~left
        self._take(pattern, places[kept])
        return Hits(pattern, pieces.text[kept], pieces.offset[kept], columns, counts)

    def _open(self, pattern: Pattern, count: int) -> NDArray[np.bool_]:
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

    def _occurrences(self, literal: str, pieces: Pieces) -> dict[int, int]:
        if literal not in self._counts:
            self._counts[literal] = _counts(pieces.text)
        return self._counts[literal]

    def _pieces(self, literal: str) -> Pieces | None:
        """What follows each occurrence of a literal, in which text and where; None when there is none."""
        pieces = self.series.str.split(literal)
        counts = pieces.list.len().to_numpy().astype(np.int64)
        if counts.sum() == len(counts):
            return None
        flat = pieces.explode()
        width = len(literal.encode())
        starts = np.cumsum(flat.str.len_bytes().to_numpy().astype(np.int64) + width)  # just after each literal
        first = np.zeros(len(flat), dtype=bool)
        firsts = np.cumsum(counts) - counts
        first[firsts] = True
        text = np.repeat(np.arange(len(counts)), counts)
        bases = np.where(firsts > 0, starts[firsts - 1], 0)  # where each text begins, on the same scale
        offset = np.empty(len(flat), dtype=np.int64)
        offset[1:] = starts[:-1] - width
        offset -= bases[text]
        keep = ~first
        rest = flat.slice(1) if len(counts) == 1 else flat.filter(pl.Series(keep))
        return Pieces(rest, text[keep], offset[keep])

    def _by_line(self, pattern: Pattern) -> Hits | None:
        holds = self.series.str.contains(pattern.literal, literal=True)
        if not holds.any():
            return None
        which = np.flatnonzero(holds.to_numpy())
        series = self.series.filter(holds)
        if self.has_cr:
            series = series.str.replace_all("\r", "\n", literal=True)
        pieces = series.str.split("\n")
        counts = pieces.list.len().to_numpy().astype(np.int64)
        lines = pieces.explode()
        ends = np.cumsum(lines.str.len_bytes().to_numpy().astype(np.int64) + 1)
        firsts = np.cumsum(counts) - counts
        text = np.repeat(np.arange(len(counts)), counts)
        offset = np.concatenate(([0], ends[:-1])) - np.where(firsts > 0, ends[firsts - 1], 0)[text]
        keep = lines.str.contains(pattern.literal, literal=True)
        mask = keep.to_numpy()
        text, offset = which[text[mask]], offset[mask]
        regex = f"(?P<matched_>){pattern.regex}"
        if pattern.regex.startswith("^"):
            regex = f"^(?P<matched_>){pattern.regex[1:]}"
        columns, left = _columns(pattern, lines.filter(keep), regex)
        kept = slice(None) if left is None else ~left
        return Hits(pattern, text[kept], offset[kept], columns, _counts(text))


def _counts(texts: Ints) -> dict[int, int]:
    which, counts = np.unique(texts, return_counts=True)
    return dict(zip(which.tolist(), counts.tolist(), strict=True))


def _extract(series: pl.Series, literals: Sequence[str]) -> set[str]:
    if not literals:
        return set()
    found = series.str.extract_many(list(literals), overlapping=True).list.unique().explode().unique()
    return {str(literal) for literal in found if literal is not None}


@lru_cache(maxsize=64)
def _any_of(literals: tuple[str, ...]) -> str:
    return "|".join(re.escape(literal).replace("\\ ", " ") for literal in literals)


@lru_cache(maxsize=512)
def _may_cross_lines(regex: str) -> bool:
    """Whether a part of the regex can match a line feed: blanks of any kind, or all but some characters."""
    return bool(re.search(r"\$|\\[sDWS]|\[\^(?![^\]]*\\n)|\[\^?\\", regex))


def _jumping(pattern: Pattern, jump: Jump, pieces: pl.Series) -> tuple[dict[str, Any], NDArray[np.bool_] | None]:
    """Like :func:`_columns`, with the head and the tail of a jump matched apart."""
    piece, place, feed = pl.col("piece"), pl.col("place"), pl.col("feed")
    head, tail = (f"^(?P<matched_>){_to_line_end(regex)}" for regex in (jump.head, jump.tail))
    rest = piece.cast(pl.Binary).bin.slice(place + len(jump.literal.encode())).cast(pl.String)
    both = [pl.col(part).struct.field("matched_").is_not_null() for part in ("head", "tail")]
    within = place.is_not_null() & (feed.is_null() | (place < feed))
    frame = (
        pl.LazyFrame({"piece": pieces})
        .with_columns(
            piece.str.find(jump.literal, literal=True).alias("place"), piece.str.find("\n", literal=True).alias("feed")
        )
        .with_columns(piece.str.extract_groups(head).alias("head"), rest.str.extract_groups(tail).alias("tail"))
        .select("head", "tail", (within & both[0] & both[1]).alias("matched"))
        .collect()
    )
    matched = frame["matched"]
    parts = [frame[part].struct.unnest() for part in ("head", "tail")]
    columns = {name: part[name] for part in parts for name in part.columns if name in pattern.groups}
    left = None
    if not matched.all():
        left = ~matched.to_numpy()
        columns = {name: column.filter(matched) for name, column in columns.items()}
    return _typed(pattern, columns), left


@lru_cache(maxsize=512)
def _to_line_end(regex: str) -> str:
    """The regex of a part that is not cut at the line's end."""
    return regex.replace("$", r"(?:\n|$)")


_NONE = np.empty(0, dtype=np.int64)
#: The parser that took an occurrence which none took.
_NOBODY = -1


def _no_columns(pattern: Pattern) -> dict[str, Any]:
    return {group: np.empty(0, dtype=object if is_text(pattern, group) else float) for group in pattern.groups}


def _typed(pattern: Pattern, columns: Mapping[str, pl.Series]) -> dict[str, Any]:
    return {
        group: np.array(columns[group].to_list(), dtype=object) if is_text(pattern, group) else numbers(columns[group])
        for group in pattern.groups
    }


def _columns(pattern: Pattern, lines: pl.Series, regex: str) -> tuple[dict[str, Any], NDArray[np.bool_] | None]:
    """The groups of the matches among lines, and a mask (n,) of the lines that did not match; None when all did."""
    fields = lines.str.extract_groups(regex)
    matched = fields.struct.field("matched_").is_not_null()
    left = None
    if not matched.all():
        left = ~matched.to_numpy()
        fields = fields.filter(matched)
    return _typed(pattern, {group: fields.struct.field(group) for group in pattern.groups}), left


def numbers(column: pl.Series) -> Floats:
    """Texts as float64; NaN where there is none or it is no number. Thousands commas are understood."""
    values = column.cast(pl.Float64, strict=False)
    if values.null_count() > column.null_count():
        values = column.str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False)
    return values.fill_null(float("nan")).to_numpy()
