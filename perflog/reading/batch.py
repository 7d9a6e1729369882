"""Many small logs folded together: plain ones for the whole batch at once, the others log by log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perflog.formats.catalog import Catalog
from perflog.matching.matches import FIRST_RANK, UNTAGGED, Batch, Matches
from perflog.measurements.plain import PlainBatch, plain_batches
from perflog.measurements.plain_window import take_of_batch
from perflog.measurements.rows import Mask
from perflog.measurements.segment import Segment
from perflog.measurements.series import RankSeries
from perflog.reading.reading import GENERIC, Reading
from perflog.settings.options import Options


@dataclass(frozen=True, slots=True)
class _Plain:
    """A plain log's measurements: the pattern that prints them, and their segment."""

    key: str
    segment: Segment


def fold_batch(readings: Sequence[Reading], batch: Batch, catalog: Catalog, options: Options | None) -> None:
    """Fold each text's matches into its reading, as :meth:`Reading.add` and :meth:`Reading.settle` do.

    ``options`` tell which window will be asked for, so that it is taken of all plain logs at once.
    """
    generic = {parser.name for parser in catalog.parsers if parser.priority <= GENERIC}
    measured = _texts_measured(batch, len(readings), generic)
    plain = _plain(batch, len(readings), measured, generic, readings[0].as_printed, options)
    parts = _parts(batch, len(readings), measured, generic)
    for text, reading in enumerate(readings):
        lines, cut = int(batch.lines[text]), bool(batch.cut[text])
        if text in plain:
            _fold_plain(reading, plain[text], parts[text], text, lines, cut)
        else:
            reading.add([matches.of_text(text, low, high) for matches, low, high in parts[text]], lines, cut)
            reading.settle(catalog)


def _texts_measured(batch: Batch, texts: int, generic: set[str]) -> Mask:
    """Whether a parser that is not generic measured something in each text, (texts,)."""
    measured = np.zeros(texts, dtype=bool)
    for matches in batch.matches:
        if matches.pattern.role == "step" and matches.pattern.parser not in generic:
            measured[matches.text] = True
    return measured


def _parts(batch: Batch, texts: int, measured: Mask, generic: set[str]) -> list[list[tuple[Matches, int, int]]]:
    """For each text, the patterns that were tried on it, with the bounds of their matches there."""
    parts: list[list[tuple[Matches, int, int]]] = [[] for _ in range(texts)]
    for matches in batch.matches:
        bounds = np.searchsorted(matches.text, np.arange(texts + 1)).tolist()
        dropped = matches.pattern.parser in generic
        for text in matches.candidates:
            if not (dropped and measured[text]):
                parts[text].append((matches, bounds[text], bounds[text + 1]))
    return parts


def _plain(
    batch: Batch, texts: int, measured: Mask, generic: set[str], as_printed: bool, options: Options | None
) -> Mapping[int, _Plain]:
    """The plain logs among the texts: one pattern measures, no line has a launcher's tag, and its rows are plain."""
    measuring = np.zeros(texts, dtype=np.int64)
    tagged = np.zeros(texts, dtype=bool)
    found = []
    for matches in batch.matches:
        if matches.pattern.role not in ("step", "position") or not len(matches):
            continue
        kept = matches
        if matches.pattern.parser in generic and measured[matches.text].any():
            kept = matches.take(~measured[matches.text])
        measuring[kept.text[np.flatnonzero(np.diff(kept.text, prepend=-1))]] += 1
        tagged[kept.text[kept.rank != UNTAGGED]] = True
        found.append(kept)
    alone = (measuring == 1) & ~tagged
    plain: dict[int, _Plain] = {}
    for matches in found:
        mine = alone[matches.text]
        rows = matches if mine.all() else matches.take(mine)
        columns = {name: column for name, column in rows.columns.items() if not isinstance(column, list)}
        if len(columns) < len(rows.columns):
            continue  # time stamps: the general path
        for part in plain_batches(rows.pattern, rows.text, rows.line + 1, columns, as_printed):
            _take(part, options)
            for text, segment in zip(part.texts.number.tolist(), part.segments, strict=True):
                plain[text] = _Plain(rows.pattern.key, segment)
    return plain


def _take(part: PlainBatch, options: Options | None) -> None:
    if options is not None:
        take_of_batch(part, options.window, options.estimator, not options.convention)


def _fold_plain(
    reading: Reading, plain: _Plain, parts: Sequence[tuple[Matches, int, int]], text: int, lines: int, cut: bool
) -> None:
    """What :meth:`Reading.add` does, for a log whose measurements are at hand."""
    for matches, low, high in parts:
        pattern = matches.pattern
        reading.account(pattern, matches.candidates[text], matches.line[low:high] + 1)
        if low == high:
            continue
        if pattern.key == plain.key:
            series = RankSeries(pattern, reading.as_printed)
            series.segments = [plain.segment]
            reading.series[plain.key] = {FIRST_RANK: series}
            if text in matches.units:
                reading.units[plain.key] = set(matches.units[text])
        elif pattern.role != "ignore":
            reading.add_facts(matches.of_text(text, low, high), 1)
    reading.end_block(lines, cut)
    reading.gather_facts()
