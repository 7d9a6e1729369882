"""Which logs may be a claim's: none that conflicts with what it says, and of the others the nearest.

What reports link to says more of logs, and names those that are not there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from perflog.audit.claims import REDUCED, SIZES, Claim, Facts, Printed, facts_of, nearest
from perflog.audit.document import Document, Link
from perflog.audit.evidence import KEYS, Evidence, RuleValue
from perflog.audit.judgement import ARITHMETIC, CellVerdict, Judgement, apart, consistent
from perflog.formats.catalog import Catalog
from perflog.formats.paths import facts_of_path
from perflog.formats.vocabulary import Scalar
from perflog.runs.metadata import merge

#: What tells configurations apart, where both sides say it.
COMPARED = (
    "framework", "precision", "batch_size", "global_batch_size", "devices", "nodes", "threads", "accelerator", "reader",
    "mode", "framework_version",
)  # fmt: skip
#: How well a claim that names the log's model outright names it: more than any name has letters.
_NAMED = 1000
#: A number of a version; what follows it up to the next point is a candidate's or a build's name.
_VERSION = re.compile(r"(?:^|\.)v?(\d{1,9})")


def candidates_of(claim: Claim, evidence: Sequence[Evidence]) -> list[Evidence]:
    """The cases and absent logs that may be the claim's: none conflicts with it, and none is nearer."""
    if claim.number is None or claim.reason:
        return []
    return nearest_of(claim, [log for log in evidence if fits(claim, log)])


def nearest_of(claim: Claim, fitting: Sequence[Evidence]) -> list[Evidence]:
    """Those of the logs that fit a claim which are nearest to it."""
    folder = target_of(claim.path, claim.link)
    if folder is not None and folder.exists():
        fitting = [log for log in fitting if any(_below(place, folder) for place in log.places)]
    if not fitting:
        return []
    own = claim.path.resolve().parent
    nearness = [_nearness(claim, own, log) for log in fitting]
    best = max(nearness)
    return [log for log, near in zip(fitting, nearness, strict=True) if near == best]


def fits(claim: Claim, log: Evidence, but: str = "") -> bool:
    """Whether nothing that both say conflicts, but for the key ``but``."""
    size = [key for key in SIZES if key in claim.facts]
    if size and not any(key in log.facts or any(key in also for also in log.also) for key in size):
        return False
    if not all(_same(key, claim.facts[key], log) for key in COMPARED if key in claim.facts and key != but):
        return False
    model, own = str(claim.facts.get("model", "")), _model_in(str(log.facts.get("model", "")))
    return not model or not own or model == own or topic_of(claim, log) == _NAMED


@cache
def _model_in(name: str) -> str:
    """The model that a name names by the words of reports; empty for none of these, or several."""
    return str(facts_of(name).get("model") or "")


def topic_of(claim: Claim, log: Evidence) -> int:
    """How well the claim's words name the model of the log: the length of the longest name that is in both."""
    model = claim.facts.get("model")
    folders = [folder for path in log.paths for folder in Path(path).parts[-6:-1]]
    names = {_letters(str(name)) for name in (log.facts.get("model", ""), *folders)}
    if model is not None and any(_letters(str(model)) in name for name in names if name):
        return _NAMED
    text = _letters(claim.topic)
    return max((len(name) for name in names if len(name) > 2 and name in text), default=0)


def _same(key: str, claimed: Scalar, log: Evidence) -> bool:
    """Whether a log may be of the value claimed.

    It may when its own value is that, or a link's for what links name (precision, batch size), or none is known.
    """
    own = log.facts.get(key)
    linked = [also[key] for also in log.also if also.get(key) is not None]
    if own is None and not linked:
        return True
    if own is not None and key not in ("precision", "batch_size"):
        linked = []
    return any(_alike(key, claimed, value, with_reduced=True) for value in (own, *linked) if value is not None)


def same_version(first: str, second: str) -> bool:
    """Whether two versions may be one: what both say of it is equal (``1.15`` may be ``1.15.2+nv``, not ``1.1``)."""
    pairs = zip(_VERSION.findall(first.partition("+")[0]), _VERSION.findall(second.partition("+")[0]), strict=False)
    return all(int(own) == int(other) for own, other in pairs)


def _nearness(claim: Claim, own: Path, log: Evidence) -> tuple[Any, ...]:
    """How near a log is to a claim; ``own``: the claim's folder."""
    linked = claim.path in log.linked_from
    below = any(_below(place, own) for place in log.places)
    precision = claim.facts.get("precision")
    exact = log.facts.get("precision") == precision or any(also.get("precision") == precision for also in log.also)
    shared = sum(key in log.facts for key in ("reader", "mode") if key in claim.facts)
    return (topic_of(claim, log), linked, below, exact, shared)


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def _below(place: Path, folder: Path) -> bool:
    return folder in place.parents or place == folder


def link_up(evidence: Sequence[Evidence], documents: Iterable[Document], catalog: Catalog) -> list[Evidence]:
    """The cases with what links say of them, and behind them the logs that are linked and not there."""
    by_path: dict[str, list[int]] = {}
    for index, log in enumerate(evidence):
        for place in log.places:
            by_path.setdefault(str(place), []).append(index)
    linked = list(evidence)
    absent: list[Evidence] = []
    for document, link, place in _links(documents):
        indices = by_path.get(str(place), [])
        missing = not place.exists()
        if not indices and missing:
            indices = _moved(document, link, place, by_path, evidence)
        for index in indices:
            log = linked[index]
            links = (*log.links, (document.path, link))
            linked[index] = replace(log, also=(*log.also, facts_of(link.text)), links=links)
        if not indices and missing:
            absent += _absent(document, link, place, catalog)
    return linked + absent


def _links(documents: Iterable[Document]) -> Iterator[tuple[Document, Link, Path]]:
    """The links of documents that lead to a file or folder, each with that."""
    for document in documents:
        for link in document.links:
            place = target_of(document.path, link.target)
            if place is not None:
                yield document, link, place


def _words_of(link: Link, place: Path) -> Facts:
    """What a link's text says, and the folders that it leads through."""
    return nearest([facts_of(link.text), *(facts_of(part) for part in reversed(place.parts[-4:]))])


def _moved(
    document: Document, link: Link, place: Path, by_path: Mapping[str, list[int]], evidence: Sequence[Evidence]
) -> list[int]:
    """The cases of a log that was moved into another folder: its name still tells it, where only one has it."""
    named = [path for path in by_path if Path(path).name == place.name]
    named = [path for path in named if document.path.resolve().parent in Path(path).parents] or named
    if len(named) != 1:
        return []
    words = _words_of(link, place)
    compared = {key: value for key, value in words.items() if key not in ("precision", "model") and value is not None}
    return [
        index for index in by_path[named[0]]
        if all(str(evidence[index].facts.get(key, value)) == str(value) for key, value in compared.items())
    ]  # fmt: skip


def _absent(document: Document, link: Link, place: Path, catalog: Catalog) -> list[Evidence]:
    """The log that a link names, where it is known of how many devices or nodes it is."""
    facts = _facts_of_absent(document, link, place, catalog)
    if "devices" not in facts and "nodes" not in facts:
        return []
    links = ((document.path, link),)
    return [Evidence(facts, (str(place),), also=(facts_of(link.text),), links=links, places=(place,))]


def _facts_of_absent(document: Document, link: Link, place: Path, catalog: Catalog) -> dict[str, Scalar]:
    from_path, _ = facts_of_path(str(place), catalog.path_patterns)
    facts = {key: value for key, value in merge(from_path).values.items() if key in KEYS}
    words = nearest([_words_of(link, place), facts_of(document.title)])
    for key, value in words.items():
        if value is not None and (key not in facts or key in ("framework", "accelerator")):
            facts[key] = value
    return facts


def target_of(document: Path, target: str) -> Path | None:
    """The file or folder a link leads to; None for one that leads out of the project or within the page."""
    if not target or "://" in target or target.startswith(("#", "mailto:")):
        return None
    return (document.parent / unquote(target.partition("#")[0])).resolve()


# ----------------------------------------------------------------------------------------------------
# Cells held against cells: those that give another number for the same configuration, where what one side does not
# say may be anything, and speedups and efficiencies against the throughputs beside them.

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
    if judgement.verdict.agrees or judgement.verdict is CellVerdict.DIFFERS:
        return replace(judgement, contradicts=tuple(cells))
    also = f" ({judgement.detail})" if judgement.detail else ""
    detail = f"{cells[0].place} says {cells[0].text} for the same configuration{also}"
    return replace(judgement, verdict=CellVerdict.CONTRADICTS, detail=detail, contradicts=tuple(cells))


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

    Where its cell leaves something open, it contradicts only if it agrees with no reading of it: the nearest then.
    """
    own = judgements[index]
    others = [other for other in group if other != index and _comparable(own, judgements[other])]
    numbers = {other: number for other in others if (number := judgements[other].claim.number) is not None}
    number = own.claim.number
    if number is None or not numbers or any(consistent(number, theirs) for theirs in numbers.values()):
        return []
    nearest = min(numbers, key=lambda other: apart(number.value, numbers[other].value))
    key = _key(judgements[nearest])
    return [other for other in others if _key(judgements[other]) == key]


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
    same_log = len(own.candidates) == len(other.candidates) == 1 and own.candidates[0] is other.candidates[0]
    same_log = same_log and own.candidates[0].there
    both = [key for key in COMPARED if key in mine.facts and key in theirs.facts]
    if not all(_alike(key, mine.facts[key], theirs.facts[key], same_log) for key in both):
        return False
    return same_log or _says_as_much(mine, theirs)


def _says_as_much(mine: Claim, theirs: Claim) -> bool:
    """Whether a claim says all that another says, and both name the framework and one model."""
    open_keys = [key for key in COMPARED if key not in ("nodes", "threads", "framework_version")]
    if any(key in mine.facts and key not in theirs.facts for key in open_keys):
        return False
    if any((key in mine.facts) != (key in theirs.facts) for key in ("framework", "precision", "batch_size")):
        return False
    return bool(mine.subject) and mine.subject == theirs.subject and "framework" in mine.facts


def _alike(key: str, mine: Scalar, theirs: Scalar, with_reduced: bool) -> bool:
    """Whether two values may be one; ``with_reduced``: all reduced precisions may be."""
    if key == "precision" and with_reduced and {str(mine), str(theirs)} <= REDUCED:
        return True
    if key == "framework_version":
        return same_version(str(mine), str(theirs))
    return str(mine).lower() == str(theirs).lower()


def with_arithmetic(judgements: Sequence[Judgement]) -> list[Judgement]:
    """The judgements, those of speedups and efficiencies by what the throughputs of their table give."""
    rates: _Rates = {}
    for claim in (judgement.claim for judgement in judgements):
        if claim.quantity == "throughput" and claim.number is not None:
            rates.setdefault((claim.path, claim.table, claim.line), []).append(claim)
    return [_checked(judgement, rates) for judgement in judgements]


def _checked(judgement: Judgement, rates: _Rates) -> Judgement:
    claim, number = judgement.claim, judgement.claim.number
    if claim.quantity not in ("speedup", "efficiency") or number is None or judgement.verdict is CellVerdict.REPRODUCED:
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
        return replace(judgement, verdict=CellVerdict.REPRODUCED, detail=f"the table's own {where}", sources=sources)
    exact = rate.number.value / base.number.value * scale
    if judgement.verdict is CellVerdict.WITHIN_ROUNDING:  # its own logs bear it out: the throughput beside it is wrong
        return replace(judgement, notes=(*judgement.notes, f"the table's own {where} is {exact:.4g}"))
    detail = f"the table's own {where} is {exact:.4g} ({(number.value / exact - 1) * 100:+.3g} %)"
    value = RuleValue(ARITHMETIC, claim.quantity, exact, "")
    return replace(judgement, verdict=CellVerdict.DIFFERS, detail=detail, value=value, sources=sources)


def _rate_and_base(claim: Claim, rates: _Rates) -> tuple[Claim, Claim] | None:
    """The throughput that a speedup is of, and that of one device; None where they are not known."""
    own, row = claim.column_facts, rates.get((claim.path, claim.table, claim.line), [])
    fitting = [r for r in row if all(r.column_facts.get(k, v) == v for k, v in own.items())]
    if len(fitting) != 1:  # the one in the row of the same framework and precision
        return None
    (rate,) = fitting
    keys = ("framework", "precision", "batch_size", "model", "xla", "variant")
    bases = [
        base for (path, line, _), row in rates.items() if (path, line) == (claim.path, claim.table) for base in row
        if base.column == rate.column and base.facts.get("devices") == 1
        and all(base.facts.get(key) == rate.facts.get(key) for key in keys)
    ]  # fmt: skip
    return (rate, bases[0]) if len(bases) == 1 else None


def _scale(claim: Claim, number: Printed) -> float | None:
    """What a quotient of throughputs is multiplied by; None for an efficiency of an unknown number of devices."""
    if claim.quantity == "speedup":
        return 1.0
    devices = claim.facts.get("devices")
    if not isinstance(devices, int):
        return None
    return (100.0 if number.value > 1.5 or number.rest.startswith("%") else 1.0) / devices


def _quotient(rate: Printed, base: Printed) -> tuple[float, float]:
    """The least and the greatest quotient of two numbers that are printed so."""
    low = (rate.value - rate.unit / 2) / (base.value + base.unit / 2)
    return low, (rate.value + rate.unit / 2) / max(base.value - base.unit / 2, 1e-300)
