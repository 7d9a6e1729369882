"""The records of runs: every measurement behind a number, as data.

A record is what one printed line measures: so many steps, their work and their time. With the records of a run that
are inside the window (``in_window``)

    throughput = Σ work / Σ time                   (Hoefler & Belli, SC 2015, rule 3)
               = Σ covers / Σ (covers / rate)      where no line tells the time of a step (``time`` is null)

which is the number of ``perflog extract`` with ``--estimator total``. A run whose ranks print in one log has the least
of its ranks' numbers: each rank waits for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from perflog.cases.choosing import chosen
from perflog.escaping import csv_cell, decodable
from perflog.extraction import Extraction
from perflog.logs.find import find_logs
from perflog.measurements.rows import FIELDS
from perflog.measurements.segment import Segment
from perflog.measurements.window import PLACES, digits_of, places_of, why_none_at_all
from perflog.runs.doubts import whole_seconds
from perflog.runs.factor import factor_of, seconds_scale
from perflog.runs.run import Run
from perflog.runs.sight import Sight
from perflog.runs.throughput import RunMeasurements
from perflog.settings.config import Settings
from perflog.settings.options import Window
from perflog.show.extractions import Extractions
from perflog.view.beside import Beside, beside, gaps_of

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
#: Why a record is left out that is no training, behind :data:`perflog.measurements.window.PLACES`; and one that
#: ``--without-slow`` leaves out.
ASIDE, SLOW = "evaluation or saving", "slow"
_REASONS = (*PLACES, ASIDE, SLOW)
ASIDE_CODE = _REASONS.index(ASIDE)


class RankRecords(Struct):
    """The records of one rank of a run, in the order of the log.

    Attributes:
        rows: the records as bytes of float64, (fields, n): ``measurements.rows.FIELDS``, and below them the metrics.
        metrics: the names of the numbers that lines print beside what they measure, loss and memory among them.
        parts: those of them that are a part of a step's time, as a share of it.
        places: for each record its reason in :data:`_REASONS`, as bytes of int8, (n,); 0: it counts.
        reason: why the window cannot be taken; empty where it can.
        factor, unit: what turns work over time into ``unit``; ``refused``: why that cannot be known.
        seconds: what turns the time column into seconds; None where that is unknown.
        origin, end: steps of the program before the first record and up to the last one.
        leading: records in front that measure nothing; ``keyless``: whether lines print no step.
        interval: the usual number of steps between two lines.
        digits: how finely times are printed: clock, mean, whether per epoch, origin (``measurements.estimate.Digits``).
        none_at_all: why no window gives a number; empty where one may.
        whole_seconds: of a clock in whole seconds whether it begins anew with each epoch, and in how many pieces more
            it is at most; None for any other.
        gaps: where time passed that no record holds which counts (:func:`perflog.view.beside.gaps_of`).
    """

    rank: int
    rows: bytes
    metrics: list[str]
    parts: list[str]
    places: bytes
    reason: str
    factor: float
    unit: str
    refused: str
    seconds: float | None
    origin: float
    end: float
    leading: int
    keyless: bool
    interval: float
    digits: tuple[float, float, bool, float]
    none_at_all: str
    whole_seconds: tuple[bool, int] | None
    gaps: list[tuple[int, int, float]]

    @property
    def columns(self) -> dict[str, Floats]:
        """Each field of the records by its name, (n,), in the store's units, those that are left out among them."""
        fields = np.frombuffer(self.rows).reshape(len(FIELDS) + len(self.metrics), -1)
        return dict(zip((*FIELDS, *self.metrics), fields, strict=True))

    @property
    def codes(self) -> NDArray[np.int8]:
        """For each record its reason in :data:`_REASONS`, (n,)."""
        return np.frombuffer(self.places, dtype=np.int8)


class RunRecords(Struct):
    """The records of a run, by ranks; the one that speaks for the run first."""

    ranks: list[RankRecords]


class Seen(Struct):
    """What was read for a view.

    Attributes:
        runs: every run with its records; None for one that measured nothing.
    """

    extraction: Extraction
    runs: list[tuple[Run, RunRecords | None]]


def read_records(
    logs: Sequence[str], settings: Settings, extractions: Extractions, where: Mapping[str, str] | None = None,
    growing: bool = False,
) -> Seen:  # fmt: skip
    """Extract, and keep the records of every run.

    Args:
        logs: paths of logs.
        settings: the options in force.
        extractions: how files are read, with progress.
        where: the values that the cases of the runs have (:func:`perflog.cases.choosing.chosen`).
        growing: whether trainings that have not ended are runs too, without a number.

    Raises:
        UsageError: when a path does not exist, an option is not right, or no case has such a value.
    """
    found: dict[tuple[str, str, int], RunRecords] = {}

    def key(run: Run) -> tuple[str, str, int]:
        return run.log.name, run.parser, run.first_line

    options = settings.options()
    see = partial(records_of, window=options.window)
    sight = Sight("records", RunRecords, see, lambda run, seen: found.__setitem__(key(run), seen), growing)
    extraction = extractions.seen(find_logs(logs), settings, options, sight)
    if where:
        extraction = replace(extraction, cases=chosen(extraction.cases, where))
    return Seen(extraction, [(run, found.get(key(run))) for run in extraction.runs])


def records_of(its: RunMeasurements, window: Window) -> RunRecords | None:
    """The records of a run, with what a window takes of them; None where it has none."""
    stores = [segment.store for segment in its.segments.values()]
    lines = [np.concatenate([rows[5] for rows in (*store.blocks(), *store.aside)]) for store in stores if store.count]
    read = beside(its.pattern, its.run.log, [of_rank.astype(np.int64) for of_rank in lines])
    ranks = [_of_rank(its, rank, segment, window, read) for rank, segment in its.segments.items()]
    found = [one for one in ranks if one is not None]
    return RunRecords(found) if found else None


def _of_rank(its: RunMeasurements, rank: int, segment: Segment, window: Window, read: Beside) -> RankRecords | None:
    basis = segment.basis
    if basis is None or not segment.store.count:
        return None
    run, pattern = its.run, its.pattern
    factor = factor_of(its.reading, pattern, basis, run.metadata)
    scale = seconds_scale(its.reading, pattern, basis, run.metadata)
    places, reason = places_of(segment, window, scale)
    kept = np.concatenate(list(segment.store.blocks()), axis=1)
    aside = [rows for rows in segment.store.aside if rows.shape[1]]
    rows = np.concatenate([kept, *aside], axis=1)
    codes = np.concatenate([places, np.full(rows.shape[1] - kept.shape[1], ASIDE_CODE)]).astype(np.int8)
    order = np.argsort(rows[5], kind="stable")
    rows, codes = np.ascontiguousarray(rows[:, order]), codes[order]
    _mark_slow(rows, codes, run.throughput.excluded.get(SLOW, 0))
    digits = digits_of(segment)
    metrics = [*(value.metric for value in pattern.printed_means), *read.columns]
    parts = [value.metric for value in pattern.printed_means if value.is_part]
    lines = rows[5].astype(np.int64)
    gaps = [] if scale is None else gaps_of(lines, rows[3] * scale, codes == ASIDE_CODE, read)
    rows = np.concatenate([rows, *(read.of(name, lines)[None] for name in read.columns)])
    return RankRecords(
        rank, rows.tobytes(), metrics, parts, codes.tobytes(), reason, factor.value, factor.unit, factor.reason, scale,
        segment.count.origin, segment.count.end, segment.tally.leading, segment.count.keyless, segment.count.interval,
        (digits.clock, digits.mean, digits.per_epoch, digits.origin), segment.refused or why_none_at_all(segment),
        whole_seconds(pattern, segment), gaps,
    )  # fmt: skip


def _mark_slow(rows: Floats, codes: NDArray[np.int8], count: int) -> None:
    """Mark the records, (fields, n), that ``--without-slow`` left out: so many, those with the longest steps."""
    inside = np.flatnonzero(codes == 0)
    if count and len(inside) >= count:
        per_step = rows[3, inside] / rows[2, inside]
        codes[inside[np.argsort(per_step)[-count:]]] = _REASONS.index(SLOW)


# ----------------------------------------------------------------------------------------------------
# As a frame.


def frame_of(seen: Seen) -> pl.DataFrame:
    """All records, one a row, in the order of the logs.

    Columns: ``log``; ``run`` (1 for the first of its log); ``rank``; ``step`` (the last one that the record covers);
    ``epoch`` (how many began before); ``first_line`` and ``last_line`` of the log; ``covers`` in steps; ``work`` in the
    unit's work and ``time`` in seconds, null where no line tells the time of a step; ``rate`` in ``unit``;
    ``in_window``; ``why_left_out``, empty for none; and the numbers that lines print beside, by their metrics' names.
    """
    import polars as pl

    frames = [frame for one in _numbered(seen) for frame in _frames_of(*one)]
    empty = pl.DataFrame(schema=_schema())
    return pl.concat([empty, *frames], how="diagonal")


def _numbered(seen: Seen) -> Iterator[tuple[Run, int, RunRecords]]:
    """The runs with records, in the order of their logs and lines, with their numbers in their logs."""
    before: dict[str, int] = {}
    for run, records in sorted(seen.runs, key=lambda one: (one[0].log.name, one[0].first_line)):
        before[run.log.name] = before.get(run.log.name, 0) + 1
        if records is not None:
            yield run, before[run.log.name], records


def _schema() -> dict[str, Any]:
    import polars as pl

    return {
        "log": pl.String, "run": pl.Int64, "rank": pl.Int64, "step": pl.Float64, "epoch": pl.Int64,
        "first_line": pl.Int64, "last_line": pl.Int64, "covers": pl.Float64, "work": pl.Float64, "time": pl.Float64,
        "rate": pl.Float64, "unit": pl.String, "in_window": pl.Boolean, "why_left_out": pl.String,
    }  # fmt: skip


def _frames_of(run: Run, number: int, records: RunRecords) -> Iterator[pl.DataFrame]:
    import polars as pl

    for one in records.ranks:
        columns, codes = one.columns, one.codes
        lines = columns["line"].astype(np.int64)
        before = np.append(lines[0], lines[:-1] + 1)
        work, time = columns["work"], columns["time"]
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = work / time * one.factor
        known = None if one.refused else one.seconds
        names = np.array([one.reason, *_REASONS[1:]])
        data = {
            "log": decodable(run.log.name), "run": number, "rank": one.rank, "step": columns["end"],
            "epoch": columns["epoch"].astype(np.int64), "first_line": np.minimum(before, lines), "last_line": lines,
            "covers": columns["covers"], "work": None if known is None else work * one.factor * known,
            "time": None if known is None else time * known, "rate": None if one.refused else rate, "unit": one.unit,
            "in_window": (codes == 0) & (not one.reason), "why_left_out": names[codes].tolist(),
        }  # fmt: skip
        yield pl.DataFrame(data | {name: columns[name] for name in one.metrics}, schema_overrides=_schema())


#: The formats of records.
RECORD_FORMATS = ("csv", "jsonl", "parquet")


def encoded_records(seen: Seen, form: str) -> bytes:
    """All records in one of :data:`RECORD_FORMATS`; texts of logs are no formulas in CSV."""
    from io import BytesIO

    import polars as pl

    frame, file = frame_of(seen), BytesIO()
    if form == "parquet":
        frame.write_parquet(file)
    elif form == "jsonl":
        frame.write_ndjson(file)
    else:
        texts = [name for name, kind in frame.schema.items() if kind == pl.String]
        frame.with_columns(pl.col(texts).map_elements(csv_cell, return_dtype=pl.String)).write_csv(file)
    return file.getvalue()
