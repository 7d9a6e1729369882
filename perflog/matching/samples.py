"""Some of a pattern's lines in each text, as they stand there: what evidence is taken from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Ints = NDArray[np.int64]
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
