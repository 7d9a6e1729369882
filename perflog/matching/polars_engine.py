"""The polars engine: the same matches as the compiled one gives, where no compiler is at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.logs.clean import LOST, clean_block, valid_utf8
from perflog.matching.claim import ClaimedText, claimed, numbers_of_also
from perflog.matching.columns import with_numbers
from perflog.matching.matches import UNIT, Batch, Matches, in_turn
from perflog.matching.polars_texts import Hits, Texts
from perflog.matching.samples import Samples
from perflog.matching.sampling import Sampling


class PolarsEngine:
    """Finds all patterns of a catalogue: texts are split at the literals that occur in them."""

    def __init__(self, catalog: Catalog) -> None:
        self._patterns = in_turn(catalog)
        self._literals = list(dict.fromkeys(pattern.literal for pattern in self._patterns))
        self._priority = {parser.name: parser.priority for parser in catalog.parsers}

    def match(self, texts: Sequence[bytes], at_end: bool) -> Batch:
        """See :class:`perflog.matching.matches.Engine`."""
        if not texts:
            return Batch([], np.empty(0, dtype=np.int64), np.empty(0, dtype=bool))
        clean = [_valid(clean_block(text)) for text in texts]
        batch = Texts(clean)
        literals = batch.literals(self._literals)
        hits = [found for p in self._patterns if p.literal in literals and (found := batch.match(p)) is not None]
        given = [claimed(text, _of_text(hits, n), self._priority, at_end) for n, text in enumerate(clean)]
        matches = [_matches(found, [(n, text.hits[place]) for n, text in enumerate(given)], clean, given)
                   for place, found in enumerate(hits)]  # fmt: skip
        lines = np.array([text.lines for text in given], dtype=np.int64)
        return Batch(matches, lines, np.array([text.cut for text in given], dtype=bool))


def _valid(text: bytes) -> bytes:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return valid_utf8(text)
    return valid_utf8(text) if LOST in text else text


def _of_text(hits: Sequence[Hits], text: int) -> list[Hits]:
    """Each pattern's hits in one text, in the order of the patterns."""
    bounds = [np.searchsorted(found.text, (text, text + 1)).tolist() for found in hits]
    return [found.take(slice(low, high)) for found, (low, high) in zip(hits, bounds, strict=True)]


def _matches(found: Hits, by_text: Sequence[tuple[int, Hits]], texts: Sequence[bytes],
             given: Sequence[ClaimedText]) -> Matches:  # fmt: skip
    """One pattern's hits in all texts, as they were left to it, with lines and ranks."""
    pattern = found.pattern
    kept = [(n, hits) for n, hits in by_text if len(hits)]
    offsets = [hits.offset for _, hits in kept]
    text = np.repeat(np.array([n for n, _ in kept], dtype=np.int64), [len(offset) for offset in offsets])
    line = _joined([given[n].line_of(hits.offset) for n, hits in kept], np.int64)
    rank = _joined([given[n].rank_of(texts[n], hits.offset) for n, hits in kept], np.int64)
    columns = {
        group: np.concatenate([hits.columns[group] for _, hits in kept]) if kept else found.columns[group][:0]
        for group in found.columns
    }
    units = {}
    if UNIT in columns and pattern.role in ("step", "position"):
        for n, hits in kept:
            units[n] = frozenset(str(unit) for unit in hits.columns[UNIT] if unit is not None)
        del columns[UNIT]
    for group in columns:
        if columns[group].dtype == object:
            columns[group] = columns[group].tolist()
    if pattern.also:
        columns |= _also(pattern, kept, texts)
    samples: Mapping[int, Samples] = {}
    if pattern.role in ("step", "position"):
        columns = with_numbers(pattern, columns)
        samples = Sampling(text, line, rank, _joined(offsets, np.int64), columns, texts)
    units = {n: printed for n, printed in units.items() if printed}
    return Matches(pattern, text, line, rank, columns, units, found.candidates, samples, _joined(offsets, np.int64))


def _also(pattern: Pattern, kept: Sequence[tuple[int, Hits]], texts: Sequence[bytes]) -> dict[str, np.ndarray]:
    parts = [numbers_of_also(pattern, texts[n], hits.offset) for n, hits in kept]
    return {group: _joined([part[group] for part in parts], np.float64) for group in pattern.also_groups}


def _joined(parts: Sequence[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
