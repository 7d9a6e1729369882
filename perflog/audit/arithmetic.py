"""Speedup and efficiency columns against the throughputs beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perflog.audit.claims import Claim
from perflog.audit.evidence import RuleValue
from perflog.audit.judgement import ARITHMETIC, Judgement
from perflog.audit.words import Printed

#: The throughputs of each row: by file, line of the table, line of the row.
_Rates = dict[tuple[Path, int, int], list[Claim]]


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
