"""Some of a pattern's lines in each text, as they stand there: what evidence is taken from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
#: So many lines of a pattern are kept of a text.
MOST = 16
#: Of a line so much is kept before the place of its match and after it.
BEFORE, AFTER = 200, 500


@dataclass(frozen=True, slots=True)
class Samples:
    """``k`` of the lines that a pattern matched in one text, evenly spread, the first and the last among them.

    Attributes:
        line: from 0 in the text, (k,).
        before: each line's text up to the match, the last :data:`BEFORE` bytes of it, (k,).
        after: from the match to the line's end, at most :data:`AFTER` bytes, (k,).
        columns: the numbers on the lines by group, (k,) each.
    """

    line: Ints
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    columns: Mapping[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.line)
