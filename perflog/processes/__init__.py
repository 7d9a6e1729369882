"""Many small logs in, what became of each out: read by processes of their own where that is sooner."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress

#: So many new objects before reference cycles among them are looked for, rather than 700: importing numpy and typer
#: and making the parsers takes a twelfth less time, and what reading logs makes has no cycles.
_OBJECTS = 100_000
#: glibc's ``mallopt`` parameters (malloc.h), and the sizes of arrays and of free memory that are kept.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _KEPT, _TRIMMED = -1, -3, 16 << 20, 32 << 20


def settle() -> None:
    """Look for reference cycles seldom, and let glibc use the memory of one block of a log for the next.

    The command and its workers call it, and nothing that is imported as a library: no host program is touched. By
    default each block's arrays are mapped anew and given back, and the kernel clears their pages each time: a
    tenth of the time of 20,000 logs.
    """
    gc.set_threshold(_OBJECTS, 20, 20)
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError, TypeError):
            libc = ctypes.CDLL(None)
            libc.mallopt(_MMAP_THRESHOLD, _KEPT)
            libc.mallopt(_TRIM_THRESHOLD, _TRIMMED)
