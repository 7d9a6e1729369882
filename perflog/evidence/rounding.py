"""The printed digits of a number bound it: ``1s`` is anything from half a second to one and a half."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from perflog.formats.printed import half_digit


def decimals_of(numbers: Sequence[float], most: int) -> int | None:
    """The least number of decimals that some finite numbers have; None where it is more than ``most``.

    >>> decimals_of([0.5, 1.25], 4), decimals_of([0.1234567], 4)
    (2, None)
    """
    decimals = 0
    for text in map(repr, numbers):  # the shortest decimal number that is read as this one
        point = text.find(".")
        if text[point:] == ".0":
            continue
        needed = len(text) - point - 1 if point >= 0 else 0
        if "e" in text:
            needed = -int(Decimal(text).as_tuple().exponent)
        if needed > most:  # nearly always the first one's
            return None
        if needed > decimals:
            decimals = needed
    return decimals


def mean_share(printed: Sequence[str], numbers: Sequence[float], used: int) -> float:
    """How much rounding may hide of a mean over ``used`` printed numbers, as a share of it.

    Numbers that vary by more than their last digit lose their rounding in a mean: its error is that of ``used``
    independent ones (W. F. Sheppard 1898; uniform within a digit, so a standard deviation of digit/√12). Numbers that
    do not vary may all be rounded the same way.

    Args:
        printed: some of the numbers as they were printed, with their values in ``numbers``.
    """
    share = number_share(printed, numbers)
    if not share:
        return 0.0
    typical = sorted(abs(number) for number in numbers)[len(numbers) // 2]
    varies = len(numbers) > 2 and _spread(numbers) >= share * typical
    return share * min(1.0, 2 / math.sqrt(3 * max(used, 1))) if varies else share


def _spread(numbers: Sequence[float]) -> float:
    """Their standard deviation, dividing by n."""
    centre = math.fsum(numbers) / len(numbers)
    return math.sqrt(math.fsum((number - centre) ** 2 for number in numbers) / len(numbers))


def number_share(printed: Sequence[str], numbers: Sequence[float]) -> float:
    """How much rounding may hide of one of some printed numbers, as a share of it; 0 where none has digits."""
    shares = sorted(_shares(printed, numbers))
    return shares[len(shares) // 2] if shares else 0.0


def total_share(printed: Sequence[str], numbers: Sequence[float]) -> float:
    """How much rounding may hide of the last of some printed totals or running means, as a share of it."""
    shares = _shares(printed[-1:], numbers[-1:])
    return shares[0] if shares else 0.0


def clock_share(digit: float, time: float, bars: int, stretches: int) -> float:
    """How much the last digit of a clock may hide of the time that it tells, as a share of it.

    Each stretch of the clock is the difference of two cut stamps, and so up to a digit longer or shorter. Bars of one
    length may all be cut alike, so that their errors add up. Stretches of one bar, which parts that are left out lie
    between, are cut at moments that have nothing to do with each other: two standard deviations of the sum of so many
    differences count, each of variance digit²/6.

    Args:
        digit: the worth of the last digit, in the unit of ``time``.
        bars: how often the clock began anew, at least 1.
        stretches: in how many pieces the time is, as many as bars or more.
    """
    return digit / time * (bars + 2 * math.sqrt((stretches - bars) / 6)) if time > 0 else float("inf")


def _shares(printed: Sequence[str], numbers: Sequence[float]) -> list[float]:
    halves = [(half_digit(text), abs(number)) for text, number in zip(printed, numbers, strict=True)]
    return [half / number for half, number in halves if half is not None and number > 0]


def bounds(value: float, share: float) -> tuple[float, float]:
    """What a rate may be whose times (or which itself) were rounded by at most ``share``: (low, high)."""
    return value / (1 + share), value / (1 - share) if share < 1 else float("inf")
