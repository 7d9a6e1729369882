"""Which lines of a log are a run's own."""

from __future__ import annotations

from typing import NamedTuple


class Extent(NamedTuple):
    """The lines of one run.

    Attributes:
        begin: the line behind the run before it in the log; 1 where there is none.
        end: the last line that speaks of the run.
        first_step, last_step: the run's first and last measured line.
        program: the first line of its program; what is said before is another's.
    """

    begin: int
    end: int
    first_step: int
    last_step: int
    program: int = 1
