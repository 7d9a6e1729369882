"""Which lines of a log are a run's own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Extent(NamedTuple):
    """The lines of one run.

    Attributes:
        begin: the line behind the run before it in the log; 1 where there is none.
        end: the last line that speaks of the run.
        first_step, last_step: the run's first and last measured line.
        program: the first line of its program; what is said before is another's.
        shapes: the patterns of the same format whose lines are woven with the run's, and where those begin.
    """

    begin: int
    end: int
    first_step: int
    last_step: int
    program: int = 1
    shapes: Mapping[str, int] = MappingProxyType({})

    def serves_another(self, line: int) -> bool:
        """Whether what a line says is of lines of another shape, which are the first to stand behind it."""
        return any(line < first < self.first_step or self.first_step < line < first for first in self.shapes.values())
