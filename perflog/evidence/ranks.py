"""Whether several ranks are one that was printed several times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perflog.measurements.segment import Segment

#: Two ranks may print a few equal numbers; never so many different ones that are all equal.
LEAST_DIFFERENT = 3


def is_one_rank(segments: Sequence[Segment]) -> bool:
    """Whether all ranks' measurements are the same numbers, which no two devices measure of themselves."""
    first, *others = segments
    if not others or any(other.store.count != first.store.count for other in others):
        return False
    times: set[float] = set()
    for blocks in zip(*(segment.store.blocks() for segment in segments), strict=False):
        # covers, time and work
        if any(block.shape != blocks[0].shape or not np.array_equal(block[2:5], blocks[0][2:5]) for block in blocks):
            return False
        if len(times) < LEAST_DIFFERENT:
            times.update((blocks[0][3] / blocks[0][2]).tolist())
    return len(times) >= LEAST_DIFFERENT
