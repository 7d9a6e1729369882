"""Cells that give another number for the same configuration. What one side does not say may be anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from perflog.audit.agreement import consistent
from perflog.audit.candidates import COMPARED
from perflog.audit.claims import Claim
from perflog.audit.judgement import Judgement
from perflog.audit.words import REDUCED
from perflog.formats.vocabulary import Scalar

_Group = list[int]


def with_contradictions(judgements: Sequence[Judgement]) -> list[Judgement]:
    """The judgements, each with the cells it contradicts; what no log bears out then contradicts."""
    contradicts: list[list[Claim]] = [[] for _ in judgements]
    for group in _groups(judgements):
        for index in group:
            for other in _contradicted(judgements, index, group):
                _add(contradicts[index], judgements[other].claim)
                _add(contradicts[other], judgements[index].claim)
    return [_with_cells(judgement, cells) for judgement, cells in zip(judgements, contradicts, strict=True)]


def _with_cells(judgement: Judgement, cells: Sequence[Claim]) -> Judgement:
    if not cells:
        return judgement
    if judgement.verdict in ("reproduced", "within rounding", "differs"):
        return replace(judgement, contradicts=tuple(cells))
    also = f" ({judgement.detail})" if judgement.detail else ""
    detail = f"{cells[0].place} says {cells[0].text} for the same configuration{also}"
    return replace(judgement, verdict="contradicts", detail=detail, contradicts=tuple(cells))


def _add(cells: list[Claim], claim: Claim) -> None:
    if claim not in cells:
        cells.append(claim)


def _groups(judgements: Sequence[Judgement]) -> list[_Group]:
    """The judgements, by their indices, that are of one quantity and so many devices."""
    groups: dict[tuple[object, ...], _Group] = {}
    for index, claim in enumerate(judgement.claim for judgement in judgements):
        if claim.number is not None and claim.quantity and not claim.reason:
            nodes = None if "devices" in claim.facts else claim.facts.get("nodes")
            groups.setdefault((claim.quantity, claim.facts.get("devices"), nodes), []).append(index)
    return list(groups.values())


def _contradicted(judgements: Sequence[Judgement], index: int, group: _Group) -> list[int]:
    """The judgements of a group that one contradicts.

    Where its cell leaves something open, it contradicts only if it agrees with no reading of it; the nearest is told.
    """
    own = judgements[index]
    others = [other for other in group if other != index and _comparable(own, judgements[other])]
    if not others or any(_consistent(own, judgements[other]) for other in others):
        return []
    nearest = min(others, key=lambda other: _distance(own, judgements[other]))
    key = _key(judgements[nearest])
    return [other for other in others if _key(judgements[other]) == key]


def _distance(own: Judgement, other: Judgement) -> float:
    assert own.claim.number is not None and other.claim.number is not None
    mine, theirs = own.claim.number.value, other.claim.number.value
    return abs(math.log(theirs / mine)) if mine > 0 and theirs > 0 else math.inf


def _key(judgement: Judgement) -> tuple[object, ...]:
    return tuple(str(judgement.claim.facts.get(key, "")) for key in (*COMPARED, "variant", "xla"))


def _comparable(own: Judgement, other: Judgement) -> bool:
    """Whether ``other`` is a cell of a configuration that ``own`` may mean.

    It is when both are of the same log, or of the same facts but for those that ``own`` leaves open.
    """
    mine, theirs = own.claim, other.claim
    if (mine.path, mine.line, mine.column) == (theirs.path, theirs.line, theirs.column):
        return False
    if any(mine.facts.get(key) != theirs.facts.get(key) for key in ("variant", "xla")):
        return False
    same_log = _of_same_log(own, other)
    both = [key for key in COMPARED if key in mine.facts and key in theirs.facts]
    if not all(_alike(key, mine.facts[key], theirs.facts[key], same_log) for key in both):
        return False
    return same_log or _says_as_much(mine, theirs)


def _of_same_log(own: Judgement, other: Judgement) -> bool:
    if not len(own.candidates) == len(other.candidates) == 1:
        return False
    return own.candidates[0] is other.candidates[0] and own.candidates[0].there


def _says_as_much(mine: Claim, theirs: Claim) -> bool:
    """Whether a claim says all that another says, and both name the framework and one model."""
    open_keys = [key for key in COMPARED if key not in ("nodes", "threads")]
    if any(key in mine.facts and key not in theirs.facts for key in open_keys):
        return False
    if any((key in mine.facts) != (key in theirs.facts) for key in ("framework", "precision", "batch_size")):
        return False
    return bool(mine.subject) and mine.subject == theirs.subject and "framework" in mine.facts


def _alike(key: str, mine: Scalar, theirs: Scalar, same_log: bool) -> bool:
    if key == "precision" and same_log and {str(mine), str(theirs)} <= REDUCED:
        return True
    if key == "framework_version":
        return str(mine).startswith(str(theirs)) or str(theirs).startswith(str(mine))
    return str(mine).lower() == str(theirs).lower()


def _consistent(own: Judgement, other: Judgement) -> bool:
    assert own.claim.number is not None and other.claim.number is not None
    return consistent(own.claim.number, other.claim.number)
