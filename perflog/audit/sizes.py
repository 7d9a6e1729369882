"""By how much cells differ, and which differences are too small to matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from perflog.audit.agreement import in_unit
from perflog.audit.claims import Claim
from perflog.audit.judgement import FAILING, Judgement

#: A difference of just the tolerance is within it, whatever binary fractions make of the two.
_ROUNDING = 1 + 1e-9


def difference(judgement: Judgement) -> float | None:
    """By which share a cell's number is more than what its log gives, or than the cell that it contradicts.

    None where neither is known: no number is held against another.
    """
    claim = judgement.claim
    if judgement.verdict in ("no log", "not understood") or claim.number is None:
        return None
    given = in_unit(claim, judgement.value) if judgement.value is not None else None
    if given:
        return claim.number.value / given - 1
    shares = [share for other in judgement.contradicts if (share := _between(claim, other)) is not None]
    return max(shares, key=abs, default=None)


def size(judgement: Judgement) -> float:
    """How far a cell's number is from what it should be, as a share without its sign; infinite where no share says."""
    share = difference(judgement)
    return math.inf if share is None else abs(share)


def with_tolerance(judgements: Sequence[Judgement], tolerance: float) -> list[Judgement]:
    """The judgements, where differences of at most ``tolerance`` (a share) fail no cell and contradict none."""
    return [_tolerated(judgement, tolerance) for judgement in judgements] if tolerance else list(judgements)


def _tolerated(judgement: Judgement, tolerance: float) -> Judgement:
    most = tolerance * _ROUNDING
    shares = [(other, _between(judgement.claim, other)) for other in judgement.contradicts]
    far = tuple(other for other, share in shares if share is None or abs(share) > most)
    if judgement.verdict not in FAILING:
        return replace(judgement, contradicts=far)
    if size(judgement) > most or (judgement.verdict == "contradicts" and far):
        return replace(judgement, contradicts=far)
    return replace(judgement, verdict="within tolerance", contradicts=far)


def _between(claim: Claim, other: Claim) -> float | None:
    """By which share a cell's number is more than another's."""
    if claim.number is None or other.number is None or not other.number.value:
        return None
    return claim.number.value / other.number.value - 1
