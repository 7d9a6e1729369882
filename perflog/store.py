"""Columns of measurements that grow block by block and leave memory when they grow large.

Up to :data:`IN_MEMORY` bytes stay in memory; beyond that, blocks go to an unlinked temporary file and come
back one at a time. So a 10 GB log needs no more memory than a 2 GB one (``docs/performance.md``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

IN_MEMORY = 48 << 20

#: start, end: steps since the run began, (start, end]; covers: steps measured; time, work: see measure.py;
#: line: line number; epoch: how many epochs began before.
FIELDS = ("start", "end", "covers", "time", "work", "line", "epoch")
Rows = NDArray[np.float64]


class Store:
    """Rows of :data:`FIELDS`, each block an array of shape (len(FIELDS), n)."""

    def __init__(self) -> None:
        self._blocks: list[Rows] = []
        self._spilled: list[tuple[int, int]] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self.count = 0

    def append(self, rows: Rows) -> None:
        """Add a block (len(FIELDS), n)."""
        if not rows.shape[1]:
            return
        self._blocks.append(rows)
        self._bytes += rows.nbytes
        self.count += rows.shape[1]
        if self._bytes > IN_MEMORY:
            self._spill()

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="perflog-")  # noqa: SIM115 - lives as long as the columns
        for rows in self._blocks:
            self._spilled.append((self._file.tell(), rows.shape[1]))
            self._file.write(np.ascontiguousarray(rows).data)
        self._blocks.clear()
        self._bytes = 0

    def blocks(self) -> Iterator[Rows]:
        """The blocks in order. Those on disk are read one at a time."""
        for at, n in self._spilled:
            assert self._file is not None
            self._file.seek(at)
            data = self._file.read(n * len(FIELDS) * 8)
            yield np.frombuffer(data, dtype=np.float64).reshape(len(FIELDS), n)
        if self._file is not None:
            self._file.seek(0, 2)
        yield from self._blocks


class Values:
    """One column of floats under the same limit, to be sorted in place."""

    def __init__(self) -> None:
        self._parts: list[Rows] = []
        self._file: IO[bytes] | None = None
        self._bytes = 0
        self.count = 0

    def append(self, part: Rows) -> None:
        self._parts.append(np.ascontiguousarray(part, dtype=np.float64))
        self.count += len(part)
        self._bytes += part.nbytes
        if self._bytes > IN_MEMORY:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="perflog-")  # noqa: SIM115 - lives as long as the columns
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
