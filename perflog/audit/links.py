"""What reports link to: the cases with what links say of them, and the logs that are linked and not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from perflog.audit.document import Document, Link
from perflog.audit.evidence import KEYS, Evidence
from perflog.audit.words import Facts, facts_of, nearest
from perflog.formats.catalog import Catalog
from perflog.formats.paths import facts_of_path
from perflog.formats.vocabulary import Scalar
from perflog.runs.metadata import merge


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
