"""Rows: the printed lines of one pattern and one rank, in the order of the log."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from perflog.formats.parser import LAST_GROUPS, Pattern

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Columns = Mapping[str, Floats]


class Rows(Struct, frozen=True):
    """``n`` lines of a log and the numbers on them.

    Attributes:
        lines: their line numbers, (n,).
        columns: the printed numbers by group, each (n,), NaN where a line lacks one.
        places: where each row stands among all that the log prints, rising through the log, (n,).
        position_lines: for formats that print the step on a line of its own, that line's number or -1, (n,).
        first: where the rows of each log begin, rising, (logs,), where they are those of several logs; else 0.
    """

    lines: Ints
    columns: Columns
    position_lines: Ints | None = None
    places: Ints | None = None
    first: Ints | int = 0

    def __len__(self) -> int:
        return len(self.lines)

    def take(self, which: slice | Mask) -> Rows:
        """The chosen rows, in the same order."""
        positions = self.position_lines[which] if self.position_lines is not None else None
        places = self.places[which] if self.places is not None else None
        columns = {name: column[which] for name, column in self.columns.items()}
        return Rows(self.lines[which], columns, positions, places)

    def with_columns(self, columns: Columns) -> Rows:
        """The same rows with some columns more, or others of those names."""
        return Rows(self.lines, {**self.columns, **columns}, self.position_lines, self.places)

    def behind(self, before: Rows | None) -> Rows:
        """These rows behind some others of the same columns."""
        if before is None:
            return self
        columns = {name: np.concatenate((before.columns[name], column)) for name, column in self.columns.items()}
        positions, places = (
            None if mine is None or theirs is None else np.concatenate((theirs, mine))
            for mine, theirs in ((self.position_lines, before.position_lines), (self.places, before.places))
        )
        return Rows(np.concatenate((before.lines, self.lines)), columns, positions, places)

    def has_steps(self) -> bool:
        """Whether any row names its step."""
        return "step" in self.columns and not bool(np.isnan(self.columns["step"]).all())

    def value_names(self, pattern: Pattern) -> list[str]:
        """The groups whose numbers tell one event from another; those that are read of the last lines alone do not."""
        return [name for name in sorted(self.columns) if name != "rank" and name not in pattern.also_groups]

    def last(self, name: str) -> float:
        """The last row's number in a group; NaN where the format has no such group."""
        return float(self.columns[name][-1]) if name in self.columns else float("nan")


def shifted(values: NDArray[Any], first: float, at: Ints | int = 0) -> NDArray[Any]:
    """Each value's predecessor, (n,); ``first`` is the first one's, or that of each log's first row, at ``at``."""
    before = np.empty_like(values)
    before[1:] = values[:-1]
    before[at] = first
    return before


def kept(values: NDArray[Any], keep: Mask) -> NDArray[Any]:
    """Those of values, (…, n), that a mask keeps, (n,); the very array where it keeps all, as nearly always."""
    return values if keep.all() else values[..., keep]


def last_numbers(lines: Ints, columns: Columns) -> dict[str, tuple[float, int]]:
    """The last number of each of ``LAST_GROUPS``, with its line."""
    last = {}
    for name in LAST_GROUPS:
        if name in columns:
            column = columns[name]
            place = len(column) - 1
            if math.isnan(column[place]):
                finite = np.flatnonzero(~np.isnan(column))
                place = int(finite[-1]) if len(finite) else -1
            if place >= 0:
                last[name] = float(column[place]), int(lines[place])
    return last


# ----------------------------------------------------------------------------------------------------
# Columns of measurements that grow block by block and leave memory when they grow large.
#
# Up to :data:`IN_MEMORY` bytes stay in memory; beyond that, blocks go to an unlinked temporary file and come
# back one at a time. So a 10 GB log needs no more memory than a 2 GB one (``docs/performance.md``).

IN_MEMORY = 48 << 20

#: start, end: steps since the run began, (start, end]; covers: steps measured; time, work: see measure.py;
#: line: line number; epoch: how many epochs began before.
FIELDS = ("start", "end", "covers", "time", "work", "line", "epoch")


class _Spilled(Struct, frozen=True):
    """A block on disk: where, how many columns and rows, and the columns that two numbers (first, step) say whole."""

    at: int
    fields: int
    n: int
    ramps: dict[int, tuple[float, float]]


def _temporary_file() -> IO[bytes]:
    """A file without a name, which lives as long as the columns in it."""
    import tempfile

    return tempfile.TemporaryFile(prefix="perflog-")


def _ramp(column: Floats) -> tuple[float, float] | None:
    """(first, step) of a column that rises by equal steps (0: constant), else None. Steps and work mostly do."""
    first, step = float(column[0]), float(column[1] - column[0]) if len(column) > 1 else 0.0
    if first + step * (len(column) - 1) != column[-1]:  # most that are none are told by their end
        return None
    return (first, step) if np.array_equal(first + step * np.arange(len(column)), column) else None


def _without(rows: Floats, places: NDArray[np.int64]) -> Floats:
    """A block's rows, (fields, n), but for those at some places; places outside the block count for nothing."""
    mine = places[(places >= 0) & (places < rows.shape[1])]
    return np.delete(rows, mine, axis=1) if len(mine) else rows


class Store:
    """Floats of :data:`FIELDS`, each block an array of shape (len(FIELDS), n); of one block at once, or none.

    Below the fields a block may hold further columns (:mod:`perflog.measurements.estimate`), as many as the others do.
    """

    __slots__ = ("_blocks", "_bytes", "_file", "_left_out", "_spilled", "aside", "count")

    def __init__(self, rows: Floats | None = None) -> None:
        self._blocks: list[Floats] = []
        self._spilled: list[_Spilled] = []
        self._bytes = self.count = 0
        self._file: IO[bytes] | None = None
        self._left_out: NDArray[np.int64] | None = None
        self.aside: list[Floats] = []  # the rows that were left out, for those who look at the whole run
        if rows is not None:
            self.append(rows)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, rows: Floats) -> None:
        """Add a block (len(FIELDS), n), or with further columns below."""
        if not rows.shape[1]:
            return
        self._blocks.append(rows)
        self._bytes += rows.nbytes
        self.count += rows.shape[1]
        if self._bytes > IN_MEMORY:
            self._spill()

    def leave_out(self, places: NDArray[np.int64], aside: list[Floats]) -> None:
        """Leave the rows at some places, rising, (k,), out of all that is given from now on; to be called once.

        Args:
            aside: these rows, in blocks of (fields, n), which are kept beside.
        """
        assert self._left_out is None
        self.aside = aside
        begin = sum(part.n for part in self._spilled)
        kept = []
        for rows in self._blocks:
            kept.append(_without(rows, places - begin))
            begin += rows.shape[1]
        self._blocks = kept
        if self._spilled:
            self._left_out = places
        self.count -= len(places)

    @property
    def whole(self) -> Floats | None:
        """All rows, (fields, n), where they are one block in memory; else None."""
        return self._blocks[0] if len(self._blocks) == 1 and not self._spilled else None

    def _spill(self) -> None:
        if self._file is None:
            self._file = _temporary_file()
        self._file.seek(0, 2)  # blocks may have been read in part
        for rows in self._blocks:
            n = rows.shape[1]
            ramps = {at: ramp for at, column in enumerate(rows) if (ramp := _ramp(column)) is not None}
            self._spilled.append(_Spilled(self._file.tell(), len(rows), n, ramps))
            for at, column in enumerate(rows):
                if at not in ramps:
                    self._file.write(np.ascontiguousarray(column).data)
        self._blocks.clear()
        self._bytes = 0

    def blocks(self) -> Iterator[Floats]:
        """The blocks in order. Those on disk are read one at a time."""
        begin = 0
        for part in self._spilled:
            assert self._file is not None
            self._file.seek(part.at)
            rows = np.empty((part.fields, part.n))
            for at in range(part.fields):
                if at in part.ramps:
                    first, step = part.ramps[at]
                    rows[at] = first + step * np.arange(part.n)
                else:
                    rows[at] = np.frombuffer(self._file.read(part.n * 8), dtype=np.float64)
            yield rows if self._left_out is None else _without(rows, self._left_out - begin)
            begin += part.n
        yield from self._blocks


class Values:
    """One column of floats under the same limit, to be sorted in place."""

    def __init__(self) -> None:
        self._parts: list[Floats] = []
        self._file: IO[bytes] | None = None
        self._bytes = 0
        self.count = 0

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, part: Floats) -> None:
        self._parts.append(np.ascontiguousarray(part, dtype=np.float64))
        self.count += len(part)
        self._bytes += part.nbytes
        if self._bytes > IN_MEMORY:
            if self._file is None:
                self._file = _temporary_file()
            for kept in self._parts:
                self._file.write(kept.tobytes())
            self._parts.clear()
            self._bytes = 0

    def array(self) -> Floats:
        """All values (n,), in memory or mapped from the file; may be reordered in place."""
        if self._file is None:
            return np.concatenate(self._parts) if self._parts else np.empty(0)
        for kept in self._parts:
            self._file.write(kept.tobytes())
        self._parts.clear()
        self._file.flush()
        return np.memmap(self._file, dtype=np.float64, mode="r+", shape=(self.count,))


# ----------------------------------------------------------------------------------------------------
# Settings that a log's own lines show before what they are needed for: the length of a window, the size of a batch.

#: The groups of metadata lines that measurements may need while a log is read.
SHOWN = frozenset(
    {"window_size", "print_interval", "batch_size", "global_batch_size", "devices", "gradient_accumulation_steps"}
)


class Shown(Struct, frozen=True):
    """The settings that the lines of one parser show, by key: (line, number) in the order of the log."""

    numbers: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)

    def before(self, key: str, line: int) -> float | None:
        """What was said last before a line; None where nothing was."""
        said = [number for place, number in self.numbers.get(key, ()) if place < line]
        return said[-1] if said else None

    def global_batch(self, line: int) -> float | None:
        """Samples in a step of the whole job, by what was said before a line; None where that is unknown."""
        total = self.before("global_batch_size", line)
        batch, devices = self.before("batch_size", line), self.before("devices", line)
        if total is not None or batch is None or devices is None:
            return total
        return batch * devices * (self.before("gradient_accumulation_steps", line) or 1.0)


NOTHING_SHOWN = Shown()
