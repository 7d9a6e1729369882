"""What the lines of records print beside their measures, read once more for those who look at a whole run.

The readers of numbers keep losses and peaks of memory of the last lines alone, and moments of a sample: here they are
of every record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from perflog.evidence.clock import Kind, moments_of
from perflog.formats.parser import LAST_GROUPS, Pattern
from perflog.logs.clean import clean_block
from perflog.logs.containers import UnreadableError, numbered_lines
from perflog.logs.find import LogFile
from perflog.matching.one_line import numbers_of
from perflog.runs.corroborate import heads_of
from perflog.stats.arrays import distinct, middle

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: The name of the peak of memory, in GiB, and what the units of patterns are in it.
MEMORY = "memory_gib"
_GIB = {"GiB": 1.0, "MiB": 1 / 1024, "MB": 1e6 / 2**30}
#: So many lines are read at once.
_AT_ONCE = 50_000
#: What a clock's last digits may hide of a gap, in these digits.
_DIGITS = 3


class Beside(Struct):
    """What ``n`` lines print beside their measures.

    Attributes:
        lines: their numbers, rising, (n,).
        columns: losses and peaks of memory by name, (n,); NaN where a line prints none. None is all NaN.
        moments: seconds from an origin of the stamp at each line's head, (n,); NaN where there is none of the kind.
        resolution: the last digit of the stamps, in seconds.
    """

    lines: Ints
    columns: dict[str, Floats] = field(default_factory=dict)
    moments: Floats = field(default_factory=lambda: np.empty(0))
    resolution: float = 0.0

    def of(self, name: str, lines: Ints) -> Floats:
        """A column at some lines, (k,); NaN at those that are not among its own."""
        column = self.moments if name == "moments" else self.columns[name]
        if not len(self.lines):
            return np.full(len(lines), np.nan)
        place = np.minimum(self.lines.searchsorted(lines), len(self.lines) - 1)
        return np.where(self.lines[place] == lines, column[place], np.nan)


def beside(pattern: Pattern, log: LogFile, lines: Sequence[Ints]) -> Beside:
    """Read the lines of records once more.

    Args:
        lines: the line numbers of the records of each rank, (k,). Of states of a bar that stand on one line none is
            told from the others, and nothing is read.
    """
    alone = _alone(lines)
    found = Beside(alone, moments=np.full(len(alone), np.nan))
    groups = [name for name in LAST_GROUPS if name in (*pattern.groups, *pattern.also_groups)]
    columns = {name: np.full(len(alone), np.nan) for name in groups}
    kind: Kind | None = None
    if log.pipe is not None or not len(alone):
        return found
    with suppress(OSError, UnreadableError):  # a log that ends in damage, which its numbers tell, or is gone by now
        for numbers, texts in _read(log, alone):
            places = alone.searchsorted(numbers)
            shown = [text.decode("utf-8", "replace") for text in texts]
            for name, column in columns.items():
                regex = pattern.also if name in pattern.also_groups else pattern.regex
                column[places] = numbers_of(shown, regex, name)
            moments = moments_of(heads_of(texts, [0] * len(texts), pattern.literal.encode()))
            if kind is None and moments.kinds:
                kind, found.resolution = moments.kinds[0], moments.kinds[0].resolution
            if kind in moments.kinds:
                same = moments.kind == moments.kinds.index(kind)
                found.moments[places[same]] = moments.seconds[same]
    for name, column in columns.items():
        if not np.isnan(column).all():
            is_memory = name == "memory"
            found.columns[MEMORY if is_memory else name] = column * (_GIB[pattern.memory_unit] if is_memory else 1.0)
    return found


def _alone(lines: Sequence[Ints]) -> Ints:
    """The lines that hold one record of a rank, rising."""
    once = [numbers[times == 1] for numbers, times in map(distinct, lines)]
    alone: Ints = distinct(np.concatenate([np.empty(0, dtype=np.int64), *once]))[0].astype(np.int64)
    return alone


def _read(log: LogFile, numbers: Ints) -> Iterator[tuple[list[int], list[bytes]]]:
    """Line numbers and texts, many at once; of a bar's line its last state."""
    lines = numbered_lines(log, numbers.tolist())
    while some := list(islice(lines, _AT_ONCE)):
        states = [clean_block(text).rstrip(b"\r").rpartition(b"\r")[2] for _, text in some]
        yield [number for number, _ in some], states


def gaps_of(lines: Ints, seconds: Floats, is_aside: NDArray[np.bool_], read: Beside) -> list[tuple[int, int, float]]:
    """Where time passed that no record holds which counts: (line before, line behind, seconds).

    By the clock of the lines a gap is what passes between the lines of two records beyond the time of the later one,
    where it is longer than records usually are; without a clock it is the time of what was left out in between.

    Args:
        lines, seconds: of the records, (n,), in the order of the log.
        is_aside: which were left out as no training, (n,).
    """
    kept, moments = np.flatnonzero(~is_aside), read.of("moments", lines)
    if len(kept) < 2:
        return []
    passed = np.diff(moments[kept])
    excess = passed - seconds[kept[1:]]
    total = np.concatenate([[0.0], np.cumsum(np.where(is_aside, seconds, 0.0))])
    left_out = total[kept[1:]] - total[kept[:-1]]
    known = np.isfinite(excess) & (passed >= 0)
    usual = middle(passed[known]) if known.any() else 0.0
    ordinary = middle(excess[known]) if known.any() else 0.0
    by_clock = known & (excess - ordinary > max(usual, _DIGITS * read.resolution)) & (excess > 0)
    gaps = np.where(known, np.where(by_clock, excess, 0.0), left_out)
    places = np.flatnonzero(np.isfinite(gaps) & (gaps > 0))
    return [(int(lines[kept[at]]), int(lines[kept[at + 1]]), float(gaps[at])) for at in places]
