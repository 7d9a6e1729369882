"""Many small logs folded together: plain ones for the whole batch at once, the others log by log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

from perflog.formats.catalog import Catalog
from perflog.matching.matches import FIRST_RANK, UNTAGGED, Batch, Matches
from perflog.measurements.plain import PlainBatch, plain_batches, take_of_batch
from perflog.measurements.rows import Mask
from perflog.measurements.segment import Segment
from perflog.measurements.series import RankSeries
from perflog.reading.account import Tried
from perflog.reading.reading import Reading
from perflog.settings.options import Options


class _Plain(NamedTuple):
    """A plain log's measurements: the matches that print them, among those of other logs, and their segment."""

    matches: Matches
    segment: Segment


def fold_batch(readings: Sequence[Reading], batch: Batch, catalog: Catalog, options: Options | None) -> None:
    """Fold each text's matches into its reading, as :meth:`Reading.add` and :meth:`Reading.settle` do.

    ``options`` tell which window will be asked for, so that it is taken of all plain logs at once.
    """
    generic = catalog.generic
    measured = _texts_measured(batch, len(readings), generic)
    singly = options is not None and options.estimator not in ("total", "reported") and not options.convention
    plain = {} if singly else _plain(batch, len(readings), measured, generic, readings[0].as_printed, options)
    tried, pauses = _tried(batch, len(readings), measured, generic)
    for text, (reading, lines, cut) in enumerate(zip(readings, batch.lines.tolist(), batch.cut.tolist(), strict=True)):
        reading.counts.tried_on(tried, text)
        if text in plain:
            _fold_plain(reading, plain[text], tried, text)
            reading.end_block(lines, cut)
            reading.gather_facts()
        else:
            counting = [*tried.on(text), *pauses.on(text)]
            found = [matches.of_text(text, low, high) for matches, low, high in counting if low < high]
            reading.add_counted(found, lines, cut)
            reading.settle(catalog)


def _texts_measured(batch: Batch, texts: int, generic: AbstractSet[str]) -> Mask:
    """Whether a parser that is not generic measured something in each text, (texts,)."""
    measured = np.zeros(texts, dtype=bool)
    for matches in batch.matches:
        if matches.pattern.role == "step" and matches.pattern.parser not in generic:
            measured[matches.text] = True
    return measured


def _tried(batch: Batch, texts: int, measured: Mask, generic: AbstractSet[str]) -> tuple[Tried, Tried]:
    """(which patterns were tried on each text and count there, and where each one's matches in it begin and end; those
    of generic parsers that tell of pauses and nothing else there, since a more specific one measured).
    """
    borders, is_measured = np.arange(texts + 1), measured.tolist()
    of_text: list[list[tuple[Matches, int, int]]] = [[] for _ in range(texts)]
    pauses: list[list[tuple[Matches, int, int]]] = [[] for _ in range(texts)]
    for matches in batch.matches:
        bounds = np.searchsorted(matches.text, borders).tolist()
        is_generic = matches.pattern.parser in generic
        for text in matches.candidates:
            if not (is_generic and is_measured[text]):
                of_text[text].append((matches, bounds[text], bounds[text + 1]))
            elif matches.pattern.role == "ignore" and matches.pattern.pauses:
                pauses[text].append((matches, bounds[text], bounds[text + 1]))
    return Tried(of_text), Tried(pauses)


def _plain(
    batch: Batch, texts: int, measured: Mask, generic: AbstractSet[str], as_printed: bool, options: Options | None
) -> Mapping[int, _Plain]:
    """The plain logs among the texts: one pattern measures, no line has a launcher's tag, and its rows are plain."""
    measuring = np.zeros(texts, dtype=np.int64)
    tagged, paused = np.zeros(texts, dtype=bool), np.zeros(texts, dtype=bool)
    found = []
    for matches in batch.matches:
        if matches.pattern.pauses or matches.pattern.evaluates:
            paused[matches.text] = True
        if matches.pattern.role not in ("step", "position") or not len(matches):
            continue
        kept = matches
        if matches.pattern.parser in generic and measured[matches.text].any():
            kept = matches.take(~measured[matches.text])
        there = np.zeros(texts, dtype=bool)
        there[kept.text] = True
        measuring += there
        tagged[kept.text[kept.rank != UNTAGGED]] = True
        found.append((matches, kept))
    alone = (measuring == 1) & ~tagged
    plain: dict[int, _Plain] = {}
    for matches, kept in found:
        mine = alone[kept.text]
        rows = kept if mine.all() else kept.take(mine)
        columns = {name: column for name, column in rows.columns.items() if not isinstance(column, list)}
        if len(columns) < len(rows.columns):
            continue  # time stamps: the general path
        for part in plain_batches(rows.pattern, rows.text, rows.line + 1, columns, as_printed, paused):
            _take(part, options)
            for text, segment in zip(part.texts.number.tolist(), part.segments, strict=True):
                plain[text] = _Plain(matches, segment)
    return plain


def _take(part: PlainBatch, options: Options | None) -> None:
    if options is not None:
        take_of_batch(part, options.window, options.estimator, not options.convention)


def _fold_plain(reading: Reading, plain: _Plain, tried: Tried, text: int) -> None:
    """What :meth:`Reading.add` does with what a log prints, for one whose measurements are at hand."""
    for matches, low, high in tried.on(text):
        if low == high:
            continue
        pattern = matches.pattern
        if text in matches.samples:
            reading.samples[pattern.key] = [matches.samples[text]]
        if matches is plain.matches:
            reading.series[pattern.key] = {FIRST_RANK: RankSeries(pattern, reading.as_printed, plain.segment)}
            if text in matches.units:
                reading.units[pattern.key] = set(matches.units[text])
        elif pattern.role != "ignore":
            reading.add_facts(matches.of_text(text, low, high), 1)
