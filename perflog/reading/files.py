"""Many small files read in one call: by the compiled library, without Python's lock; where it is not at hand, none.

Each file that it does not read is for :mod:`perflog.logs`, which knows why, and what else a file may be.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from perflog.matching.library import available, library


def read_texts(paths: Sequence[str], buffer: bytearray, start: int) -> list[int]:
    """Read plain text files behind each other into a buffer from ``start`` on, as far as there is room.

    Returns:
        Each file's size; -1 for one that was not read: it is empty, may be something else than plain text, does not
        fit, changes while it is read or cannot be read. Those that were read lie side by side.
    """
    names = b"".join(os.fsencode(path) + b"\x00" for path in paths)
    if available() or names.count(b"\x00") != len(paths):
        return [-1] * len(paths)
    sizes = np.empty(len(paths), dtype=np.int64)
    room = np.frombuffer(buffer, dtype=np.uint8)[start:]
    library().pf_read(names, len(paths), room.ctypes.data, len(room), sizes.ctypes.data)
    return sizes.tolist()
