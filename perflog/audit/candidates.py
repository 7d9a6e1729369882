"""Which logs may be a claim's: none that conflicts with what it says, and of the others the nearest.

What reports link to says more of logs, and names those that are not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from perflog.audit.claims import SIZES, Claim
from perflog.audit.document import Document, Link
from perflog.audit.evidence import KEYS, Evidence
from perflog.audit.words import REDUCED, Facts, facts_of, nearest
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
    """How well the claim's words name the model of the log: the length of the longest name that stands in both."""
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
    values = [str(value) for value in (own, *linked) if value is not None]
    if key == "precision" and str(claimed) in REDUCED:
        return any(value in REDUCED for value in values)
    if key == "framework_version":
        return any(same_version(value, str(claimed)) for value in values)
    return any(value.lower() == str(claimed).lower() for value in values)


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
    return [index for index in by_path[named[0]] if not _conflict(words, evidence[index].facts)]


def _absent(document: Document, link: Link, place: Path, catalog: Catalog) -> list[Evidence]:
    """The log that a link names, where it is told of how many devices or nodes it is."""
    facts = _facts_of_absent(document, link, place, catalog)
    if "devices" not in facts and "nodes" not in facts:
        return []
    links = ((document.path, link),)
    return [Evidence(facts, (str(place),), also=(facts_of(link.text),), links=links, places=(place,))]


def _conflict(words: Facts, facts: Mapping[str, Scalar]) -> bool:
    compared = {key: value for key, value in words.items() if key not in ("precision", "model") and value is not None}
    return any(key in facts and str(facts[key]) != str(value) for key, value in compared.items())


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
