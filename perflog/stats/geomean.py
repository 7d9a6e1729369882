"""One ratio over several rows: a summary for a title, not a result (Hoefler & Belli 2015, rule 4)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Geomean:
    """``value`` over ``n`` ratios, None for none; ``left_out``: how many could not be counted."""

    value: float | None
    n: int
    left_out: int


def geomean(ratios: Iterable[float | None]) -> Geomean:
    """exp of the mean logarithm of the ratios; None, NaN, infinite and non-positive ones are left out and counted.

    The geometric mean is the one that does not depend on which side is the base (Fleming & Wallace 1986).
    """
    given = list(ratios)
    logs = [math.log(r) for r in given if r is not None and math.isfinite(r) and r > 0]
    value = math.exp(math.fsum(logs) / len(logs)) if logs else None
    return Geomean(value, len(logs), len(given) - len(logs))
