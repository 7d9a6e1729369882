"""Cells held against cells: those that give another number for the same configuration, where what one side does not
say may be anything, and speedups and efficiencies against the throughputs beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perflog.audit.candidates import COMPARED, same_version
from perflog.audit.claims import Claim
from perflog.audit.evidence import RuleValue
from perflog.audit.judgement import ARITHMETIC, Judgement, apart, consistent
from perflog.audit.words import REDUCED, Printed
from perflog.formats.vocabulary import Scalar

_Group = list[int]
#: The throughputs of each row: by file, line of the table, line of the row.
_Rates = dict[tuple[Path, int, int], list[Claim]]


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
    """The judgements, by their indices, that are of one quantity and so many devices.

    Where a table has several rows of one configuration these are repeats, which contradict neither each other nor their
    median in another table.
    """
    alike = Counter(_alike_in_table(judgement.claim) for judgement in judgements)
    groups: dict[tuple[object, ...], _Group] = {}
    for index, claim in enumerate(judgement.claim for judgement in judgements):
        if claim.number is not None and claim.quantity and not claim.reason and alike[_alike_in_table(claim)] == 1:
            nodes = None if "devices" in claim.facts else claim.facts.get("nodes")
            groups.setdefault((claim.quantity, claim.facts.get("devices"), nodes), []).append(index)
    return list(groups.values())


def _alike_in_table(claim: Claim) -> tuple[object, ...]:
    return claim.path, claim.table, claim.column, frozenset(claim.facts.items())


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
    return apart(own.claim.number.value, other.claim.number.value)


def _key(judgement: Judgement) -> tuple[object, ...]:
    return tuple(str(judgement.claim.facts.get(key, "")) for key in (*COMPARED, "variant", "xla"))


def _comparable(own: Judgement, other: Judgement) -> bool:
    """Whether ``other`` is a cell of a configuration that ``own`` may mean.

    It is when both are of the same log, or of the same facts but for those that ``own`` leaves open.
    """
    mine, theirs = own.claim, other.claim
    if (mine.path, mine.table) == (theirs.path, theirs.table):
        return False  # a table tells its own cells apart, if by words that are not understood
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
    open_keys = [key for key in COMPARED if key not in ("nodes", "threads", "framework_version")]
    if any(key in mine.facts and key not in theirs.facts for key in open_keys):
        return False
    if any((key in mine.facts) != (key in theirs.facts) for key in ("framework", "precision", "batch_size")):
        return False
    return bool(mine.subject) and mine.subject == theirs.subject and "framework" in mine.facts


def _alike(key: str, mine: Scalar, theirs: Scalar, same_log: bool) -> bool:
    if key == "precision" and same_log and {str(mine), str(theirs)} <= REDUCED:
        return True
    if key == "framework_version":
        return same_version(str(mine), str(theirs))
    return str(mine).lower() == str(theirs).lower()


def _consistent(own: Judgement, other: Judgement) -> bool:
    assert own.claim.number is not None and other.claim.number is not None
    return consistent(own.claim.number, other.claim.number)


def with_arithmetic(judgements: Sequence[Judgement]) -> list[Judgement]:
    """The judgements, those of speedups and efficiencies by what the throughputs of their table give."""
    rates: _Rates = {}
    for claim in (judgement.claim for judgement in judgements):
        if claim.quantity == "throughput" and claim.number is not None:
            rates.setdefault((claim.path, claim.table, claim.line), []).append(claim)
    return [_checked(judgement, rates) for judgement in judgements]


def _checked(judgement: Judgement, rates: _Rates) -> Judgement:
    claim, number = judgement.claim, judgement.claim.number
    if claim.quantity not in ("speedup", "efficiency") or number is None or judgement.verdict == "reproduced":
        return judgement
    pair = _rate_and_base(claim, rates)
    scale = _scale(claim, number)
    if pair is None or scale is None:
        return judgement
    rate, base = pair
    assert rate.number is not None and base.number is not None
    low, high = _quotient(rate.number, base.number)
    where = f"{rate.text} (line {rate.line}) over {base.text} (line {base.line})"
    sources = (rate.place, base.place)
    if low * scale - number.unit < number.value < high * scale + number.unit:
        return replace(judgement, verdict="reproduced", detail=f"the table's own {where}", sources=sources)
    exact = rate.number.value / base.number.value * scale
    if judgement.verdict == "within rounding":  # its own logs bear it out: the throughput beside it is wrong
        return replace(judgement, notes=(*judgement.notes, f"the table's own {where} is {exact:.4g}"))
    detail = f"the table's own {where} is {exact:.4g} ({(number.value / exact - 1) * 100:+.3g} %)"
    value = RuleValue(ARITHMETIC, claim.quantity, exact, "")
    return replace(judgement, verdict="differs", detail=detail, value=value, sources=sources)


def _rate_and_base(claim: Claim, rates: _Rates) -> tuple[Claim, Claim] | None:
    """The throughput that a speedup is of, and that of one device; None where they are not told."""
    rate = _beside(claim, rates.get((claim.path, claim.table, claim.line), []))
    if rate is None:
        return None
    table = [
        other for (path, line, _), row in rates.items() if (path, line) == (claim.path, claim.table) for other in row
    ]
    bases = [base for base in table if base.column == rate.column and _is_base(base, rate)]
    return (rate, bases[0]) if len(bases) == 1 else None


def _scale(claim: Claim, number: Printed) -> float | None:
    """What a quotient of throughputs is multiplied by; None for an efficiency of an unknown number of devices."""
    if claim.quantity == "speedup":
        return 1.0
    devices = claim.facts.get("devices")
    if not isinstance(devices, int):
        return None
    return (100.0 if number.value > 1.5 or number.rest.startswith("%") else 1.0) / devices


def _beside(claim: Claim, rates: Sequence[Claim]) -> Claim | None:
    """The throughput that a speedup in the same row is of: the one of the same framework and precision."""
    own = claim.column_facts.items()
    fitting = [r for r in rates if all(r.column_facts.get(k) == v for k, v in own if k in r.column_facts)]
    return fitting[0] if len(fitting) == 1 else None


def _is_base(base: Claim, rate: Claim) -> bool:
    keys = ("framework", "precision", "batch_size", "model", "xla", "variant")
    return base.facts.get("devices") == 1 and all(base.facts.get(k) == rate.facts.get(k) for k in keys)


def _quotient(rate: Printed, base: Printed) -> tuple[float, float]:
    """The least and the greatest quotient of two numbers that are printed so."""
    low = (rate.value - rate.unit / 2) / (base.value + base.unit / 2)
    return low, (rate.value + rate.unit / 2) / max(base.value - base.unit / 2, 1e-300)
