"""Columns of measurements that grow block by block and leave memory when they grow large.

Up to :data:`IN_MEMORY` bytes stay in memory; beyond that, blocks go to an unlinked temporary file and come
back one at a time. So a 10 GB log needs no more memory than a 2 GB one (``docs/performance.md``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

IN_MEMORY = 48 << 20

#: start, end: steps since the run began, (start, end]; covers: steps measured; time, work: see measure.py;
#: line: line number; epoch: how many epochs began before.
FIELDS = ("start", "end", "covers", "time", "work", "line", "epoch")
Rows = NDArray[np.float64]


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


def _ramp(column: Rows) -> tuple[float, float] | None:
    """(first, step) of a column that rises by equal steps (0: constant), else None. Steps and work mostly do."""
    first, step = float(column[0]), float(column[1] - column[0]) if len(column) > 1 else 0.0
    if first + step * (len(column) - 1) != column[-1]:  # most that are none are told by their end
        return None
    return (first, step) if np.array_equal(first + step * np.arange(len(column)), column) else None


def _without(rows: Rows, places: NDArray[np.int64]) -> Rows:
    """A block's rows, (fields, n), but for those at some places; places outside the block count for nothing."""
    mine = places[(places >= 0) & (places < rows.shape[1])]
    return np.delete(rows, mine, axis=1) if len(mine) else rows


class Store:
    """Rows of :data:`FIELDS`, each block an array of shape (len(FIELDS), n); of one block at once, or none.

    Below the fields a block may hold further columns (:mod:`perflog.measurements.metrics`), as many as the others do.
    """

    __slots__ = ("_blocks", "_bytes", "_file", "_left_out", "_spilled", "count")

    def __init__(self, rows: Rows | None = None) -> None:
        self._blocks: list[Rows] = []
        self._spilled: list[_Spilled] = []
        self._bytes = self.count = 0
        self._file: IO[bytes] | None = None
        self._left_out: NDArray[np.int64] | None = None
        if rows is not None:
            self.append(rows)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, rows: Rows) -> None:
        """Add a block (len(FIELDS), n), or with further columns below."""
        if not rows.shape[1]:
            return
        self._blocks.append(rows)
        self._bytes += rows.nbytes
        self.count += rows.shape[1]
        if self._bytes > IN_MEMORY:
            self._spill()

    def leave_out(self, places: NDArray[np.int64]) -> None:
        """Leave the rows at some places, rising, (k,), out of all that is given from now on; to be called once."""
        assert self._left_out is None
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
    def whole(self) -> Rows | None:
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

    def blocks(self) -> Iterator[Rows]:
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
        self._parts: list[Rows] = []
        self._file: IO[bytes] | None = None
        self._bytes = 0
        self.count = 0

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, part: Rows) -> None:
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

    def array(self) -> Rows:
        """All values (n,), in memory or mapped from the file; may be reordered in place."""
        if self._file is None:
            return np.concatenate(self._parts) if self._parts else np.empty(0)
        for kept in self._parts:
            self._file.write(kept.tobytes())
        self._parts.clear()
        self._file.flush()
        return np.memmap(self._file, dtype=np.float64, mode="r+", shape=(self.count,))
