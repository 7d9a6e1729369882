"""Bytes at any place of a file or of a store's object: what zip archives need."""

from __future__ import annotations

import os
from typing import Protocol


class RandomAccess(Protocol):
    """Something whose bytes can be read at any place."""

    @property
    def size(self) -> int:
        """How many bytes there are now."""

    def read_at(self, size: int, place: int) -> bytes:
        """At most ``size`` bytes from ``place`` on; fewer at the end.

        Raises:
            OSError: when a file cannot be read.
            UnreadableError: when an object cannot be had from its server.
        """


class OpenFile:
    """An open file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def read_at(self, size: int, place: int) -> bytes:
        return os.pread(self._descriptor, size, place)
