"""The verdict on each claim: which logs are its, whether a known rule gives its number, whether other cells contradict it.

A false alarm costs more than a catch that is missed: where several logs or rules fit, one that agrees is enough;
a cell differs only when every log that may be its is there and none gives its number by any known rule.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perflog.audit.claims import Claim
from perflog.audit.evidence import LATER, OWN, REPORTED, WHOLE, Evidence, Value, target_of
from perflog.audit.words import REDUCED, Printed
from perflog.formats.units import kind
from perflog.formats.vocabulary import Scalar

#: The verdicts in the order of reports; the first three fail an audit.
VERDICTS = ("differs", "contradicts", "slip", "within rounding", "reproduced", "no log", "not understood")
FAILING = frozenset({"differs", "contradicts", "slip"})
#: A number of fewer digits agrees with a rule by chance too often to be called reproduced.
ENOUGH_DIGITS = 4
#: What tells configurations apart, where both sides say it.
_COMPARED = ("framework", "precision", "batch_size", "global_batch_size", "devices", "nodes", "threads", "accelerator", "reader", "mode", "framework_version")
#: The rule of a speedup that the table's own throughputs give.
ARITHMETIC = "the table's arithmetic"
_TO_SECONDS = {"ms": 1000.0, "us": 1e6}


@dataclass(slots=True)
class Judgement:
    """A claim's verdict.

    ``value``: what the log gives where it differs or agrees; ``detail``: the verdict in words; ``sources``: the
    logs and lines behind it; ``notes``: facts beside the verdict; ``suspicions``: what it may be, with evidence;
    ``candidates``: every log that may be the cell's, ``evidence`` those the verdict stands on.
    """

    claim: Claim
    verdict: str
    detail: str
    evidence: list[Evidence] = field(default_factory=list)
    candidates: list[Evidence] = field(default_factory=list)
    value: Value | None = None
    sources: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    suspicions: list[str] = field(default_factory=list)
    contradicts: list[Claim] = field(default_factory=list)


def judge(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> list[Judgement]:
    """A judgement for each claim, in order."""
    found = [_candidates(claim, evidence) for claim in claims]
    usual = _usual(claims, found)
    out = [_judged(claim, some, usual) for claim, some in zip(claims, found, strict=True)]
    for one, some in zip(out, found, strict=True):
        one.candidates = some
        if one.verdict == "differs":
            _of_a_farther_log(one, evidence, usual)
        elif one.verdict == "no log" and not one.evidence:
            _of_another_batch(one, evidence, usual)
    _arithmetic(out)
    _contradictions(out)
    return out


# ---------------------------------------------------------------- which logs


def _candidates(claim: Claim, evidence: Sequence[Evidence]) -> list[Evidence]:
    """The cases and absent logs that may be the claim's: none conflicts with it, and none is nearer."""
    if claim.number is None or claim.reason:
        return []
    return _nearest(claim, [one for one in evidence if _fits(claim, one)])


def _nearest(claim: Claim, fitting: list[Evidence]) -> list[Evidence]:
    folder = target_of(claim.path, claim.link)
    if folder is not None and folder.exists():
        fitting = [one for one in fitting if any(_below(place, folder) for place in one.places)]
    if not fitting:
        return []
    own = claim.path.resolve().parent
    nearness = [_nearness(claim, own, one) for one in fitting]
    best = max(nearness)
    return [one for one, near in zip(fitting, nearness, strict=True) if near == best]


def _fits(claim: Claim, one: Evidence, but: str = "") -> bool:
    """Whether nothing that both say conflicts, but for the key ``but``."""
    size = [key for key in ("devices", "nodes") if key in claim.facts]
    if size and not any(key in one.facts for key in size) and not any(key in also for key in size for also in one.also):
        return False
    return all(_same(key, claim.facts[key], one) for key in _COMPARED if key in claim.facts and key != but)


def _same(key: str, said: Scalar, one: Evidence) -> bool:
    """Whether a log may be of the value said: its own, a link's for what links name (precision, batch size), or unknown."""
    own = one.facts.get(key)
    linked = [also[key] for also in one.also if also.get(key) is not None]
    if own is None and not linked:
        return True
    values = [own] if own is not None and key not in ("precision", "batch_size") else [v for v in (own, *linked) if v is not None]
    if key == "precision" and str(said) in REDUCED:
        return any(str(value) in REDUCED for value in values)
    if key == "framework_version":
        return any(str(value).startswith(str(said)) or str(said).startswith(str(value)) for value in values)
    return any(str(value).lower() == str(said).lower() for value in values)


def _nearness(claim: Claim, own: Path, one: Evidence) -> tuple[Any, ...]:
    """How near a log is to a claim; ``own``: the claim's folder."""
    linked = claim.path in one.linked_from
    below = any(_below(place, own) for place in one.places)
    exact = one.facts.get("precision") == claim.facts.get("precision") or any(also.get("precision") == claim.facts.get("precision") for also in one.also)
    said = sum(key in one.facts for key in ("reader", "mode") if key in claim.facts)
    return (_topic(claim, one), linked, below, exact, said)


def _topic(claim: Claim, one: Evidence) -> int:
    """How well the claim's words name the model of the log: the longest name that stands in both."""
    model = claim.facts.get("model")
    parts = [part for path in one.paths for part in Path(path).parts[-6:-1]]
    names = {_letters(str(name)) for name in (one.facts.get("model", ""), *parts)}
    if model is not None and any(_letters(str(model)) in name for name in names if name):
        return 1000
    text = _letters(claim.topic)
    return max((len(name) for name in names if len(name) > 2 and name in text), default=0)


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def _below(place: Path, folder: Path) -> bool:
    return folder in place.parents or place == folder


# ---------------------------------------------------------------- agreement


def consistent(one: Printed, other: Printed) -> bool:
    """Whether two printed numbers may be one: the same but for the rounding or truncation of the coarser."""
    unit = max(one.unit, other.unit)
    return abs(one.value - other.value) < unit * (1 - 1e-9) or math.isclose(one.value, other.value, rel_tol=1e-12)


def rounds_to(value: float, number: Printed) -> bool:
    """Whether a value rounds, or is cut off, to the digits printed."""
    unit = number.unit
    slack = 1e-9 * abs(value)
    return abs(value - number.value) <= unit / 2 + slack or -slack <= value - number.value < unit - slack


def _agrees(claim: Claim, value: Value) -> bool:
    number = in_unit(claim, value)
    return number is not None and claim.number is not None and rounds_to(number, claim.number)


def in_unit(claim: Claim, value: Value) -> float | None:
    """A log's value in the claim's unit; None where it is of another quantity."""
    if value.quantity != claim.quantity or value.value is None:
        return None
    percent = "%" in claim.heading or (claim.number is not None and claim.number.rest.startswith("%"))
    if value.unit == "fraction" and (percent or (claim.number is not None and claim.number.value > 1)):
        return value.value * 100
    heading = claim.heading.lower()
    for unit, factor in _TO_SECONDS.items():
        if value.unit == "s" and claim.quantity == "step_time" and f"({unit}" in heading.replace("/ ", "(") + heading:
            return value.value * factor
    return value.value


@dataclass(slots=True)
class Usual:
    """How many cells each rule gives, in a document and in all: the more, the more usual."""

    here: Counter[tuple[Path, str, str]] = field(default_factory=Counter)
    everywhere: Counter[tuple[str, str]] = field(default_factory=Counter)

    def rank(self, claim: Claim, one: Evidence, value: Value) -> tuple[int, ...]:
        fallback = (WHOLE, LATER, OWN).index(value.rule) if value.rule in (WHOLE, LATER, OWN) else -1
        return (self.here[claim.path, one.parser, value.rule], self.everywhere[one.parser, value.rule], fallback)


def _usual(claims: Sequence[Claim], found: Sequence[list[Evidence]]) -> Usual:
    usual = Usual()
    for claim, some in zip(claims, found, strict=True):
        if claim.number is None or claim.number.digits < ENOUGH_DIGITS:
            continue
        for parser, rule in {(one.parser, value.rule) for one in some for value in one.values if _agrees(claim, value)}:
            usual.here[claim.path, parser, rule] += 1
            usual.everywhere[parser, rule] += 1
    return usual


# ---------------------------------------------------------------- verdicts


def _judged(claim: Claim, found: list[Evidence], usual: Usual) -> Judgement:
    if claim.number is None or claim.reason:
        return Judgement(claim, "not understood", claim.reason)
    there = [one for one in found if one.there]
    pairs = [(one, value) for one in there for value in one.values if value.quantity == claim.quantity and value.value is not None]
    good = [(one, value) for one, value in pairs if _agrees(claim, value)]
    if good:
        one, value = max(good, key=lambda pair: usual.rank(claim, *pair))
        few = claim.number.digits < ENOUGH_DIGITS
        exact = in_unit(claim, value) or 0.0
        cut = "" if abs(exact - claim.number.value) <= claim.number.unit / 2 else ", cut off"
        detail = f"{rule_words(value)} gives {exact:.10g}{cut}" + (f"; {claim.number.digits} digits may agree by chance" if few else "")
        made = Judgement(claim, "within rounding" if few else "reproduced", detail, [one], value=value, sources=_sources([one], value))
        made.notes += _disagreements(claim, one, value)
        return made
    if not there:
        return _without_log(claim, found)
    if not pairs:
        reason = next((v.reason for one in there for v in one.values if v.quantity == claim.quantity and v.reason), f"it gives no {claim.quantity}")
        return Judgement(claim, "not understood", f"the log has no value to compare with: {reason}", there, sources=_sources(there, None))
    return _differing(claim, found, there, pairs, usual)


def _differing(claim: Claim, found: list[Evidence], there: list[Evidence], pairs: list[tuple[Evidence, Value]], usual: Usual) -> Judgement:
    assert claim.number is not None
    printed = claim.number
    given = {id(value): number for _, value in pairs if (number := in_unit(claim, value)) is not None}
    one, value = min(pairs, key=lambda pair: abs(given[id(pair[1])] - printed.value))
    if abs(given[id(value)] - printed.value) <= printed.unit * (1 + 1e-9):
        detail = f"{rule_words(value)} gives {given[id(value)]:.10g}, one off in the last digit"
        return Judgement(claim, "within rounding", detail, [one], value=value, sources=_sources([one], value))
    if abs(given[id(value)] - printed.value) <= printed.coarse / 2:
        detail = f"{rule_words(value)} gives {given[id(value)]:.10g}, rounded to {printed.coarse:g}s"
        return Judgement(claim, "within rounding", detail, [one], value=value, sources=_sources([one], value))
    one, value = max(pairs, key=lambda pair: usual.rank(claim, *pair))
    share = (printed.value / given[id(value)] - 1) * 100 if given[id(value)] else math.inf
    words = f"{rule_words(value)} gives {given[id(value)]:.10g} ({share:+.3g} %)"
    if len(given) > 1:
        words += f"; all {len(given)} known rules give {min(given.values()):.7g} to {max(given.values()):.7g}"
    absent = [o for o in found if not o.there]
    verdict = "no log" if absent else "differs"
    if absent:
        words += f", but it may be of a log that is not there: {_linked(absent[0])}"
    made = Judgement(claim, verdict, words, there, value=value, sources=_sources([one], value), notes=_disagreements(claim, one, value))
    if len(there) > 1:
        made.notes.append(f"{len(there)} logs may be its, none gives the number: {', '.join(Path(o.paths[0]).name for o in there[:4])}")
    return made


def _without_log(claim: Claim, found: list[Evidence]) -> Judgement:
    if not found:
        told = ", ".join(f"{key}={claim.facts[key]}" for key in ("model", *_COMPARED) if key in claim.facts)
        return Judgement(claim, "no log", f"no log of {told} is among those given")
    return Judgement(claim, "no log", f"its log is not there: {_linked(found[0])}", found)


def _linked(absent: Evidence) -> str:
    document, link = absent.links[0]
    return f"{link.target} (linked at {document}:{link.line})"


def _of_a_farther_log(one: Judgement, evidence: Sequence[Evidence], usual: Usual) -> None:
    """A cell whose nearest log does not give its number, and another log of its configuration does: an older one, say."""
    claim = one.claim
    if any(claim.path in near.linked_from for near in one.candidates):
        return
    topic = max(_topic(claim, near) for near in one.candidates)
    wider = [e for e in evidence if e not in one.candidates and e.there and _fits(claim, e) and _topic(claim, e) == topic > 0]
    found = _judged(claim, wider, usual) if wider else None
    if found is not None and found.verdict == "reproduced":
        note = f"the nearest log does not give it: {one.candidates[0].paths[0]}"
        one.verdict, one.detail, one.evidence, one.value, one.sources = found.verdict, found.detail, found.evidence, found.value, found.sources
        one.notes, one.candidates = [note, *found.notes], found.evidence


def _of_another_batch(one: Judgement, evidence: Sequence[Evidence], usual: Usual) -> None:
    """A cell whose only log is of another batch size: reproduced by it, with a note, or told what it gives."""
    claim = one.claim
    near = _nearest(claim, [e for e in evidence if e.there and "batch_size" in e.facts and _fits(claim, e, but="batch_size")])
    if len(near) != 1 or _topic(claim, near[0]) == 0 or near[0].facts.get("precision") != claim.facts.get("precision"):
        return
    found = _judged(claim, near, usual)
    if found.verdict == "reproduced":
        one.verdict, one.detail, one.evidence, one.value, one.sources, one.candidates = "reproduced", found.detail, near, found.value, found.sources, near
        one.notes = found.notes
    elif found.value is not None:
        one.value, one.sources = found.value, found.sources
        one.notes.append(f"the log of batch size {near[0].facts['batch_size']}: {found.detail} ({near[0].paths[0]})")


def rule_words(value: Value) -> str:
    if value.rule == OWN:
        return "perflog's own rule"
    return value.rule if value.rule in (ARITHMETIC, LATER, WHOLE, REPORTED) else f"the rule {value.rule}"


def _sources(evidence: Iterable[Evidence], value: Value | None) -> list[str]:
    out = []
    for one in evidence:
        for path in one.paths:
            out.append(f"{path}:{value.lines[0]}-{value.lines[1]}" if value is not None and value.lines[0] and len(one.paths) == 1 else path)
    return out


def _disagreements(claim: Claim, one: Evidence, value: Value) -> list[str]:
    notes = []
    if claim.unit and value.unit and claim.quantity == "throughput" and kind(claim.unit) != kind(value.unit):
        notes.append(f"the report counts {claim.unit}, the log {value.unit}")
    for key in ("batch_size", "precision"):
        said, own = claim.facts.get(key), one.facts.get(key)
        if said is not None and own is not None and str(said) != str(own) and not (key == "precision" and {str(said), str(own)} <= REDUCED):
            notes.append(f"{key} is {said} in the report, {own} in the log")
    return notes


# ---------------------------------------------------------------- speedups, and cells against cells


def _arithmetic(judgements: Sequence[Judgement]) -> None:
    """Speedup and efficiency columns against the throughputs beside them."""
    rates: dict[tuple[Path, int, int], list[Claim]] = {}
    for one in judgements:
        claim = one.claim
        if claim.quantity == "throughput" and claim.number is not None:
            rates.setdefault((claim.path, claim.table, claim.line), []).append(claim)
    for one in judgements:
        claim = one.claim
        if claim.quantity not in ("speedup", "efficiency") or claim.number is None or one.verdict == "reproduced":
            continue
        mine = _beside(claim, rates.get((claim.path, claim.table, claim.line), []))
        bases = [
            base
            for (path, table, _), some in rates.items()
            if (path, table) == (claim.path, claim.table)
            for base in some
            if mine is not None and base.column == mine.column and _base_of(base, mine)
        ]
        if mine is None or mine.number is None or len(bases) != 1 or bases[0].number is None:
            continue
        devices = claim.facts.get("devices")
        scale = 1.0
        if claim.quantity == "efficiency":
            if not isinstance(devices, int):
                continue
            scale = (100.0 if claim.number.value > 1.5 or claim.number.rest.startswith("%") else 1.0) / devices
        low, high = _quotient(mine.number, bases[0].number)
        low, high = low * scale, high * scale
        where = f"{mine.text} (line {mine.line}) over {bases[0].text} (line {bases[0].line})"
        unit = claim.number.unit
        if low - unit < claim.number.value < high + unit:
            one.verdict, one.detail = "reproduced", f"the table's own {where}"
        elif one.verdict == "within rounding":  # its own logs bear it out: the throughput beside it is wrong
            one.notes.append(f"the table's own {where} is {mine.number.value / bases[0].number.value * scale:.4g}")
            continue
        else:
            exact = mine.number.value / bases[0].number.value * scale
            one.verdict, one.detail = "differs", f"the table's own {where} is {exact:.4g} ({(claim.number.value / exact - 1) * 100:+.3g} %)"
            one.value = Value(ARITHMETIC, claim.quantity, exact, "")
        one.sources = [f"{mine.place}", f"{bases[0].place}"]


def _beside(claim: Claim, rates: list[Claim]) -> Claim | None:
    """The throughput that a speedup in the same row is of: the one of the same framework and precision."""
    fitting = [r for r in rates if all(r.column_facts.get(k) == v for k, v in claim.column_facts.items() if k in r.column_facts)]
    return fitting[0] if len(fitting) == 1 else None


def _base_of(base: Claim, claim: Claim) -> bool:
    same = all(base.facts.get(k) == claim.facts.get(k) for k in ("framework", "precision", "batch_size", "model", "xla", "variant"))
    return base.facts.get("devices") == 1 and same


def _quotient(one: Printed, base: Printed) -> tuple[float, float]:
    low = (one.value - one.unit / 2) / (base.value + base.unit / 2)
    return low, (one.value + one.unit / 2) / max(base.value - base.unit / 2, 1e-300)


def _contradictions(judgements: Sequence[Judgement]) -> None:
    """Cells that give another number for the same configuration. What one side does not say may be anything."""
    groups: dict[tuple[object, ...], list[Judgement]] = {}
    for one in judgements:
        if one.claim.number is not None and one.claim.quantity and not one.claim.reason:
            facts = one.claim.facts
            groups.setdefault((one.claim.quantity, facts.get("devices"), None if "devices" in facts else facts.get("nodes")), []).append(one)
    for group in groups.values():
        for one in group:
            others = [other for other in group if other is not one and _comparable(one, other)]
            if not others or any(_consistent(one, other) for other in others):
                continue
            # where this cell leaves something open, it contradicts only if it agrees with no reading of it; the nearest is told
            nearest = min(others, key=lambda o: _distance(one, o))
            for other in (o for o in others if _key(o) == _key(nearest)):
                if other.claim not in one.contradicts:
                    one.contradicts.append(other.claim)
                if one.claim not in other.contradicts:
                    other.contradicts.append(one.claim)
    for one in judgements:
        if one.contradicts and one.verdict not in ("reproduced", "within rounding", "differs"):
            cell = one.contradicts[0]
            also = f" ({one.detail})" if one.detail else ""
            one.verdict, one.detail = "contradicts", f"{cell.place} says {cell.text} for the same configuration{also}"


def _distance(one: Judgement, other: Judgement) -> float:
    assert one.claim.number is not None and other.claim.number is not None
    mine, theirs = one.claim.number.value, other.claim.number.value
    return abs(math.log(theirs / mine)) if mine > 0 and theirs > 0 else math.inf


def _key(one: Judgement) -> tuple[object, ...]:
    facts = one.claim.facts
    return tuple(str(facts.get(key, "")) for key in (*_COMPARED, "variant", "xla"))


def _comparable(one: Judgement, other: Judgement) -> bool:
    """Whether ``other`` is a cell of a configuration that ``one`` may mean: the same log, or the same facts but for those it leaves open."""
    mine, theirs = one.claim, other.claim
    if (mine.path, mine.line, mine.column) == (theirs.path, theirs.line, theirs.column):
        return False
    if mine.facts.get("variant") != theirs.facts.get("variant") or mine.facts.get("xla") != theirs.facts.get("xla"):
        return False
    same_log = len(one.candidates) == len(other.candidates) == 1 and one.candidates[0] is other.candidates[0] and one.candidates[0].there
    keys = [key for key in _COMPARED if key in mine.facts or key in theirs.facts]
    if any(key in mine.facts and key in theirs.facts and not _alike(key, mine.facts[key], theirs.facts[key], same_log) for key in keys):
        return False
    if same_log:
        return True
    if any(key in mine.facts and key not in theirs.facts for key in _COMPARED if key not in ("nodes", "threads")):
        return False
    if any((key in mine.facts) != (key in theirs.facts) for key in ("framework", "precision", "batch_size")):
        return False
    return bool(mine.subject) and mine.subject == theirs.subject and "framework" in mine.facts


def _alike(key: str, one: Scalar, other: Scalar, same_log: bool) -> bool:
    if key == "precision" and same_log and {str(one), str(other)} <= REDUCED:
        return True
    if key == "framework_version":
        return str(one).startswith(str(other)) or str(other).startswith(str(one))
    return str(one).lower() == str(other).lower()


def _consistent(one: Judgement, other: Judgement) -> bool:
    assert one.claim.number is not None and other.claim.number is not None
    return consistent(one.claim.number, other.claim.number)
