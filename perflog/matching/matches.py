"""The places where patterns matched in a batch of texts: what every engine gives, whatever way it finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, overload

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern

# ----------------------------------------------------------------------------------------------------
# Some of a pattern's lines in each text, as they stand there: what evidence is taken from.

#: So many lines of a pattern are kept of a text.
MOST = 16
#: Of a line so much is kept before the place of its match and after it.
BEFORE, AFTER = 200, 500


class Samples(Struct, frozen=True):
    """``k`` of the lines that a pattern matched in one text, evenly spread, the first and the last among them.

    Attributes:
        line: numbers of the lines, from 1 in the text (in a log, where a whole one is read), (k,).
        text: each line's text, at most :data:`BEFORE` bytes before its match and :data:`AFTER` from there on, (k,).
        place: where the match begins in it, (k,).
        columns: the numbers on the lines by group, (k,) each.
    """

    line: Ints
    text: tuple[bytes, ...]
    place: tuple[int, ...]
    columns: Mapping[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.line)


#: Lines without a launcher's tag; their measurements count as the first rank's.
UNTAGGED, FIRST_RANK = -1, 0
#: Groups of measuring patterns that are no numbers: units are wanted once per text, time stamps per line.
UNIT, TIMESTAMP = "unit", "timestamp"

Ints = NDArray[np.int64]
NO_OFFSETS: Ints = np.empty(0, dtype=np.int64)


class Matches(Struct, frozen=True):
    """Where one pattern matched, by text and then by place in it.

    Attributes:
        text: the index of the text, (n,).
        line: the line, from 0 in its text, (n,).
        rank: the rank in the launcher's tag, ``UNTAGGED`` where there is none, (n,).
        columns: each group's captures, (n,): float64 with NaN for absent ones, or lists of texts with None.
        units: the distinct units that a measuring pattern's lines print, by text.
        candidates: how often the pattern's literal occurs, by text; of a pattern that is matched by line, in how many
            sub-lines.
        samples: some of the lines as they stand there, by text, of measuring and position patterns.
        offset: where each match begins in its text, (n,); empty where nothing asks for it.
    """

    pattern: Pattern
    text: Ints
    line: Ints
    rank: Ints
    columns: Mapping[str, Any]
    units: Mapping[int, frozenset[str]] = field(default_factory=dict)
    candidates: Mapping[int, int] = field(default_factory=dict)
    samples: Mapping[int, Samples] = field(default_factory=dict)
    offset: Ints = field(default_factory=lambda: NO_OFFSETS)

    def __len__(self) -> int:
        return len(self.line)

    def of_text(self, text: int, low: int, high: int) -> Matches:
        """The matches in one text, which are those from ``low`` to ``high``."""
        rows = slice(low, high)
        units = {text: self.units[text]} if text in self.units else {}
        candidates = {text: self.candidates[text]} if text in self.candidates else {}
        columns = {name: column[rows] for name, column in self.columns.items()}
        samples = {text: self.samples[text]} if text in self.samples else {}
        return Matches(
            self.pattern, self.text[rows], self.line[rows], self.rank[rows], columns, units, candidates, samples,
            self.offset[rows],
        )  # fmt: skip

    def take(self, which: NDArray[np.bool_] | Ints) -> Matches:
        """The chosen matches, in the same order."""
        columns = {name: _taken(column, which) for name, column in self.columns.items()}
        return Matches(
            self.pattern, self.text[which], self.line[which], self.rank[which], columns, self.units, self.candidates,
            self.samples, self.offset[which] if len(self.offset) else self.offset,
        )  # fmt: skip


def _taken(column: Any, which: NDArray[Any]) -> Any:
    if isinstance(column, list):
        places = np.flatnonzero(which) if which.dtype == bool else which
        return [column[place] for place in places.tolist()]
    return column[which]


@dataclass(frozen=True, slots=True)
class Texts(Sequence[bytes]):
    """Several texts behind each other in one buffer; ``ends`` says where each ends."""

    buffer: bytes | bytearray
    ends: Sequence[int]

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, text: int) -> bytes: ...
    @overload
    def __getitem__(self, text: slice) -> list[bytes]: ...
    def __getitem__(self, text: int | slice) -> bytes | list[bytes]:
        if isinstance(text, slice):
            return [self[place] for place in range(*text.indices(len(self)))]
        return bytes(self.buffer[self.ends[text - 1] if text else 0 : self.ends[text]])


class Batch(Struct, frozen=True):
    """All patterns' matches in a batch of texts.

    Attributes:
        matches: of every pattern whose literal occurs, in the order in which patterns take turns.
        lines: how many lines each text has, an unfinished last one counted, (texts,).
        cut: whether a text's last line was left out because it may have been cut inside a number, (texts,).
    """

    matches: list[Matches]
    lines: Ints
    cut: NDArray[np.bool_]

    def of_text(self, text: int) -> tuple[list[Matches], int, bool]:
        """(the matches of each pattern in one text, its lines, whether its last line was left out)."""
        found = []
        for matches in self.matches:
            low, high = np.searchsorted(matches.text, (text, text + 1)).tolist()
            if high > low or text in matches.candidates:
                found.append(matches.of_text(text, low, high))
        return found, int(self.lines[text]), bool(self.cut[text])


def joined(batch: Batch, other: Batch, numbers: Ints) -> Batch:
    """A batch with the matches in some of its texts, which it has none of, from another one.

    Args:
        numbers: which text of ``batch`` each text of ``other`` is, rising.
    """
    lines, cut = batch.lines.copy(), batch.cut.copy()
    lines[numbers], cut[numbers] = other.lines, other.cut
    mine = {matches.pattern.key: matches for matches in batch.matches}
    for matches in other.matches:
        moved = _renumbered(matches, numbers)
        before = mine.get(matches.pattern.key)
        mine[matches.pattern.key] = moved if before is None else _merged(before, moved)
    return Batch(list(mine.values()), lines, cut)


def _renumbered(matches: Matches, numbers: Ints) -> Matches:
    return replace(
        matches,
        text=numbers[matches.text],
        units={int(numbers[text]): units for text, units in matches.units.items()},
        candidates={int(numbers[text]): count for text, count in matches.candidates.items()},
        samples={int(numbers[text]): samples for text, samples in matches.samples.items()},
    )


def _merged(one: Matches, other: Matches) -> Matches:
    """Two sets of one pattern's matches, in different texts, by text."""
    text = np.concatenate((one.text, other.text))
    order = np.argsort(text, kind="stable")
    columns = {
        name: list(column) + list(other.columns[name])
        if isinstance(column, list)
        else np.concatenate((column, other.columns[name]))
        for name, column in one.columns.items()
    }
    line, rank = np.concatenate((one.line, other.line)), np.concatenate((one.rank, other.rank))
    units, candidates = {**one.units, **other.units}, {**one.candidates, **other.candidates}
    samples = {**one.samples, **other.samples}
    offset = np.concatenate((one.offset, other.offset))
    return Matches(one.pattern, text, line, rank, columns, units, candidates, samples, offset).take(order)


class Engine(Protocol):
    """Finds all patterns of one catalogue; to be called by several threads at once."""

    def match(self, texts: Sequence[bytes], at_end: bool) -> Batch:
        """All patterns' matches in texts as they were read.

        Args:
            texts: bytes of whole lines, one text a log or block; a :class:`Texts` is matched without a copy.
            at_end: whether the texts are their logs' ends, so that a last line may be cut.

        Raises:
            ParserError: when a pattern's regex cannot be used, naming it.
        """


def in_turn(catalog: Catalog) -> list[Pattern]:
    """The catalogue's patterns in the order in which they take turns: the most specific parsers first."""
    priority = {parser.name: parser.priority for parser in catalog.parsers}
    patterns = [pattern for parser in catalog.parsers for pattern in parser.patterns]
    return sorted(patterns, key=lambda pattern: -priority[pattern.parser])


def is_text(pattern: Pattern, group: str) -> bool:
    """Whether a group's captures stay text: of measuring patterns units, time stamps and numbers for people do."""
    return pattern.role not in ("step", "position") or group in (UNIT, TIMESTAMP) or group in pattern.forms
