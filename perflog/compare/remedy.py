"""What would decide a row of a comparison, and all of its open rows: plain records, made by :mod:`.deciding`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class By(StrEnum):
    """How runs that decide a row are made."""

    MORE = "more runs"
    ANEW = "all runs anew, in turn"
    ROUNDS = "more rounds"


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would decide one row.

    Attributes:
        by: how the runs are made.
        old: so many runs of the old side are to be made; None where no number of runs is known to decide the row.
        new: the same of the new side.
        tells: the changes, shares, that so many runs tell from each other with a chance of 80 % each: 0 and twice the
            margin, or two that lie nearer to it. None where the runs are only the fewest with which there is a verdict.
        seconds: how long they take; None where nothing tells it.
        at_least: whether they take longer: the runs at hand are timed by the stamps of their lines alone.
        reason: why no number of runs is known to decide it; empty where one is.
    """

    by: By
    old: int | None = None
    new: int | None = None
    tells: tuple[float, float] | None = None
    seconds: float | None = None
    at_least: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ToDecide:
    """What would decide the open rows of a comparison together.

    Attributes:
        command: that makes the runs; empty where the campaigns behind the sides, or their files, are not known.
        seconds: how long all runs take; None where it is not known of one of them.
        at_least: whether they take longer.
        apart: whether the sides were measured one after the other, and no history says what campaigns differ by, which
            would answer it.
    """

    command: str = ""
    seconds: float | None = None
    at_least: bool = False
    apart: bool = False
