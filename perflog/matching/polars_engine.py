"""Find a parser's lines in clean text, many texts at a time.

Two ways, chosen by the pattern (``docs/performance.md`` has the figures):

- *by literal*: the text is split at the pattern's literal and the rest of the regex is matched at the start
  of each piece. No line is cut that is not needed, and two events glued to one line are both found.
- *by line*: for a regex that reads something before its literal; lines that hold the literal are cut out and
  the whole regex is tried on each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from perflog.formats.parser import Pattern
from perflog.formats.regexes import Jump
from perflog.logs.clean import valid_utf8

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: How much of a text's two ends is searched for every literal, to say which ones occur.
HEAD, TAIL = 12_000, 6_000
#: Groups that stay text; all others are numbers.
TEXT_GROUPS = frozenset({"unit", "timestamp"})


@dataclass(slots=True)
class Matches:
    """The places where one pattern matched, in the order of the texts.

    ``text``: index of the text (n,); ``offset``: byte offset in it (n,); ``columns``: one array (n,) per
    group, numbers as float64 with NaN for absent, texts as objects.
    ``candidates``: how often the literal occurred, matched or not.
    """

    pattern: Pattern
    text: Ints
    offset: Ints
    columns: dict[str, NDArray[Any]]
    candidates: int

    def rows(self, rows: slice | NDArray[Any]) -> Matches:
        return Matches(self.pattern, self.text[rows], self.offset[rows], {k: v[rows] for k, v in self.columns.items()}, self.candidates)

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The rests of texts after each occurrence of a literal (n,), the text's index (n,) and the byte offset in it (n,)."""

    rest: pl.Series
    text: Ints
    offset: Ints


class Texts:
    """A batch of clean texts, and what is computed from them once for all patterns."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.bytes = texts
        try:
            self.series = pl.Series("text", texts, dtype=pl.Binary).cast(pl.String)
        except pl.exceptions.ComputeError:
            self.bytes = [valid_utf8(text) for text in texts]
            self.series = pl.Series("text", self.bytes, dtype=pl.Binary).cast(pl.String)
        self.has_cr = any(b"\r" in text for text in texts)
        self._split: dict[str, Pieces | None] = {}
        self._left: dict[str, Pieces | None] = {}

    def literals(self, wanted: Sequence[str], whole: bool) -> set[str]:
        """Which of ``wanted`` occur. With ``whole`` every byte is looked at, else heads and tails."""
        ends = [part.decode("utf-8", "ignore") for text in self.bytes for part in (text[:HEAD], text[max(HEAD, len(text) - TAIL) :]) if part]
        seen = _extract(pl.Series(ends, dtype=pl.String), wanted)
        rest = [literal for literal in wanted if literal not in seen]
        if whole and rest:
            hit = self.series.filter(self.series.str.contains(_any_of(tuple(rest))))
            if len(hit):
                seen |= _extract(hit, rest)
        return seen

    def match(self, pattern: Pattern, needed: Iterable[str]) -> Matches | None:
        """Where ``pattern`` matches; None when its literal does not occur."""
        groups = [g for g in pattern.groups if g in set(needed)]
        return self._by_line(pattern, groups) if pattern.tail is None else self._by_literal(pattern, pattern.tail, groups)

    def _by_literal(self, pattern: Pattern, tail: str, groups: list[str]) -> Matches | None:
        if pattern.literal not in self._split:
            self._split[pattern.literal] = self._pieces(pattern.literal)
        takes = pattern.role != "metadata"  # of patterns with one literal, each takes what it matches away
        pieces = (self._left if takes and pattern.literal in self._left else self._split)[pattern.literal]
        if pieces is None:
            return None
        candidates = pieces.rest
        if self.has_cr:
            candidates = candidates.str.splitn("\r", 2).struct.field("field_0")
        if pattern.jump is not None:
            found, left = _jumping(pattern, pattern.jump, candidates, groups, pieces.text, pieces.offset)
        else:
            if _may_cross_lines(tail):
                candidates = candidates.str.splitn("\n", 2).struct.field("field_0")
            found, left = _columns(pattern, candidates, f"^(?P<matched_>){_only(tail, groups)}", groups, pieces.text, pieces.offset)
        if pattern.also and len(found):
            rest = pieces.rest if left is None else pieces.rest.filter(pl.Series(~left))
            found.columns |= _of_last_lines(pattern, rest, found.text)
        if takes:
            if left is None:
                self._left[pattern.literal] = None
            elif len(found):
                self._left[pattern.literal] = Pieces(pieces.rest.filter(pl.Series(left)), pieces.text[left], pieces.offset[left])
        return found

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

    def _by_line(self, pattern: Pattern, groups: list[str]) -> Matches | None:
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
        regex = f"(?P<matched_>){_only(pattern.regex, groups)}"
        if pattern.regex.startswith("^"):
            regex = f"^(?P<matched_>){_only(pattern.regex[1:], groups)}"
        return _columns(pattern, lines.filter(keep), regex, groups, which[text[mask]], offset[mask])[0]


def _extract(series: pl.Series, literals: Sequence[str]) -> set[str]:
    found = series.str.extract_many(list(literals), overlapping=True).list.unique().explode().unique()
    return {str(literal) for literal in found if literal is not None}


@lru_cache(maxsize=64)
def _any_of(literals: tuple[str, ...]) -> str:
    return "|".join(re.escape(literal).replace("\\ ", " ") for literal in literals)


@lru_cache(maxsize=512)
def _may_cross_lines(regex: str) -> bool:
    """Whether a part of the regex can match a line feed: blanks of any kind, or all but some characters."""
    return bool(re.search(r"\$|\\[sDWS]|\[\^(?![^\]]*\\n)|\[\^?\\", regex))


@lru_cache(maxsize=512)
def _only_cached(regex: str, groups: tuple[str, ...]) -> str:
    return re.sub(r"\(\?P<(\w+)>", lambda found: found[0] if found[1] in groups else "(?:", regex)


def _only(regex: str, groups: Sequence[str]) -> str:
    """The regex with only ``groups`` capturing: what is not asked for costs nothing."""
    return _only_cached(regex, tuple(groups))


def _jumping(pattern: Pattern, jump: Jump, pieces: pl.Series, groups: Sequence[str], text: Ints, offset: Ints) -> tuple[Matches, NDArray[np.bool_] | None]:
    """Like :func:`_columns`, with the head and the tail of a jump matched apart."""
    piece, at, feed = pl.col("piece"), pl.col("at"), pl.col("feed")
    head, tail = (f"^(?P<matched_>){_only(_to_line_end(regex), groups)}" for regex in (jump.head, jump.tail))
    rest = piece.cast(pl.Binary).bin.slice(at + len(jump.literal.encode())).cast(pl.String)
    both = [pl.col(part).struct.field("matched_").is_not_null() for part in ("head", "tail")]
    frame = (
        pl.LazyFrame({"piece": pieces})
        .with_columns(piece.str.find(jump.literal, literal=True).alias("at"), piece.str.find("\n", literal=True).alias("feed"))
        .with_columns(piece.str.extract_groups(head).alias("head"), rest.str.extract_groups(tail).alias("tail"))
        .select("head", "tail", (at.is_not_null() & (feed.is_null() | (at < feed)) & both[0] & both[1]).alias("matched"))
        .collect()
    )
    matched = frame["matched"]
    parts = [frame[part].struct.unnest() for part in ("head", "tail")]
    total, left = len(pieces), None
    columns = {name: part[name] for part in parts for name in part.columns if name in groups}
    if not matched.all():
        mask = matched.to_numpy()
        left, text, offset = ~mask, text[mask], offset[mask]
        columns = {name: column.filter(matched) for name, column in columns.items()}
    return Matches(pattern, text, offset, _typed(pattern, columns, groups), total), left


@lru_cache(maxsize=512)
def _to_line_end(regex: str) -> str:
    """The regex of a part that is not cut at the line's end: blanks of any kind become blanks within the line."""
    return regex.replace(r"\s", r"[ \t]").replace("$", r"(?:\n|$)")


#: How many of each text's last matches ``also`` is read from.
LAST_LINES = 64


def _of_last_lines(pattern: Pattern, pieces: pl.Series, text: Ints) -> dict[str, Floats]:
    """The groups of ``also``, NaN but for each text's last matches."""
    ends = np.flatnonzero(np.append(text[1:] != text[:-1], True)) + 1
    starts = np.maximum(np.concatenate(([0], ends[:-1])), ends - LAST_LINES)
    rows = np.concatenate([np.arange(a, b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
    lines = pieces.gather(rows).str.splitn("\n", 2).struct.field("field_0").str.splitn("\r", 2).struct.field("field_0")
    fields = lines.str.extract_groups(pattern.also)
    columns = {}
    for group in pattern.also_groups:
        columns[group] = np.full(len(text), np.nan)
        columns[group][rows] = numbers(fields.struct.field(group))
    return columns


def _typed(pattern: Pattern, columns: Mapping[str, pl.Series], groups: Sequence[str]) -> dict[str, NDArray[Any]]:
    textual = TEXT_GROUPS if pattern.role in ("step", "position") else frozenset(groups)
    return {group: columns[group].to_numpy() if group in textual else numbers(columns[group]) for group in groups}


def _columns(pattern: Pattern, lines: pl.Series, regex: str, groups: Sequence[str], text: Ints, offset: Ints) -> tuple[Matches, NDArray[np.bool_] | None]:
    """The matches among lines, and a mask (n,) of the lines that did not match; None when all did."""
    fields = lines.str.extract_groups(regex)
    matched = fields.struct.field("matched_").is_not_null()
    total, left = len(lines), None
    if not matched.all():
        mask = matched.to_numpy()
        left = ~mask
        fields, text, offset = fields.filter(matched), text[mask], offset[mask]
    columns = {group: fields.struct.field(group) for group in groups}
    return Matches(pattern, text, offset, _typed(pattern, columns, groups), total), left


def numbers(column: pl.Series) -> Floats:
    """Texts as float64; NaN where there is none or it is no number. Thousands commas are understood."""
    values = column.cast(pl.Float64, strict=False)
    if values.null_count() > column.null_count():
        values = column.str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False)
    return values.fill_null(float("nan")).to_numpy()
